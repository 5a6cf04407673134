// SPDX-License-Identifier: Apache-2.0
//
// slab: equal blocks and a list of free ones, without a library: what posts about serving build in a page of Python.
//
//   slab       a stack: the block freed last leaves first (seed 003, 2.1 and 5.3)
//   slab-fifo  a queue: the block freed first leaves first
//   pageforge  the same with pages of 16 tokens, whatever the cell says (seed 004)
//   two-pool   the stack over 95 % of the region; the rest is set aside for activations (seed 003, 5.1: vLLM's layout)
//
// All admit a prompt when its blocks are free, and take one more block when a token needs it.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "testbed/strategies/strategy.h"

enum { STACK = 0, QUEUE = 1, PAGES_OF_16 = 2, SET_ASIDE = 4 };
#define PAGE_TOKENS 16u
#define ASIDE_PERCENT 5u

struct slab {
    const struct tb_strategy_setup *setup;
    uint32_t block_tokens, blocks;
    uint32_t *free;             // a ring of [blocks]
    uint32_t head, free_count;
    struct list {
        uint32_t *block;
        uint32_t count, room, tokens;
    } list[];                   // [sequences]
};

static void slab_close(void *state)
{
    struct slab *slab = state;
    for (uint32_t i = 0; slab && i < slab->setup->sequences; i++)
        free(slab->list[i].block);
    if (slab)
        free(slab->free);
    free(slab);
}

static int slab_open(const struct tb_strategy_setup *setup, void **state)
{
    struct slab *slab = calloc(1, sizeof *slab + setup->sequences * sizeof *slab->list);
    uint64_t kind = setup->strategy->parameter;
    if (!slab)
        return -ENOMEM;
    slab->setup = setup;
    slab->block_tokens = kind & PAGES_OF_16 ? PAGE_TOKENS : setup->block_tokens;
    slab->blocks = (uint32_t)(setup->kv->tokens / slab->block_tokens);
    if (kind & SET_ASIDE)
        slab->blocks -= slab->blocks * ASIDE_PERCENT / 100;
    slab->free = calloc(slab->blocks + 1, sizeof *slab->free);
    if (!slab->free) {
        slab_close(slab);
        return -ENOMEM;
    }
    for (; slab->free_count < slab->blocks; slab->free_count++)
        slab->free[slab->free_count] = kind & QUEUE ? slab->free_count : slab->blocks - 1 - slab->free_count;
    *state = slab;
    return 0;
}

static uint32_t take(struct slab *slab)
{
    uint32_t at = slab->setup->strategy->parameter & QUEUE ? slab->head : (slab->head + slab->free_count - 1) % slab->blocks;
    if (slab->setup->strategy->parameter & QUEUE)
        slab->head = (slab->head + 1) % slab->blocks;
    slab->free_count--;
    return slab->free[at];
}

static void give(struct slab *slab, uint32_t block)
{
    slab->free[(slab->head + slab->free_count++) % slab->blocks] = block;
}

static uint32_t blocks_for(const struct slab *slab, uint32_t tokens)
{
    return (tokens + slab->block_tokens - 1) / slab->block_tokens;
}

// All or none.
static int fill(struct slab *slab, struct list *list, uint32_t tokens)
{
    uint32_t wanted = blocks_for(slab, tokens);
    if (wanted > list->count && wanted - list->count > slab->free_count)
        return -EAGAIN;
    if (wanted > list->room) {
        uint32_t room = wanted > 2 * list->room ? wanted : 2 * list->room;
        uint32_t *more = reallocarray(list->block, room, sizeof *more);
        if (!more)
            return -ENOMEM;
        list->block = more;
        list->room = room;
    }
    while (list->count < wanted)
        list->block[list->count++] = take(slab);
    list->tokens = tokens;
    return 0;
}

static int slab_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct slab *slab = state;
    *cached = 0;
    return blocks_for(slab, most) > slab->blocks ? -ENOSPC : fill(slab, &slab->list[sequence], prompt->tokens);
}

static int slab_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    struct slab *slab = state;
    return fill(slab, &slab->list[sequence], slab->list[sequence].tokens + tokens);
}

static void slab_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    struct slab *slab = state;
    struct list *list = &slab->list[sequence];
    while (list->count > blocks_for(slab, tokens))
        give(slab, list->block[--list->count]);
    list->tokens = tokens;
}

// First block first, so that a queue hands them out in the order in which they were in use.
static void slab_release(void *state, uint32_t sequence, bool keep)
{
    struct slab *slab = state;
    struct list *list = &slab->list[sequence];
    (void)keep;
    for (uint32_t i = 0; i < list->count; i++)
        give(slab, list->block[i]);
    list->count = list->tokens = 0;
}

static void *slab_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct slab *slab = state;
    uint32_t within = position % slab->block_tokens;
    *run = slab->block_tokens - within;
    return tb_kv_at(slab->setup->kv,
                    (uint64_t)slab->list[sequence].block[position / slab->block_tokens] * slab->block_tokens + within);
}

static void slab_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct slab *slab = state;
    uint64_t free_tokens = (uint64_t)slab->free_count * slab->block_tokens;
    (void)below;
    *out = (struct tb_usage){
        .reserved = (uint64_t)(slab->blocks - slab->free_count) * slab->block_tokens,
        .free = free_tokens,
        .largest = free_tokens,
    };
}

static int slab_audit(void *state, char *why, size_t why_bytes)
{
    const struct slab *slab = state;
    uint64_t held = 0;
    for (uint32_t i = 0; i < slab->setup->sequences; i++)
        held += slab->list[i].count;
    if (held + slab->free_count == slab->blocks)
        return 0;
    snprintf(why, why_bytes, "strategy %s: %llu blocks are held and %u are free, of %u", slab->setup->strategy->name,
             (unsigned long long)held, slab->free_count, slab->blocks);
    return -EBADMSG;
}

static const struct tb_strategy_ops ops = {
    .open = slab_open,
    .close = slab_close,
    .admit = slab_admit,
    .extend = slab_extend,
    .cut = slab_cut,
    .release = slab_release,
    .at = slab_at,
    .usage = slab_usage,
    .audit = slab_audit,
};

static const struct tb_strategy stack = {.name = "slab", .summary = "equal blocks from a stack", .ops = &ops, .parameter = STACK};
TB_STRATEGY(stack);

static const struct tb_strategy queue = {.name = "slab-fifo",
                                         .summary = "equal blocks from a queue",
                                         .ops = &ops,
                                         .parameter = QUEUE};
TB_STRATEGY(queue);

static const struct tb_strategy pageforge = {.name = "pageforge",
                                             .summary = "pages of 16 tokens from a queue",
                                             .ops = &ops,
                                             .parameter = QUEUE | PAGES_OF_16};
TB_STRATEGY(pageforge);

static const struct tb_strategy two_pool = {.name = "two-pool",
                                            .summary = "blocks from a stack, 5 % set aside",
                                            .ops = &ops,
                                            .parameter = SET_ASIDE};
TB_STRATEGY(two_pool);
