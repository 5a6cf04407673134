// SPDX-License-Identifier: Apache-2.0
//
// shared: blocks with several holders, and blocks that are kept although nobody holds them.
//
//     free --alloc--> out --last holder leaves--> free
//                     ^ |
//        revive       | | last holder leaves, and the block is published
//                     | v
//                     kept --evict--> free
//
// One word a block says how many hold it beyond the first, whether a prefix cache has published it, and whether it is kept. The
// words are plain integers: only the home's owner touches them. A handle stays the same from the alloc until the block is free
// again, so all holders have the same one, and a handle that outlives its last holder is refused by its generation as in any pool.
// A kept block's generation is that of its handle, so the bit tells a second free of it.
//
// With tags, a block's first holder is in tags[], the others are in a list, the last one first. A holder who leaves is looked for
// by its tag, so a request that frees a shared block twice is refused, and does not take away what another one holds. That goes for
// the last holder, too, once another one has left with the same handle (POOL_BY_TAG): of several, or of a kept block before it was
// revived. A block that has had one holder only is not looked at so closely: nobody else has its handle. Without tags nobody can
// tell whose reference it was: the block would go home early, and the handle of the last one be refused.

#include "placement/blocks/pools/shared.h"

#include <errno.h>
#include <stdlib.h>

// --- who holds a block ---------------------------------------------------------------------------------------------------------

static int holders_grow(struct locus_pool *pool)
{
    uint32_t room = pool->holders_room ? 2 * pool->holders_room : 64;
    struct pool_holder *holders = room < POOL_NO_HOLDER ? realloc(pool->holders, room * sizeof *holders) : NULL;
    if (!holders)
        return -ENOMEM;
    for (uint32_t i = pool->holders_room; i < room; i++)
        holders[i].next = i + 1 < room ? i + 1 : pool->holders_free;
    pool->holders_free = pool->holders_room;
    pool->holders_room = room;
    pool->holders = holders;
    return 0;
}

static int holder_add(struct locus_pool *pool, uint32_t index, uint64_t tag)
{
    int error = pool->holders_free == POOL_NO_HOLDER ? holders_grow(pool) : 0;
    if (error)
        return error;
    uint32_t at = pool->holders_free;
    pool->holders_free = pool->holders[at].next;
    pool->holders[at] = (struct pool_holder){.tag = tag, .next = pool->holders_first[index]};
    pool->holders_first[index] = at;
    return 0;
}

// Takes the holder off the list that `link` begins, and returns its tag.
static uint64_t holder_take(struct locus_pool *pool, uint32_t *link)
{
    uint32_t at = *link;
    uint64_t tag = pool->holders[at].tag;
    *link = pool->holders[at].next;
    pool->holders[at].next = pool->holders_free;
    pool->holders_free = at;
    return tag;
}

// pre: the block has several holders. False: this tag is not among them.
static bool holder_drop(struct locus_pool *pool, uint32_t index, uint64_t tag)
{
    uint32_t *link = &pool->holders_first[index];
    if (pool->tags[index] == tag) {
        __atomic_store_n(&pool->tags[index], holder_take(pool, link), __ATOMIC_RELAXED);
        return true;
    }
    while (*link != POOL_NO_HOLDER && pool->holders[*link].tag != tag)
        link = &pool->holders[*link].next;
    if (*link == POOL_NO_HOLDER)
        return false;
    holder_take(pool, link);
    return true;
}

// --- share and free ------------------------------------------------------------------------------------------------------------

// The holders that came last, at the heads of their lists.
static void unshare(struct locus_pool *pool, uint32_t count, const locus_block blocks[])
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = locus_block_index(blocks[i]);
        pool->sharing[index]--;
        if (pool->holders_first)
            holder_take(pool, &pool->holders_first[index]);
    }
}

static int share_one(struct locus_pool *pool, locus_block block, uint64_t tag)
{
    int error = locus_pool_check(pool, block);
    if (error)
        return error;
    uint32_t index = locus_block_index(block);
    if ((pool->sharing[index] & POOL_SHARERS) == POOL_SHARERS)
        return -EOVERFLOW;
    error = pool->holders_first ? holder_add(pool, index, tag) : 0;
    pool->sharing[index] += !error;
    return error;
}

