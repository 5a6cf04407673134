// SPDX-License-Identifier: Apache-2.0
//
// expandable: PyTorch's caching allocator with expandable segments. Each pool has one endless range of addresses, in which memory
// is mapped by pieces of 20 MiB, of 2 MiB in the pool for requests up to 1 MiB. What is contiguous in the range may lie anywhere in
// the region, so a free piece is never in the wrong place: only its inside can be.
//
// The smallest free block with memory that is large enough is taken, and what is left of it stays. If there is none, the smallest
// hole of addresses that is long enough gets memory, together with the free block before it; the range's end is such a hole. When
// the region has no piece left, all pieces that no sequence touches go back to it, in the middle of the range, too (collection).
//
// A piece is rounded down to whole tokens, so that none lies in two. The driver's own time is not counted.

#include <errno.h>
#include <stdlib.h>

#include "testbed/strategies/caching_blocks.h"

#define ENDLESS_PIECES (UINT64_C(1) << 32) // far more than anybody maps

struct expandable {
    struct tb_caching base;     // blocks have addresses of a range, which are no places in the region
    struct range {
        uint64_t piece_bytes;
        uint64_t *place;        // in the region, of each piece from the range's beginning on
        uint64_t room;
        struct tb_block *first; // joining keeps it
    } range[TB_CACHING_POOLS];
};

static void expandable_close(void *state)
{
    struct expandable *expandable = state;
    if (expandable) {
        tb_caching_close(&expandable->base);
        for (size_t i = 0; i < TB_CACHING_POOLS; i++)
            free(expandable->range[i].place);
    }
    free(expandable);
}

static int range_open(struct expandable *expandable, uint8_t pool, uint64_t piece_bytes)
{
    struct range *range = &expandable->range[pool];
    uint64_t token_bytes = expandable->base.setup->kv->token_bytes;
    range->piece_bytes = piece_bytes > token_bytes ? piece_bytes / token_bytes * token_bytes : token_bytes;
    range->first = tb_caching_segment(&expandable->base, pool + TB_CACHING_POOLS, 0, ENDLESS_PIECES * range->piece_bytes);
    if (!range->first)
        return -ENOMEM;
    tb_caching_add(&expandable->base, range->first);
    return 0;
}

static int expandable_open(const struct tb_strategy_setup *setup, void **state)
{
    struct expandable *expandable = calloc(1, sizeof *expandable);
    int error = expandable ? tb_caching_open(&expandable->base, setup, setup->kv->tokens * setup->kv->token_bytes) : -ENOMEM;
    if (!error)
        error = range_open(expandable, TB_CACHING_POOL_SMALL, TB_CACHING_SMALL_SEGMENT);
    if (!error)
        error = range_open(expandable, TB_CACHING_POOL_LARGE, TB_CACHING_LARGE_SEGMENT);
    if (error) {
        expandable_close(expandable);
        return error;
    }
    *state = expandable;
    return 0;
}

// --- mapping -------------------------------------------------------------------------------------------------------------------

static bool has_memory(const struct tb_block *block)
{
    return block->set < TB_CACHING_POOLS;
}

static uint64_t pieces_for(const struct range *range, uint64_t bytes)
{
    return (bytes + range->piece_bytes - 1) / range->piece_bytes;
}

static uint64_t pieces_free(const struct expandable *expandable, const struct range *range)
{
    uint64_t pieces = 0;
    for (uint32_t i = 0; i < expandable->base.region.count; i++)
        pieces += expandable->base.region.free[i].length / range->piece_bytes;
    return pieces;
}

static int places_room(struct range *range, uint64_t count)
{
    if (count <= range->room)
        return 0;
    uint64_t room = count > range->room * 2 ? count : range->room * 2;
    uint64_t *more = reallocarray(range->place, room, sizeof *more);
    if (!more)
        return -ENOMEM;
    range->place = more;
    range->room = room;
    return 0;
}

// Memory for a hole's first `bytes`, or for all of it, in whole pieces, which the region has. Returns the free block that these are
// now in. NULL: no memory for our own books.
static struct tb_block *map(struct expandable *expandable, struct tb_block *hole, uint64_t bytes)
{
    struct tb_caching *base = &expandable->base;
    struct range *range = &expandable->range[hole->set - TB_CACHING_POOLS];
    uint64_t pieces = pieces_for(range, bytes < hole->bytes ? bytes : hole->bytes), first = hole->start / range->piece_bytes;
    if (places_room(range, first + pieces))
        return NULL;
    tb_caching_remove(base, hole);
    struct tb_block *rest = NULL;
    if (hole->bytes > pieces * range->piece_bytes) {
        rest = tb_caching_cut(base, hole, pieces * range->piece_bytes);
        if (!rest) {
            tb_caching_add(base, hole);
            return NULL;
        }
    }
    for (uint64_t i = first; i < first + pieces; i++)
        range->place[i] = tb_extents_take_first(&base->region, range->piece_bytes);
    hole->set -= TB_CACHING_POOLS;
    if (rest)
        tb_caching_add(base, rest);
    return tb_caching_add(base, hole);
}

