// SPDX-License-Identifier: Apache-2.0
//
// caching: PyTorch's caching allocator, with the region in the driver's place. One block for each sequence, as long as it will be.
//
// Two pools, for requests up to 1 MiB and for larger ones. Blocks are cut from segments: 2 MiB in the small pool; 20 MiB in the
// large one, from 10 MiB on the request rounded up to 2 MiB. The smallest free block of the pool that is large enough is taken.
// What is left of it stays a free block if it is worth it: 512 bytes in the small pool, more than 1 MiB in the large one. Segments
// stay when they are free; only when the region has none for a request do all whole free ones go back (collection).
//
// caching-max-split leaves blocks of 128 MiB and more whole, for requests of about their size: the least that seed 003, 4.4, calls
// common. PyTorch would first give back only such blocks, if they are enough; here a collection is always of all.
//
// The region is the driver's memory, but a segment is one piece of it: no addresses are mapped (see expandable.c). The driver's own
// time is not counted.

#include <errno.h>
#include <stdlib.h>

#include "testbed/strategies/caching_blocks.h"

#define UNIT UINT64_C(512)
#define OWN_SEGMENT (10 * TB_MIB)
#define ROUND (2 * TB_MIB)
#define NO_MAX_SPLIT UINT64_MAX

struct caching {
    struct tb_caching base;
    uint64_t max_split;
    struct tb_block **whole;    // [whole_room]: scratch of usage
    uint32_t whole_room;
};

static void caching_close(void *state)
{
    struct caching *caching = state;
    if (caching) {
        tb_caching_close(&caching->base);
        free(caching->whole);
    }
    free(caching);
}

static int caching_open(const struct tb_strategy_setup *setup, void **state)
{
    struct caching *caching = calloc(1, sizeof *caching);
    int error = caching ? tb_caching_open(&caching->base, setup, setup->kv->tokens * setup->kv->token_bytes) : -ENOMEM;
    if (error) {
        caching_close(caching);
        return error;
    }
    caching->max_split = setup->strategy->parameter;
    *state = caching;
    return 0;
}

static uint64_t segment_bytes(uint64_t bytes)
{
    if (bytes <= TB_CACHING_SMALL)
        return TB_CACHING_SMALL_SEGMENT;
    return bytes < OWN_SEGMENT ? TB_CACHING_LARGE_SEGMENT : tb_round_up(bytes, ROUND);
}

// The smallest block that is large enough, out of its set, or NULL. A block that is not split is no use to a request much smaller.
static struct tb_block *cached(struct caching *caching, uint64_t bytes)
{
    const struct tb_block_set *set = &caching->base.set[tb_caching_pool(bytes)];
    uint32_t i = tb_block_set_from(set, bytes);
    struct tb_block *block = i < set->count ? set->block[i] : NULL;
    if (!block || (bytes < caching->max_split && block->bytes >= caching->max_split) ||
        (bytes >= caching->max_split && block->bytes >= bytes + TB_CACHING_LARGE_SEGMENT))
        return NULL;
    tb_caching_remove(&caching->base, block);
    return block;
}

static bool splits(const struct caching *caching, const struct tb_block *block, uint64_t bytes)
{
    uint64_t rest = block->bytes - bytes;
    return block->set == TB_CACHING_POOL_SMALL ? rest >= UNIT : bytes < caching->max_split && rest > TB_CACHING_SMALL;
}

// A new segment from the region. -EAGAIN: it has no piece that is long enough.
static int segment(struct caching *caching, uint64_t bytes, struct tb_block **out)
{
    uint64_t whole = segment_bytes(bytes), start = tb_extents_take_first(&caching->base.region, whole);
    if (start == TB_EXTENT_NONE)
        return -EAGAIN;
    *out = tb_caching_segment(&caching->base, tb_caching_pool(bytes), start, whole);
    if (*out)
        return 0;
    tb_extents_give(&caching->base.region, start, whole);
    return -ENOMEM;
}

static int give_segment(struct caching *caching, struct tb_block *block)
{
    int error = tb_extents_give(&caching->base.region, block->start, block->bytes);
    if (error)
        return error;
    tb_caching_remove(&caching->base, block);
    tb_caching_forget(&caching->base, block);
    return 0;
}

static bool whole(const struct tb_block *block)
{
    return !block->previous && !block->next;
}

static int collect(struct caching *caching)
{
    int error = 0;
    for (size_t i = 0; i < TB_CACHING_POOLS; i++) {
        const struct tb_block_set *set = &caching->base.set[i];
        for (uint32_t at = set->count; at-- > 0 && !error;) // from the end: what moves up was looked at already
            if (whole(set->block[at]))
                error = give_segment(caching, set->block[at]);
    }
    return error;
}

static int find(struct caching *caching, uint64_t bytes, struct tb_block **block)
{
    *block = cached(caching, bytes);
    int error = *block ? 0 : segment(caching, bytes, block);
    if (error == -EAGAIN) {
        error = collect(caching);
        error = error ? error : segment(caching, bytes, block);
    }
    return error;
}

