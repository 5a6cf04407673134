// SPDX-License-Identifier: Apache-2.0
//
// runs: the free blocks of a pool with LOCUS_REUSE_RUNS, for pool.c, pool_report.c and owner.c. Not installed. The theory is
// in pools/runs.c. Owner context.
#ifndef LOCUS_POOLS_RUNS_H
#define LOCUS_POOLS_RUNS_H

#include "placement/blocks/pool_internal.h"

#define POOL_SPAN_BLOCKS 64u // one word of free bits
#define POOL_SPAN_CLASSES 7u // extents of 1, 2, 4 .. 64 blocks or more

struct pool_span {
    uint64_t free;              // bit i: block 64 * span + i is free, and was handed out before
    uint64_t fresh;             // bit i: it was never handed out
    uint32_t prev, next;        // in the list of its class
    uint32_t class;             // of at least its longest free extent; POOL_NOWHERE: in no list
};

struct pool_runs {
    uint32_t first[POOL_SPAN_CLASSES];
    uint32_t classes;           // bit k: the list of class k has a span
    uint32_t fresh;             // spans from this one on were never used, and are in no list
    uint32_t spans;
    uint32_t low;               // fewest free blocks ever; with tags or sharing more than any pool has
    uint32_t last;              // the block that left last without a table: its handle's upper half; POOL_NOWHERE: none
    struct pool_span span[];
};

size_t pool_runs_bytes(uint32_t blocks);
void pool_runs_fill(struct locus_pool *pool); // pre: pool->runs points to zeroed memory; all blocks are free

// Takes `count` blocks: those behind block `after` as long as they are free, then others. pre: at least that many are free.
void pool_runs_take(struct locus_pool *pool, uint32_t count, locus_block out[], uint32_t after);

// Frees from the front as long as nothing is unusual, as free_fast() in pool.c does. pre: not shared.
uint32_t pool_runs_free(struct locus_pool *pool, uint32_t count, const locus_block blocks[]);

void pool_runs_put(struct locus_pool *pool, uint32_t index); // one block, that is out; its generation is new already

static inline bool pool_runs_is_free(const struct locus_pool *pool, uint32_t index)
{
    const struct pool_span *span = &pool->runs->span[index / POOL_SPAN_BLOCKS];
    return (span->free | span->fresh) >> index % POOL_SPAN_BLOCKS & 1;
}

// From the upper half of a handle, which has home and index. Of another home's it is out of range.
static inline uint32_t pool_runs_index(const struct locus_pool *pool, uint32_t upper)
{
    return upper ^ pool->home << 26;
}

// Takes the block with this upper half, if it is free and nothing has to be recorded when it leaves; else returns false.
static inline bool pool_runs_next(struct locus_pool *pool, uint32_t upper, locus_block *out)
{
    struct pool_runs *runs = pool->runs;
    uint32_t index = pool_runs_index(pool, upper), top = pool->hot.top;
    if (index >= pool->blocks || top <= runs->low)
        return false;
    struct pool_span *span = &runs->span[index / POOL_SPAN_BLOCKS];
    uint64_t free = span->free;
    if (!(free >> index % POOL_SPAN_BLOCKS & 1))
        return false;
    span->free = free & ~(UINT64_C(1) << index % POOL_SPAN_BLOCKS);
    pool_top_set(pool, top - 1);
    *out = (uint64_t)upper << 32 | pool->generation[index];
    return true;
}

#endif
