// SPDX-License-Identifier: Apache-2.0
//
// serving: the exact model, on recorded traces and on small ones whose answers can be worked out by hand.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "locus/tier.h"
#include "locus/tier_file.h"
#include "testbed/serving/serving.h"
#include "testbed/workload/known_trace.h"
#include "testbed/workload/scenarios/scenario.h"

static struct tb_served served;
static struct tb_why why;

static struct tb_serving_config config_of(const struct tb_scenario *scenario, const char *strategy)
{
    return (struct tb_serving_config){
        .scenario = scenario,
        .strategy = tb_strategy_find(strategy),
        .pool_tokens = 131072,
        .token_bytes = 64,
        .block_tokens = 16,
        .watermark = 0.05,
        .speedup = INFINITY,
    };
}

static const struct tb_served *serve(const struct tb_serving_config *config)
{
    int error = tb_serve(config, &served, &why);
    cr_assert_eq(error, 0, "%s: %s (%s)", config->strategy->name, why.text, strerror(-error));
    return &served;
}

static struct tb_scenario *recorded(const char *name, size_t requests)
{
    char path[4096], missing[512];
    struct tb_trace *trace = NULL;
    struct tb_scenario *scenario = NULL;
    if (tb_known_trace_missing(name, missing, sizeof missing))
        cr_skip_test("%s", missing);
    cr_assert_eq(tb_known_trace_path(name, path, sizeof path), 0);
    cr_assert_eq(tb_trace_load(path, NULL, &trace, &why), 0, "%s", why.text);
    cr_assert_eq(tb_scenario_of_trace(trace, requests, &scenario), 0);
    tb_trace_close(trace);
    return scenario;
}

// Computed apart from the project, for Azure conv's first 6,000 requests in a pool of 131,072 tokens.
Test(serving, the_fixed_pool_model_gives_the_published_counts)
{
    static const struct {
        const char *strategy;
        uint32_t block_tokens;
        uint64_t steps, blocked, preempted, thrown;
    } rows[] = {
        {"static-4096", 16, 46698, 0, 0, 0},
        {"static-8192", 16, 94975, 0, 0, 0},
        {"first-fit", 16, 20217, 19740, 0, 0},
        {"caching", 16, 22316, 21842, 0, 0},
        {"caching-max-split", 16, 20783, 20321, 0, 0},
        {"paged-full", 16, 17038, 0, 0, 0},
        {"paged-prompt", 16, 14908, 0, 1302, 1494188},
        {"paged", 16, 15633, 0, 0, 0},
        {"paged-prompt", 128, 15555, 0, 1278, 1479795},
    };
    struct tb_scenario *scenario = recorded("azure-conv", 6000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tb_serving_config config = config_of(scenario, rows[i].strategy);
        config.block_tokens = rows[i].block_tokens;
        config.token_bytes = 32 << 10; // the thresholds of `caching` are bytes
        const struct tb_served *got = serve(&config);
        cr_expect_eq(got->steps, rows[i].steps, "%s: %lu steps", rows[i].strategy, (unsigned long)got->steps);
        cr_expect_eq(got->blocked, rows[i].blocked, "%s: %lu blocked", rows[i].strategy, (unsigned long)got->blocked);
        cr_expect_eq(got->preempted, rows[i].preempted, "%s: %lu preempted", rows[i].strategy, (unsigned long)got->preempted);
        cr_expect_eq(got->thrown_tokens, rows[i].thrown, "%s: %lu thrown out", rows[i].strategy, (unsigned long)got->thrown_tokens);
    }
    tb_scenario_close(scenario);
}

// --- by hand -------------------------------------------------------------------------------------------------------------------

static struct tb_request wanted[8];
static struct tb_scenario small;

static struct tb_serving_config hand(const char *strategy, uint64_t pool_tokens, size_t count)
{
    small = (struct tb_scenario){.name = "hand", .requests = wanted, .count = count, .accept_percent = 50, .seed = 1};
    for (size_t i = 0; i < count; i++)
        wanted[i].width = wanted[i].width ? wanted[i].width : 1;
    cr_assert_eq(tb_scenario_seal(&small), 0);
    struct tb_serving_config config = config_of(&small, strategy);
    config.pool_tokens = pool_tokens;
    return config;
}

