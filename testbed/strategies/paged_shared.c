// SPDX-License-Identifier: Apache-2.0
//
// paged_shared: `paged`, and sequences that begin alike hold the same blocks: forks share all of them until one writes, and
// prompts with ids find what earlier ones computed in the library's prefix cache, while it is in use or kept.
//
// A block's id is that of its last token: ids are chained, so it stands for everything before. Blocks are published when the
// sequence is first extended, which is when its prompt was computed, or at a release that says so. A prompt that is found as a
// whole still computes its last token, as an engine must.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "locus/share.h"
#include "testbed/strategies/paged.h"

// Not drawn, so that a run is the same each time, and no secret: whoever chooses the tokens here is the testbed itself.
static const struct locus_prefix_key testbed_key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

static int shared_open(const struct tb_strategy_setup *setup, void **state)
{
    struct tb_paged *paged = NULL;
    const struct locus_evict_ops *evict = setup->retention ? locus_evict_find(setup->retention) : NULL;
    if (setup->retention && !evict)
        return -EINVAL;
    int error = tb_paged_open(setup, LOCUS_ADMIT_WATERMARK, true, &paged);
    if (error)
        return error;
    struct locus_prefix_config config = {.size = sizeof config, .owner = paged->owner, .evict = evict, .key = &testbed_key};
    paged->ids = malloc((tb_paged_blocks(paged, setup->sequence_tokens) + 1) * sizeof *paged->ids);
    error = paged->ids ? locus_prefix_open(&paged->prefix, &config) : -ENOMEM;
    if (error) {
        tb_paged_close(paged);
        return error;
    }
    *state = paged;
    return 0;
}

// --- ids -----------------------------------------------------------------------------------------------------------------------

// Of the prompt's full blocks that have ids; into paged->ids.
static uint32_t ids_of(struct tb_paged *paged, const struct tb_prompt *prompt)
{
    uint32_t count = prompt->ids ? prompt->ids_tokens / paged->block_tokens : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end = (i + 1) * paged->block_tokens;
        paged->ids[i] = locus_prefix_id(&testbed_key, locus_id_of(prompt->ids[(end - 1) / prompt->id_tokens] + 1), &end, 1, 0);
    }
    return count;
}

static int ids_remember(struct tb_paged *paged, struct tb_paged_sequence *sequence, uint32_t count)
{
    sequence->ids_count = 0;
    if (count == 0)
        return 0;
    free(sequence->ids);
    sequence->ids = malloc(count * sizeof *sequence->ids);
    if (!sequence->ids)
        return -ENOMEM;
    memcpy(sequence->ids, paged->ids, count * sizeof *sequence->ids);
    sequence->ids_count = count;
    return 0;
}

static void publish(struct tb_paged *paged, struct tb_paged_sequence *sequence)
{
    uint32_t full = sequence->tokens / paged->block_tokens, count = sequence->ids_count < full ? sequence->ids_count : full;
    if (count)
        locus_prefix_publish(paged->prefix, sequence->ids, NULL, count, sequence->table);
    sequence->ids_count = 0;
}

// --- the calls -----------------------------------------------------------------------------------------------------------------

static void shared_release(void *state, uint32_t at, bool keep)
{
    struct tb_paged *paged = state;
    struct tb_paged_sequence *sequence = &paged->sequence[at];
    if (keep)
        publish(paged, sequence);
    sequence->ids_count = 0;
    locus_reservation_end(paged->promises, &sequence->promise);
    locus_owner_truncate(paged->owner, sequence->table, 0);
    sequence->tokens = 0;
}

// What it will find is known before it is admitted: kept blocks are taken from what is available, those in use cost nothing.
static int shared_admit(void *state, uint32_t at, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct tb_paged *paged = state;
    struct tb_paged_sequence *sequence = &paged->sequence[at];
    uint32_t now = tb_paged_blocks(paged, prompt->tokens), all = ids_of(paged, prompt), kept;
    uint32_t wanted = all * paged->block_tokens < prompt->tokens ? all : all - 1;
    *cached = 0;
    uint32_t found = locus_prefix_probe(paged->prefix, paged->ids, NULL, wanted, &kept), in_use = found - kept;
    int error = locus_reservation_admit(paged->promises, &sequence->promise, now - in_use, tb_paged_blocks(paged, most) - in_use);
    if (!error && tb_paged_blocks(paged, most) > paged->blocks)
        error = -ENOSPC;
    if (!error)
        error = tb_paged_table(paged, sequence);
    if (!error && all) {
        int64_t matched = locus_reservation_match(paged->promises, &sequence->promise, paged->prefix, prompt->now_ns, paged->ids,
                                                  NULL, wanted, sequence->table);
        error = matched < 0 ? (int)matched : ids_remember(paged, sequence, all);
    }
    if (!error)
        error = locus_reservation_grow(paged->promises, &sequence->promise, sequence->table, now - found);
    if (error) {
        locus_reservation_end(paged->promises, &sequence->promise);
        if (sequence->table)
            locus_owner_truncate(paged->owner, sequence->table, 0);
        return error;
    }
    sequence->tokens = prompt->tokens;
    *cached = found * paged->block_tokens;
    return 0;
}

// The library has copied a block that others hold; in the region of a strategy that is told by the tags.
static int shared_extend(void *state, uint32_t at, uint32_t tokens)
{
    struct tb_paged *paged = state;
    struct tb_paged_sequence *sequence = &paged->sequence[at];
    struct tb_kv *kv = paged->setup->kv;
    uint32_t used = sequence->tokens % paged->block_tokens, last = sequence->tokens / paged->block_tokens;
    locus_block before = used ? sequence->table->blocks[last] : LOCUS_BLOCK_NONE;
    publish(paged, sequence);
    int error = locus_reservation_write(paged->promises, &sequence->promise, sequence->table, sequence->tokens, tokens, 1);
    if (used && sequence->table->blocks[last] != before)
        tb_kv_copy(kv, tb_kv_at(kv, (uint64_t)locus_block_index(sequence->table->blocks[last]) * paged->block_tokens),
                   tb_kv_at(kv, (uint64_t)locus_block_index(before) * paged->block_tokens), used);
    if (!error)
        sequence->tokens += tokens;
    return error;
}

static int shared_fork(void *state, uint32_t from, uint32_t to, uint32_t most)
{
    struct tb_paged *paged = state;
    struct tb_paged_sequence *source = &paged->sequence[from], *copy = &paged->sequence[to];
    (void)most;
    int error = tb_paged_table(paged, copy);
    if (!error)
        error = locus_owner_fork(paged->owner, source->table, copy->table);
    if (!error)
        copy->tokens = source->tokens;
    return error;
}

static void shared_cut(void *state, uint32_t at, uint32_t tokens)
{
    struct tb_paged *paged = state;
    struct tb_paged_sequence *sequence = &paged->sequence[at];
    locus_owner_truncate_tokens(paged->owner, sequence->table, tokens);
    sequence->tokens = tokens;
}

static const struct tb_strategy_ops ops = {
    .open = shared_open,
    .close = tb_paged_close,
    .admit = shared_admit,
    .extend = shared_extend,
    .fork = shared_fork,
    .cut = shared_cut,
    .release = shared_release,
    .at = tb_paged_at,
    .usage = tb_paged_usage,
    .audit = tb_paged_audit,
};

static const struct tb_strategy shared = {.name = "paged-shared",
                                          .summary = "as paged; forks share blocks, and prompts find what earlier ones computed",
                                          .ops = &ops};
TB_STRATEGY(shared);
