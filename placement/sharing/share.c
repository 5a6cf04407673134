// SPDX-License-Identifier: Apache-2.0
//
// share: fork, truncate and write. The counts are the pool's (pools/shared.c); here is what they mean for tables.
//
// A write replaces shared blocks before it adds new ones, one after the other. If the pool runs out in between, the replaced ones
// stay replaced: they hold the same first tokens.

#include "share_internal.h"

#include <errno.h>
#include <string.h>

#include "placement/base/rules.h"
#include "placement/blocks/owner_internal.h"
#include "placement/blocks/pools/shared.h"

static uint64_t home_bit(const struct locus_owner *owner)
{
    return UINT64_C(1) << locus_owner_pool(owner)->home;
}

uint32_t locus_pool_holders(const struct locus_pool *pool, locus_block block)
{
    if (locus_pool_check(pool, block))
        return 0;
    return 1 + (pool->sharing ? pool->sharing[locus_block_index(block)] & POOL_SHARERS : 0);
}

// --- fork ----------------------------------------------------------------------------------------------------------------------

static inline int fork_fault(const struct locus_owner *owner, const struct locus_table *from, const struct locus_table *to)
{
    if (!locus_owner_held_here(owner))
        return -EPERM;
    if (from->state != LOCUS_TABLE_LIVE || to->state != LOCUS_TABLE_LIVE || to->tokens_per_block != from->tokens_per_block)
        return -EINVAL;
    if (from == to)
        return -EINVAL;
    if (to->homes_max < LOCUS_HOMES_MAX && from->homes >> to->homes_max)
        return -EXDEV;
    return from->count > to->capacity ? -ENOSPC : 0;
}

int locus_owner_fork(struct locus_owner *owner, const struct locus_table *from, struct locus_table *to)
{
    RULE(locus_owner_held_here(owner), RULE_ROLE);
    struct locus_pool *pool = locus_owner_pool(owner);
    uint32_t count = from->count, dropped = from->dropped;
    int error = fork_fault(owner, from, to);
    if (!error && (to->count || !pool->sharing))
        error = -EINVAL;
    if (!error && from->homes & ~(UINT64_C(1) << pool->home))
        error = -EXDEV;
    if (!error)
        error = pool_share(pool, count - dropped, from->blocks + dropped, to->tag);
    if (error)
        return error;
    memcpy(to->blocks, from->blocks, count * sizeof *to->blocks);
    to->count = count;
    to->dropped = dropped;
    to->homes = from->homes;
    return 0;
}

// The next run of blocks of this home, from *at on; its length, or 0.
static uint32_t run_of(const struct locus_pool *pool, const struct locus_table *table, uint32_t end, uint32_t *at)
{
    uint32_t length = 0;
    while (*at < end && locus_block_home(table->blocks[*at]) != pool->home)
        ++*at;
    while (*at + length < end && locus_block_home(table->blocks[*at + length]) == pool->home)
        length++;
    return length;
}

// Nobody holds this home's blocks before `end` for this table: it never did.
static void undo_until(struct locus_pool *pool, const struct locus_table *table, uint32_t end)
{
    for (uint32_t at = table->dropped, length; (length = run_of(pool, table, end, &at)); at += length)
        pool_unshare(pool, length, table->blocks + at);
}

// Lets go of this home's blocks.
static void unshare_all(struct locus_pool *pool, const struct locus_table *table)
{
    for (uint32_t at = table->dropped, length; (length = run_of(pool, table, table->count, &at)); at += length)
        locus_pool_free_bulk(pool, length, table->blocks + at, table->tag);
}

