// SPDX-License-Identifier: Apache-2.0
//
// cache_offload: the library's prefix cache, offloading to tiers, finds near and below, block for block, what the model of tiers
// counts (id_cache.h with `tree`), and every block that it finds has its own contents. Blocks pass from a small tier to a large
// one, which never overflows.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "locus/offload.h"
#include "locus/tier.h"
#include "testbed/serving/keep.h"
#include "testbed/workload/cache/id_map.h"

enum { BLOCK_BYTES = 64, UNIT_BYTES = 4096, NEAR = 700, FAR = 2000, MANY = 1 << 18 };

struct cache {
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_prefix *prefix;
    struct locus_table *table;
    struct locus_tier *tier[2];
    struct locus_offload *below;
    struct tb_id_map map;       // the library's ids: one more than their numbers, for 0 is none
    uint64_t near_hits, raised;
};

static struct locus_tier *memory(uint64_t blocks)
{
    struct locus_tier *tier = NULL;
    const struct locus_tier_far_config config = {.size = sizeof config,
                                                 .bytes = blocks * UNIT_BYTES,
                                                 .unit_bytes = UNIT_BYTES,
                                                 .node = LOCUS_NODE_ANY};
    cr_assert_eq(locus_tier_far_open(&tier, &config), 0);
    return tier;
}

static void below_open(struct cache *cache, uint32_t blocks, struct locus_offload_ops *table)
{
    cache->tier[0] = memory(FAR);
    cache->tier[1] = memory(blocks);
    const struct locus_offload_config config = {.size = sizeof config,
                                                .tier = {cache->tier[0], cache->tier[1]},
                                                .blocks = {FAR, blocks},
                                                .block_bytes = BLOCK_BYTES};
    cr_assert_eq(locus_offload_open(&cache->below, &config), 0);
    locus_offload_connector(cache->below, table);
}

static void cache_open(struct cache *cache, const struct locus_evict_ops *ops, uint32_t blocks, uint32_t below)
{
    struct locus_offload_ops connector;
    *cache = (struct cache){0};
    below_open(cache, below, &connector);
    const struct locus_pool_config pool = {
        .size = sizeof pool, .blocks = blocks, .block_bytes = BLOCK_BYTES, .node = LOCUS_NODE_ANY, .shared = true};
    cr_assert_eq(tb_id_map_open(&cache->map, MANY), 0);
    cr_assert_eq(locus_pool_open(&cache->pool, &pool), 0);
    const struct locus_owner_config owner = {.size = sizeof owner, .pool = cache->pool, .lanes = 1};
    cr_assert_eq(locus_owner_open(&cache->owner, &owner), 0);
    cr_assert_eq(locus_owner_adopt(cache->owner), 0);
    const struct locus_prefix_config prefix = {.size = sizeof prefix, .owner = cache->owner, .evict = ops, .offload = &connector};
    cr_assert_eq(locus_prefix_open(&cache->prefix, &prefix), 0);
    cache->table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, blocks));
    cr_assert(cache->table && locus_table_init(cache->table, 1, blocks, 1) == 0);
}

static void cache_close(struct cache *cache)
{
    cr_assert_eq(locus_prefix_close(cache->prefix), 0);
    cr_assert_eq(locus_offload_close(cache->below), 0);
    locus_tier_close(cache->tier[0]);
    locus_tier_close(cache->tier[1]);
    cr_assert_eq(locus_owner_leave(cache->owner), 0);
    locus_owner_close(cache->owner);
    locus_pool_close(cache->pool);
    tb_id_map_close(&cache->map);
    free(cache->table);
}

static void serve(struct cache *cache, const struct tb_id_request *request)
{
    static struct locus_id ids[NEAR];
    struct locus_table *table = cache->table;
    cr_assert_leq(request->count, (uint32_t)NEAR);
    for (uint32_t i = 0; i < request->count; i++)
        ids[i] = locus_id_of(tb_id_map_number(&cache->map, request->ids[i]) + UINT64_C(1));
    int64_t near = locus_prefix_match(cache->prefix, request->arrival_ns, ids, NULL, request->count, table);
    int64_t raised = near < 0 ? near : locus_prefix_load(cache->prefix, ids, NULL, request->count, table);
    cr_assert(near >= 0 && raised >= 0);
    cache->near_hits += (uint64_t)near;
    cache->raised += (uint64_t)raised;
    uint32_t there = table->count;
    cr_assert_eq(locus_owner_grow(cache->owner, table, request->count - there), 0);
    for (uint32_t i = 0; i < request->count; i++) {
        uint64_t *contents = locus_pool_address(cache->pool, table->blocks[i]);
        if (i >= there)
            *contents = ids[i].word[0];
        cr_assert_eq(*contents, ids[i].word[0], "another one's block");
    }
    cr_assert_geq(locus_prefix_publish(cache->prefix, ids, NULL, request->count, table), 0);
    cr_assert_eq(locus_owner_truncate(cache->owner, table, 0), 0);
}

// A policy with miss() hears of all that a prompt misses before the first victim, not one by one, so it may choose others.
static void same_as_the_model(const char *name, uint32_t near)
{
    struct tb_scenario *scenario = NULL;
    struct tb_why why;
    cr_assert_eq(tb_scenario_open(name, 700, NULL, &scenario, &why), 0, "%s", why.text);
    struct tb_id_request *requests = calloc(scenario->count, sizeof *requests);
    cr_assert_not_null(requests);
    for (size_t i = 0; i < scenario->count; i++) {
        const struct tb_request *from = &scenario->requests[i];
        requests[i] = (struct tb_id_request){from->arrival_ns, scenario->ids + from->ids_first, from->ids_count};
    }
    for (uint32_t p = 0; locus_evict_at(p); p++) {
        const struct locus_evict_ops *ops = locus_evict_at(p);
        const struct tb_id_cache_config config = {.ops = ops, .blocks = near, .tree = true, .file_blocks = MANY};
        struct tb_id_cache_result model;
        struct locus_prefix_offload_stats offloaded;
        struct locus_offload_stats below;
        struct cache cache;
        cr_assert_eq(tb_id_cache_run(requests, scenario->count, &config, &model), 0);
        cache_open(&cache, ops, near, (uint32_t)model.tier[TB_ID_FILE].kept + near); // all ids
        for (size_t i = 0; i < scenario->count; i++)
            serve(&cache, &requests[i]);
        locus_prefix_offload_stats(cache.prefix, &offloaded);
        locus_offload_stats(cache.below, &below);
        cr_expect_gt(model.tier[TB_ID_FILE].hits, 0);
        cr_expect_eq(cache.near_hits + cache.raised, model.hits, "%s", ops->name);
        cr_expect_eq(offloaded.blocks_loaded, cache.raised);
        cr_expect_eq(offloaded.blocks_lost + offloaded.blocks_load_failed + below.blocks_lost, 0);
        cr_expect_eq(below.blocks[0] + below.blocks[1], model.tier[TB_ID_FILE].kept);
        cr_expect_gt(below.blocks_demoted, 0);
        if (!ops->miss) {
            cr_expect_eq(cache.near_hits, model.tier[TB_ID_NEAR].hits, "%s", ops->name);
            cr_expect_eq(offloaded.blocks_offloaded, model.tier[TB_ID_FILE].sunk, "%s", ops->name);
        }
        cache_close(&cache);
    }
    free(requests);
    tb_scenario_close(scenario);
}

Test(cache_offload, the_library_finds_near_and_below_what_the_model_counts)
{
    same_as_the_model("few-shot", NEAR);
    same_as_the_model("turns", 2 * NEAR);
}
