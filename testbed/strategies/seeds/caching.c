// SPDX-License-Identifier: Apache-2.0
//
// caching: seed 003's caching allocator. Two members, each with one of the listing's faults and without the other:
//
//   seed-caching-free  a freed block joins its free neighbours, which stay on the free list: the block before it is there twice
//                      then, and the one behind it lies inside another
//   seed-collection    the collection takes segments off the list that it walks, so the next one is skipped each time
//
// The listing leaves open which free block is taken, and how much of a new segment a block gets: the first one on the list, and
// all of it.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/strategies/extents.h"
#include "testbed/strategies/strategy.h"

enum { FREE, COLLECTION };
#define MIB UINT64_C(1048576)
#define ROUND (2 * MIB)
#define SPLIT_MIN UINT64_C(512)

struct block {
    struct pool *pool;
    uint64_t start, bytes;
    struct block *previous, *next; // of its segment
    struct block *made_before;  // of all that were ever made: none is freed before the end
    bool allocated;
};

struct list {
    struct block **block;
    uint32_t count, room;
};

struct caching {
    const struct tb_strategy_setup *setup;
    struct tb_extents region;   // bytes
    struct pool {
        struct list free;
        struct list segments;   // by their first blocks
    } pool[2];                  // up to 1 MiB, and larger
    uint64_t taken_bytes;
    struct block *made;
    struct block *seat[];       // [sequences]
};

static void caching_close(void *state)
{
    struct caching *caching = state;
    if (!caching)
        return;
    for (struct block *block = caching->made, *before; block; block = before) {
        before = block->made_before;
        free(block);
    }
    for (size_t i = 0; i < 2; i++) {
        free(caching->pool[i].free.block);
        free(caching->pool[i].segments.block);
    }
    tb_extents_close(&caching->region);
    free(caching);
}

static int caching_open(const struct tb_strategy_setup *setup, void **state)
{
    struct caching *caching = calloc(1, sizeof *caching + setup->sequences * sizeof(struct block *));
    int error = caching ? tb_extents_open(&caching->region, setup->kv->tokens * setup->kv->token_bytes) : -ENOMEM;
    if (error) {
        caching_close(caching);
        return error;
    }
    caching->setup = setup;
    *state = caching;
    return 0;
}

static struct pool *pool_for(struct caching *caching, uint64_t bytes)
{
    return &caching->pool[bytes > MIB];
}

static int append(struct list *list, struct block *block)
{
    if (list->count == list->room) {
        uint32_t room = list->room ? list->room * 2 : 64;
        struct block **more = reallocarray(list->block, room, sizeof(struct block *));
        if (!more)
            return -ENOMEM;
        list->block = more;
        list->room = room;
    }
    list->block[list->count++] = block;
    return 0;
}

static void remove_at(struct list *list, uint32_t i)
{
    list->count--;
    memmove(list->block + i, list->block + i + 1, (list->count - i) * sizeof(struct block *));
}

static void remove_block(struct list *list, const struct block *block)
{
    for (uint32_t i = list->count; i-- > 0;)
        if (list->block[i] == block)
            remove_at(list, i);
}

static struct block *make(struct caching *caching, struct pool *pool, uint64_t start, uint64_t bytes)
{
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    *block = (struct block){.pool = pool, .start = start, .bytes = bytes, .made_before = caching->made};
    caching->made = block;
    return block;
}

// --- free ------------------------------------------------------------------------------------------------------------------------

// `block` gets the memory of the one behind it, if that is free. Whether both were on the free list is not asked.
static bool merge(struct caching *caching, struct list *list, struct block *block, struct block *gone)
{
    if (!block || !gone || block->allocated || gone->allocated || block->start + block->bytes != gone->start)
        return false;
    if (caching->setup->strategy->parameter != FREE) {
        remove_block(list, block);
        remove_block(list, gone);
    }
    block->bytes += gone->bytes;
    block->next = gone->next;
    if (block->next)
        block->next->previous = block;
    return true;
}

static void caching_release(void *state, uint32_t sequence, bool keep)
{
    struct caching *caching = state;
    struct block *block = caching->seat[sequence];
    (void)keep;
    struct list *list = &block->pool->free;
    caching->taken_bytes -= block->bytes;
    caching->seat[sequence] = NULL;
    block->allocated = false;
    if (merge(caching, list, block->previous, block))
        block = block->previous;
    merge(caching, list, block, block->next);
    append(list, block);
}

// --- collection ----------------------------------------------------------------------------------------------------------------

static bool all_free(const struct block *block)
{
    while (block && !block->allocated)
        block = block->next;
    return !block;
}

