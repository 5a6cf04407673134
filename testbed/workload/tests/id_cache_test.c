// SPDX-License-Identifier: Apache-2.0
//
// id_cache: the model counts what its definition says, for every policy, and for one that knows the future.
//
// If the recorded conversations are available (LOCUS_TRACES, by default ../shared/traces), LRU's hits are compared with
// independently computed ones, and chain has to keep its lead.
#include "testbed/workload/cache/id_cache.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/workload/known_trace.h"

enum { REQUESTS = 300, LENGTH_MAX = 6, IDS = 64 };
#define REQUEST(...)                                                                                                               \
    {                                                                                                                              \
        0, (const uint64_t[]){__VA_ARGS__}, sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t)                                     \
    }

static struct tb_id_cache_result run(const struct locus_evict_ops *ops, uint32_t blocks, bool tree,
                                     const struct tb_id_request requests[], size_t count)
{
    struct tb_id_cache_config config = {.ops = ops, .blocks = blocks, .tree = tree};
    struct tb_id_cache_result result;
    cr_assert_eq(tb_id_cache_run(requests, count, &config, &result), 0);
    return result;
}

Test(id_cache, hits_count_up_to_the_first_miss)
{
    const struct tb_id_request requests[] = {
        REQUEST(1, 2, 3), // 3 misses: 1 2 3
        REQUEST(1, 2, 4), // 2 hits; 3 leaves: 1 2 4
        REQUEST(5),       // 1 leaves: 2 4 5
        REQUEST(1, 2, 4), // 1 misses and 2 leaves, so 2 misses and 4 leaves: no hits
    };
    struct tb_id_cache_result result = run(&locus_evict_lru, 3, false, requests, 4);
    cr_expect_eq(result.references, 10);
    cr_expect_eq(result.held, 2);
    cr_expect_eq(result.hits, 2);
    cr_expect_eq(result.evictions, 5);
    // in the last request 2 is held when it is looked at, but 1 was not: touched, no hit
    const struct tb_id_request broken[] = {REQUEST(1), REQUEST(5), REQUEST(1, 2), REQUEST(6), REQUEST(1, 2)};
    result = run(locus_evict_find("fifo"), 3, false, broken, 5);
    cr_expect_eq(result.held, 2);
    cr_expect_eq(result.hits, 1);
    cr_expect_eq(result.evictions, 2); // 1 for 6, 5 for 1
}

Test(id_cache, with_a_tree_the_end_of_a_chain_leaves_first)
{
    const struct tb_id_request requests[] = {REQUEST(1, 2, 3), REQUEST(9), REQUEST(1, 2, 3)};
    cr_expect_eq(run(&locus_evict_lru, 3, false, requests, 3).hits, 0); // 1 left for 9
    cr_expect_eq(run(&locus_evict_lru, 3, true, requests, 3).hits, 2);  // 3 did
    // all blocks are in use: the rest of the request finds no room, and what is held stays
    const struct tb_id_request large[] = {REQUEST(1, 2, 3, 4, 5), REQUEST(1, 2, 3, 4, 5)};
    struct tb_id_cache_result result = run(&locus_evict_lru, 3, true, large, 2);
    cr_expect_eq(result.references, 10);
    cr_expect_eq(result.hits, 3);
    cr_expect_eq(result.evictions, 0);
}

Test(id_cache, asks_for_a_policy_that_can_have_so_many_blocks)
{
    struct tb_id_cache_config config = {.ops = &locus_evict_lru};
    struct tb_id_cache_result result;
    cr_expect_eq(tb_id_cache_run(NULL, 0, &config, &result), -EINVAL);
}

// Chains of a small tree: the children of node n are 2n + 1 and 2n + 2, and node n is id 7n.
static void tree_requests(struct tb_id_request requests[REQUESTS], uint64_t ids[REQUESTS][LENGTH_MAX], unsigned seed)
{
    srand(seed);
    for (unsigned i = 0; i < REQUESTS; i++) {
        uint32_t length = 1 + (uint32_t)rand() % LENGTH_MAX, node = 0;
        for (uint32_t k = 0; k < length; k++) {
            ids[i][k] = 7 * node;
            node = 2 * node + 1 + (rand() % 3 == 0);
        }
        requests[i] = (struct tb_id_request){i * UINT64_C(1000000000), ids[i], length};
    }
}

