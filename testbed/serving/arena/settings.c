// SPDX-License-Identifier: Apache-2.0
//
// settings: see settings.h.

#include "testbed/serving/arena/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/stats/random.h"
#include "testbed/workload/adapters/popularity.h"
#include "testbed/serving/word.h"

const struct tb_arena_settings tb_arena_defaults = {.pages = 4096,
                                                    .high_permille = 900,
                                                    .low_permille = 800,
                                                    .kv_percent = 70,
                                                    .adapter_percent = 20,
                                                    .rank = 8,
                                                    .adapters = 10000,
                                                    .scratch_per_s = 20,
                                                    .seed = 1,
                                                    .shape = "Llama-3-8B"};

#define PAGES_LEAST 16u
#define RATE_LEAST 0.001
#define RATE_MOST 1e6
#define F16_BYTES 2u
#define SCRATCH_MOST (1u << 24) // arbitrary: some ten seconds of a run

// --- words ---------------------------------------------------------------------------------------------------------------------

// "mark900-800", "zones50-40": two whole numbers, of which neither was said before.
static bool pair_read(const char *word, const char *before, uint32_t most, uint32_t *a, uint32_t *b)
{
    size_t length = strlen(before), digits = strspn(word + (strncmp(word, before, length) ? 0 : length), "0123456789");
    char first[16];
    if (strncmp(word, before, length) || digits == 0 || digits >= sizeof first || *a || *b)
        return false;
    snprintf(first, sizeof first, "%.*s", (int)digits, word + length);
    return tb_word_whole(first, "", "", most, a) && tb_word_whole(word + length + digits, "-", "", most, b);
}

static bool flag_read(const char *word, const char *name, bool *out)
{
    if (*out || strcmp(word, name))
        return false;
    return *out = true;
}

static bool marks_read(struct tb_arena_settings *settings, const char *word)
{
    uint32_t high = settings->high_permille, low = settings->low_permille;
    if (settings->no_mark || settings->high_permille)
        return false;
    if (flag_read(word, "nomark", &settings->no_mark))
        return true;
    if (!pair_read(word, "mark", 1000, &high, &low) || low >= high)
        return false;
    settings->high_permille = high;
    settings->low_permille = low;
    return true;
}

static bool split_read(struct tb_arena_settings *settings, const char *word)
{
    uint32_t kv = 0, adapters = 0;
    if (settings->split != TB_ARENA_ANYWHERE)
        return false;
    if (strcmp(word, "ends") == 0) {
        settings->split = TB_ARENA_ENDS;
        return true;
    }
    if (strcmp(word, "zones") && (!pair_read(word, "zones", 99, &kv, &adapters) || kv + adapters > 98))
        return false;
    settings->split = TB_ARENA_ZONES;
    settings->kv_percent = kv;
    settings->adapter_percent = adapters;
    return true;
}

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

static bool adapters_read(struct tb_arena_settings *settings, const char *word)
{
    bool said = settings->rank || settings->rank_mix || settings->adapters || settings->again_percent;
    if (!said && flag_read(word, "noadapters", &settings->no_adapters))
        return true;
    return !settings->no_adapters && ((!settings->rank && flag_read(word, "rankmix", &settings->rank_mix)) ||
                                      (!settings->rank_mix && tb_word_whole(word, "rank", "", 1024, &settings->rank)) ||
                                      tb_word_whole(word, "", "a", TB_ADAPTERS_MAX, &settings->adapters) ||
                                      tb_word_whole(word, "again", "", 99, &settings->again_percent));
}

bool tb_arena_setting(struct tb_arena_settings *settings, const char *word, uint32_t *requests)
{
    if (tb_word_whole(word, "", "p", TB_ARENA_PAGES_MAX, &settings->pages) ||
        tb_word_whole(word, "first", "", UINT32_MAX, requests) || tb_word_whole(word, "seed", "", UINT32_MAX, &settings->seed) ||
        rate_read(word, &settings->rate_per_s) || marks_read(settings, word) || split_read(settings, word) ||
        adapters_read(settings, word) || flag_read(word, "firstfit", &settings->first_fit))
        return true;
    if (settings->scratch_per_s == 0 && flag_read(word, "noscratch", &settings->no_scratch))
        return true;
    if (!settings->no_scratch && tb_word_whole(word, "scratch", "", 100000, &settings->scratch_per_s))
        return true;
    return !settings->shape[0] && tb_shape_find(word) &&
           (size_t)snprintf(settings->shape, sizeof settings->shape, "%s", word) < sizeof settings->shape;
}

