// SPDX-License-Identifier: Apache-2.0
//
// pool_internal: the pool's fields, and what the files of this room need of them. The theory is in pool.c.
#ifndef LOCUS_POOL_INTERNAL_H
#define LOCUS_POOL_INTERNAL_H

#include "locus/inline.h"
#include "locus/pool.h"
#include "placement/base/counters.h"

#include <string.h>

#define POOL_GENERATION_WORN 0u // of a worn block; no handle has it
#define POOL_FIRST_GENERATIONS (1u << 28) // how many a pool's first one is drawn from: more wear a block out sooner
#define POOL_NEVER UINT32_MAX // more free blocks than any pool has
#define POOL_NOWHERE UINT32_MAX // no block, no span, no class (pools/runs.h)

struct locus_pool {
    struct locus_pool_hot hot; // pool_inline.h: base, stride, stack, and how many of it are free

    // Never changes after open.
    char *base;                 // NULL for heap backing
    void **heap;                // NULL for mapped backing
    locus_block *free;          // [blocks], and LOCUS_POOL_AHEAD more; NULL with runs
    uint32_t *generation;       // [blocks]
    uint64_t *tags;             // [blocks], or NULL: the tag of the request that holds the block
    uint32_t blocks;
    uint32_t home;
    uint8_t reuse;              // enum locus_reuse
    bool slow_free;          // not LIFO, or shared: free_fast() does not apply
    uint32_t generation_first;

    // Owner context.
    _Alignas(LOCUS_CACHE_LINE) uint32_t fresh; // the last `fresh` blocks of the stack were never handed out
    uint32_t all;               // blocks that are not worn out; not LIFO: POOL_NEVER, as it is never put in order
    uint32_t head;              // FIFO: where the ring starts
    struct pool_runs *runs;     // pools/runs.h; NULL: not LOCUS_REUSE_RUNS. Never changes after open
    uint64_t in_flight;         // blocks in retired tables that were not drained; owner.c counts them
    uint64_t freed_straightened; // `freed` when the stack was last put in order

    // Cold.
    size_t block_bytes;
    locus_free_error_fn *on_error;
    void *on_error_context;
    struct locus_region *region, *metadata;
    enum locus_policy policy;
    int node;
    const struct locus_owner *owner; // the owner that is open on this pool, or NULL

    // Of a shared pool (pools/shared.c), owner context.
    uint32_t *sharing;               // [blocks]: sharers, POOL_PUBLISHED, POOL_KEPT; NULL: the pool is not shared
    uint32_t *holders_first;         // [blocks]: the holders beyond the one in tags[]; NULL: no tags
    struct pool_holder *holders;     // [holders_room]
    uint32_t holders_room, holders_free;
    const struct pool_keeper *keeper; // the prefix cache that is open on this pool, or NULL

    // Any thread reads these, and `top` as well: a copy of it would be a second store in each allocation, which cost 4 % of a
    // grow.
    _Alignas(COUNTERS_ALIGN_BYTES) struct {
        uint64_t freed, refused[LOCUS_FREE_ERRORS_COUNT], retired, outstanding_high, distinct_high, kept, sharers;
    } counters;
};

// What is wrong with a config, in words; NULL: nothing that shows without asking the machine.
const char *pool_config_fault(const struct locus_pool_config *config);

// The config of the region that open makes for the blocks.
void pool_region_config(const struct locus_pool_config *config, struct locus_region_config *out);
void pool_metadata_config(const struct locus_pool_config *config, struct locus_region_config *out); // its own arrays

// As region_cause() (region_internal.h), for the blocks or, if they are not at fault, for the pool's own arrays.
bool pool_cause(const struct locus_pool_config *config, uint64_t beside_bytes, int error, char *why, size_t why_bytes);

// Takes `count` free blocks when copying them is not enough: never-used blocks, a ring, runs, tags to keep. With runs they go
// behind block `after` if they can; POOL_NOWHERE: anywhere. pre: at least that many are free.
void pool_take_slow(struct locus_pool *pool, uint32_t count, locus_block out[], uint64_t tag, uint32_t after);

// locus_pool_free_bulk(), but the stack may have to be put in order afterwards: pool_settle().
uint32_t pool_free(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag);
void pool_straighten(struct locus_pool *pool, uint64_t budget); // pre: every block is home

// Puts the stack in order if every block is home, and there are no more than `budget` to be ordered. See pool.c.
static inline void pool_settle(struct locus_pool *pool, uint64_t budget)
{
    if (__builtin_expect(pool->hot.top == pool->all, 0))
        pool_straighten(pool, budget);
}

// Called by the block's holder, who may have another home's role. Relaxed: a tag says who had the block at some moment, and
// nothing is concluded from it.
static inline void pool_note_tag(struct locus_pool *pool, locus_block block, uint64_t tag)
{
    if (pool->tags)
        __atomic_store_n(&pool->tags[locus_block_index(block)], tag, __ATOMIC_RELAXED);
}

static inline void *pool_address(const struct locus_pool *pool, locus_block block)
{
    uint32_t index = locus_block_index(block);
    return pool->base ? pool->base + index * pool->hot.stride_bytes : pool->heap[index];
}

// The index in free[] of the i-th free block, counted from the one that leaves next.
static inline uint64_t pool_free_at(const struct locus_pool *pool, uint32_t i)
{
    return pool->reuse == LOCUS_REUSE_LIFO ? pool->blocks - pool->hot.top + i : ((uint64_t)pool->head + i) % pool->blocks;
}

static inline void pool_top_set(struct locus_pool *pool, uint32_t top)
{
    __atomic_store_n(&pool->hot.top, top, __ATOMIC_RELAXED);
}

static inline void pool_note_outstanding(struct locus_pool *pool)
{
    uint64_t outstanding = pool->blocks - pool->counters.retired - pool->counters.kept - pool->hot.top;
    if (outstanding > pool->counters.outstanding_high)
        counter_set(&pool->counters.outstanding_high, outstanding);
}

#endif
