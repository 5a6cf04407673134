// SPDX-License-Identifier: Apache-2.0
//
// paged: blocks of the library's pool, a block table for each sequence. Three ways to admit (locus/reservation.h):
// `paged-full` reserves the blocks of the whole sequence, `paged-prompt` those of the prompt, and `paged` those of the prompt if
// the watermark stays free. The watermark binds only while anybody is live, so that a request which fits the pool is admitted at
// last.
#include "testbed/strategies/paged.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "locus/share.h"

// --- in common -----------------------------------------------------------------------------------------------------------------

void tb_paged_close(void *state)
{
    struct tb_paged *paged = state;
    if (!paged)
        return;
    locus_prefix_close(paged->prefix);
    locus_reservations_close(paged->promises);
    if (paged->owner && locus_owner_held_here(paged->owner))
        locus_owner_leave(paged->owner);
    locus_owner_close(paged->owner);
    locus_pool_close(paged->pool);
    for (uint32_t i = 0; i < paged->setup->sequences; i++) {
        free(paged->sequence[i].table);
        free(paged->sequence[i].ids);
    }
    free(paged->ids);
    free(paged);
}

static int library_open(struct tb_paged *paged, enum locus_admission admission, bool shared)
{
    const struct tb_strategy_setup *setup = paged->setup;
    size_t block_bytes = setup->kv->token_bytes * setup->block_tokens;
    struct locus_pool_config pool = {
        .size = sizeof pool,
        .blocks = paged->blocks,
        .block_bytes = shared && !setup->executes ? setup->block_tokens : block_bytes,
        .stride_bytes = block_bytes,
        .backing = LOCUS_BACKING_CALLER,
        .memory = setup->kv->base,
        .memory_bytes = setup->kv->bytes,
        .node = LOCUS_NODE_ANY,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .shared = shared,
    };
    int error = locus_pool_open(&paged->pool, &pool);
    if (error)
        return error;
    struct locus_owner_config owner = {.size = sizeof owner, .pool = paged->pool, .lanes = 1};
    error = locus_owner_open(&paged->owner, &owner);
    if (!error)
        error = locus_owner_adopt(paged->owner);
    if (error)
        return error;
    struct locus_reservations_config promises = {
        .size = sizeof promises,
        .owner = paged->owner,
        .admission = admission,
        .watermark_blocks = admission == LOCUS_ADMIT_WATERMARK ? (uint32_t)ceil(setup->watermark * paged->blocks) : 0,
    };
    return locus_reservations_open(&paged->promises, &promises);
}

int tb_paged_open(const struct tb_strategy_setup *setup, enum locus_admission admission, bool shared, struct tb_paged **out)
{
    struct tb_paged *paged = calloc(1, sizeof *paged + setup->sequences * sizeof *paged->sequence);
    if (!paged)
        return -ENOMEM;
    paged->setup = setup;
    paged->block_tokens = setup->block_tokens;
    paged->blocks = (uint32_t)(setup->kv->tokens / setup->block_tokens);
    int error = library_open(paged, admission, shared);
    if (error) {
        tb_paged_close(paged);
        return error;
    }
    *out = paged;
    return 0;
}

uint32_t tb_paged_blocks(const struct tb_paged *paged, uint64_t tokens)
{
    return (uint32_t)((tokens + paged->block_tokens - 1) / paged->block_tokens);
}

int tb_paged_table(struct tb_paged *paged, struct tb_paged_sequence *sequence)
{
    uint32_t capacity = tb_paged_blocks(paged, paged->setup->sequence_tokens);
    if (sequence->table)
        return 0;
    sequence->table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, capacity));
    return sequence->table ? locus_table_init(sequence->table, 1, capacity, paged->block_tokens) : -ENOMEM;
}

void *tb_paged_at(void *state, uint32_t at, uint32_t position, uint32_t *run)
{
    const struct tb_paged *paged = state;
    uint32_t within = position % paged->block_tokens;
    char *block = locus_pool_address(paged->pool, locus_table_at(paged->sequence[at].table, position));
    *run = paged->block_tokens - within;
    return block + within * paged->setup->kv->token_bytes;
}

void tb_paged_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct tb_paged *paged = state;
    struct locus_reservations_stats promises;
    struct locus_pool_stats pool;
    locus_reservations_stats(paged->promises, &promises);
    locus_pool_stats(paged->pool, &pool);
    uint64_t kept = pool.blocks_cached < promises.available ? pool.blocks_cached : promises.available;
    (void)below;
    *out = (struct tb_usage){
        .reserved = (uint64_t)(paged->blocks - promises.available) * paged->block_tokens,
        .free = (promises.available - kept) * paged->block_tokens,
        .largest = (uint64_t)promises.available * paged->block_tokens,
        .kept = kept * paged->block_tokens,
    };
}

