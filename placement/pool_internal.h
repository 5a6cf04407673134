// SPDX-License-Identifier: Apache-2.0
//
// pool_internal: the pool's fields and its two hot paths, for pool.c and owner.c only. The theory is in pool.c.
#ifndef LOCUS_POOL_INTERNAL_H
#define LOCUS_POOL_INTERNAL_H

#include "mailbox.h"
#include "pool.h"

#include <string.h>

// How many pops ahead the first line of a block is fetched for writing: far enough to hide a hit in the second-level cache
// behind the writes before it. Measured at one byte per block: 2, 4 and 8 are within noise of each other, 0 is slower.
#define POOL_PREFETCH_AHEAD 4u

#define POOL_GENERATION_RETIRED 0u // no handle carries it

struct locus_pool {
    // Never changes after open. A line of its own: workers read it while the owner writes the next one.
    _Alignas(LOCUS_CACHE_LINE) char *base; // NULL for heap backing
    void **heap;                           // NULL for mapped backing
    size_t stride_bytes;
    size_t block_bytes;
    locus_block *free;
    uint32_t *generation;
    uint32_t blocks;
    uint32_t home;
    enum locus_reuse reuse;
    uint32_t generation_max;

    // Owner context.
    _Alignas(LOCUS_CACHE_LINE) uint32_t top; // free blocks
    uint32_t fresh;                          // free blocks that were never handed out
    uint32_t head;                           // FIFO: where the ring starts
    uint32_t retired;
    uint32_t outstanding_high;
    uint64_t allocated, freed;
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

static inline void pool_note_depth(struct locus_pool *pool)
{
    if (__builtin_expect(pool->top < pool->fresh, 0)) {
        uint32_t outstanding = pool->blocks - pool->retired - pool->top;
        pool->fresh = pool->top;
        if (outstanding > pool->outstanding_high)
            pool->outstanding_high = outstanding;
    }
}

// pre: at least one block is free.
static inline locus_block pool_take_one(struct locus_pool *pool)
{
    locus_block block;
    pool->allocated++;
    if (__builtin_expect(pool->reuse == LOCUS_REUSE_FIFO, 0)) {
        pool_take_fifo(pool, 1, &block);
        return block;
    }
    const locus_block *top = pool->free + --pool->top;
    block = *top;
    if (pool->base)
        __builtin_prefetch(pool_address(pool, *(top - POOL_PREFETCH_AHEAD)), 1);
    pool_note_depth(pool);
    return block;
}

// pre: at least `count` blocks are free.
static inline void pool_take(struct locus_pool *pool, uint32_t count, locus_block out[])
{
    pool->allocated += count;
    if (__builtin_expect(pool->reuse == LOCUS_REUSE_FIFO, 0)) {
        pool_take_fifo(pool, count, out);
        return;
    }
    pool->top -= count;
    memcpy(out, pool->free + pool->top, count * sizeof *out);
    pool_note_depth(pool);
}

#endif