// Belady's MIN by scanning: how many references find their block if a reference need not be inserted.
static uint64_t best_possible(const struct tb_id_request requests[], size_t count, unsigned blocks)
{
    uint64_t sequence[REQUESTS * LENGTH_MAX], held[IDS], hits = 0;
    unsigned length = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < requests[i].count; k++)
            sequence[length++] = requests[i].ids[k];
    for (unsigned at = 0; at < length; at++) {
        unsigned place = 0, latest = 0, latest_use = 0;
        while (place < used && held[place] != sequence[at])
            place++;
        hits += place < used;
        held[place] = sequence[at];
        used += place == used;
        for (unsigned i = 0; used > blocks && i < used; i++) {
            unsigned use = at + 1;
            while (use < length && sequence[use] != held[i])
                use++;
            if (use >= latest_use) {
                latest = i;
                latest_use = use;
            }
        }
        if (used > blocks)
            held[latest] = held[--used];
    }
    return hits;
}

Test(id_cache, nobody_finds_more_than_who_knows_the_future)
{
    static uint64_t ids[REQUESTS][LENGTH_MAX];
    struct tb_id_request requests[REQUESTS];
    for (unsigned seed = 1; seed <= 20; seed++) {
        tree_requests(requests, ids, seed);
        for (unsigned blocks = 2; blocks <= 40; blocks += 1 + blocks / 4) {
            const uint64_t most = best_possible(requests, REQUESTS, blocks);
            struct tb_id_cache_result seer = run(&tb_clairvoyant, blocks, false, requests, REQUESTS);
            cr_expect_leq(seer.held, most);
            cr_expect_geq(seer.held, best_possible(requests, REQUESTS, blocks - 1), "%u blocks, seed %u", blocks, seed);
            cr_expect(blocks < 2 * LENGTH_MAX || seer.held - seer.hits <= seer.held / 50, "%u blocks, seed %u", blocks, seed);
            for (uint32_t i = 0; locus_evict_at(i); i++)
                cr_expect_leq(run(locus_evict_at(i), blocks, false, requests, REQUESTS).held, most, "%s", locus_evict_at(i)->name);
        }
    }
}

// --- tiers ---------------------------------------------------------------------------------------------------------------------

// What came to a tier is there, went on, was raised, or was dropped; what left one came to the next.
static void tiers_add_up(const struct tb_id_cache_result *result, const struct tb_id_cache_config *config)
{
    const struct tb_id_tier_result *near = result->tier, *far = near + TB_ID_FAR, *file = near + TB_ID_FILE;
    cr_expect_eq(near->hits + far->hits + file->hits, result->hits);
    for (const struct tb_id_tier_result *below = far; below <= file; below++)
        cr_expect_eq(below->sunk, below->kept + below->left + below->hits + below->dropped);
    cr_expect_eq(near->left, result->evictions);
    if (config->far_blocks)
        cr_expect_eq(near->left, far->sunk);
    if (config->file_blocks)
        cr_expect_eq(config->far_blocks ? far->left : near->left, file->sunk);
    cr_expect_eq(result->lost, config->file_blocks ? file->left : config->far_blocks ? far->left : near->left);
    cr_expect_leq(far->kept, config->far_blocks);
    cr_expect_leq(file->kept, config->file_blocks);
}

static struct tb_id_cache_result run_tiers(const struct tb_id_cache_config *config, const struct tb_id_request requests[],
                                           size_t count)
{
    struct tb_id_cache_result result;
    cr_assert_eq(tb_id_cache_run(requests, count, config, &result), 0);
    tiers_add_up(&result, config);
    return result;
}

Test(id_cache, what_leaves_sinks_and_what_is_found_below_is_raised)
{
    const struct tb_id_request requests[] = {
        REQUEST(1, 2, 3, 4), // near 3 4, far 2, file 1
        REQUEST(1, 2),       // 1 is raised from the file, so 3 sinks to far and 2 to the file; 2 is raised: 4 sinks, 3 to the file
        REQUEST(9, 3),       // 9 misses: 1 sinks, 4 to the file, where 3 is; that is computed again, and dropped; 2 and 1 sink
    };
    const struct tb_id_cache_config config = {.ops = &locus_evict_lru, .blocks = 2, .far_blocks = 1, .file_blocks = 2};
    struct tb_id_cache_result result = run_tiers(&config, requests, 1);
    cr_expect_eq(result.tier[TB_ID_FAR].kept, 1);
    cr_expect_eq(result.tier[TB_ID_FILE].kept, 1);
    result = run_tiers(&config, requests, 2);
    cr_expect_eq(result.hits, 2);
    cr_expect_eq(result.tier[TB_ID_FILE].hits, 2);
    result = run_tiers(&config, requests, 3);
    cr_expect_eq(result.hits, 2);
    cr_expect_eq(result.held, 3);
    cr_expect_eq(result.tier[TB_ID_FILE].dropped, 1);
    cr_expect_eq(result.lost, 0);
    cr_expect_eq(result.tier[TB_ID_FILE].kept, 2);
}

