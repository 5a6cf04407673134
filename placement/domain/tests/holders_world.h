// SPDX-License-Identifier: Apache-2.0
//
// The homes of holders_stress.c: a domain, or pools with owners, drawn by lot, and a prefix cache that offloads to nowhere.
#ifndef LOCUS_TESTS_HOLDERS_WORLD_H
#define LOCUS_TESTS_HOLDERS_WORLD_H

#include "placement/domain/tests/holders_model.h"

static inline void on_error(void *context, enum locus_free_error error, locus_block block, uint64_t tag)
{
    struct reports *got = &((struct world *)context)->got;
    STRESS_EXPECT(got->count < REPORTS);
    got->report[got->count++] = (struct report){error, block, tag};
}

static inline int store(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes)
{
    (void)context, (void)id, (void)parent, (void)block, (void)bytes;
    return 0;
}

static inline int start_store(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes,
                              locus_block handle)
{
    struct home *home = context;
    (void)id, (void)parent, (void)block, (void)bytes;
    home->offload_block[home->offloading++] = handle;
    return 0;
}

static inline uint32_t probe(void *context, const struct locus_id ids[], uint32_t count)
{
    (void)context, (void)ids, (void)count;
    return 0;
}

static inline uint32_t load(void *context, const struct locus_id ids[], void *const blocks[], uint32_t count, size_t bytes)
{
    (void)context, (void)ids, (void)blocks, (void)count, (void)bytes;
    return 0;
}

static inline void domain_open(struct world *world)
{
    int nodes[HOMES] = {0};
    while (!locus_node_allowed(nodes[0]))
        nodes[0]++;
    for (uint32_t h = 1; h < HOMES; h++)
        nodes[h] = nodes[0];
    struct locus_domain_config config = {
        .size = sizeof config,
        .nodes = nodes,
        .nodes_count = world->homes,
        .lanes = 1,
        .blocks = 3 + any(world, BLOCKS - 2),
        .block_bytes = 64,
        .tags = world->tags,
        .exhausted = any(world, 2) ? LOCUS_EXHAUSTED_REFUSE : LOCUS_EXHAUSTED_WAIT,
        .shared = world->shared,
        .exclusive = any(world, 2),
    };
    STRESS_EXPECT(locus_domain_open(&world->domain, &config) == 0);
    world->way = locus_domain_route(world->domain, 0);
    for (uint32_t h = 0; h < world->homes; h++) {
        world->home[h].owner = locus_domain_owner(world->domain, h);
        world->home[h].pool = locus_owner_pool(world->home[h].owner);
        world->home[h].blocks = config.blocks;
    }
}

static inline void pools_open(struct world *world)
{
    bool exclusive = any(world, 2);
    world->way = &world->route;
    for (uint32_t h = 0; h < world->homes; h++) {
        struct home *home = &world->home[h];
        home->blocks = 3 + any(world, BLOCKS - 2);
        struct locus_pool_config pool = {
            .size = sizeof pool,
            .home = h,
            .blocks = home->blocks,
            .block_bytes = 64,
            .reuse = (enum locus_reuse)any(world, LOCUS_REUSE_RUNS + 1),
            .node = LOCUS_NODE_ANY,
            .tags = world->tags,
            .generations = any(world, 4) ? 0 : 60 + any(world, 200),
            .shared = world->shared,
        };
        STRESS_EXPECT(locus_pool_open(&home->pool, &pool) == 0);
        struct locus_owner_config owner = {.size = sizeof owner, .pool = home->pool, .lanes = 1};
        STRESS_EXPECT(locus_owner_open(&home->owner, &owner) == 0);
        STRESS_EXPECT((exclusive ? locus_route_add_exclusive : locus_route_add)(&world->route, home->owner, 0) == 0);
    }
}

static inline void prefix_open(struct world *world, struct home *home)
{
    uint32_t policies = 0;
    struct locus_offload_ops ops = {.size = sizeof ops,
                                    .context = home,
                                    .store = store,
                                    .start = start_store,
                                    .probe = probe,
                                    .load = load,
                                    .tag = OFFLOAD_TAG};
    while (locus_evict_at(policies))
        policies++;
    struct locus_prefix_config config = {.size = sizeof config,
                                         .owner = home->owner,
                                         .evict = locus_evict_at(any(world, policies)),
                                         .offload = &ops};
    STRESS_EXPECT(locus_prefix_open(&home->prefix, &config) == 0);
}

#endif
