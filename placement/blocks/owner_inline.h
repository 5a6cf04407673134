// SPDX-License-Identifier: Apache-2.0
//
// owner_inline: the owner's and the pushers' usual cases as inline functions, for an engine that wants them in its own code.
//
// Each function does what its namesake without `_inline` does (owner.h, pool.h), misuse included, and is how that one is written:
// the usual case is here, all else is in the library. With -DLOCUS_INLINE the plain names stand for them, so a program need not
// be changed. What they read of an owner is its first line, which may change as any interface may (version.h).
#ifndef LOCUS_OWNER_INLINE_H
#define LOCUS_OWNER_INLINE_H

#include "owner.h"
#include "pool_inline.h"

#ifdef __cplusplus
extern "C" {
#endif

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
int locus_owner_grow_unusual(struct locus_owner *owner, struct locus_table *table, uint32_t count);
uint32_t locus_owner_drain_unusual(struct locus_owner *owner);
struct locus_table *locus_owner_next_reclaimed_unusual(struct locus_owner *owner);

// A decode step asks for one block for a table that already has some of this home. False: this is another case.
inline bool locus_owner_grow_one(struct locus_owner *owner, struct locus_table *table)
{
    const struct locus_owner_hot *hot = locus_owner_hot(owner);
    struct locus_pool_hot *pool = locus_pool_hot(hot->pool);
    uint32_t at = table->count;
    bool usual = table->state == LOCUS_TABLE_LIVE && (table->homes & hot->home_bit) && at < table->capacity &&
                 locus_pool_plain_one(pool) && locus_owner_is_here(hot);
    if (__builtin_expect(!usual, 0))
        return false;
    table->blocks[at] = locus_pool_take_plain(pool);
    table->count = at + 1;
    return true;
}

inline bool locus_owner_grow_many(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    const struct locus_owner_hot *hot = locus_owner_hot(owner);
    struct locus_pool_hot *pool = locus_pool_hot(hot->pool);
    uint32_t at = table->count;
    bool usual = count && table->state == LOCUS_TABLE_LIVE && table->capacity - at >= count && hot->home < table->homes_max &&
                 locus_pool_plain(pool, count) && locus_owner_is_here(hot);
    if (__builtin_expect(!usual, 0))
        return false;
    locus_pool_take_many(pool, count, table->blocks + at);
    table->count = at + count;
    table->homes |= hot->home_bit;
    return true;
}

inline int locus_owner_grow_inline(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    if (count == 1 ? locus_owner_grow_one(owner, table) : locus_owner_grow_many(owner, table, count))
        return 0;
    return locus_owner_grow_unusual(owner, table, count);
}

inline uint32_t locus_owner_drain_inline(struct locus_owner *owner)
{
    const struct locus_owner_hot *hot = locus_owner_hot(owner);
    uint32_t lane = 0, count = hot->lanes_count;
    if (__builtin_expect(!locus_owner_is_here(hot) || hot->unfinished, 0))
        return locus_owner_drain_unusual(owner);
    while (lane < count && locus_lane_empty(&hot->lanes[lane], &hot->ends[lane]))
        lane++;
    return lane == count ? 0 : locus_owner_drain_unusual(owner);
}

inline struct locus_table *locus_owner_next_reclaimed_inline(struct locus_owner *owner)
{
    struct locus_owner_hot *hot = locus_owner_hot(owner);
    if (__builtin_expect(!locus_owner_is_here(hot), 0))
        return locus_owner_next_reclaimed_unusual(owner);
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
