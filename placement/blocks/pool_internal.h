// SPDX-License-Identifier: Apache-2.0
//
// pool_internal: the pool's fields and its two hot paths, for pool.c and owner.c only. The theory is in pool.c.
#ifndef LOCUS_POOL_INTERNAL_H
#define LOCUS_POOL_INTERNAL_H

#include "counters.h"
#include "mailbox.h"
#include "pool_report.h"

#include <string.h>

#define POOL_GENERATION_WORN 0u // no handle carries it
#define POOL_FIRST_GENERATIONS (1u << 28) // of which one is drawn: the larger, the sooner a block is worn out
#define POOL_NEVER UINT32_MAX // a number of free blocks that no pool has

struct locus_pool {
    // Never changes after open. A line of its own: workers read it while the owner writes the next one.
    _Alignas(LOCUS_CACHE_LINE) char *base; // NULL for heap backing
    void **heap;                           // NULL for mapped backing
    size_t stride_bytes;
    locus_block *free;                     // [blocks]
    uint32_t *generation;                  // [blocks]
    uint64_t *tags;                        // [blocks], or NULL: of the request that a block is out to
    uint32_t blocks;
    uint32_t home;
    enum locus_reuse reuse;
    uint32_t generation_first;

    // Owner context.
    _Alignas(LOCUS_CACHE_LINE) uint32_t top; // free blocks: the stack is free[blocks - top .. blocks)
    uint32_t fresh;                          // of these, the last so many were never handed out
    uint32_t floor;                          // a take that leaves at least so many is plain: pool_plain()
    uint32_t all;                            // blocks that are not retired; with FIFO, which is never put in order, none to reach
    uint32_t head;                           // FIFO: where the ring starts
    uint64_t in_flight;          // blocks in tables that were retired and not drained: the owner's to count (owner.c)
    uint64_t freed_straightened; // what freed was when the stack was last put in order

    // Cold.
    size_t block_bytes;
    locus_free_error_fn *on_error;
    void *on_error_context;
    struct locus_region *region, *metadata;
    enum locus_policy policy;
    int node;
    const struct locus_owner *owner; // that is open on this pool, or NULL

    // Any thread reads; and `top`, which is not worth a second store in each allocation: that was 4 % of a grow.
    _Alignas(COUNTERS_ALIGN_BYTES) struct {
        uint64_t freed, refused[LOCUS_FREE_ERRORS_COUNT], retired, outstanding_high, distinct_high;
    } counters;
};

// What is wrong with a config, in words; NULL: nothing that can be seen without asking the machine.
const char *pool_config_fault(const struct locus_pool_config *config);

// The region that open would make for the blocks.
void pool_region_config(const struct locus_pool_config *config, struct locus_region_config *out);

// Takes `count` free blocks where more is to be done than to copy them: never-used ones, a ring, tags to be noted.
// pre: at least that many are free.
void pool_take_unusual(struct locus_pool *pool, uint32_t count, locus_block out[], uint64_t tag);

// By whoever has the block, who may hold another home's role. Relaxed: a tag says who had the block at some moment, and nothing is
// concluded from it.
static inline void pool_note_tag(struct locus_pool *pool, locus_block block, uint64_t tag)
{
    if (pool->tags)
        __atomic_store_n(&pool->tags[locus_block_index(block)], tag, __ATOMIC_RELAXED);
}

static inline void *pool_address(const struct locus_pool *pool, locus_block block)
{
    uint32_t index = locus_block_index(block);
    return pool->base ? pool->base + index * pool->stride_bytes : pool->heap[index];
}

// Where in free[] the i-th free block is, counted from the one that leaves next.
static inline uint64_t pool_free_at(const struct locus_pool *pool, uint32_t i)
{
    return pool->reuse == LOCUS_REUSE_LIFO ? pool->blocks - pool->top + i : ((uint64_t)pool->head + i) % pool->blocks;
}

// Are `count` used blocks on top of a LIFO stack, so that nothing is to be noted when they leave? Hence they are free, and no
// back-pressure is concerned. `floor` is `fresh`; with FIFO, and where tags are kept, all blocks, which no take leaves.
static inline bool pool_plain(const struct locus_pool *pool, uint32_t count)
{
    return __builtin_expect(pool->top >= count && pool->top - count >= pool->floor, 1);
}

// Relaxed: whoever asks for a block without the role is refused after this, and may not be in the owner's way before.
static inline bool pool_plain_one(const struct locus_pool *pool)
{
    return __builtin_expect(__atomic_load_n(&pool->top, __ATOMIC_RELAXED) > __atomic_load_n(&pool->floor, __ATOMIC_RELAXED), 1);
}

static inline void pool_top_set(struct locus_pool *pool, uint32_t top)
{
    __atomic_store_n(&pool->top, top, __ATOMIC_RELAXED);
}

// pre: pool_plain_one().
static inline locus_block pool_take_top(struct locus_pool *pool)
{
    uint32_t top = pool->top;
    locus_block block = pool->free[pool->blocks - top];
    pool_top_set(pool, top - 1);
    return block;
}

// pre: pool_plain(pool, count), and count > 0.
static inline void pool_take_plain(struct locus_pool *pool, uint32_t count, locus_block out[])
{
    uint32_t top = pool->top;
    memcpy(out, pool->free + pool->blocks - top, count * sizeof *out);
    pool_top_set(pool, top - count);
}

#endif