// Three requests of 2 blocks, one of 1, and a pool of 3 blocks: the fourth fits beside the first, but not past the second.
Test(serving, nobody_overtakes_the_head_of_the_queue)
{
    for (size_t i = 0; i < 4; i++)
        wanted[i] = (struct tb_request){.prompt_tokens = i == 3 ? 1 : 16, .output_tokens = i == 3 ? 1 : 16};
    struct tb_serving_config config = hand("paged-full", 48, 4);
    const struct tb_served *got = serve(&config);
    cr_expect_eq(got->steps, 48); // the fourth would fit a pool of 5 at once
    cr_expect_eq(got->requests, 4);
    cr_expect_eq(got->refusals, 32);
    cr_expect_eq(got->live_max, 2);
}

// Two prompts of 2 blocks, a pool of 5. The first request takes the fifth block at once. The second finds no room for its first
// token, is thrown out with its 32 tokens, and is admitted again, in each of the 16 steps until the first one has left.
Test(serving, who_was_admitted_last_is_thrown_out)
{
    for (size_t i = 0; i < 2; i++)
        wanted[i] = (struct tb_request){.prompt_tokens = 32, .output_tokens = 16};
    struct tb_serving_config config = hand("paged-prompt", 80, 2);
    const struct tb_served *got = serve(&config);
    cr_expect_eq(got->preempted, 16);
    cr_expect_eq(got->thrown_tokens, 16 * 32);
    cr_expect_eq(got->steps, 32);
    config.watermark = 0.4; // 2 of 5 blocks: the second is not admitted beside the first
    config.strategy = tb_strategy_find("paged");
    cr_expect_eq(serve(&config)->preempted, 0);
    cr_expect_eq(got->steps, 32);
}

Test(serving, the_clock_counts_weights_reads_and_prompts)
{
    wanted[0] = (struct tb_request){.prompt_tokens = 3000, .output_tokens = 2};
    struct tb_serving_config config = hand("paged", 4096, 1);
    config.speedup = 1;
    config.clock = (struct tb_clock){.step_ns = 1000, .read_fs = 2000000, .prompt_ns = 10, .prompt_tokens = 2048};
    const struct tb_served *got = serve(&config);
    uint64_t first_ns = 1000 + 2048 * 10 + 1000 + 952 * 10 + 3001 * 64 * 2;
    cr_expect_eq(got->steps, 3);
    cr_expect_eq(got->first_p50_ns, first_ns);
    cr_expect_eq(got->between_max_ns, 1000 + 3002 * 64 * 2);
    cr_expect_eq(got->end_ns, first_ns + 1000 + 3002 * 64 * 2);
    cr_expect_eq(got->prompt_tokens, 3000);
}

// Two steps of a request that comes after 5 us, and one after a pause; the second token of the first reads 18 tokens of 64 bytes.
Test(serving, tokens_a_second_are_over_the_time_from_the_first_arrival_to_the_last_finish)
{
    wanted[0] = (struct tb_request){.arrival_ns = 5000, .prompt_tokens = 16, .output_tokens = 2};
    wanted[1] = (struct tb_request){.arrival_ns = 105000, .prompt_tokens = 16, .output_tokens = 1};
    struct tb_serving_config config = hand("paged", 4096, 2);
    config.speedup = 1;
    config.clock = (struct tb_clock){.step_ns = 1000, .read_fs = 500000, .prompt_tokens = 2048};
    const struct tb_served *got = serve(&config);
    cr_expect_eq(got->end_ns, 105000 + 1000 + 17 * 64 / 2);
    cr_expect_eq(got->tokens, 3);
    cr_expect_float_eq(got->tokens_per_s, 3e9 / (100000 + 1000 + 17 * 32), 1e-6);
    config.speedup = INFINITY; // both wait at the start: two steps, of 2 x 17 and 18 tokens
    got = serve(&config);
    cr_expect_eq(got->end_ns, 2 * 1000 + (2 * 17 + 18) * 32);
    cr_expect_float_eq(got->tokens_per_s, 3e9 / (2000 + 52 * 32), 1e-6);
}