// LRU's order goes through the tiers: what sinks first is what was used longest ago.
static void lru_is_one_cache(const struct tb_id_request requests[], size_t count, uint32_t near, uint32_t far, uint32_t file)
{
    for (int alike = 0; alike < 2; alike++) {
        const struct tb_id_cache_config config = {&locus_evict_lru, near, false, far, file, alike};
        struct tb_id_cache_result tiers = run_tiers(&config, requests, count);
        struct tb_id_cache_result one = run(&locus_evict_lru, near + far + file, false, requests, count);
        struct tb_id_cache_result first = run(&locus_evict_lru, near, false, requests, count);
        cr_expect_eq(tiers.hits, one.hits, "%u + %u + %u", near, far, file);
        cr_expect_eq(tiers.held, one.held);
        cr_expect_eq(tiers.lost, one.evictions);
        cr_expect_leq(tiers.tier[TB_ID_NEAR].hits, one.hits);
        cr_expect_geq(tiers.tier[TB_ID_NEAR].hits, first.hits, "below a larger one no fewer are before the first miss");
    }
}

// An unbounded cache finds what no bound can: with a file that never overflows all policies find that, in whichever tier.
// `step`: of the eight ways, each so many.
static uint64_t nothing_is_lost(const struct tb_id_request requests[], size_t count, uint32_t near, uint32_t all, int step)
{
    uint64_t unbounded = run(&locus_evict_lru, all, false, requests, count).hits;
    for (uint32_t i = 0; i <= 6; i++)
        for (int way = 0; way < 8; way += step) {
            const struct locus_evict_ops *ops = locus_evict_at(i) ? locus_evict_at(i) : &tb_clairvoyant;
            const struct tb_id_cache_config config = {ops, near, way & 1, way & 2 ? near : 0, all, way & 4};
            struct tb_id_cache_result result = run_tiers(&config, requests, count);
            cr_expect_eq(result.hits, unbounded, "%s, way %d", ops->name, way);
            cr_expect_eq(result.lost, 0);
        }
    return unbounded;
}

Test(id_cache, tiers_add_up_to_one_cache)
{
    static uint64_t ids[REQUESTS][LENGTH_MAX];
    struct tb_id_request requests[REQUESTS];
    for (unsigned seed = 1; seed <= 20; seed++) {
        tree_requests(requests, ids, seed);
        for (uint32_t near = 1; near <= 20; near += 1 + near / 3) {
            lru_is_one_cache(requests, REQUESTS, near, 3, 0);
            lru_is_one_cache(requests, REQUESTS, near, 0, 7);
            lru_is_one_cache(requests, REQUESTS, near, 5, 4);
        }
        nothing_is_lost(requests, REQUESTS, LENGTH_MAX, IDS, 1);
        nothing_is_lost(requests, REQUESTS, 2 * LENGTH_MAX, IDS, 1);
    }
}

// All blocks of the near cache are in use by the request: what is below stays there.
Test(id_cache, a_request_that_does_not_fit_raises_no_more)
{
    const struct tb_id_request requests[] = {REQUEST(1, 2, 3), REQUEST(7), REQUEST(8), REQUEST(9), REQUEST(1, 2, 3, 4)};
    const struct tb_id_cache_config config = {.ops = &locus_evict_lru, .blocks = 3, .tree = true, .file_blocks = 9};
    struct tb_id_cache_result result = run_tiers(&config, requests, 5);
    cr_expect_eq(result.hits, 3);
    struct tb_id_cache_config small = config;
    small.blocks = 2;
    result = run_tiers(&small, requests, 5);
    cr_expect_eq(result.hits, 2);
    cr_expect_eq(result.tier[TB_ID_FILE].kept, 3, "7, 8 and 9");
}