// Of a free block, what a collection gives back.
static uint64_t whole_pieces(const struct range *range, const struct tb_block *block)
{
    uint64_t end = (block->start + block->bytes) / range->piece_bytes, begin = pieces_for(range, block->start);
    return end > begin ? end - begin : 0;
}

// The middle of a block that is in no set; its other parts are free again. NULL: no memory, and all of it is free again.
static struct tb_block *middle_of(struct tb_caching *base, struct tb_block *block, uint64_t begin, uint64_t end)
{
    struct tb_block *middle = block;
    if (block->start + block->bytes > end) {
        struct tb_block *after = tb_caching_cut(base, block, end - block->start);
        block->taken = after; // or they would join again
        tb_caching_add(base, after ? after : block);
        if (!after)
            return NULL;
        block->taken = false;
    }
    if (block->start < begin) {
        middle = tb_caching_cut(base, block, begin - block->start);
        if (middle)
            middle->taken = true;
        tb_caching_add(base, block);
        if (middle)
            middle->taken = false;
    }
    return middle;
}

// Gives the whole pieces of a free block back, of which there are some.
static int unmap(struct expandable *expandable, struct tb_block *block)
{
    struct range *range = &expandable->range[block->set];
    uint64_t begin = pieces_for(range, block->start), end = begin + whole_pieces(range, block);
    int error = 0;
    tb_caching_remove(&expandable->base, block);
    block = middle_of(&expandable->base, block, begin * range->piece_bytes, end * range->piece_bytes);
    if (!block)
        return -ENOMEM;
    block->set += TB_CACHING_POOLS;
    tb_caching_add(&expandable->base, block);
    for (uint64_t i = begin; i < end && !error; i++)
        error = tb_extents_give(&expandable->base.region, range->place[i], range->piece_bytes);
    return error;
}

static int collect(struct expandable *expandable)
{
    int error = 0;
    for (size_t i = 0; i < TB_CACHING_POOLS; i++) {
        const struct tb_block_set *set = &expandable->base.set[i];
        for (uint32_t at = set->count; at-- > 0 && !error && set->block[at]->bytes >= expandable->range[i].piece_bytes;) {
            if (whole_pieces(&expandable->range[i], set->block[at]) == 0)
                continue;
            error = unmap(expandable, set->block[at]);
            at = set->count; // what is left of it is elsewhere in the set
        }
    }
    return error;
}

// --- finding -------------------------------------------------------------------------------------------------------------------

// What a free block could be without another one's leaving.
static uint64_t reach(const struct tb_block *block)
{
    return block->bytes + (block->next && !has_memory(block->next) ? block->next->bytes : 0);
}

static struct tb_block *cached(struct expandable *expandable, uint8_t pool, uint64_t bytes)
{
    const struct tb_block_set *set = &expandable->base.set[pool];
    uint32_t i = tb_block_set_from(set, bytes);
    if (i == set->count)
        return NULL;
    while (i + 1 < set->count && reach(set->block[i + 1]) < reach(set->block[i]))
        i++;
    struct tb_block *block = set->block[i];
    tb_caching_remove(&expandable->base, block);
    return block;
}

// From `block` on, are there so many addresses before the next taken one? *pieces: what they lack.
static bool fits(const struct range *range, const struct tb_block *block, uint64_t bytes, uint64_t *pieces)
{
    uint64_t have = 0;
    *pieces = 0;
    for (; block && !block->taken && have < bytes; block = block->next) {
        uint64_t lacking = bytes - have < block->bytes ? bytes - have : block->bytes;
        *pieces += has_memory(block) ? 0 : pieces_for(range, lacking);
        have += block->bytes;
    }
    return have >= bytes;
}

