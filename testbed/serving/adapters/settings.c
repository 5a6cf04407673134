// SPDX-License-Identifier: Apache-2.0
//
// settings: see settings.h.

#include "testbed/serving/adapters/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/workload/adapters/popularity.h"
#include "testbed/serving/word.h"

const struct tb_adapter_settings tb_adapter_defaults = {
    .adapters = 10000, .times = 1, .seed = 1, .batch = 256, .load_percent = 110, .hot = 100, .warm = 1000, .rank = 8};

#define RATE_LEAST 0.001
#define RATE_MOST 1e6
#define BATCHES_MAX (1u << 24)

// --- words ---------------------------------------------------------------------------------------------------------------------

static bool rate_read(const char *word, double *out)
{
    char *end;
    if (*out != 0 || strncmp(word, "rate", 4) || word[4] < '0' || word[4] > '9')
        return false;
    double rate = strtod(word + 4, &end);
    if (*end || !(rate >= RATE_LEAST && rate <= RATE_MOST))
        return false;
    *out = rate;
    return true;
}

bool tb_adapter_setting(struct tb_adapter_settings *settings, bool residency, const char *word, uint32_t *requests)
{
    if (tb_word_whole(word, "", "a", TB_ADAPTERS_MAX, &settings->adapters) ||
        tb_word_whole(word, "times", "", TB_ADAPTER_TIMES_MAX, &settings->times) ||
        tb_word_whole(word, "again", "", 99, &settings->again_percent) ||
        tb_word_whole(word, "seed", "", UINT32_MAX, &settings->seed) || tb_word_whole(word, "first", "", UINT32_MAX, requests))
        return true;
    if (residency)
        return tb_word_whole(word, "", "hot", TB_ADAPTERS_MAX, &settings->hot) ||
               tb_word_whole(word, "", "warm", TB_ADAPTERS_MAX, &settings->warm) ||
               tb_word_whole(word, "rank", "", 1024, &settings->rank) || rate_read(word, &settings->rate_per_s);
    return tb_word_whole(word, "batch", "", TB_BATCH_MAX, &settings->batch) ||
           tb_word_whole(word, "load", "", 1000, &settings->load_percent);
}

