// SPDX-License-Identifier: Apache-2.0
//
// pool_inline: the pool's usual cases as inline functions, for an engine that wants them in its own code.
//
// Each function does what its namesake without `_inline` does (pool.h), and is how that one is written: the usual case is here,
// all else is in the library. Macros with the plain names: owner_inline.h. What they read is the first two lines of a pool, which
// may change with each minor version, as any interface may (version.h). Under liblocus-checked no case is usual, so every call is
// checked.
//
// Fetching ahead (pool.h: fetch_ahead). The stack says which block leaves four takes from now, so a take can ask for that block's
// first line, and one of several for their first lines. It is for processors that do not overlap the first writes of several
// blocks by themselves. A Zen 4 does: there it gained nothing at one byte (0093), so it is off by default. `locus eval -c
// locus,locus-fetch -t all` says what it does on a host.
#ifndef LOCUS_POOL_INLINE_H
#define LOCUS_POOL_INLINE_H

#include <string.h>

#include "mailbox.h"
#include "pool.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_POOL_AHEAD 4u

// Private to the library and to the functions below.
struct locus_pool_hot {
    // Never changes after open. On a line of its own: workers read it while the owner writes the next one.
    char *base __attribute__((aligned(LOCUS_CACHE_LINE))); // block i is at i * stride_bytes; NULL: ask the library
    size_t stride_bytes;
    char *fetch;                 // the same, if takes fetch ahead; else NULL
    const locus_block *free_end; // of the stack: the block that leaves next is free_end[-top]; LOCUS_POOL_AHEAD words follow

    // Owner context.
    uint32_t top __attribute__((aligned(LOCUS_CACHE_LINE))); // free blocks; any thread reads it, for statistics
    uint32_t floor;              // a take that leaves at least this many has nothing to record
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
inline bool locus_pool_plain(const struct locus_pool_hot *hot, uint32_t count)
{
    uint32_t top = __atomic_load_n(&hot->top, __ATOMIC_RELAXED), floor = __atomic_load_n(&hot->floor, __ATOMIC_RELAXED);
    return __builtin_expect(top >= count && top - count >= floor, 1);
}

inline bool locus_pool_plain_one(const struct locus_pool_hot *hot)
{
    return __builtin_expect(__atomic_load_n(&hot->top, __ATOMIC_RELAXED) > __atomic_load_n(&hot->floor, __ATOMIC_RELAXED), 1);
}

// Owner context. pre: locus_pool_plain_one(hot).
inline locus_block locus_pool_take_plain(struct locus_pool_hot *hot)
{
    const locus_block *next = hot->free_end - hot->top;
    locus_block block = *next;
    __atomic_store_n(&hot->top, hot->top - 1, __ATOMIC_RELAXED);
    locus_pool_fetch(hot, next + LOCUS_POOL_AHEAD);
    return block;
}

// Owner context. pre: locus_pool_plain(hot, count).
inline void locus_pool_take_many(struct locus_pool_hot *hot, uint32_t count, locus_block out[])
{
    size_t bytes = count * sizeof *out;
    __asm__("" : "+r"(bytes)); // gcc would write out a copy whose length it knows, and slower than the C library's
    memcpy(out, hot->free_end - hot->top, bytes);
    __atomic_store_n(&hot->top, hot->top - count, __ATOMIC_RELAXED);
    if (__builtin_expect(hot->fetch != NULL, 0))
        for (uint32_t i = 0; i < count && i < LOCUS_POOL_AHEAD; i++)
            locus_pool_fetch(hot, out + i);
}

locus_block locus_pool_alloc_unusual(struct locus_pool *pool); // private to the function below

inline locus_block locus_pool_alloc_inline(struct locus_pool *pool)
{
    struct locus_pool_hot *hot = locus_pool_hot(pool);
    return locus_pool_plain_one(hot) ? locus_pool_take_plain(hot) : locus_pool_alloc_unusual(pool);
}

#ifdef __cplusplus
}
#endif

#endif
