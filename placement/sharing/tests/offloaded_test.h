// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of caches with a connector: prompts whose blocks are kept, and what comes of them.
#ifndef LOCUS_TESTS_SUNK_TEST_H
#define LOCUS_TESTS_SUNK_TEST_H

#include "locus/offload.h"
#include "placement/sharing/tests/sharing_test.h"

static inline struct locus_prefix_offload_stats offloaded_of(const struct world *world)
{
    struct locus_prefix_offload_stats stats;
    locus_prefix_offload_stats(world->prefix, &stats);
    return stats;
}

// Ids first, first + 1, ... of a prompt.
static inline const struct locus_id *prompt(uint64_t first)
{
    static struct locus_id ids[CAPACITY];
    for (uint64_t i = 0; i < CAPACITY; i++)
        ids[i] = id_of(first + i);
    return ids;
}

// A request of `blocks` blocks with these ids and contents, which ends at once: its blocks are kept.
static inline void kept(struct world *world, uint64_t first, uint32_t blocks, char value)
{
    written(world, 5, 0, blocks * TOKENS, value);
    cr_assert_eq(locus_prefix_publish(world->prefix, prompt(first), NULL, blocks, world->tables[5]), blocks);
    released(world, 5);
}

static inline int64_t matched(struct world *world, unsigned table, uint64_t first, uint32_t count)
{
    static uint64_t now_ns;
    return locus_prefix_match(world->prefix, ++now_ns, prompt(first), NULL, count, world->tables[table]);
}

static inline int64_t loaded(struct world *world, unsigned table, uint64_t first, uint32_t count)
{
    return locus_prefix_load(world->prefix, prompt(first), NULL, count, world->tables[table]);
}

#endif