// A byte of KV may cost less than a picosecond, and the bytes of a step may be more than 2^64 fs.
Test(serving, a_read_costs_fractions_of_picoseconds_and_does_not_overflow)
{
    wanted[0] = (struct tb_request){.prompt_tokens = 15, .output_tokens = 1};
    struct tb_serving_config config = hand("paged", 16, 1);
    config.watermark = 0;
    config.clock = (struct tb_clock){.read_fs = 12345};
    cr_expect_eq(serve(&config)->end_ns, 16 * 64 * 12345 / 1000000);
    config.token_bytes = (size_t)1 << 32;
    config.clock.read_fs = 1000000000;
    cr_expect_eq(serve(&config)->end_ns, UINT64_C(1000) << 36);
}

Test(serving, who_serves_nobody_has_no_tokens_a_second)
{
    wanted[0] = (struct tb_request){.arrival_ns = 7, .prompt_tokens = 64, .output_tokens = 1};
    struct tb_serving_config config = hand("paged", 64, 1);
    config.speedup = 1;
    cr_expect_eq(serve(&config)->refused, 1);
    cr_expect_eq(served.tokens_per_s, 0);
}

Test(serving, a_request_that_can_never_fit_is_refused)
{
    wanted[0] = (struct tb_request){.prompt_tokens = 64, .output_tokens = 1, .line = 7};
    wanted[1] = (struct tb_request){.prompt_tokens = 16, .output_tokens = 1};
    static const char *const names[] = {"paged", "paged-full", "first-fit", "static-2048"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tb_serving_config config = hand(names[i], 64, 2);
        const struct tb_served *got = serve(&config);
        cr_expect_eq(got->refused, i == 3 ? 2 : 1, "%s", names[i]);
        cr_expect_eq(got->requests, i == 3 ? 0 : 1, "%s", names[i]);
    }
}

Test(serving, a_swapped_victim_computes_nothing_again)
{
    for (size_t i = 0; i < 2; i++)
        wanted[i] = (struct tb_request){.prompt_tokens = 32, .output_tokens = 16};
    struct tb_serving_config config = hand("paged-prompt", 80, 2);
    const struct tb_served *got = serve(&config);
    cr_expect_eq(got->prompt_tokens, 32 + 17 * 32);
    cr_expect_eq(got->swapped_tokens, 0);
    config.swap = true;
    got = serve(&config);
    cr_expect_eq(got->prompt_tokens, 64);
    cr_expect_eq(got->swapped_tokens, 2 * 16 * 32); // out and in
    cr_expect_eq(got->tier_stored_bytes, 16 * 32 * 64);
    cr_expect_eq(got->tier_loaded_bytes, 16 * 32 * 64);
    cr_expect_eq(got->tier_left, 0);
}

// --- swap ----------------------------------------------------------------------------------------------------------------------

static struct locus_tier *memory(uint64_t bytes, bool int8)
{
    struct locus_tier *tier = NULL;
    const struct locus_tier_far_config config = {.size = sizeof config, .bytes = bytes, .unit_bytes = 4096, .node = LOCUS_NODE_ANY};
    cr_assert_eq((int8 ? locus_tier_int8_open : locus_tier_far_open)(&tier, &config), 0);
    return tier;
}

// Beams and drafts in a pool that cannot hold them: groups are thrown out, and come back.
static struct tb_serving_config crowded(const char *strategy)
{
    for (size_t i = 0; i < 8; i++)
        wanted[i] = (struct tb_request){.prompt_tokens = 20 + (uint32_t)i * 13,
                                        .output_tokens = 90,
                                        .width = (uint16_t)(1 + i % 3),
                                        .drafts = (uint16_t)(i % 2)};
    struct tb_serving_config config = hand(strategy, 800, 8);
    config.watermark = 0;
    config.swap = config.tags = true;
    return config;
}