// The smallest hole that is long enough with what is free around it gets memory. -EAGAIN: the region lacks the pieces.
static int grow(struct expandable *expandable, uint8_t pool, uint64_t bytes, struct tb_block **out)
{
    const struct tb_block_set *holes = &expandable->base.set[pool + TB_CACHING_POOLS];
    struct range *range = &expandable->range[pool];
    struct tb_block *block = NULL;
    uint64_t pieces = 0;
    for (uint32_t i = 0; i < holes->count; i++) {
        block = holes->block[i];
        if (block->previous && !block->previous->taken)
            block = block->previous;
        if (fits(range, block, bytes, &pieces))
            break;
    }
    if (pieces > pieces_free(expandable, range))
        return -EAGAIN;
    if (!has_memory(block))
        block = map(expandable, block, bytes);
    while (block && block->bytes < bytes)
        block = map(expandable, block->next, bytes - block->bytes);
    if (!block)
        return -ENOMEM;
    tb_caching_remove(&expandable->base, block);
    *out = block;
    return 0;
}

static int expandable_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached_tokens)
{
    struct expandable *expandable = state;
    const struct tb_kv *kv = expandable->base.setup->kv;
    uint64_t bytes = most * kv->token_bytes;
    uint8_t pool = tb_caching_pool(bytes);
    const struct range *range = &expandable->range[pool];
    int error = 0;
    (void)prompt;
    *cached_tokens = 0;
    if (pieces_for(range, bytes) > kv->tokens * kv->token_bytes / range->piece_bytes)
        return -ENOSPC;
    struct tb_block *block = cached(expandable, pool, bytes);
    if (!block)
        error = grow(expandable, pool, bytes, &block);
    if (error == -EAGAIN) {
        error = collect(expandable);
        error = error ? error : grow(expandable, pool, bytes, &block);
    }
    return error ? error : tb_caching_seat(&expandable->base, sequence, block, bytes);
}

static void expandable_release(void *state, uint32_t sequence, bool keep)
{
    struct expandable *expandable = state;
    (void)keep;
    tb_caching_leave(&expandable->base, sequence);
}

static void *expandable_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct expandable *expandable = state;
    const struct tb_kv *kv = expandable->base.setup->kv;
    const struct tb_block *block = expandable->base.seat[sequence];
    const struct range *range = &expandable->range[block->set];
    uint64_t address = block->start + position * kv->token_bytes, within = address % range->piece_bytes;
    *run = (uint32_t)((range->piece_bytes - within) / kv->token_bytes);
    return kv->base + range->place[address / range->piece_bytes] + within;
}

// --- usage ---------------------------------------------------------------------------------------------------------------------

// The longest run of addresses between two sequences, as far as there is memory after a collection. Not exact: a collection of the
// other pool may make a piece more, and the search for a hole stops at the first that is long enough, though another may lack less.
static uint64_t largest_in(const struct expandable *expandable, uint8_t pool)
{
    const struct range *range = &expandable->range[pool];
    uint64_t pieces = pieces_free(expandable, range), run = 0, kept = 0, longest = 0;
    for (const struct tb_block *block = range->first; block; block = block->next)
        pieces += !block->taken && has_memory(block) ? whole_pieces(range, block) : 0;
    for (const struct tb_block *block = range->first; block; block = block->next) {
        run = block->taken ? 0 : run + block->bytes;
        kept = block->taken ? 0 : kept;
        if (!block->taken && has_memory(block))
            kept += block->bytes - whole_pieces(range, block) * range->piece_bytes;
        uint64_t bytes = kept + pieces * range->piece_bytes;
        bytes = run < bytes ? run : bytes;
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

static uint64_t largest(const struct expandable *expandable)
{
    uint64_t small = largest_in(expandable, TB_CACHING_POOL_SMALL), large = largest_in(expandable, TB_CACHING_POOL_LARGE);
    small = small < TB_CACHING_SMALL ? small : TB_CACHING_SMALL;
    return large > small ? large : small;
}

static void expandable_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct expandable *expandable = state;
    tb_caching_usage(&expandable->base, below, largest(expandable), out);
}

static int expandable_audit(void *state, char *why, size_t why_bytes)
{
    const struct expandable *expandable = state;
    const struct tb_kv *kv = expandable->base.setup->kv;
    return tb_caching_audit(&expandable->base, kv->tokens * kv->token_bytes, why, why_bytes);
}

static const struct tb_strategy_ops ops = {
    .open = expandable_open,
    .close = expandable_close,
    .admit = expandable_admit,
    .extend = tb_caching_extend,
    .cut = tb_caching_shorten,
    .release = expandable_release,
    .at = expandable_at,
    .usage = expandable_usage,
    .audit = expandable_audit,
};

static const struct tb_strategy expandable = {.name = "caching-expandable",
                                              .summary = "the same in one range of addresses, with memory mapped by 20 MiB",
                                              .ops = &ops,
                                              .promises = true};
TB_STRATEGY(expandable);
