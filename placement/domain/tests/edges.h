// SPDX-License-Identifier: Apache-2.0
//
// Shared by the edges tests, which feed each public function the edges of its integer arguments, in the proper state and out of it:
// no crash, no sanitizer's report, the documented error or the right result, and nothing changed after an error. edges.sh compares
// the functions that they call with those that the library exports.
#ifndef LOCUS_TESTS_EDGES_H
#define LOCUS_TESTS_EDGES_H

#include "locus/locus.h"
#include "topo/pin.h"
#include "topo/topo.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t edges32[] = {
    0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 63, 64, INT32_MAX, 1u << 31, UINT32_MAX / 16, UINT32_MAX - 63, UINT32_MAX - 1, UINT32_MAX};
static const uint64_t edges64[] = {0,
                                   1,
                                   2,
                                   15,
                                   16,
                                   17,
                                   31,
                                   32,
                                   63,
                                   64,
                                   INT32_MAX,
                                   UINT64_C(1) << 31,
                                   UINT32_MAX - 1,
                                   UINT32_MAX,
                                   UINT64_C(1) << 32,
                                   (UINT64_C(1) << 32) + 16,
                                   (UINT64_C(1) << 36) - 32,
                                   UINT64_C(1) << 36,
                                   UINT64_C(1) << 60,
                                   UINT64_MAX / 16,
                                   INT64_MAX,
                                   UINT64_C(1) << 63,
                                   (UINT64_C(1) << 63) + 1,
                                   UINT64_MAX - 4095,
                                   UINT64_MAX - 32,
                                   UINT64_MAX - 31,
                                   UINT64_MAX - 16,
                                   UINT64_MAX - 15,
                                   UINT64_MAX - 1,
                                   UINT64_MAX};
static const int edges_int[] = {INT_MIN, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 63, 64, 1023, 1024, 8191, 8192, INT_MAX - 1, INT_MAX};

// EACH(uint32_t, count, edges32) ...
#define EACH(type, value, list)                                                                                                    \
    for (size_t value##_at = 0; value##_at < sizeof(list) / sizeof *(list); value##_at++)                                          \
        for (type value = (list)[value##_at], *value##_one = &value; value##_one; value##_one = NULL)

#define ONE_OF(call, ...)                                                                                                          \
    do {                                                                                                                           \
        const int answer = (call), known[] = {__VA_ARGS__};                                                                        \
        bool is_known = false;                                                                                                     \
        for (size_t known_at = 0; known_at < sizeof known / sizeof *known; known_at++)                                             \
            is_known |= known[known_at] == answer;                                                                                 \
        cr_assert(is_known, "%s is %d", #call, answer);                                                                            \
    } while (0)

#define BLOCKS 8u
#define BLOCK_BYTES 1024u
#define CAPACITY 8u
#define TOKENS 16u

struct world {
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_table *table, *other;
    struct locus_pool_stats pool_stats; // of book()
    struct locus_owner_stats owner_stats;
    char table_was[sizeof(struct locus_table)];
    unsigned reports;
};

static inline struct locus_pool_config pool_usual(void)
{
    return (struct locus_pool_config){.size = sizeof(struct locus_pool_config),
                                      .blocks = BLOCKS,
                                      .block_bytes = BLOCK_BYTES,
                                      .node = LOCUS_NODE_ANY};
}

static inline void on_report(void *context, enum locus_free_error error, locus_block block, uint64_t tag)
{
    struct world *world = context;
    cr_assert_lt(error, LOCUS_FREE_ERRORS_COUNT);
    (void)block;
    (void)tag;
    world->reports++;
}

static inline struct locus_table *table_usual(void)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(2, CAPACITY));
    cr_assert(table && locus_table_init(table, 2, CAPACITY, TOKENS) == 0);
    return table;
}

// A shared pool, an owner whose role is ours, a table with three blocks, and an empty one.
static inline void world_open(struct world *world)
{
    struct locus_pool_config pool = pool_usual();
    *world = (struct world){0};
    pool.shared = true;
    cr_assert_eq(locus_pool_open(&world->pool, &pool), 0);
    locus_pool_on_error(world->pool, on_report, world);
    struct locus_owner_config owner = {.size = sizeof owner, .pool = world->pool, .lanes = 2};
    cr_assert_eq(locus_owner_open(&world->owner, &owner), 0);
    cr_assert_eq(locus_owner_adopt(world->owner), 0);
    cr_assert_eq(locus_owner_pool(world->owner), world->pool);
    world->table = table_usual();
    world->other = table_usual();
    cr_assert_eq(locus_owner_grow(world->owner, world->table, 3), 0);
}

static inline void world_close(struct world *world)
{
    if (!locus_owner_held_here(world->owner))
        cr_assert_eq(locus_owner_adopt(world->owner), 0);
    cr_assert_eq(locus_owner_leave(world->owner), 0);
    cr_assert_eq(locus_owner_leave(world->owner), -EPERM);
    cr_assert_eq(locus_owner_close(world->owner), 0);
    locus_pool_close(world->pool);
    free(world->table);
    free(world->other);
}

static inline void book(struct world *world)
{
    locus_pool_stats(world->pool, &world->pool_stats);
    locus_owner_stats(world->owner, &world->owner_stats);
    memcpy(world->table_was, world->table, sizeof world->table_was);
}

// But for what was refused, and what was waited for. Field by field, as nobody says what is between them.
static inline void unchanged(const struct world *world)
{
    const struct locus_pool_stats *pool_was = &world->pool_stats;
    const struct locus_owner_stats *owner_was = &world->owner_stats;
    struct locus_pool_stats pool;
    struct locus_owner_stats owner;
    locus_pool_stats(world->pool, &pool);
    locus_owner_stats(world->owner, &owner);
    cr_assert(pool.allocated == pool_was->allocated && pool.freed == pool_was->freed && pool.sharers == pool_was->sharers);
    cr_assert(pool.blocks_free == pool_was->blocks_free && pool.outstanding == pool_was->outstanding);
    cr_assert(pool.blocks_cached == pool_was->blocks_cached && pool.blocks_worn == pool_was->blocks_worn);
    cr_assert(pool.outstanding_high == pool_was->outstanding_high && pool.distinct_high == pool_was->distinct_high);
    cr_assert(owner.tables_retired == owner_was->tables_retired && owner.tables_drained == owner_was->tables_drained);
    cr_assert_eq(owner.blocks_in_flight, owner_was->blocks_in_flight);
    cr_assert_eq(memcmp(world->table, world->table_was, sizeof world->table_was), 0);
}

#endif