int locus_owner_fork_at(struct locus_owner *owner, const struct locus_table *from, struct locus_table *to, uint64_t *homes_left)
{
    RULE(locus_owner_held_here(owner), RULE_ROLE);
    struct locus_pool *pool = locus_owner_pool(owner);
    int error = fork_fault(owner, from, to);
    if (!error && (!pool->sharing || (to->count && *homes_left & ~to->homes)))
        error = -EINVAL;
    if (error)
        return error;
    if (to->count == 0) {
        memcpy(to->blocks, from->blocks, from->count * sizeof *to->blocks);
        to->count = from->count;
        to->dropped = from->dropped;
        *homes_left = to->homes = from->homes;
    }
    if (!(*homes_left & home_bit(owner)))
        return 0;
    bool first = *homes_left == to->homes;
    for (uint32_t at = to->dropped, length; !error && (length = run_of(pool, to, to->count, &at)); at += length) {
        error = pool_share(pool, length, to->blocks + at, to->tag);
        if (error)
            undo_until(pool, to, at);
    }
    if (!error) {
        *homes_left &= ~home_bit(owner);
    } else if (first) {
        to->count = to->dropped = 0;
        to->homes = *homes_left = 0;
    }
    return error;
}

int locus_owner_unfork_at(struct locus_owner *owner, struct locus_table *to, uint64_t *homes_left)
{
    RULE(locus_owner_held_here(owner), RULE_ROLE);
    if (!locus_owner_held_here(owner))
        return -EPERM;
    if (to->state != LOCUS_TABLE_LIVE || *homes_left & home_bit(owner) || !(to->homes & home_bit(owner)))
        return -EINVAL;
    unshare_all(locus_owner_pool(owner), to);
    *homes_left |= home_bit(owner);
    if (*homes_left == to->homes) {
        to->count = to->dropped = 0;
        to->homes = *homes_left = 0;
    }
    return 0;
}

int locus_owner_truncate_tokens(struct locus_owner *owner, struct locus_table *table, uint64_t tokens)
{
    uint64_t keep = locus_table_blocks_for(table, tokens);
    return locus_owner_truncate(owner, table, keep < table->count ? (uint32_t)keep : table->count);
}

// --- write ---------------------------------------------------------------------------------------------------------------------

// Where it begins and ends, in blocks. Divisions are slow beside a copy of few bytes, so each is done once.
struct extent {
    uint64_t begin, end;
    uint64_t used;              // tokens of the first block
    size_t token_bytes;         // in each plane; 0: they do not divide the block
};

static inline struct extent extent_of(const struct share_write *write, const struct locus_pool *pool)
{
    uint64_t per_block = write->table->tokens_per_block, parts = write->planes * per_block;
    struct extent extent = {.begin = write->first / per_block};
    extent.used = write->first - extent.begin * per_block;
    extent.end = extent.begin + (extent.used > 0 || write->count > 0);
    uint64_t after;
    if (write->count > per_block - extent.used)
        extent.end = __builtin_add_overflow(write->first, write->count, &after) ? UINT64_MAX // no table has room for that
                                                                                : locus_table_blocks_for(write->table, after);
    size_t token_bytes = parts ? pool->block_bytes / parts : 0;
    extent.token_bytes = token_bytes * parts == pool->block_bytes ? token_bytes : 0;
    return extent;
}

static inline int write_fault(const struct share_write *write, const struct extent *extent)
{
    const struct locus_table *table = write->table;
    if (!holds_role(write->owner))
        return -EPERM;
    uint64_t left = table->count - table->dropped, before = extent->begin - table->dropped; // in a dropped block: beyond all tables
    if (table->state != LOCUS_TABLE_LIVE || extent->token_bytes == 0 || before >= left + (extent->used == 0))
        return -EINVAL;
    return extent->end > table->capacity ? -ENOSPC : 0;
}

// The first `tokens` tokens of each plane.
static void copy(const struct share_write *write, void *to, const void *from, size_t token_bytes, uint64_t tokens)
{
    size_t plane_bytes = token_bytes * write->table->tokens_per_block, bytes = token_bytes * tokens;
    for (uint32_t i = 0; i < write->planes && bytes; i++)
        memcpy((char *)to + i * plane_bytes, (const char *)from + i * plane_bytes, bytes);
}

