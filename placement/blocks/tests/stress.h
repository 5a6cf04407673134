// SPDX-License-Identifier: Apache-2.0
//
// Shared by the stress programs: the mark in each block, and the books at the end.
//
// A block has the mark of the request that holds it, or 0 if none does. The taker writes the mark, the worker that finishes the
// request checks and clears it, and the next taker must find it cleared. So a block that is handed out twice, or freed while in
// use, shows, and the sanitizers see every hand-over as accesses to plain memory.
#ifndef LOCUS_TESTS_STRESS_BLOCKS_H
#define LOCUS_TESTS_STRESS_BLOCKS_H

#include <stdatomic.h>

#include "locus/owner.h"
#include "placement/base/tests/stress.h"

static inline void stress_mark(const struct locus_pool *pool, locus_block block, uint64_t mark)
{
    uint64_t *word = locus_pool_address(pool, block);
    STRESS_EXPECT(*word == 0);
    *word = mark;
}

static inline void stress_unmark(const struct locus_pool *pool, locus_block block, uint64_t mark)
{
    uint64_t *word = locus_pool_address(pool, block);
    STRESS_EXPECT(*word == mark);
    *word = 0;
}

static inline struct locus_table *stress_table(uint32_t homes, uint32_t capacity)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(homes, capacity));
    STRESS_EXPECT(table && locus_table_init(table, homes, capacity, 16) == 0);
    return table;
}

// Nothing is out, nothing was refused, and the books balance.
static inline void stress_expect_idle(const struct locus_pool *pool)
{
    struct locus_pool_stats stats;
    locus_pool_stats(pool, &stats);
    STRESS_EXPECT(stats.allocated == stats.freed);
    STRESS_EXPECT(stats.outstanding == 0);
    STRESS_EXPECT(stats.blocks_free + stats.blocks_worn == stats.blocks);
    for (unsigned i = 0; i < LOCUS_FREE_ERRORS_COUNT; i++)
        STRESS_EXPECT(stats.refused[i] == 0);
}

#endif