// A handle's block, if it is of this home; else a number that no pool has.
static inline uint32_t own_index(uint32_t home, locus_block block)
{
    return (uint32_t)(block >> 32) - home * LOCUS_BLOCKS_MAX;
}

// Without tags: shares from the front as long as nothing is unusual (live handles of this home, few holders), and returns how many
// it shared. Everything is in locals, as in free_fast().
static inline uint32_t share_fast(const struct locus_pool *pool, uint32_t count, const locus_block blocks[])
{
    uint32_t *sharing = pool->sharing, done = 0;
    const uint32_t *generations = pool->generation;
    uint32_t home = pool->home, blocks_max = pool->blocks;
#pragma GCC unroll 4
    for (; done < count; done++) {
        uint32_t index = own_index(home, blocks[done]), generation = locus_block_generation(blocks[done]);
        if (index >= blocks_max || generations[index] != generation || generation == POOL_GENERATION_WORN)
            break;
        uint32_t word = sharing[index];
        if ((word & ~POOL_PUBLISHED) >= POOL_SHARERS) // or it is kept
            break;
        sharing[index] = word + 1;
    }
    return done;
}

// After the first `done`. What was shared before an error is undone.
static __attribute__((noinline)) int share_slow(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag,
                                                uint32_t done)
{
    while (done < count) {
        int error = share_one(pool, blocks[done], tag);
        if (error) {
            unshare(pool, done, blocks);
            return error;
        }
        done++;
        done += pool->holders_first ? 0 : share_fast(pool, count - done, blocks + done);
    }
    counter_add(&pool->counters.sharers, count);
    return 0;
}

int pool_share(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag)
{
    uint32_t done = pool->holders_first ? 0 : share_fast(pool, count, blocks);
    if (__builtin_expect(done < count, 0))
        return share_slow(pool, count, blocks, tag, done);
    counter_add(&pool->counters.sharers, count);
    return 0;
}

void pool_unshare(struct locus_pool *pool, uint32_t count, const locus_block blocks[])
{
    unshare(pool, count, blocks);
    counter_add(&pool->counters.sharers, -(uint64_t)count);
}

// Without tags: takes one holder each from blocks[0], blocks[step], ... as long as they have several, and returns from how many.
static uint32_t release_fast(struct locus_pool *pool, uint32_t count, const locus_block *blocks, int step)
{
    uint32_t *sharing = pool->sharing, done = 0;
    const uint32_t *generations = pool->generation;
    uint32_t home = pool->home, blocks_max = pool->blocks;
    for (; done < count; done++, blocks += step) {
        uint32_t index = own_index(home, *blocks);
        if (index >= blocks_max || generations[index] != locus_block_generation(*blocks) || !(sharing[index] & POOL_SHARERS))
            break;
        sharing[index]--;
    }
    counter_add(&pool->counters.sharers, -(uint64_t)done);
    return done;
}

// Only a stack of used blocks: a grow would neither wait nor have anything else to note.
locus_block pool_replace_fast(struct locus_pool *pool, locus_block block)
{
    bool simple = pool->hot.top > pool->fresh && pool->reuse == LOCUS_REUSE_LIFO && !pool->holders_first;
    if (!simple || release_fast(pool, 1, &block, 1) == 0)
        return LOCUS_BLOCK_NONE;
    locus_block instead = locus_pool_alloc_fast(&pool->hot);
    pool_note_outstanding(pool);
    return instead;
}

static inline uint32_t by_tag(const struct locus_pool *pool)
{
    return pool->holders_first ? POOL_BY_TAG : 0;
}

// The last holder of a block that is published, or let go only by its tag.
static int release_watched(struct locus_pool *pool, locus_block block, uint64_t tag, uint32_t *home)
{
    uint32_t index = locus_block_index(block), sharing = pool->sharing[index];
    if (sharing & POOL_BY_TAG && pool->tags[index] != tag)
        return LOCUS_FREE_NOT_HELD + 1;
    ++*home;
    if (sharing & POOL_PUBLISHED) {
        pool->sharing[index] |= POOL_KEPT | POOL_KEPT_NOW;
        counter_add(&pool->counters.kept, 1);
    } else {
        pool->sharing[index] = 0;
        pool_put_home(pool, block);
    }
    return 0;
}

