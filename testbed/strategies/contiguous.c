// SPDX-License-Identifier: Apache-2.0
//
// contiguous: see contiguous.h.

#include "testbed/strategies/contiguous.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void tb_contiguous_close(void *state)
{
    struct tb_contiguous *all = state;
    if (all)
        tb_extents_close(&all->extents);
    free(all);
}

int tb_contiguous_open(const struct tb_strategy_setup *setup, void **state)
{
    struct tb_contiguous *all = calloc(1, sizeof *all + setup->sequences * sizeof *all->piece);
    int error = all ? tb_extents_open(&all->extents, setup->kv->tokens) : -ENOMEM;
    if (error) {
        tb_contiguous_close(all);
        return error;
    }
    all->setup = setup;
    *state = all;
    return 0;
}

int tb_contiguous_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    struct tb_contiguous *all = state;
    all->piece[sequence].tokens += tokens;
    return 0;
}

void tb_contiguous_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    struct tb_contiguous *all = state;
    all->piece[sequence].tokens = tokens;
}

void tb_contiguous_release(void *state, uint32_t sequence, bool keep)
{
    struct tb_contiguous *all = state;
    (void)keep;
    tb_extents_give(&all->extents, all->piece[sequence].start, all->piece[sequence].length);
    all->piece[sequence] = (struct tb_piece){0};
}

void *tb_contiguous_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct tb_contiguous *all = state;
    *run = (uint32_t)all->piece[sequence].length - position;
    return tb_kv_at(all->setup->kv, all->piece[sequence].start + position);
}

void tb_contiguous_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct tb_contiguous *all = state;
    *out = (struct tb_usage){
        .reserved = all->setup->kv->tokens - all->extents.total,
        .free = all->extents.total,
        .largest = tb_extents_largest(&all->extents),
        .holes = tb_extents_below(&all->extents, below),
    };
}

int tb_contiguous_audit(void *state, char *why, size_t why_bytes)
{
    const struct tb_contiguous *all = state;
    uint64_t held = 0;
    for (uint32_t i = 0; i < all->setup->sequences; i++)
        held += all->piece[i].length;
    if (held + all->extents.total == all->setup->kv->tokens)
        return 0;
    snprintf(why, why_bytes, "strategy %s: %llu tokens are held and %llu are free, of %llu", all->setup->strategy->name,
             (unsigned long long)held, (unsigned long long)all->extents.total, (unsigned long long)all->setup->kv->tokens);
    return -EBADMSG;
}
