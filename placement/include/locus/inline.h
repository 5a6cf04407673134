// SPDX-License-Identifier: Apache-2.0
//
// inline: the usual cases of taking, pushing and draining blocks, as inline functions, for an engine that wants them in its own
// code.
//
// Each function does what its namesake without `_inline` does (owner.h, pool.h, route.h), misuse included, and is how that one is
// written: the fast case is here, all else is in the library (`_slow`). With -DLOCUS_INLINE the plain names stand for them, so a
// program need not be changed. What they read is the first line of an owner and the first two of a pool, which may change as any
// interface may (version.h). Under liblocus-checked no case is fast, so every call is checked.
//
// Prefetching (pool.h: fetch_ahead). The stack says which block leaves four takes from now, so a take can ask for that block's
// first line, and one of several for their first lines. It is for processors that do not overlap the first writes of several
// blocks by themselves. A Zen 4 does: there it gained nothing at one byte (0093), so it is off by default. `locus eval -c
// locus,locus-fetch -t all` says what it does on a host.
//
// Threads: as the namesakes. gcc before 11 lacks a builtin, so there leave this header out; locus.h does.
#ifndef LOCUS_INLINE_H
#define LOCUS_INLINE_H

#include <string.h>

#include "owner.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_POOL_AHEAD 4u

// Private to the library and to the functions below.
struct locus_pool_hot {
    // Never changes after open. On a line of its own: workers read it while the owner writes the next one.
    char *base __attribute__((aligned(LOCUS_CACHE_LINE))); // block i is at i * stride_bytes; NULL: ask the library
    size_t stride_bytes;
    char *fetch;                // the same, if takes fetch ahead; else NULL
    const locus_block *free_end; // of the stack: the block that leaves next is free_end[-top]; LOCUS_POOL_AHEAD words follow

    // Owner context.
    uint32_t top __attribute__((aligned(LOCUS_CACHE_LINE))); // free blocks; any thread reads it, for statistics
    uint32_t floor;             // a take that leaves at least this many has nothing to record
};

inline struct locus_pool_hot *locus_pool_hot(struct locus_pool *pool)
{
    return (struct locus_pool_hot *)(void *)pool; // its first member
}

inline void *locus_pool_address_inline(const struct locus_pool *pool, locus_block block)
{
    const struct locus_pool_hot *hot = (const struct locus_pool_hot *)(const void *)pool;
    if (__builtin_expect(!hot->base, 0))
        return locus_pool_address(pool, block);
    return hot->base + locus_block_index(block) * hot->stride_bytes;
}

// What stands at *next, for writing: whoever takes a block fills it.
inline void locus_pool_fetch(const struct locus_pool_hot *hot, const locus_block *next)
{
    if (__builtin_expect(hot->fetch != NULL, 0))
        __builtin_prefetch(hot->fetch + locus_block_index(*next) * hot->stride_bytes, 1);
}

// Owner context. Relaxed: a caller without the role is refused only after this, and another thread reads `top`.
inline bool locus_pool_has(const struct locus_pool_hot *hot, uint32_t count)
{
    uint32_t top = __atomic_load_n(&hot->top, __ATOMIC_RELAXED), floor = __atomic_load_n(&hot->floor, __ATOMIC_RELAXED);
    return __builtin_expect(top >= count && top - count >= floor, 1);
}

inline bool locus_pool_has_one(const struct locus_pool_hot *hot)
{
    return __builtin_expect(__atomic_load_n(&hot->top, __ATOMIC_RELAXED) > __atomic_load_n(&hot->floor, __ATOMIC_RELAXED), 1);
}

// Owner context. pre: locus_pool_has_one(hot).
inline locus_block locus_pool_alloc_fast(struct locus_pool_hot *hot)
{
    const locus_block *next = hot->free_end - hot->top;
    locus_block block = *next;
    __atomic_store_n(&hot->top, hot->top - 1, __ATOMIC_RELAXED);
    locus_pool_fetch(hot, next + LOCUS_POOL_AHEAD);
    return block;
}

// Owner context. pre: locus_pool_has(hot, count).
inline void locus_pool_alloc_bulk_fast(struct locus_pool_hot *hot, uint32_t count, locus_block out[])
{
    size_t bytes = count * sizeof *out;
    __asm__("" : "+r"(bytes)); // gcc would write out a copy whose length it knows, and slower than the C library's
    memcpy(out, hot->free_end - hot->top, bytes);
    __atomic_store_n(&hot->top, hot->top - count, __ATOMIC_RELAXED);
    if (__builtin_expect(hot->fetch != NULL, 0))
        for (uint32_t i = 0; i < count && i < LOCUS_POOL_AHEAD; i++)
            locus_pool_fetch(hot, out + i);
}

locus_block locus_pool_alloc_slow(struct locus_pool *pool); // private to the function below

