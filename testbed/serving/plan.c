// SPDX-License-Identifier: Apache-2.0
//
// plan: see plan.h.
//
//     | struct tb_schedule | struct flat | requests | ids |

#include "testbed/serving/plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/evict.h"
#include "testbed/base/cli.h"
#include "testbed/serving/keep.h"

const struct tb_serving_settings tb_serving_defaults = {.block_tokens = 16, .pool_tokens = 131072, .watermark_percent = 5};

#define FS_PER_PS 1000
#define CLOCK_NS_MOST 0x1p63

struct flat {
    struct tb_serving_plan plan;
    struct tb_scenario scenario; // its pointers mean nothing: what they pointed to follows
};

// --- settings ------------------------------------------------------------------------------------------------------------------

// "16t": the first is a block's, the second is the pool's.
static bool tokens_read(struct tb_serving_settings *settings, const char *word)
{
    uint64_t tokens;
    if (word[0] == '0' || !tb_number_word(word, "", "t", 1, TB_POOL_TOKENS_MAX, &tokens))
        return false;
    if (settings->block_tokens == 0)
        settings->block_tokens = (uint32_t)tokens;
    else if (settings->pool_tokens == 0)
        settings->pool_tokens = tokens;
    else
        return false;
    return true;
}

bool tb_setting_number(const char *word, const char *name, const char *unit, double least, double most, double *out)
{
    size_t length = strlen(name);
    char *end;
    if (strncmp(word, name, length) || word[length] < '0' || word[length] > '9')
        return false;
    double number = strtod(word + length, &end);
    if (strcmp(end, unit) || number < least || number > most)
        return false;
    *out = number;
    return true;
}

static bool name_read(const char *word, char *out, size_t bytes)
{
    return out[0] == '\0' && (size_t)snprintf(out, bytes, "%s", word) < bytes;
}

static bool victim_read(struct tb_serving_settings *settings, const char *word)
{
    static const char *const names[] = {
        [TB_VICTIM_LAST] = "last", [TB_VICTIM_LARGEST] = "largest", [TB_VICTIM_CHEAPEST] = "cheapest"};
    for (int victim = TB_VICTIM_LAST; victim <= TB_VICTIM_CHEAPEST && !settings->victim_given && !settings->random; victim++)
        if (strcmp(word, names[victim]) == 0) {
            settings->victim = (enum tb_victim)victim;
            return settings->victim_given = true;
        }
    return false;
}

static bool clock_read(struct tb_serving_settings *settings, const char *word)
{
    double number;
    if (settings->random) // has no clock
        return false;
    if (settings->read_fs == 0 && tb_setting_number(word, "read", "ps", TB_READ_PS_LEAST, TB_READ_PS_MOST, &number)) {
        settings->read_fs = (uint64_t)llround(number * FS_PER_PS);
        return true;
    }
    if (settings->step_us || !tb_setting_number(word, "step", "us", 1, TB_STEP_US_MOST, &number) || number != floor(number))
        return false;
    settings->step_us = (uint64_t)number;
    return true;
}

bool tb_serving_setting(struct tb_serving_settings *settings, const char *word)
{
    double number;
    if (tokens_read(settings, word) || victim_read(settings, word) || clock_read(settings, word))
        return true;
    if (settings->watermark_percent < 0 && tb_setting_number(word, "watermark", "", 0, 99, &number)) {
        settings->watermark_percent = number;
        return true;
    }
    bool arrives = settings->load_percent || settings->line || settings->random; // in one way
    if (strcmp(word, "line") == 0 && !arrives)
        return settings->line = true;
    bool steps = settings->swap || settings->victim_given || settings->read_fs || settings->step_us; // what random has not
    if (strcmp(word, "random") == 0 && !arrives && !steps)
        return settings->random = true;
    if (!arrives && tb_setting_number(word, "load", "", 1, 1000, &number)) {
        settings->load_percent = (uint32_t)number;
        return true;
    }
    if (settings->requests == 0 && tb_setting_number(word, "first", "", 1, UINT32_MAX, &number)) {
        settings->requests = (uint32_t)number;
        return true;
    }
    if (strcmp(word, "swap") == 0 && !settings->swap && !settings->random)
        return settings->swap = true;
    if (locus_evict_find(word))
        return name_read(word, settings->retention, sizeof settings->retention);
    return tb_shape_find(word) && name_read(word, settings->shape, sizeof settings->shape);
}

void tb_serving_settings_fill(struct tb_serving_settings *settings)
{
    if (settings->block_tokens == 0)
        settings->block_tokens = tb_serving_defaults.block_tokens;
    if (settings->pool_tokens == 0)
        settings->pool_tokens = tb_serving_defaults.pool_tokens;
    if (settings->watermark_percent < 0)
        settings->watermark_percent = tb_serving_defaults.watermark_percent;
    tb_adapter_settings_fill(&settings->adapters);
    tb_arena_settings_fill(&settings->arena);
}