static void give_segment(struct caching *caching, struct pool *pool, const struct block *first)
{
    uint64_t bytes = 0;
    for (const struct block *block = first; block; block = block->next)
        bytes += block->bytes;
    for (uint32_t i = pool->free.count; i-- > 0;)
        if (pool->free.block[i]->start - first->start < bytes)
            remove_at(&pool->free, i);
    tb_extents_give(&caching->region, first->start, bytes);
}

static void collect(struct caching *caching)
{
    bool skips = caching->setup->strategy->parameter == COLLECTION;
    for (size_t p = 0; p < 2; p++) {
        struct list *segments = &caching->pool[p].segments;
        for (uint32_t i = 0; i < segments->count; i++) {
            if (!all_free(segments->block[i]))
                continue;
            give_segment(caching, &caching->pool[p], segments->block[i]);
            remove_at(segments, i);
            i -= !skips; // the next one is here now
        }
    }
}

// --- malloc ----------------------------------------------------------------------------------------------------------------------

static struct block *find_free(struct list *list, uint64_t bytes)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct block *block = list->block[i];
        if (block->bytes < bytes)
            continue;
        remove_at(list, i);
        return block;
    }
    return NULL;
}

static int split(struct caching *caching, struct list *list, struct block *block, uint64_t bytes)
{
    struct block *rest = make(caching, block->pool, block->start + bytes, block->bytes - bytes);
    if (!rest || append(list, rest))
        return -ENOMEM;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next)
        rest->next->previous = rest;
    block->next = rest;
    block->bytes = bytes;
    return 0;
}

static int segment(struct caching *caching, struct pool *pool, uint64_t bytes, struct block **out)
{
    uint64_t whole = (bytes + ROUND - 1) / ROUND * ROUND, start = tb_extents_take_first(&caching->region, whole);
    if (start == TB_EXTENT_NONE) {
        collect(caching);
        start = tb_extents_take_first(&caching->region, whole);
    }
    if (start == TB_EXTENT_NONE)
        return -EAGAIN;
    *out = make(caching, pool, start, whole);
    return *out ? append(&pool->segments, *out) : -ENOMEM;
}

static int caching_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct caching *caching = state;
    const struct tb_kv *kv = caching->setup->kv;
    uint64_t bytes = most * kv->token_bytes;
    struct pool *pool = pool_for(caching, bytes);
    int error = 0;
    (void)prompt;
    *cached = 0;
    if ((bytes + ROUND - 1) / ROUND * ROUND > kv->tokens * kv->token_bytes)
        return -ENOSPC;
    struct block *block = find_free(&pool->free, bytes);
    if (!block)
        error = segment(caching, pool, bytes, &block);
    else if (block->bytes > bytes + SPLIT_MIN)
        error = split(caching, &pool->free, block, bytes);
    if (error)
        return error;
    block->allocated = true;
    caching->taken_bytes += block->bytes;
    caching->seat[sequence] = block;
    return 0;
}

static int caching_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    (void)state;
    (void)sequence;
    (void)tokens;
    return 0;
}

static void caching_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    (void)state;
    (void)sequence;
    (void)tokens;
}

static void *caching_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct caching *caching = state;
    const struct tb_kv *kv = caching->setup->kv;
    *run = 1;
    return kv->base + caching->seat[sequence]->start + position * kv->token_bytes;
}

static void caching_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct caching *caching = state;
    const struct tb_kv *kv = caching->setup->kv;
    uint64_t all = kv->tokens * kv->token_bytes, taken = caching->taken_bytes < all ? caching->taken_bytes : all;
    (void)below;
    *out = (struct tb_usage){
        .reserved = taken / kv->token_bytes,
        .free = (all - taken) / kv->token_bytes,
        .largest = tb_extents_largest(&caching->region) / kv->token_bytes,
    };
}

// The listing keeps no books that could disagree.
static int caching_audit(void *state, char *why, size_t why_bytes)
{
    (void)state;
    (void)why;
    (void)why_bytes;
    return 0;
}

static const struct tb_strategy_ops ops = {
    .open = caching_open,
    .close = caching_close,
    .admit = caching_admit,
    .extend = caching_extend,
    .cut = caching_cut,
    .release = caching_release,
    .at = caching_at,
    .usage = caching_usage,
    .audit = caching_audit,
};

static const struct tb_strategy frees = {.name = "seed-caching-free",
                                         .summary = "seed 003: joined blocks stay on the free list",
                                         .ops = &ops,
                                         .parameter = FREE,
                                         .promises = true,
                                         .trap = true};
TB_STRATEGY(frees);

static const struct tb_strategy collects = {.name = "seed-collection",
                                            .summary = "seed 003: a collection skips every other segment",
                                            .ops = &ops,
                                            .parameter = COLLECTION,
                                            .promises = true,
                                            .trap = true};
TB_STRATEGY(collects);