static void fill(uint32_t *value, uint32_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

void tb_arena_settings_fill(struct tb_arena_settings *settings)
{
    const struct tb_arena_settings *defaults = &tb_arena_defaults;
    fill(&settings->pages, defaults->pages);
    if (!settings->no_mark && settings->high_permille == 0) {
        settings->high_permille = defaults->high_permille;
        settings->low_permille = defaults->low_permille;
    }
    if (settings->kv_percent == 0) {
        settings->kv_percent = defaults->kv_percent;
        settings->adapter_percent = defaults->adapter_percent;
    }
    fill(&settings->rank, defaults->rank);
    fill(&settings->adapters, defaults->adapters);
    fill(&settings->scratch_per_s, defaults->scratch_per_s);
    fill(&settings->seed, defaults->seed);
    if (!settings->shape[0])
        snprintf(settings->shape, sizeof settings->shape, "%s", defaults->shape);
}

void tb_arena_settings_text(const struct tb_arena_settings *settings, uint32_t requests, char *out, size_t bytes)
{
    char rank[32] = "rankmix", mark[32] = "nomark", split[32] = "", adapters[64] = "/noadapters", again[32] = "",
         scratch[32] = "/noscratch", rate[32] = "", first[32] = "";
    if (!settings->no_mark)
        snprintf(mark, sizeof mark, "mark%u-%u", settings->high_permille, settings->low_permille);
    if (settings->split == TB_ARENA_ZONES)
        snprintf(split, sizeof split, "/zones%u-%u", settings->kv_percent, settings->adapter_percent);
    if (settings->again_percent)
        snprintf(again, sizeof again, "/again%u", settings->again_percent);
    if (!settings->rank_mix)
        snprintf(rank, sizeof rank, "rank%u", settings->rank);
    if (!settings->no_adapters)
        snprintf(adapters, sizeof adapters, "/%.20s/%ua%.20s", rank, settings->adapters, again);
    if (!settings->no_scratch)
        snprintf(scratch, sizeof scratch, "/scratch%u", settings->scratch_per_s);
    if (settings->rate_per_s > 0)
        snprintf(rate, sizeof rate, "/rate%.10g", settings->rate_per_s);
    if (requests)
        snprintf(first, sizeof first, "/first%u", requests);
    snprintf(out, bytes, "pages/%up/%s%s%s%s%s%s/%s/seed%u%s", settings->pages, mark,
             settings->split == TB_ARENA_ENDS ? "/ends" : split, settings->first_fit ? "/firstfit" : "", adapters, scratch, rate,
             settings->shape, settings->seed, first);
}

// Ranges of scratch between the first arrival and the last, about.
static double scratch_count(const struct tb_scenario *scenario, const struct tb_arena_settings *settings)
{
    double span_s = (double)(scenario->requests[scenario->count - 1].arrival_ns - scenario->requests[0].arrival_ns) * 1e-9;
    if (settings->rate_per_s > 0)
        span_s = (double)(scenario->count - 1) / settings->rate_per_s;
    return settings->no_scratch ? 0 : span_s * settings->scratch_per_s;
}

int tb_arena_settings_check(const struct tb_scenario *scenario, const char *name, const struct tb_arena_settings *settings,
                            struct tb_why *why)
{
    if (scenario->requests[scenario->count - 1].arrival_ns == scenario->requests[0].arrival_ns)
        tb_why_set(why, name, 0, "all requests arrive at once, so pages have no time in which they are kept");
    else if (scenario->count > TB_ARENA_REQUESTS_MAX)
        tb_why_set(why, name, 0, "%zu requests are more than %u", scenario->count, TB_ARENA_REQUESTS_MAX);
    else if (!settings->no_adapters && settings->adapters < TB_POPULAR_LEAST)
        tb_why_set(why, name, 0, "%u adapters have no 101st: the shares of the first 10 and 100 are given", settings->adapters);
    else if (scratch_count(scenario, settings) > SCRATCH_MOST)
        tb_why_set(why, name, 0,
                   "between its first request and its last scratch comes %.0f times, and %u are the most: %s/pages/rate1 or "
                   "%s/pages/noscratch",
                   scratch_count(scenario, settings), SCRATCH_MOST, name, name);
    else if (settings->pages < PAGES_LEAST)
        tb_why_set(why, name, 0, "%u pages are fewer than %u", settings->pages, PAGES_LEAST);
    else
        return 0;
    return -EINVAL;
}

// --- sizes ---------------------------------------------------------------------------------------------------------------------

const struct tb_shape *tb_arena_shape(const struct tb_arena_settings *settings)
{
    return tb_shape_find(settings->shape);
}

uint32_t tb_arena_pages_of(uint64_t bytes)
{
    return (uint32_t)((bytes + TB_ARENA_PAGE_BYTES - 1) / TB_ARENA_PAGE_BYTES);
}

uint32_t tb_arena_kv_pages(const struct tb_arena_settings *settings, uint64_t tokens)
{
    return tb_arena_pages_of(tokens * tb_shape_token_bytes(tb_arena_shape(settings)));
}

// A and B of each matrix have rank x (inputs + outputs) values together. q and o are square, k and v as narrow as the KV heads.
uint64_t tb_arena_adapter_bytes(const struct tb_arena_settings *settings, uint32_t adapter)
{
    static const uint32_t ranks[] = {8, 16, 64};
    const struct tb_shape *shape = tb_arena_shape(settings);
    uint64_t wide = (uint64_t)shape->heads * shape->head_dim, narrow = (uint64_t)shape->kv_heads * shape->head_dim;
    uint64_t values = shape->layers * (2 * (wide + wide) + 2 * (wide + narrow));
    uint64_t draw = (uint64_t)settings->seed << 32 | adapter;
    return F16_BYTES * values * (settings->rank_mix ? ranks[tb_random_next(&draw) % 3] : settings->rank);
}

void tb_arena_zones(const struct tb_arena_settings *settings, uint32_t out[4])
{
    uint64_t pages = settings->pages;
    out[0] = (uint32_t)(pages * settings->kv_percent / 100);
    out[1] = (uint32_t)(pages * settings->adapter_percent / 100);
    out[2] = (settings->pages - out[0] - out[1]) / 2;
    out[3] = settings->pages - out[0] - out[1] - out[2];
    for (int i = 0; i < 4; i++) // of a few pages a percent may be none
        if (out[i] == 0) {
            out[i]++;
            out[0]--;
        }
}