static int caching_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached_tokens)
{
    struct caching *caching = state;
    const struct tb_kv *kv = caching->base.setup->kv;
    uint64_t bytes = tb_round_up(most * kv->token_bytes, UNIT);
    struct tb_block *block;
    (void)prompt;
    *cached_tokens = 0;
    if (segment_bytes(bytes) > kv->tokens * kv->token_bytes)
        return -ENOSPC;
    int error = find(caching, bytes, &block);
    if (error)
        return error;
    return tb_caching_seat(&caching->base, sequence, block, splits(caching, block, bytes) ? bytes : block->bytes);
}

static void caching_release(void *state, uint32_t sequence, bool keep)
{
    struct caching *caching = state;
    (void)keep;
    tb_caching_leave(&caching->base, sequence);
}

static void *caching_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct caching *caching = state;
    const struct tb_kv *kv = caching->base.setup->kv;
    const struct tb_block *block = caching->base.seat[sequence];
    *run = (uint32_t)(block->bytes / kv->token_bytes) - position;
    return kv->base + block->start + position * kv->token_bytes;
}

// --- usage ---------------------------------------------------------------------------------------------------------------------

static int by_start(const void *a, const void *b)
{
    const struct tb_block *x = *(struct tb_block *const *)a, *y = *(struct tb_block *const *)b;
    return (x->start > y->start) - (x->start < y->start);
}

static uint32_t whole_ones(struct caching *caching)
{
    uint32_t count = 0;
    for (size_t i = 0; i < TB_CACHING_POOLS; i++)
        for (uint32_t at = 0; at < caching->base.set[i].count; at++) {
            struct tb_block *block = caching->base.set[i].block[at];
            if (whole(block) && count < caching->whole_room)
                caching->whole[count++] = block;
        }
    if (count)
        qsort(caching->whole, count, sizeof(struct tb_block *), by_start);
    return count;
}

// The longest piece that the region would have after a collection.
static uint64_t longest_piece(struct caching *caching)
{
    const struct tb_extents *region = &caching->base.region;
    uint32_t count = whole_ones(caching), block = 0, extent = 0;
    uint64_t longest = 0, start = 0, end = 0;
    while (block < count || extent < region->count) {
        bool is_block = block < count && (extent == region->count || caching->whole[block]->start < region->free[extent].start);
        uint64_t from = is_block ? caching->whole[block]->start : region->free[extent].start;
        uint64_t bytes = is_block ? caching->whole[block++]->bytes : region->free[extent++].length;
        start = from == end ? start : from;
        end = from + bytes;
        longest = end - start > longest ? end - start : longest;
    }
    return longest;
}

// A cached block, or a new segment: all of it if that is 10 MiB in whole tokens, else only a small request.
static uint64_t largest(struct caching *caching)
{
    uint64_t piece = longest_piece(caching), bytes = piece / ROUND * ROUND, token_bytes = caching->base.setup->kv->token_bytes;
    if (segment_bytes(tb_round_up(bytes / token_bytes * token_bytes, UNIT)) > piece)
        bytes = TB_CACHING_SMALL;
    if (piece < TB_CACHING_SMALL_SEGMENT)
        bytes = 0;
    for (size_t i = 0; i < TB_CACHING_POOLS; i++) {
        const struct tb_block_set *set = &caching->base.set[i];
        uint64_t last = set->count ? set->block[set->count - 1]->bytes : 0;
        if (i == TB_CACHING_POOL_SMALL && last > TB_CACHING_SMALL)
            last = TB_CACHING_SMALL;
        bytes = last > bytes ? last : bytes;
    }
    return bytes;
}

static void caching_usage(void *state, uint64_t below, struct tb_usage *out)
{
    struct caching *caching = state;
    if (caching->whole_room < caching->base.blocks) {
        struct tb_block **more = reallocarray(caching->whole, caching->base.blocks, 2 * sizeof(struct tb_block *));
        caching->whole = more ? more : caching->whole;
        caching->whole_room = more ? caching->base.blocks * 2 : caching->whole_room;
    }
    tb_caching_usage(&caching->base, below, largest(caching), out);
}

static int caching_audit(void *state, char *why, size_t why_bytes)
{
    const struct caching *caching = state;
    const struct tb_kv *kv = caching->base.setup->kv;
    return tb_caching_audit(&caching->base, kv->tokens * kv->token_bytes, why, why_bytes);
}

static const struct tb_strategy_ops ops = {
    .open = caching_open,
    .close = caching_close,
    .admit = caching_admit,
    .extend = tb_caching_extend,
    .cut = tb_caching_shorten,
    .release = caching_release,
    .at = caching_at,
    .usage = caching_usage,
    .audit = caching_audit,
};

static const struct tb_strategy unlimited = {.name = "caching",
                                             .summary = "PyTorch's: blocks cut from cached segments, exact length",
                                             .ops = &ops,
                                             .parameter = NO_MAX_SPLIT,
                                             .promises = true};
TB_STRATEGY(unlimited);

static const struct tb_strategy limited = {.name = "caching-max-split",
                                           .summary = "the same, but blocks from 128 MiB on stay whole",
                                           .ops = &ops,
                                           .parameter = 128 * TB_MIB,
                                           .promises = true};
TB_STRATEGY(limited);