// A block of this owner's, through the owner's grow, which waits, reclaims and notes the tag: the table's end is its only door, so
// the new block goes to the end of a table of one. And the old block is let go.
static int replace_slow(const struct share_write *write, locus_block old, bool foreign, locus_block *fresh)
{
    const struct locus_table *table = write->table;
    struct locus_pool *pool = locus_owner_pool(write->owner);
    struct locus_table one = {.blocks = fresh,
                              .homes = table->homes,
                              .tag = table->tag,
                              .capacity = 1,
                              .state = table->state,
                              .homes_max = table->homes_max};
    int error = locus_owner_grow(write->owner, &one, 1);
    if (error)
        return error;
    if (foreign)
        error = locus_table_append(write->leavers, old);
    else
        locus_pool_free_bulk(pool, 1, &old, table->tag);
    if (error)
        locus_pool_free_bulk(pool, 1, fresh, table->tag);
    return error;
}

// The copy is last: nobody else can take the old block before this call ends, and a copy drives out of the caches what the rest
// works on.
static int replace(const struct share_write *write, struct locus_pool *pool, uint32_t at, size_t token_bytes, uint64_t tokens)
{
    struct locus_table *table = write->table;
    locus_block old = table->blocks[at], fresh;
    bool foreign = locus_block_home(old) != pool->home;
    if (foreign && (!write->leavers || write->leavers->count == write->leavers->capacity))
        return write->leavers ? -ENOSPC : -EXDEV;
    const void *from = foreign ? write->address(write->context, old) : pool_address(pool, old);
    fresh = foreign ? LOCUS_BLOCK_NONE : pool_replace_fast(pool, old);
    int error = fresh == LOCUS_BLOCK_NONE ? replace_slow(write, old, foreign, &fresh) : 0;
    if (error)
        return error;
    table->blocks[at] = fresh;
    if (foreign)
        table->homes = table_homes(table);
    copy(write, pool_address(pool, fresh), from, token_bytes, tokens);
    return 0;
}

static inline bool may_write(const struct locus_pool *pool, locus_block block)
{
    return locus_block_home(block) == pool->home &&
           (!pool->sharing || (pool->sharing[locus_block_index(block)] & ~POOL_BY_TAG) == 0);
}

int share_write_needs(const struct share_write *write, uint32_t *needs)
{
    const struct locus_table *table = write->table;
    const struct locus_pool *pool = locus_owner_pool(write->owner);
    struct extent extent = extent_of(write, pool);
    int error = write_fault(write, &extent);
    *needs = 0;
    if (error || write->count == 0)
        return error;
    for (uint64_t at = extent.begin; at < extent.end && at < table->count; at++)
        *needs += !may_write(pool, table->blocks[at]);
    *needs += extent.end > table->count ? (uint32_t)extent.end - table->count : 0;
    return 0;
}

int share_write(const struct share_write *write)
{
    struct locus_table *table = write->table;
    struct locus_pool *pool = locus_owner_pool(write->owner);
    struct extent extent = extent_of(write, pool);
    int error = write_fault(write, &extent);
    if (error || write->count == 0)
        return error;
    for (uint32_t at = (uint32_t)extent.begin; !error && at < extent.end && at < table->count; at++)
        if (!may_write(pool, table->blocks[at]))
            error = replace(write, pool, at, extent.token_bytes, at == extent.begin ? extent.used : 0);
    if (!error && extent.end > table->count)
        error = locus_owner_grow(write->owner, table, (uint32_t)extent.end - table->count);
    return error;
}

int locus_owner_write(struct locus_owner *owner, struct locus_table *table, uint64_t first, uint64_t count, uint32_t planes)
{
    RULE(locus_owner_held_here(owner), RULE_ROLE);
    struct share_write write = {.owner = owner, .table = table, .first = first, .count = count, .planes = planes};
    return share_write(&write);
}