int tb_paged_audit(void *state, char *why, size_t why_bytes)
{
    const struct tb_paged *paged = state;
    struct locus_reservations_stats promises;
    struct locus_pool_stats pool;
    uint64_t held = 0, promised = 0;
    locus_reservations_stats(paged->promises, &promises);
    locus_pool_stats(paged->pool, &pool);
    for (uint32_t i = 0; i < paged->setup->sequences; i++) {
        held += paged->sequence[i].table ? paged->sequence[i].table->count : 0;
        promised += paged->sequence[i].promise.blocks;
    }
    if (held == pool.outstanding + pool.sharers && promised == promises.reserved)
        return 0;
    snprintf(why, why_bytes, "a reference too %s: sequences hold %llu blocks, and the pool counts %llu; %llu of %u are promised",
             held > pool.outstanding + pool.sharers ? "few" : "many", (unsigned long long)held,
             (unsigned long long)(pool.outstanding + pool.sharers), (unsigned long long)promised, promises.reserved);
    return -EBADMSG;
}

// --- the members that share nothing --------------------------------------------------------------------------------------------

static int paged_open(const struct tb_strategy_setup *setup, void **state)
{
    struct tb_paged *paged = NULL;
    int error = tb_paged_open(setup, (enum locus_admission)setup->strategy->parameter, false, &paged);
    *state = paged;
    return error;
}

static int paged_admit(void *state, uint32_t at, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct tb_paged *paged = state;
    struct tb_paged_sequence *sequence = &paged->sequence[at];
    uint32_t now = tb_paged_blocks(paged, prompt->tokens);
    *cached = 0;
    int error = locus_reservation_admit(paged->promises, &sequence->promise, now, tb_paged_blocks(paged, most));
    if (error)
        return error;
    error = tb_paged_table(paged, sequence);
    if (!error)
        error = locus_reservation_grow(paged->promises, &sequence->promise, sequence->table, now);
    if (error)
        locus_reservation_end(paged->promises, &sequence->promise);
    else
        sequence->tokens = prompt->tokens;
    return error;
}

static int paged_extend(void *state, uint32_t at, uint32_t tokens)
{
    struct tb_paged *paged = state;
    struct tb_paged_sequence *sequence = &paged->sequence[at];
    uint32_t more = tb_paged_blocks(paged, sequence->tokens + tokens) - sequence->table->count;
    int error = more ? locus_reservation_grow(paged->promises, &sequence->promise, sequence->table, more) : 0;
    if (!error)
        sequence->tokens += tokens;
    return error;
}

static void paged_cut(void *state, uint32_t at, uint32_t tokens)
{
    struct tb_paged *paged = state;
    struct tb_paged_sequence *sequence = &paged->sequence[at];
    uint32_t freed = sequence->table->count - tb_paged_blocks(paged, tokens);
    locus_owner_truncate_tokens(paged->owner, sequence->table, tokens);
    if (paged->setup->strategy->parameter == LOCUS_ADMIT_FULL)
        locus_reservation_renew(paged->promises, &sequence->promise, freed);
    sequence->tokens = tokens;
}

static void paged_release(void *state, uint32_t at, bool keep)
{
    struct tb_paged *paged = state;
    struct tb_paged_sequence *sequence = &paged->sequence[at];
    (void)keep;
    locus_reservation_end(paged->promises, &sequence->promise);
    locus_owner_truncate(paged->owner, sequence->table, 0);
    sequence->tokens = 0;
}

static const struct tb_strategy_ops ops = {
    .open = paged_open,
    .close = tb_paged_close,
    .admit = paged_admit,
    .extend = paged_extend,
    .cut = paged_cut,
    .release = paged_release,
    .at = tb_paged_at,
    .usage = tb_paged_usage,
    .audit = tb_paged_audit,
};

static const struct tb_strategy watermark = {.name = "paged",
                                             .summary = "blocks; admits a prompt that leaves the watermark free",
                                             .ops = &ops,
                                             .parameter = LOCUS_ADMIT_WATERMARK};
TB_STRATEGY(watermark);

static const struct tb_strategy prompt = {.name = "paged-prompt",
                                          .summary = "blocks; admits when the prompt's are free",
                                          .ops = &ops,
                                          .parameter = LOCUS_ADMIT_PROMPT};
TB_STRATEGY(prompt);

static const struct tb_strategy full = {.name = "paged-full",
                                        .summary = "blocks; reserves those of the whole sequence",
                                        .ops = &ops,
                                        .parameter = LOCUS_ADMIT_FULL,
                                        .promises = true};
TB_STRATEGY(full);
