// SPDX-License-Identifier: Apache-2.0
//
// Shared by the owner's tests: a pool, its owner, held by the thread that opened them, a route to it, and tables.
#ifndef LOCUS_TESTS_OWNER_TEST_H
#define LOCUS_TESTS_OWNER_TEST_H

#include "locus/owner.h"
#include "locus/pool.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define CAPACITY 16u
#define TABLES 8u
#define SECOND_NS UINT64_C(1000000000)

struct world {
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_route route;
    struct locus_table *tables[TABLES];
};

static inline void world_open_with(struct world *world, const struct locus_pool_config *pool, bool backpressure, uint64_t wait_ns)
{
    *world = (struct world){0};
    cr_assert_eq(locus_pool_open(&world->pool, pool), 0);
    struct locus_owner_config owner = {
        .size = sizeof owner, .pool = world->pool, .lanes = 2, .backpressure = backpressure, .wait_ns = wait_ns};
    cr_assert_eq(locus_owner_open(&world->owner, &owner), 0);
    cr_assert_eq(locus_owner_adopt(world->owner), 0);
    cr_assert_eq(locus_route_add(&world->route, world->owner, 1), 0);
    for (unsigned i = 0; i < TABLES; i++) {
        world->tables[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(2, CAPACITY));
        cr_assert(world->tables[i] && locus_table_init(world->tables[i], 2, CAPACITY, 16) == 0);
    }
}

static inline void world_open(struct world *world, uint32_t blocks, bool backpressure, uint64_t wait_ns)
{
    struct locus_pool_config pool = {.size = sizeof pool, .blocks = blocks, .block_bytes = 64, .node = LOCUS_NODE_ANY};
    world_open_with(world, &pool, backpressure, wait_ns);
}

static inline void world_close(struct world *world)
{
    locus_owner_leave(world->owner);
    locus_owner_close(world->owner);
    locus_pool_close(world->pool);
    for (unsigned i = 0; i < TABLES; i++)
        free(world->tables[i]);
}

static inline struct locus_pool_stats pool_stats(const struct world *world)
{
    struct locus_pool_stats stats;
    locus_pool_stats(world->pool, &stats);
    return stats;
}

static inline struct locus_owner_stats owner_stats(const struct world *world)
{
    struct locus_owner_stats stats;
    locus_owner_stats(world->owner, &stats);
    return stats;
}

static inline void retired(struct world *world, unsigned table, uint32_t blocks)
{
    cr_assert_eq(locus_owner_grow(world->owner, world->tables[table], blocks), 0);
    cr_assert_eq(locus_owner_retire(world->owner, world->tables[table]), 0);
}

static inline void pushed(struct world *world, unsigned table, uint32_t blocks)
{
    retired(world, table, blocks);
    cr_assert_eq(locus_table_push(&world->route, world->tables[table]), 0);
}

#endif
