// SPDX-License-Identifier: Apache-2.0
//
// paged: blocks of the library's pool, a block table for each sequence. Three ways to admit: `paged-full` reserves the blocks of
// the whole sequence, `paged-prompt` those of the prompt, and `paged` those of the prompt if the watermark stays free.
//
// A token takes a block when it is the first of one. The watermark binds only while anybody is live, so that a request which fits
// the pool is admitted at last.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "placement/blocks/owner.h"
#include "testbed/strategies/strategy.h"

enum { WATERMARK, PROMPT, FULL };

struct paged {
    const struct tb_strategy_setup *setup;
    struct locus_pool *pool;
    struct locus_owner *owner;
    uint32_t blocks, free, live; // `free`: neither taken nor reserved
    uint32_t block_tokens;
    struct sequence {
        struct locus_table *table; // made for the longest sequence at the first admission in this place
        uint32_t tokens;
        uint32_t reserved;      // blocks beyond those in the table
    } sequence[];               // [sequences]
};

static void paged_close(void *state)
{
    struct paged *paged = state;
    if (!paged)
        return;
    if (paged->owner && locus_owner_held_here(paged->owner))
        locus_owner_leave(paged->owner);
    locus_owner_close(paged->owner);
    locus_pool_close(paged->pool);
    for (uint32_t i = 0; i < paged->setup->sequences; i++)
        free(paged->sequence[i].table);
    free(paged);
}

static int library_open(struct paged *paged, const struct tb_strategy_setup *setup)
{
    struct locus_pool_config pool = {
        .size = sizeof pool,
        .blocks = paged->blocks,
        .block_bytes = setup->kv->token_bytes * setup->block_tokens,
        .backing = LOCUS_BACKING_CALLER,
        .memory = setup->kv->base,
        .memory_bytes = setup->kv->bytes,
        .node = LOCUS_NODE_ANY,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
    };
    int error = locus_pool_open(&paged->pool, &pool);
    if (error)
        return error;
    struct locus_owner_config owner = {.size = sizeof owner, .pool = paged->pool, .lanes = 1};
    error = locus_owner_open(&paged->owner, &owner);
    return error ? error : locus_owner_adopt(paged->owner);
}

static int paged_open(const struct tb_strategy_setup *setup, void **state)
{
    struct paged *paged = calloc(1, sizeof *paged + setup->sequences * sizeof *paged->sequence);
    if (!paged)
        return -ENOMEM;
    paged->setup = setup;
    paged->block_tokens = setup->block_tokens;
    paged->blocks = paged->free = (uint32_t)(setup->kv->tokens / setup->block_tokens);
    int error = library_open(paged, setup);
    if (error) {
        paged_close(paged);
        return error;
    }
    *state = paged;
    return 0;
}

static uint32_t blocks_for(const struct paged *paged, uint32_t tokens)
{
    return (tokens + paged->block_tokens - 1) / paged->block_tokens;
}

static int table_make(const struct paged *paged, struct sequence *sequence)
{
    uint32_t capacity = blocks_for(paged, paged->setup->sequence_tokens);
    if (sequence->table)
        return 0;
    sequence->table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, capacity));
    return sequence->table ? locus_table_init(sequence->table, 1, capacity, paged->block_tokens) : -ENOMEM;
}

static int paged_admit(void *state, uint32_t at, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct paged *paged = state;
    struct sequence *sequence = &paged->sequence[at];
    uint64_t kind = paged->setup->strategy->parameter;
    uint32_t now = blocks_for(paged, prompt->tokens), needed = kind == FULL ? blocks_for(paged, most) : now;
    double left = kind == WATERMARK && paged->live ? paged->setup->watermark * paged->blocks : 0;
    *cached = 0;
    if (blocks_for(paged, most) > paged->blocks)
        return -ENOSPC;
    if (needed > paged->free || paged->free - needed < left)
        return -EAGAIN;
    int error = table_make(paged, sequence);
    if (!error)
        error = locus_owner_grow(paged->owner, sequence->table, now);
    if (error)
        return error;
    paged->free -= needed;
    paged->live++;
    sequence->tokens = prompt->tokens;
    sequence->reserved = needed - now;
    return 0;
}

