// SPDX-License-Identifier: Apache-2.0
//
// classes: blocks of several sizes, each in slabs of its own.
//
//   slab-pow2          one class for each power of two of tokens. A sequence takes one block that holds all of it. A class
//                      without a free block takes a slab: a contiguous piece of the region, of one block or of 4,096 tokens if
//                      that is more. A slab of which all blocks are free goes back. (Seed 002 rejects this without a
//                      measurement.)
//   multi-slab         four fixed parts of the region, 10, 70, 15 and 5 % of it, with blocks in the proportion of 256 KiB, 2,
//                      32 and 256 MiB; 2 MiB are the cell's block. A sequence takes one block of the smallest class that holds
//                      all of it, and falls through to the next larger class when that is full (seed 003, 3)
//   multi-slab-blocks  the same parts, but a sequence takes as many blocks of a class as it needs, of the class that wastes
//                      least and has them; this is what the seed proposes against its own waste

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/strategies/contiguous.h"

#define CLASSES 32u
#define SLAB_TOKENS 4096u
enum { POW2, PARTS, PARTS_MANY };

struct slab_class {
    uint64_t block_tokens;
    uint64_t *free;             // first tokens of its free blocks, a stack
    uint32_t free_count, blocks, room;
};

struct classes {
    const struct tb_strategy_setup *setup;
    struct tb_extents region;   // what no slab has (pow2)
    struct slab_class class[CLASSES];
    uint32_t count;
    struct held {
        uint64_t *block;
        uint32_t blocks, class, tokens;
    } held[];                   // [sequences]; blocks 0: not live
};

static void classes_close(void *state)
{
    struct classes *all = state;
    if (!all)
        return;
    for (uint32_t c = 0; c < CLASSES; c++)
        free(all->class[c].free);
    for (uint32_t i = 0; i < all->setup->sequences; i++)
        free(all->held[i].block);
    tb_extents_close(&all->region);
    free(all);
}

// The blocks of a slab join the free ones of their class, the lowest on top.
static int slab_add(struct slab_class *class, uint64_t start, uint64_t tokens)
{
    uint32_t blocks = (uint32_t)(tokens / class->block_tokens);
    if (class->blocks + blocks > class->room) {
        uint32_t room = 2 * (class->blocks + blocks);
        uint64_t *more = reallocarray(class->free, room, sizeof *more);
        if (!more)
            return -ENOMEM;
        class->free = more;
        class->room = room;
    }
    for (uint32_t i = blocks; i-- > 0;)
        class->free[class->free_count++] = start + i * class->block_tokens;
    class->blocks += blocks;
    return 0;
}

static int parts_open(struct classes *all)
{
    // 256 KiB, 2 MiB, 32 MiB, 256 MiB: eighths of the second
    static const struct {
        uint32_t eighths, percent;
    } parts[] = {{1, 10}, {8, 70}, {128, 15}, {1024, 5}};
    uint64_t start = 0;
    for (uint32_t c = 0; c < 4; c++) {
        uint64_t tokens = all->setup->kv->tokens * parts[c].percent / 100;
        uint64_t block_tokens = (uint64_t)all->setup->block_tokens * parts[c].eighths / 8;
        all->class[c].block_tokens = block_tokens ? block_tokens : 1;
        int error = slab_add(&all->class[c], start, tokens);
        if (error)
            return error;
        start += tokens;
    }
    all->count = 4;
    return 0;
}

static int classes_open(const struct tb_strategy_setup *setup, void **state)
{
    struct classes *all = calloc(1, sizeof *all + setup->sequences * sizeof *all->held);
    if (!all)
        return -ENOMEM;
    all->setup = setup;
    int error = tb_extents_open(&all->region, setup->kv->tokens);
    if (!error && setup->strategy->parameter != POW2)
        error = parts_open(all);
    for (; setup->strategy->parameter == POW2 && all->count < CLASSES; all->count++)
        all->class[all->count].block_tokens = UINT64_C(1) << all->count;
    if (error) {
        classes_close(all);
        return error;
    }
    *state = all;
    return 0;
}