// The tags of each beam's tokens are compared when it comes back, and at every later fork, cut and release.
Test(swap, what_comes_back_is_what_left)
{
    uint32_t swapped = 0;
    char path[] = "/tmp/swap-XXXXXX";
    struct locus_tier *file = NULL;
    const struct locus_tier_file_config of_file = {.size = sizeof of_file, .path = path, .bytes = 8 << 20, .unit_bytes = 4096};
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && close(fd) == 0 && locus_tier_file_open(&file, &of_file) == 0);
    struct locus_tier *const tiers[] = {NULL, memory(1 << 20, false), file};
    for (size_t i = 0; tb_strategy_at(i); i++) {
        struct tb_serving_config config = crowded(tb_strategy_at(i)->name);
        struct tb_served first;
        if (tb_strategy_at(i)->trap || tb_strategy_at(i)->needs_ids)
            continue;
        size_t count = strncmp(config.strategy->name, "paged", 5) == 0 ? 3 : 2; // a file takes its time
        for (size_t t = 0; t < count; t++) {
            config.swap_tier = tiers[t];
            const struct tb_served *got = serve(&config);
            cr_expect_eq(got->tier_left, 0);
            cr_expect_leq(got->tier_loaded_bytes, got->tier_stored_bytes); // a group that can never fit does not come back
            cr_expect_eq(got->swapped_tokens * 64, got->tier_stored_bytes + got->tier_loaded_bytes);
            first = t == 0 ? *got : first;
            cr_expect_eq(memcmp(&first, got, sizeof first), 0, "%s: the same, whatever the tier is", config.strategy->name);
        }
        swapped += served.tier_loaded_bytes > 0;
        config.tags = false;
        serve(&config);
        cr_expect_eq(memcmp(&first, &served, sizeof first), 0, "%s: the same without tags", config.strategy->name);
    }
    cr_expect_gt(swapped, 5, "of %u strategies requests came back", swapped);
    locus_tier_close(tiers[1]);
    locus_tier_close(file);
    unlink(path);
}