void tb_serving_settings_text(const struct tb_serving_settings *settings, char *out, size_t bytes)
{
    static const char *const victims[] = {
        [TB_VICTIM_LAST] = "", [TB_VICTIM_LARGEST] = "/largest", [TB_VICTIM_CHEAPEST] = "/cheapest"};
    char load[32] = "", first[32] = "", read[32] = "", step[32] = "";
    if (settings->load_percent)
        snprintf(load, sizeof load, "/load%u", settings->load_percent);
    if (settings->requests)
        snprintf(first, sizeof first, "/first%u", settings->requests);
    if (settings->read_fs)
        snprintf(read, sizeof read, "/read%.10gps", (double)settings->read_fs / FS_PER_PS);
    if (settings->step_us)
        snprintf(step, sizeof step, "/step%lluus", (unsigned long long)settings->step_us);
    snprintf(out, bytes, "serve/%ut/%llut/watermark%g%s%s%s%s%s%s%s%s%s%s%s", settings->block_tokens,
             (unsigned long long)settings->pool_tokens, settings->watermark_percent, load, settings->random ? "/random" : "", first,
             settings->shape[0] ? "/" : "", settings->shape, settings->retention[0] ? "/" : "", settings->retention,
             victims[settings->victim], settings->swap ? "/swap" : "", read, step);
}

// --- the flat block ------------------------------------------------------------------------------------------------------------

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) // FNV-1a
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t tb_scenario_hash(const struct tb_scenario *scenario)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    hash = mix(hash, scenario->requests, scenario->count * sizeof *scenario->requests);
    hash = mix(hash, scenario->ids, scenario->ids_count * sizeof *scenario->ids);
    hash = mix(hash, &scenario->seed, sizeof scenario->seed);
    return mix(hash, &scenario->accept_percent, sizeof scenario->accept_percent);
}

static double rate_per_s(const struct tb_scenario *scenario)
{
    double end_s = (double)scenario->requests[scenario->count - 1].arrival_ns * 1e-9;
    return end_s > 0 ? (double)scenario->count / end_s : INFINITY;
}

// `load` over the scenario's own rate. A scenario whose requests all arrive at once cannot be sped up.
static int speedup_of(const struct tb_scenario *scenario, const char *name, struct tb_serving_plan *plan, struct tb_why *why)
{
    struct tb_serving_config config;
    plan->speedup = INFINITY;
    if (plan->settings.load_percent == 0)
        return 0;
    if (!isfinite(rate_per_s(scenario))) {
        tb_why_set(why, name, 0, "all requests arrive at once, so load%u has no meaning", plan->settings.load_percent);
        return -EINVAL;
    }
    tb_serving_plan_config(plan, scenario, NULL, &config);
    int error = tb_serving_capacity(&config, &plan->capacity_per_s, why);
    if (error == -ERANGE)
        tb_why_set(why, name, 0,
                   "no request is done while another one waits, so the pool's capacity is unknown and load%u has no meaning: more "
                   "requests, another --pool, or --load all",
                   plan->settings.load_percent);
    if (error)
        return error == -ERANGE ? -EINVAL : error;
    plan->speedup = plan->capacity_per_s * plan->settings.load_percent / 100 / rate_per_s(scenario);
    if ((double)scenario->requests[scenario->count - 1].arrival_ns / plan->speedup < CLOCK_NS_MOST)
        return 0;
    tb_why_set(why, name, 0, "at load%u the last request arrives after more than 292 years: a larger load, or shorter steps",
               plan->settings.load_percent);
    return -EINVAL;
}

const struct tb_shape *tb_serving_shape(const struct tb_serving_settings *settings)
{
    return tb_shape_find(settings->shape[0] ? settings->shape : TB_SHAPE_DEFAULT);
}

static int plan_make(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                     struct tb_serving_plan *plan, struct tb_why *why)
{
    const struct tb_shape *shape = tb_serving_shape(settings);
    if (settings->pool_tokens < settings->block_tokens) {
        tb_why_set(why, name, 0, "a pool of %llu tokens has no block of %u", (unsigned long long)settings->pool_tokens,
                   settings->block_tokens);
        return -EINVAL;
    }
    for (size_t i = 0; i < scenario->count; i++) {
        const struct tb_request *request = &scenario->requests[i];
        uint64_t tokens = (uint64_t)request->prompt_tokens + request->output_tokens + request->drafts;
        if (tokens <= settings->pool_tokens)
            continue;
        tb_why_set(why, scenario->file, request->line, "the request needs %llu tokens, and the pool has %llu (--pool)",
                   (unsigned long long)tokens, (unsigned long long)settings->pool_tokens);
        return -EINVAL;
    }
    *plan = (struct tb_serving_plan){
        .settings = *settings,
        .token_bytes = tb_shape_token_bytes(shape),
        .clock = tb_clock_of(shape),
        .scenario_hash = tb_scenario_hash(scenario),
    };
    if (settings->read_fs)
        plan->clock.read_fs = settings->read_fs;
    if (settings->step_us)
        plan->clock.step_ns = settings->step_us * 1000;
    if (settings->load_percent == 0)
        plan->clock.prompt_tokens = 0;
    return speedup_of(scenario, name, plan, why);
}