inline locus_block locus_pool_alloc_inline(struct locus_pool *pool)
{
    struct locus_pool_hot *hot = locus_pool_hot(pool);
    return locus_pool_has_one(hot) ? locus_pool_alloc_fast(hot) : locus_pool_alloc_slow(pool);
}

// Private to the library and to the functions below.
struct locus_owner_hot {
    uintptr_t holder __attribute__((aligned(LOCUS_CACHE_LINE))); // atomic: names the thread that has the role; 0: none
    struct locus_pool *pool;
    uint64_t home_bit;
    struct locus_lane *lanes;
    struct locus_lane_end *ends; // of the lanes
    struct locus_table *reclaimed_first;
    uint32_t lanes_count;
    uint8_t home;
    bool unfinished;            // a drain ended in the middle of what had arrived
};

inline struct locus_owner_hot *locus_owner_hot(struct locus_owner *owner)
{
    return (struct locus_owner_hot *)(void *)owner; // its first member
}

// Does the calling thread hold the role? The name is different for any two live threads, and never 0: an address in the thread's
// control block. No other live thread finds its own name there, so relaxed suffices. (Before gcc 11, leave this header out.)
inline bool locus_owner_is_here(const struct locus_owner_hot *hot)
{
    return __builtin_expect(__atomic_load_n(&hot->holder, __ATOMIC_RELAXED) == (uintptr_t)__builtin_thread_pointer(), 1);
}

// Private to the functions below: all cases.
int locus_owner_grow_slow(struct locus_owner *owner, struct locus_table *table, uint32_t count);
uint32_t locus_owner_drain_slow(struct locus_owner *owner);
struct locus_table *locus_owner_next_reclaimed_slow(struct locus_owner *owner);

// A decode step asks for one block for a table that already has some of this home. False: this is another case.
inline bool locus_owner_grow_one_fast(struct locus_owner *owner, struct locus_table *table)
{
    const struct locus_owner_hot *hot = locus_owner_hot(owner);
    struct locus_pool_hot *pool = locus_pool_hot(hot->pool);
    uint32_t at = table->count;
    bool usual = table->state == LOCUS_TABLE_LIVE && (table->homes & hot->home_bit) && at < table->capacity &&
                 locus_pool_has_one(pool) && locus_owner_is_here(hot);
    if (__builtin_expect(!usual, 0))
        return false;
    table->blocks[at] = locus_pool_alloc_fast(pool);
    table->count = at + 1;
    return true;
}

inline bool locus_owner_grow_fast(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    const struct locus_owner_hot *hot = locus_owner_hot(owner);
    struct locus_pool_hot *pool = locus_pool_hot(hot->pool);
    uint32_t at = table->count;
    bool usual = count && table->state == LOCUS_TABLE_LIVE && table->capacity - at >= count && hot->home < table->homes_max &&
                 locus_pool_has(pool, count) && locus_owner_is_here(hot);
    if (__builtin_expect(!usual, 0))
        return false;
    locus_pool_alloc_bulk_fast(pool, count, table->blocks + at);
    table->count = at + count;
    table->homes |= hot->home_bit;
    return true;
}

inline int locus_owner_grow_inline(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    if (count == 1 ? locus_owner_grow_one_fast(owner, table) : locus_owner_grow_fast(owner, table, count))
        return 0;
    return locus_owner_grow_slow(owner, table, count);
}

inline uint32_t locus_owner_drain_inline(struct locus_owner *owner)
{
    const struct locus_owner_hot *hot = locus_owner_hot(owner);
    uint32_t lane = 0, count = hot->lanes_count;
    if (__builtin_expect(!locus_owner_is_here(hot) || hot->unfinished, 0))
        return locus_owner_drain_slow(owner);
    while (lane < count && locus_lane_empty(&hot->lanes[lane], &hot->ends[lane]))
        lane++;
    return lane == count ? 0 : locus_owner_drain_slow(owner);
}

inline struct locus_table *locus_owner_next_reclaimed_inline(struct locus_owner *owner)
{
    struct locus_owner_hot *hot = locus_owner_hot(owner);
    if (__builtin_expect(!locus_owner_is_here(hot), 0))
        return locus_owner_next_reclaimed_slow(owner);
    struct locus_table *table = hot->reclaimed_first;
    if (table)
        hot->reclaimed_first = table->reclaimed_next;
    return table;
}

#ifdef LOCUS_INLINE
#define locus_pool_alloc locus_pool_alloc_inline
#define locus_pool_address locus_pool_address_inline
#define locus_owner_grow locus_owner_grow_inline
#define locus_owner_drain locus_owner_drain_inline
#define locus_owner_next_reclaimed locus_owner_next_reclaimed_inline
#define locus_table_push locus_table_push_inline
#endif

#ifdef __cplusplus
}
#endif

#endif
