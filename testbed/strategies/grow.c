// SPDX-License-Identifier: Apache-2.0
//
// grow: one contiguous piece that grows by reallocating: a longer piece is taken, the tokens are copied, the old piece is given
// back. `grow` doubles, as vectors do; `grow-exact` makes room for the tokens that are needed and no more, as torch.cat does
// at each step.
//
// It needs no length in advance, and admits a prompt as soon as there is room for it. Both pieces exist while it copies. A
// sequence that finds no longer piece has to wait or be thrown out.

#include <errno.h>

#include "testbed/strategies/contiguous.h"

enum { DOUBLE, EXACT };

static int grow_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct tb_contiguous *all = state;
    uint64_t pool = all->setup->kv->tokens;
    *cached = 0;
    if ((uint64_t)most * 2 > pool) // the last copy needs room for both
        return -ENOSPC;
    uint64_t start = tb_extents_take_first(&all->extents, prompt->tokens);
    if (start == TB_EXTENT_NONE)
        return -EAGAIN;
    all->piece[sequence] = (struct tb_piece){start, prompt->tokens, prompt->tokens};
    return 0;
}

static int grow_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    struct tb_contiguous *all = state;
    struct tb_piece *piece = &all->piece[sequence];
    struct tb_kv *kv = all->setup->kv;
    uint64_t needed = (uint64_t)piece->tokens + tokens, length = needed;
    if (needed > piece->length) {
        if (all->setup->strategy->parameter == DOUBLE && length < 2 * piece->length)
            length = 2 * piece->length;
        if (length > all->setup->sequence_tokens)
            length = all->setup->sequence_tokens > needed ? all->setup->sequence_tokens : needed;
        uint64_t start = tb_extents_take_first(&all->extents, length);
        if (start == TB_EXTENT_NONE && length > needed)
            start = tb_extents_take_first(&all->extents, length = needed);
        if (start == TB_EXTENT_NONE)
            return -EAGAIN;
        tb_kv_copy(kv, tb_kv_at(kv, start), tb_kv_at(kv, piece->start), piece->tokens);
        tb_extents_give(&all->extents, piece->start, piece->length);
        piece->start = start;
        piece->length = length;
    }
    piece->tokens = (uint32_t)needed;
    return 0;
}

static const struct tb_strategy_ops ops = {
    .open = tb_contiguous_open,
    .close = tb_contiguous_close,
    .admit = grow_admit,
    .extend = grow_extend,
    .cut = tb_contiguous_cut,
    .release = tb_contiguous_release,
    .at = tb_contiguous_at,
    .usage = tb_contiguous_usage,
    .audit = tb_contiguous_audit,
};

static const struct tb_strategy doubling = {.name = "grow",
                                            .summary = "one piece that doubles by reallocating and copying",
                                            .ops = &ops,
                                            .parameter = DOUBLE};
TB_STRATEGY(doubling);

static const struct tb_strategy exact = {.name = "grow-exact",
                                         .summary = "one piece that is reallocated and copied for each token",
                                         .ops = &ops,
                                         .parameter = EXACT};
TB_STRATEGY(exact);