static int paged_extend(void *state, uint32_t at, uint32_t tokens)
{
    struct paged *paged = state;
    struct sequence *sequence = &paged->sequence[at];
    uint32_t more = blocks_for(paged, sequence->tokens + tokens) - sequence->table->count;
    if (more > 0) {
        uint32_t unreserved = more > sequence->reserved ? more - sequence->reserved : 0;
        if (unreserved > paged->free)
            return -EAGAIN;
        int error = locus_owner_grow(paged->owner, sequence->table, more);
        if (error)
            return error;
        paged->free -= unreserved;
        sequence->reserved -= more - unreserved;
    }
    sequence->tokens += tokens;
    return 0;
}

static void paged_cut(void *state, uint32_t at, uint32_t tokens)
{
    struct paged *paged = state;
    struct sequence *sequence = &paged->sequence[at];
    uint32_t keep = blocks_for(paged, tokens), freed = sequence->table->count - keep;
    locus_owner_truncate(paged->owner, sequence->table, keep);
    if (paged->setup->strategy->parameter == FULL)
        sequence->reserved += freed;
    else
        paged->free += freed;
    sequence->tokens = tokens;
}

static void paged_release(void *state, uint32_t at, bool keep)
{
    struct paged *paged = state;
    struct sequence *sequence = &paged->sequence[at];
    (void)keep;
    paged->free += sequence->table->count + sequence->reserved;
    paged->live--;
    locus_owner_truncate(paged->owner, sequence->table, 0);
    sequence->tokens = sequence->reserved = 0;
}

static void *paged_at(void *state, uint32_t at, uint32_t position, uint32_t *run)
{
    const struct paged *paged = state;
    uint32_t within = position % paged->block_tokens;
    char *block = locus_pool_address(paged->pool, locus_table_at(paged->sequence[at].table, position));
    *run = paged->block_tokens - within;
    return block + within * paged->setup->kv->token_bytes;
}

static void paged_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct paged *paged = state;
    uint64_t free_tokens = (uint64_t)paged->free * paged->block_tokens;
    (void)below;
    *out = (struct tb_usage){
        .reserved = (uint64_t)(paged->blocks - paged->free) * paged->block_tokens,
        .free = free_tokens,
        .largest = free_tokens,
    };
}

static int paged_audit(void *state, char *why, size_t why_bytes)
{
    const struct paged *paged = state;
    struct locus_pool_stats stats;
    uint64_t held = 0, reserved = 0;
    locus_pool_stats(paged->pool, &stats);
    for (uint32_t i = 0; i < paged->setup->sequences; i++) {
        held += paged->sequence[i].table ? paged->sequence[i].table->count : 0;
        reserved += paged->sequence[i].reserved;
    }
    if (held == stats.outstanding && paged->free + reserved == stats.blocks_free)
        return 0;
    snprintf(why, why_bytes, "sequences hold %llu blocks of %u that are out, and %u + %llu reserved are free of %u",
             (unsigned long long)held, stats.outstanding, paged->free, (unsigned long long)reserved, stats.blocks_free);
    return -EBADMSG;
}

static const struct tb_strategy_ops ops = {
    .open = paged_open,
    .close = paged_close,
    .admit = paged_admit,
    .extend = paged_extend,
    .cut = paged_cut,
    .release = paged_release,
    .at = paged_at,
    .usage = paged_usage,
    .audit = paged_audit,
};

static const struct tb_strategy watermark = {.name = "paged",
                                             .summary = "blocks; admits a prompt that leaves the watermark free",
                                             .ops = &ops,
                                             .parameter = WATERMARK};
TB_STRATEGY(watermark);

static const struct tb_strategy prompt = {.name = "paged-prompt",
                                          .summary = "blocks; admits when the prompt's are free",
                                          .ops = &ops,
                                          .parameter = PROMPT};
TB_STRATEGY(prompt);

static const struct tb_strategy full = {.name = "paged-full",
                                        .summary = "blocks; reserves those of the whole sequence",
                                        .ops = &ops,
                                        .parameter = FULL,
                                        .promises = true};
TB_STRATEGY(full);