static struct tb_id_request *load(const char *path, struct tb_trace **trace)
{
    struct tb_id_request *requests;
    struct tb_why why;
    cr_assert_eq(tb_trace_load(path, NULL, trace, &why), 0, "%s", why.text);
    cr_assert_eq(tb_trace_chained(*trace, &why), 0, "%s", why.text);
    cr_assert_eq(tb_id_requests(*trace, &requests), 0);
    return requests;
}

// Every prompt of the sample is found whole again by a cache that is large enough, whatever leaves first.
Test(id_cache, the_sample_has_something_to_find)
{
    struct tb_trace *trace;
    struct tb_id_request *requests = load("testbed/workload/turns.jsonl", &trace);
    cr_expect_eq(trace->count, 200);
    for (uint32_t i = 0; locus_evict_at(i); i++)
        for (int tree = 0; tree < 2; tree++) {
            struct tb_id_cache_result result = run(locus_evict_at(i), 369, tree, requests, trace->count);
            cr_expect_eq(result.references, 1199);
            cr_expect_eq(result.hits, 1199 - 369);
            cr_expect_eq(result.evictions, 0);
            result = run(locus_evict_at(i), 50, tree, requests, trace->count);
            cr_expect_gt(result.hits, 500, "%s: %llu", locus_evict_at(i)->name, (unsigned long long)result.hits);
            cr_expect_lt(result.hits, 1199 - 369);
            cr_expect_gt(result.evictions, 319);
        }
    free(requests);
    tb_trace_close(trace);
}

Test(id_cache, lru_finds_what_was_computed_apart_and_chain_finds_more)
{
    static const uint32_t blocks[6] = {1000, 3000, 10000, 30000, 50000, 100000};
    static const char *const expected[6] = {"4.45", "6.50", "21.12", "32.57", "35.46", "36.37"};
    char path[4096], why[512], found[16];
    struct tb_trace *trace;
    cr_assert_eq(tb_known_trace_path("mooncake", path, sizeof path), 0);
    if (tb_known_trace_missing("mooncake", why, sizeof why))
        cr_skip_test("the recorded traces are not here (LOCUS_TRACES=folder)");
    struct tb_id_request *requests = load(path, &trace);
    for (int i = 0; i < 6; i++) {
        struct tb_id_cache_result lru = run(&locus_evict_lru, blocks[i], false, requests, trace->count);
        struct tb_id_cache_result chain = run(&locus_evict_chain, blocks[i], false, requests, trace->count);
        struct tb_id_cache_result lru_tree = run(&locus_evict_lru, blocks[i], true, requests, trace->count);
        struct tb_id_cache_result chain_tree = run(&locus_evict_chain, blocks[i], true, requests, trace->count);
        snprintf(found, sizeof found, "%.2f", 100.0 * (double)lru.hits / (double)lru.references);
        cr_expect_eq(lru.references, 288500);
        cr_expect_str_eq(found, expected[i], "%u blocks", blocks[i]);
        const double floor = blocks[i] <= 3000 ? 1.7 : 1, below = blocks[i] <= 3000 ? 0 : 0.005 * 288500;
        cr_expect_geq((double)chain.hits, floor * (double)lru.hits - below, "%u blocks", blocks[i]);
        cr_expect_geq((double)chain_tree.hits, floor * (double)lru_tree.hits - below, "%u blocks, tree", blocks[i]);
    }
    free(requests);
    tb_trace_close(trace);
}

Test(id_cache, the_recorded_prompts_are_all_found_again_in_some_tier)
{
    char path[4096], why[512], found[16];
    struct tb_trace *trace;
    cr_assert_eq(tb_known_trace_path("mooncake", path, sizeof path), 0);
    if (tb_known_trace_missing("mooncake", why, sizeof why))
        cr_skip_test("the recorded traces are not here (LOCUS_TRACES=folder)");
    struct tb_id_request *requests = load(path, &trace);
    uint64_t unbounded = nothing_is_lost(requests, trace->count, 3500, 200000, 7);
    snprintf(found, sizeof found, "%.1f", 100.0 * (double)unbounded / 288500);
    cr_expect_eq(unbounded, 288500 - 182790, "all but the first use of each id");
    cr_expect_str_eq(found, "36.6");
    lru_is_one_cache(requests, trace->count, 3500, 6500, 20000);
    free(requests);
    tb_trace_close(trace);
}
