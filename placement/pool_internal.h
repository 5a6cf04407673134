// SPDX-License-Identifier: Apache-2.0
//
// pool_internal: the pool's fields and its two hot paths, for pool.c and owner.c only. The theory is in pool.c.
#ifndef LOCUS_POOL_INTERNAL_H
#define LOCUS_POOL_INTERNAL_H

#include "mailbox.h"
#include "pool.h"

#include <string.h>

#define POOL_GENERATION_RETIRED 0u // no handle carries it

struct locus_pool {
    // Never changes after open. A line of its own: workers read it while the owner writes the next one.
    _Alignas(LOCUS_CACHE_LINE) char *base; // NULL for heap backing
    void **heap;                           // NULL for mapped backing
    size_t stride_bytes;
    size_t block_bytes;
    locus_block *free;                     // [blocks]
    uint32_t *generation;                  // [blocks]
    uint32_t blocks;
    uint32_t home;
    enum locus_reuse reuse;
    uint32_t generation_first;

    // Owner context.
    _Alignas(LOCUS_CACHE_LINE) uint32_t top; // free blocks: the stack is free[blocks - top .. blocks)
    uint32_t fresh;                          // of these, the last so many were never handed out
    uint32_t head;                           // FIFO: where the ring starts
    uint32_t retired;
    uint32_t outstanding_high;
    uint64_t allocated, freed;
    uint64_t freed_straightened; // what freed was when the stack was last put in order
    uint64_t refused[LOCUS_FREE_ERRORS];

    // Cold.
    locus_free_error_fn *on_error;
    void *on_error_context;
    struct locus_region *region, *metadata;
    enum locus_policy policy;
    int node;
};

void pool_take_fifo(struct locus_pool *pool, uint32_t count, locus_block out[]);

static inline void *pool_address(const struct locus_pool *pool, locus_block block)
{
    uint32_t index = locus_block_index(block);
    return pool->base ? pool->base + index * pool->stride_bytes : pool->heap[index];
}

// A used block is on top of a LIFO stack: nothing is to be noted when it leaves. False for an empty pool, too.
static inline bool pool_top_is_used(const struct locus_pool *pool)
{
    return pool->top > pool->fresh && pool->reuse == LOCUS_REUSE_LIFO;
}

// pre: pool_top_is_used().
static inline locus_block pool_take_top(struct locus_pool *pool)
{
    pool->allocated++;
    return pool->free[pool->blocks - pool->top--];
}

// pre: at least `count` blocks are free.
static inline void pool_take(struct locus_pool *pool, uint32_t count, locus_block out[])
{
    pool->allocated += count;
    if (__builtin_expect(pool->reuse == LOCUS_REUSE_FIFO, 0)) {
        pool_take_fifo(pool, count, out);
        return;
    }
    memcpy(out, pool->free + pool->blocks - pool->top, count * sizeof *out);
    pool->top -= count;
    if (__builtin_expect(pool->top < pool->fresh, 0)) {
        uint32_t outstanding = pool->blocks - pool->retired - pool->top;
        pool->fresh = pool->top;
        if (outstanding > pool->outstanding_high)
            pool->outstanding_high = outstanding;
    }
}

#endif