// --- slabs that come and go ------------------------------------------------------------------------------------------------------

static uint64_t slab_tokens(const struct slab_class *class)
{
    return class->block_tokens > SLAB_TOKENS ? class->block_tokens : SLAB_TOKENS;
}

static int slab_take(struct classes *all, struct slab_class *class)
{
    uint64_t start = tb_extents_take_first(&all->region, slab_tokens(class));
    return start == TB_EXTENT_NONE ? -EAGAIN : slab_add(class, start, slab_tokens(class));
}

static int compare_starts(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

// Gives back all slabs of which every block is free. All slabs have a multiple of SLAB_TOKENS, so each begins at one: free blocks
// of two neighbours in a row are none.
static void slabs_give(struct classes *all, struct slab_class *class)
{
    uint32_t each = (uint32_t)(slab_tokens(class) / class->block_tokens), kept = 0;
    qsort(class->free, class->free_count, sizeof *class->free, compare_starts); // descending
    for (uint32_t i = 0; i < class->free_count;) {
        uint32_t run = 1;
        while (run < each && i + run < class->free_count && class->free[i + run] + class->block_tokens == class->free[i + run - 1])
            run++;
        uint64_t start = class->free[i + run - 1];
        if (run == each && start % SLAB_TOKENS == 0 && tb_extents_give(&all->region, start, slab_tokens(class)) == 0) {
            class->blocks -= each;
            i += each;
        } else {
            class->free[kept++] = class->free[i++];
        }
    }
    class->free_count = kept;
}

// --- sequences -------------------------------------------------------------------------------------------------------------------

static int hold(struct classes *all, uint32_t sequence, uint32_t c, uint32_t blocks, uint32_t tokens)
{
    struct held *held = &all->held[sequence];
    uint64_t *list = reallocarray(held->block, blocks, sizeof *list);
    if (!list)
        return -ENOMEM;
    held->block = list;
    for (uint32_t i = 0; i < blocks; i++)
        list[i] = all->class[c].free[--all->class[c].free_count];
    held->blocks = blocks;
    held->class = c;
    held->tokens = tokens;
    return 0;
}

static int admit_pow2(struct classes *all, uint32_t sequence, uint32_t tokens, uint32_t most)
{
    uint32_t c = 0;
    while (all->class[c].block_tokens < most)
        c++;
    if (slab_tokens(&all->class[c]) > all->setup->kv->tokens)
        return -ENOSPC;
    int error = all->class[c].free_count ? 0 : slab_take(all, &all->class[c]);
    return error ? error : hold(all, sequence, c, 1, tokens);
}

static int admit_parts(struct classes *all, uint32_t sequence, uint32_t tokens, uint32_t most)
{
    bool possible = false;
    for (uint32_t c = 0; c < all->count; c++) {
        if (all->class[c].block_tokens < most || all->class[c].blocks == 0)
            continue;
        possible = true;
        if (all->class[c].free_count)
            return hold(all, sequence, c, 1, tokens);
    }
    return possible ? -EAGAIN : -ENOSPC;
}

static int admit_many(struct classes *all, uint32_t sequence, uint32_t tokens, uint32_t most)
{
    uint32_t best = CLASSES, best_blocks = 0;
    uint64_t best_waste = UINT64_MAX;
    bool possible = false;
    for (uint32_t c = 0; c < all->count; c++) {
        uint64_t size = all->class[c].block_tokens, blocks = (most + size - 1) / size;
        possible |= blocks <= all->class[c].blocks;
        if (blocks > all->class[c].free_count || blocks * size - most > best_waste)
            continue;
        best = c;
        best_blocks = (uint32_t)blocks;
        best_waste = blocks * size - most;
    }
    return best < CLASSES ? hold(all, sequence, best, best_blocks, tokens) : possible ? -EAGAIN : -ENOSPC;
}

static int classes_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct classes *all = state;
    uint64_t kind = all->setup->strategy->parameter;
    *cached = 0;
    return (kind == POW2 ? admit_pow2 : kind == PARTS ? admit_parts : admit_many)(all, sequence, prompt->tokens, most);
}