static int flat_make(const struct tb_scenario *scenario, const char *name, const struct tb_serving_plan *plan,
                     struct tb_schedule **out)
{
    size_t requests_bytes = scenario->count * sizeof *scenario->requests, ids_bytes = scenario->ids_count * sizeof *scenario->ids;
    size_t bytes = sizeof(struct tb_schedule) + sizeof(struct flat) + requests_bytes + ids_bytes;
    struct tb_schedule *schedule = calloc(1, bytes);
    if (!schedule)
        return -ENOMEM;
    *schedule = (struct tb_schedule){.bytes = bytes, .requests_per_lap = scenario->count, .blocks_per_lap = scenario->count};
    snprintf(schedule->name, sizeof schedule->name, "%s", name);
    struct flat *flat = (struct flat *)(void *)(schedule + 1);
    flat->plan = *plan;
    flat->scenario = *scenario;
    flat->scenario.requests = NULL;
    flat->scenario.ids = NULL;
    char *behind = (char *)(flat + 1);
    memcpy(behind, scenario->requests, requests_bytes);
    if (ids_bytes)
        memcpy(behind + requests_bytes, scenario->ids, ids_bytes);
    *out = schedule;
    return 0;
}

int tb_serving_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                    struct tb_schedule **out, struct tb_why *why)
{
    struct tb_serving_plan plan;
    int error = plan_make(scenario, name, settings, &plan, why);
    if (!error)
        error = flat_make(scenario, name, &plan, out);
    if (!error)
        (*out)->pool_blocks = (*out)->blocks_peak = (uint32_t)(settings->pool_tokens / settings->block_tokens);
    return error;
}

int tb_keep_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                 struct tb_schedule **out, struct tb_why *why)
{
    const struct tb_serving_plan plan = {.settings = *settings, .speedup = 1, .scenario_hash = tb_scenario_hash(scenario)};
    int error = tb_keep_check(scenario, name, settings, why);
    if (!error)
        error = flat_make(scenario, name, &plan, out);
    if (!error)
        (*out)->pool_blocks = (*out)->blocks_peak = settings->kept_blocks;
    return error;
}

// A batch, or the places of those that are hot, stand for the pool.
static int adapter_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                        bool residency, struct tb_schedule **out, struct tb_why *why)
{
    const struct tb_serving_plan plan = {.settings = *settings, .speedup = 1, .scenario_hash = tb_scenario_hash(scenario)};
    int error = tb_adapter_settings_check(scenario, name, &settings->adapters, residency, why);
    if (!error)
        error = flat_make(scenario, name, &plan, out);
    if (!error)
        (*out)->pool_blocks = (*out)->blocks_peak = residency ? settings->adapters.hot : settings->adapters.batch;
    return error;
}

int tb_adapters_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                     struct tb_schedule **out, struct tb_why *why)
{
    return adapter_plan(scenario, name, settings, false, out, why);
}

int tb_residency_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                      struct tb_schedule **out, struct tb_why *why)
{
    return adapter_plan(scenario, name, settings, true, out, why);
}

int tb_pages_plan(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                  struct tb_schedule **out, struct tb_why *why)
{
    const struct tb_serving_plan plan = {.settings = *settings, .speedup = 1, .scenario_hash = tb_scenario_hash(scenario)};
    int error = tb_arena_settings_check(scenario, name, &settings->arena, why);
    if (!error)
        error = flat_make(scenario, name, &plan, out);
    if (!error)
        (*out)->pool_blocks = (*out)->blocks_peak = settings->arena.pages;
    return error;
}

const struct tb_serving_plan *tb_serving_plan_read(const struct tb_schedule *schedule, struct tb_scenario *scenario)
{
    const struct flat *flat = (const struct flat *)(const void *)(schedule + 1);
    const char *behind = (const char *)(flat + 1);
    *scenario = flat->scenario;
    scenario->requests = (struct tb_request *)(uintptr_t)behind;
    scenario->ids = (uint64_t *)(uintptr_t)(behind + scenario->count * sizeof *scenario->requests);
    return &flat->plan;
}

void tb_serving_plan_config(const struct tb_serving_plan *plan, const struct tb_scenario *scenario,
                            const struct tb_strategy *strategy, struct tb_serving_config *out)
{
    *out = (struct tb_serving_config){
        .scenario = scenario,
        .strategy = strategy,
        .pool_tokens = plan->settings.pool_tokens,
        .token_bytes = plan->token_bytes,
        .block_tokens = plan->settings.block_tokens,
        .watermark = plan->settings.watermark_percent / 100,
        .retention = plan->settings.retention[0] ? plan->settings.retention : NULL,
        .speedup = plan->speedup,
        .clock = plan->clock,
        .victim = plan->settings.victim,
        .random = plan->settings.random,
        .swap = plan->settings.swap,
    };
}
