// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of this room: a shared pool, its owner, a cache if asked for, and tables of 4 tokens a block.
#ifndef LOCUS_TESTS_SHARING_TEST_H
#define LOCUS_TESTS_SHARING_TEST_H

#include "locus/prefix.h"
#include "locus/share.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS 4u
#define TOKEN_BYTES 16u
#define PLANES 2u
#define CAPACITY 16u
#define TABLES 6u

struct world {
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_prefix *prefix;
    struct locus_route route;
    struct locus_table *tables[TABLES];
};

// The id of a number. Four have the same second word, and many the same first one: who compares only one word takes different ids
// for the same.
static inline struct locus_id id_of(uint64_t number)
{
    return (struct locus_id){{number % 4, number / 4}};
}

// Until the next call.
static inline const struct locus_id *ids_of(const uint64_t numbers[], uint32_t count)
{
    static struct locus_id ids[CAPACITY];
    cr_assert_leq(count, CAPACITY);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = id_of(numbers[i]);
    return ids;
}

static inline struct locus_pool_config shared_config(uint32_t blocks, bool tags)
{
    return (struct locus_pool_config){.size = sizeof(struct locus_pool_config),
                                      .blocks = blocks,
                                      .block_bytes = TOKENS * TOKEN_BYTES,
                                      .node = LOCUS_NODE_ANY,
                                      .tags = tags,
                                      .shared = true};
}

static inline void world_open_with(struct world *world, const struct locus_pool_config *pool)
{
    *world = (struct world){0};
    cr_assert_eq(locus_pool_open(&world->pool, pool), 0);
    struct locus_owner_config owner = {.size = sizeof owner, .pool = world->pool, .lanes = 1};
    cr_assert_eq(locus_owner_open(&world->owner, &owner), 0);
    cr_assert_eq(locus_owner_adopt(world->owner), 0);
    cr_assert_eq(locus_route_add(&world->route, world->owner, 0), 0);
    for (unsigned i = 0; i < TABLES; i++) {
        world->tables[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(2, CAPACITY));
        cr_assert(world->tables[i] && locus_table_init(world->tables[i], 2, CAPACITY, TOKENS) == 0);
        locus_table_set_tag(world->tables[i], 100 + i);
    }
}

static inline void world_open(struct world *world, uint32_t blocks, bool tags)
{
    struct locus_pool_config config = shared_config(blocks, tags);
    world_open_with(world, &config);
}

static inline void cache_open(struct world *world, const char *policy)
{
    struct locus_prefix_config config = {.size = sizeof config,
                                         .owner = world->owner,
                                         .evict = policy ? locus_evict_find(policy) : NULL};
    cr_assert_eq(locus_prefix_open(&world->prefix, &config), 0);
}

static inline void world_close(struct world *world)
{
    cr_assert_eq(locus_prefix_close(world->prefix), 0);
    locus_owner_leave(world->owner);
    locus_owner_close(world->owner);
    locus_pool_close(world->pool);
    for (unsigned i = 0; i < TABLES; i++)
        free(world->tables[i]);
}

static inline struct locus_pool_stats stats_of(const struct world *world)
{
    struct locus_pool_stats stats;
    locus_pool_stats(world->pool, &stats);
    cr_assert_eq(stats.outstanding + stats.blocks_free + stats.blocks_cached + stats.blocks_worn, stats.blocks);
    return stats;
}

static inline char *token_at(const struct world *world, const struct locus_table *table, uint64_t token, uint32_t plane)
{
    char *block = locus_pool_address(world->pool, locus_table_at(table, token));
    return block + (plane * TOKENS + token % TOKENS) * (TOKEN_BYTES / PLANES);
}

// Tokens [first, first + count) of a table, each with `value` plus its position.
static inline void written(struct world *world, unsigned table, uint64_t first, uint64_t count, char value)
{
    cr_assert_eq(locus_owner_write(world->owner, world->tables[table], first, count, PLANES), 0);
    for (uint64_t i = first; i < first + count; i++)
        for (uint32_t plane = 0; plane < PLANES; plane++)
            memset(token_at(world, world->tables[table], i, plane), value + (char)i + (char)plane, TOKEN_BYTES / PLANES);
}

static inline void holds(const struct world *world, unsigned table, uint64_t first, uint64_t count, char value)
{
    for (uint64_t i = first; i < first + count; i++)
        for (uint32_t plane = 0; plane < PLANES; plane++)
            cr_assert_eq(*token_at(world, world->tables[table], i, plane), (char)(value + (char)i + (char)plane),
                         "table %u, token %u, plane %u", table, (unsigned)i, plane);
}

static inline void forked(struct world *world, unsigned from, unsigned to)
{
    cr_assert_eq(locus_owner_fork(world->owner, world->tables[from], world->tables[to]), 0);
}

static inline void released(struct world *world, unsigned table)
{
    cr_assert_eq(locus_owner_truncate(world->owner, world->tables[table], 0), 0);
}

#endif