static void fill(uint32_t *value, uint32_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

void tb_adapter_settings_fill(struct tb_adapter_settings *settings)
{
    fill(&settings->adapters, tb_adapter_defaults.adapters);
    fill(&settings->times, tb_adapter_defaults.times);
    fill(&settings->seed, tb_adapter_defaults.seed);
    fill(&settings->batch, tb_adapter_defaults.batch);
    fill(&settings->load_percent, tb_adapter_defaults.load_percent);
    fill(&settings->hot, tb_adapter_defaults.hot);
    fill(&settings->warm, tb_adapter_defaults.warm);
    fill(&settings->rank, tb_adapter_defaults.rank);
}

void tb_adapter_settings_text(const struct tb_adapter_settings *settings, bool residency, uint32_t requests, char *out,
                              size_t bytes)
{
    char first[32] = "", again[32] = "", rate[32] = "", times[32] = "", own[64];
    if (requests)
        snprintf(first, sizeof first, "/first%u", requests);
    if (settings->again_percent)
        snprintf(again, sizeof again, "/again%u", settings->again_percent);
    if (settings->times > 1)
        snprintf(times, sizeof times, "/times%u", settings->times);
    if (settings->rate_per_s > 0)
        snprintf(rate, sizeof rate, "/rate%.10g", settings->rate_per_s);
    if (residency)
        snprintf(own, sizeof own, "/%uhot/%uwarm/rank%u", settings->hot, settings->warm, settings->rank);
    else
        snprintf(own, sizeof own, "/batch%u/load%u", settings->batch, settings->load_percent);
    snprintf(out, bytes, "%s/%ua%s%s%s%s/seed%u%s", residency ? "residency" : "adapters", settings->adapters, own,
             residency ? rate : "", times, again, settings->seed, first);
}

// --- what they make of a scenario ----------------------------------------------------------------------------------------------

int tb_adapter_settings_check(const struct tb_scenario *scenario, const char *name, const struct tb_adapter_settings *settings,
                              bool residency, struct tb_why *why)
{
    uint64_t uses = (uint64_t)scenario->count * settings->times;
    if (settings->adapters < TB_POPULAR_LEAST)
        tb_why_set(why, name, 0, "%u adapters have no 101st: the shares of the first 10 and 100 are given", settings->adapters);
    else if (uses > TB_ADAPTER_USES_MAX)
        tb_why_set(why, name, 0, "%zu requests %u times are more than %u uses", scenario->count, settings->times,
                   TB_ADAPTER_USES_MAX);
    else if (scenario->requests[scenario->count - 1].arrival_ns == scenario->requests[0].arrival_ns)
        tb_why_set(why, name, 0, "all requests arrive at once, so %s have no meaning", residency ? "times" : "batches");
    else if (settings->rate_per_s == 0 && settings->times > tb_adapter_times_most(scenario))
        tb_why_set(why, name, 0, "the requests %u times last longer than 292 years: at most %u times", settings->times,
                   tb_adapter_times_most(scenario));
    else if (!residency && uses * 100 / settings->batch / settings->load_percent >= BATCHES_MAX)
        tb_why_set(why, name, 0, "%llu uses are more than %u batches of %u at load%u", (unsigned long long)uses, BATCHES_MAX,
                   settings->batch, settings->load_percent);
    else if (residency && (uint64_t)settings->hot + settings->warm >= settings->adapters)
        tb_why_set(why, name, 0, "%u places that are hot and %u that are warm leave no adapter cold", settings->hot,
                   settings->warm);
    else
        return 0;
    return -EINVAL;
}

// From one repetition to the next: a mean gap after the last arrival the first one comes again. pre: not all at once.
static uint64_t period_ns(const struct tb_scenario *scenario)
{
    uint64_t span_ns = scenario->requests[scenario->count - 1].arrival_ns - scenario->requests[0].arrival_ns;
    return span_ns + span_ns / (scenario->count - 1);
}

uint32_t tb_adapter_times_most(const struct tb_scenario *scenario)
{
    uint64_t most = INT64_MAX / period_ns(scenario);
    return most == 0 ? 1 : most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

// The arrivals, `times` times. Those at a rate of their own may be scaled from beyond 64 bits.
static void arrivals(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, struct tb_adapter_use out[])
{
    size_t count = scenario->count;
    uint64_t first_ns = scenario->requests[0].arrival_ns, period = period_ns(scenario);
    double mean_ns = (double)period / (double)count, scale = 1;
    if (settings->rate_per_s > 0)
        scale = 1e9 / settings->rate_per_s / mean_ns;
    for (size_t i = 0; i < count * settings->times; i++) {
        unsigned __int128 at_ns = scenario->requests[i % count].arrival_ns - first_ns + (unsigned __int128)(i / count) * period;
        out[i].arrival_ns = settings->rate_per_s > 0 ? (uint64_t)((double)at_ns * scale) : (uint64_t)at_ns;
    }
}

int tb_adapter_uses(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, struct tb_adapter_use **out,
                    uint32_t *count)
{
    struct tb_popularity popularity;
    *count = (uint32_t)scenario->count * settings->times;
    *out = calloc(*count, sizeof **out);
    uint32_t *ranks = calloc(*count, sizeof *ranks);
    int error = tb_popularity_open(&popularity, settings->adapters);
    if (!*out || !ranks || error) {
        tb_popularity_close(&popularity);
        free(ranks);
        free(*out);
        *out = NULL;
        return error ? error : -ENOMEM;
    }
    arrivals(scenario, settings, *out);
    tb_popularity_uses(&popularity, settings->seed, settings->again_percent, ranks, *count);
    for (uint32_t i = 0; i < *count; i++)
        (*out)[i].adapter = ranks[i];
    tb_popularity_close(&popularity);
    free(ranks);
    return 0;
}