static int classes_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    struct classes *all = state;
    all->held[sequence].tokens += tokens;
    return 0;
}

static void classes_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    struct classes *all = state;
    all->held[sequence].tokens = tokens;
}

static void classes_release(void *state, uint32_t sequence, bool keep)
{
    struct classes *all = state;
    struct held *held = &all->held[sequence];
    struct slab_class *class = &all->class[held->class];
    (void)keep;
    while (held->blocks)
        class->free[class->free_count++] = held->block[--held->blocks];
    if (all->setup->strategy->parameter == POW2)
        slabs_give(all, class);
}

static void *classes_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct classes *all = state;
    const struct held *held = &all->held[sequence];
    uint64_t size = all->class[held->class].block_tokens;
    *run = (uint32_t)(size - position % size);
    return tb_kv_at(all->setup->kv, held->block[position / size] + position % size);
}

static void classes_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct classes *all = state;
    bool many = all->setup->strategy->parameter == PARTS_MANY, pow2 = all->setup->strategy->parameter == POW2;
    *out = (struct tb_usage){0};
    if (pow2) {
        out->free = all->region.total;
        out->largest = tb_extents_largest(&all->region);
        out->holes = tb_extents_below(&all->region, below);
    }
    for (uint32_t c = 0; c < all->count; c++) {
        uint64_t size = all->class[c].block_tokens, tokens = size * all->class[c].free_count, piece = many ? tokens : size;
        out->reserved += size * (all->class[c].blocks - all->class[c].free_count);
        out->free += tokens;
        if (tokens && piece > out->largest)
            out->largest = piece;
        out->holes += piece < below ? tokens : 0;
    }
}

static int classes_audit(void *state, char *why, size_t why_bytes)
{
    const struct classes *all = state;
    uint64_t held[CLASSES] = {0};
    for (uint32_t i = 0; i < all->setup->sequences; i++)
        held[all->held[i].class] += all->held[i].blocks;
    for (uint32_t c = 0; c < all->count; c++) {
        if (held[c] + all->class[c].free_count == all->class[c].blocks)
            continue;
        snprintf(why, why_bytes, "strategy %s: of %u blocks of %llu tokens %llu are held and %u are free",
                 all->setup->strategy->name, all->class[c].blocks, (unsigned long long)all->class[c].block_tokens,
                 (unsigned long long)held[c], all->class[c].free_count);
        return -EBADMSG;
    }
    return 0;
}

static const struct tb_strategy_ops ops = {
    .open = classes_open,
    .close = classes_close,
    .admit = classes_admit,
    .extend = classes_extend,
    .cut = classes_cut,
    .release = classes_release,
    .at = classes_at,
    .usage = classes_usage,
    .audit = classes_audit,
};

static const struct tb_strategy pow2 = {.name = "slab-pow2",
                                        .summary = "one block of a power of two of tokens, in slabs by size",
                                        .ops = &ops,
                                        .parameter = POW2,
                                        .promises = true};
TB_STRATEGY(pow2);

static const struct tb_strategy parts = {.name = "multi-slab",
                                         .summary = "one block of four sizes, each with its part of the region",
                                         .ops = &ops,
                                         .parameter = PARTS,
                                         .promises = true};
TB_STRATEGY(parts);

static const struct tb_strategy many = {.name = "multi-slab-blocks",
                                        .summary = "many blocks of one of four sizes",
                                        .ops = &ops,
                                        .parameter = PARTS_MANY,
                                        .promises = true};
TB_STRATEGY(many);