// 0: accepted; else why it is refused.
static int release(struct locus_pool *pool, locus_block block, uint64_t tag, uint32_t *home)
{
    if (locus_pool_check(pool, block))
        return (int)pool_error_kind(pool, block) + 1;
    uint32_t index = locus_block_index(block), sharing = pool->sharing[index];
    if (sharing & POOL_SHARERS) {
        if (pool->holders_first && !holder_drop(pool, index, tag))
            return LOCUS_FREE_NOT_HELD + 1;
        pool->sharing[index] = (sharing - 1) | by_tag(pool);
        counter_add(&pool->counters.sharers, UINT64_MAX);
        return 0;
    }
    if (sharing)
        return release_watched(pool, block, tag, home);
    ++*home;
    pool_put_home(pool, block);
    return 0;
}

// First to last: a policy hears of a block before it hears of those below it.
static void tell_keeper(struct locus_pool *pool, uint32_t count, const locus_block blocks[])
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = locus_block_index(blocks[i]);
        if (locus_block_home(blocks[i]) != pool->home || index >= pool->blocks || !(pool->sharing[index] & POOL_KEPT_NOW))
            continue;
        pool->sharing[index] &= ~POOL_KEPT_NOW;
        pool->keeper->keep(pool->keeper->context, blocks[i]);
    }
}

// In the order in which the chunk shall leave again (pool.c): the first one is the last to go on the stack, or the first in the
// ring.
uint32_t pool_free_shared(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag)
{
    uint32_t accepted = 0, home = 0;
    uint64_t kept = pool->counters.kept;
    bool backwards = pool->reuse == LOCUS_REUSE_LIFO;
    for (uint32_t i = 0; i < count; i++) {
        const locus_block *at = &blocks[backwards ? count - 1 - i : i];
        uint32_t usual = pool->holders_first ? 0 : release_fast(pool, count - i, at, backwards ? -1 : 1);
        accepted += usual;
        i += usual;
        if (i == count)
            break;
        locus_block block = blocks[backwards ? count - 1 - i : i];
        bool none_is_out = pool->hot.top + pool->counters.retired + pool->counters.kept == pool->blocks;
        int refused = none_is_out ? (int)pool_error_kind(pool, block) + 1 : release(pool, block, tag, &home);
        if (refused)
            pool_refuse(pool, (enum locus_free_error)(refused - 1), block, tag);
        else
            accepted++;
    }
    if (pool->counters.kept != kept)
        tell_keeper(pool, count, blocks);
    counter_add(&pool->counters.freed, home);
    return accepted;
}

// --- kept blocks ---------------------------------------------------------------------------------------------------------------

bool pool_reclaim(struct locus_pool *pool, uint32_t count)
{
    while (pool->hot.top < count && pool->keeper && pool->hot.top + pool->counters.kept >= count)
        pool->keeper->give(pool->keeper->context, count - pool->hot.top); // one that is worn out leaves, and is not free
    return pool->hot.top >= count;
}

void pool_publish(struct locus_pool *pool, locus_block block)
{
    pool->sharing[locus_block_index(block)] |= POOL_PUBLISHED;
}

void pool_unpublish(struct locus_pool *pool, locus_block block)
{
    pool->sharing[locus_block_index(block)] &= ~POOL_PUBLISHED;
}

void pool_revive(struct locus_pool *pool, locus_block block, uint64_t tag)
{
    uint32_t *sharing = &pool->sharing[locus_block_index(block)];
    *sharing = (*sharing & ~POOL_KEPT) | by_tag(pool);
    pool_note_tag(pool, block, tag);
    counter_add(&pool->counters.kept, UINT64_MAX);
    pool_note_outstanding(pool);
}

void pool_evict(struct locus_pool *pool, locus_block block)
{
    pool->sharing[locus_block_index(block)] = 0;
    counter_add(&pool->counters.kept, UINT64_MAX);
    pool_put_home(pool, block);
}