// The prompts begin alike, and a block of them may still be in use, or kept, when a request comes back.
Test(swap, what_is_found_in_the_cache_may_come_back_as_well)
{
    static uint64_t ids[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct tb_serving_config config = crowded("paged-shared");
    for (size_t i = 0; i < 8; i++)
        wanted[i] = (struct tb_request){.prompt_tokens = 128, .output_tokens = 90, .width = 1, .ids_count = i % 2 ? 4 : 8};
    small.ids = ids;
    small.ids_count = 8;
    small.id_tokens = 16;
    config.pool_tokens = 640;
    const struct tb_served *got = serve(&config);
    cr_expect_eq(got->requests, 8);
    cr_expect_gt(got->cached_tokens, 0);
    cr_expect_gt(got->tier_loaded_bytes, 0);
    cr_expect_eq(got->tier_loaded_bytes, got->tier_stored_bytes);
    cr_expect_eq(got->tier_left, 0);
}

// Two fill the pool, and then six that need more room in the tier than these ever could.
Test(swap, without_a_tier_of_the_callers_nobody_is_refused)
{
    for (size_t i = 0; i < 8; i++)
        wanted[i] = (struct tb_request){.arrival_ns = i < 2 ? 0 : 1000,
                                        .prompt_tokens = i < 2 ? 784 : 100,
                                        .output_tokens = i < 2 ? 40 : 800};
    struct tb_serving_config config = hand("paged-prompt", 1600, 8);
    config.speedup = 1;
    config.swap = config.tags = true;
    const struct tb_served *got = serve(&config);
    cr_expect_eq(got->requests, 8);
    cr_expect_gt(got->preempted, 8);
    cr_expect_eq(got->prompt_tokens, 2 * 784 + 6 * 100, "nothing is computed again");
    cr_expect_eq(got->tier_loaded_bytes, got->thrown_tokens * 64);
}

Test(swap, whom_the_tier_refuses_computes_again)
{
    struct tb_serving_config config = crowded("paged-prompt");
    config.swap_tier = memory(4096, false); // 512 tokens: of some groups, but not of all
    struct tb_served some = *serve(&config), none;
    cr_expect(some.tier_stored_bytes > 0 && some.tier_left == 0);
    cr_expect_eq(some.requests, 8);
    locus_tier_close(config.swap_tier);
    config.swap_tier = NULL;
    cr_expect_gt(serve(&config)->tier_stored_bytes, some.tier_stored_bytes);
    cr_expect_lt(served.prompt_tokens, some.prompt_tokens);
    config.swap = false;
    none = *serve(&config);
    cr_expect_lt(some.prompt_tokens, none.prompt_tokens);
}

static struct locus_tier *damaged;
static const struct tb_strategy *sound;

// A victim is released after the tier has it.
static void release_and_damage(void *state, uint32_t sequence, bool keep)
{
    struct locus_tier_stats stats;
    sound->ops->release(state, sequence, keep);
    locus_tier_stats(damaged, &stats);
    memset(locus_region_base(locus_tier_region(damaged)), 0xee, stats.units * stats.unit_bytes);
}

Test(swap, what_the_tier_cannot_load_is_computed_again)
{
    struct tb_serving_config config = crowded("paged-prompt");
    struct tb_strategy_ops ops = *(sound = config.strategy)->ops;
    struct tb_strategy damaging = *sound;
    ops.release = release_and_damage;
    damaging.ops = &ops;
    config.swap_tier = damaged = memory(1 << 20, false);
    uint64_t intact = serve(&config)->prompt_tokens;
    config.strategy = &damaging;
    const struct tb_served *got = serve(&config);
    cr_expect_eq(got->requests, 8);
    cr_expect_gt(got->tier_stored_bytes, 0);
    cr_expect_eq(got->tier_loaded_bytes, 0);
    cr_expect_eq(got->tier_left, 0, "what is damaged is dropped");
    cr_expect_gt(got->prompt_tokens, intact);
    locus_tier_close(damaged);
}

Test(swap, what_comes_back_changed_is_found)
{
    struct tb_serving_config config = crowded("paged-prompt");
    config.swap_tier = memory(1 << 20, true); // tags are no numbers to be rounded
    cr_expect_eq(tb_serve(&config, &served, &why), -EBADMSG);
    cr_expect(strstr(why.text, "a place lost"), "%s", why.text);
    locus_tier_close(config.swap_tier);
}

// The first has most tokens, the second has least.
Test(serving, the_victim_can_be_chosen)
{
    static const uint64_t thrown[] = {[TB_VICTIM_LAST] = 32, [TB_VICTIM_LARGEST] = 64, [TB_VICTIM_CHEAPEST] = 16};
    for (int victim = TB_VICTIM_LAST; victim <= TB_VICTIM_CHEAPEST; victim++) {
        wanted[0] = (struct tb_request){.prompt_tokens = 64, .output_tokens = 8};
        wanted[1] = (struct tb_request){.prompt_tokens = 16, .output_tokens = 8};
        wanted[2] = (struct tb_request){.prompt_tokens = 32, .output_tokens = 8};
        struct tb_serving_config config = hand("paged-prompt", 16 * 7, 3);
        config.victim = (enum tb_victim)victim;
        const struct tb_served *got = serve(&config);
        cr_expect_geq(got->preempted, 1);
        cr_expect_geq(got->thrown_tokens, thrown[victim], "victim %d: %lu", victim, (unsigned long)got->thrown_tokens);
        cr_expect_eq(got->requests, 3);
    }
}

// Of two slabs with two blocks each the upper block of one and the lower of the other are free first: they are no slab, though they
// lie side by side.
Test(serving, a_slab_goes_back_whole_and_no_other_way)
{
    static const uint32_t outputs[] = {48, 10, 10, 48};
    for (size_t i = 0; i < 4; i++)
        wanted[i] = (struct tb_request){.prompt_tokens = 2048 - outputs[i], .output_tokens = outputs[i], .width = 1};
    wanted[4] = (struct tb_request){.prompt_tokens = 8000, .output_tokens = 192, .width = 1};
    struct tb_serving_config config = hand("slab-pow2", 8192, 5);
    cr_expect_eq(serve(&config)->requests, 5);
}

// --- at random -----------------------------------------------------------------------------------------------------------------

// The listing of seed 003, run apart from the project with 30 orders of its own: at its worst 0.8 to 2.4 % of what is free is
// scattered in 100 steps, 2.7 to 4.9 in 500, 4.0 to 8.9 in 1,000, 98.3 to 98.7 in 5,000.
Test(serving, random_requests_scatter_a_pool_as_the_listing_does)
{
    static const struct {
        size_t steps;
        double low, high;
    } rows[] = {{100, 0.008, 0.024}, {500, 0.027, 0.049}, {1000, 0.04, 0.089}, {5000, 0.983, 0.987}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tb_scenario *scenario = NULL;
        cr_assert_eq(tb_scenario_open("random-sizes", rows[i].steps, NULL, &scenario, &why), 0);
        struct tb_serving_config config = config_of(scenario, "first-fit");
        config.pool_tokens = 163840;
        config.random = true;
        const struct tb_served *got = serve(&config);
        cr_expect_eq(got->steps, rows[i].steps);
        cr_expect(got->scattered_max > rows[i].low && got->scattered_max < rows[i].high, "%zu steps: %.4f", rows[i].steps,
                  got->scattered_max);
        cr_expect(rows[i].steps == 5000 ? got->blocked > 0 && got->blocked <= got->refusals : got->refusals == 0);
        tb_scenario_close(scenario);
    }
}

Test(serving, equal_blocks_are_never_scattered_and_every_strategy_keeps_its_contract_at_random)
{
    struct tb_scenario *scenario = NULL;
    cr_assert_eq(tb_scenario_open("random-sizes", 1500, NULL, &scenario, &why), 0);
    for (size_t i = 0; tb_strategy_at(i); i++) {
        const struct tb_strategy *strategy = tb_strategy_at(i);
        struct tb_serving_config config = config_of(scenario, strategy->name);
        config.pool_tokens = 16384;
        config.token_bytes = 32 << 10; // segments of `caching` are bytes
        config.random = config.tags = true;
        if (strategy->trap || strategy->needs_ids)
            continue;
        const struct tb_served *got = serve(&config);
        cr_expect(got->steps == 1500 && got->requests > 0, "%s", strategy->name);
        cr_expect(got->live_max > 0 && got->live_max + got->refusals < 1500, "%s", strategy->name);
        if (strncmp(strategy->name, "paged", 5) == 0) // what is not in the longest piece is the watermark
            cr_expect(got->refusals > 0 && got->blocked == 0 && got->scattered_max < 0.06, "%s: %.3f", strategy->name,
                      got->scattered_max);
    }
    tb_scenario_close(scenario);
}

Test(serving, a_listing_that_breaks_is_found_at_random_too)
{
    struct tb_scenario *scenario = NULL;
    cr_assert_eq(tb_scenario_open("random-sizes", 1500, NULL, &scenario, &why), 0);
    struct tb_serving_config config = config_of(scenario, "seed-caching-free");
    config.pool_tokens = 16384;
    config.token_bytes = 32 << 10;
    config.random = config.tags = true;
    cr_expect_eq(tb_serve(&config, &served, &why), -EBADMSG);
    cr_expect(strstr(why.text, "two owners"), "%s", why.text);
    tb_scenario_close(scenario);
}

// --- beams and drafts ----------------------------------------------------------------------------------------------------------

Test(serving, every_strategy_serves_the_same_tokens)
{
    for (size_t i = 0; i < 8; i++)
        wanted[i] = (struct tb_request){.prompt_tokens = 40 + (uint32_t)i * 13,
                                        .output_tokens = 33,
                                        .width = (uint16_t)(1 + i % 4),
                                        .drafts = (uint16_t)(i % 3)};
    for (size_t i = 0; tb_strategy_at(i); i++) {
        const struct tb_strategy *strategy = tb_strategy_at(i);
        struct tb_serving_config config = hand(strategy->name, 4096, 8);
        if (strategy->trap || strategy->needs_ids)
            continue;
        const struct tb_served *got = serve(&config);
        cr_expect_eq(got->tokens + 0, got->refused ? got->tokens : 33 * (1 + 2 + 3 + 4) * 2, "%s: %lu tokens", strategy->name,
                     (unsigned long)got->tokens);
    }
}

Test(serving, what_a_request_does_depends_on_nothing_else)
{
    wanted[0] = (struct tb_request){.prompt_tokens = 8, .output_tokens = 100, .width = 4, .drafts = 4};
    hand("paged", 4096, 1);
    uint32_t moved = 0, accepted = 0;
    for (uint32_t step = 0; step < 1000; step++) {
        for (uint32_t b = 0; b < 4; b++) {
            uint32_t parent = tb_scenario_parent(&small, 0, step, b);
            cr_assert_lt(parent, 4);
            moved += parent != b;
        }
        accepted += tb_scenario_accepted(&small, 0, step);
    }
    cr_expect(moved > 4000 / 8 * 3 / 4 / 2 && moved < 4000 / 8, "%u of 4000 beams continue another one", moved);
    cr_expect(accepted > 850 && accepted < 1000, "%u drafts of 4000 are accepted", accepted); // 1/2 + 1/4 + 1/8 + 1/16 a step
}
