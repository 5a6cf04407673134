// SPDX-License-Identifier: Apache-2.0
//
// fits: one contiguous piece for each sequence, exactly as long as the sequence will ever be. first-fit takes the lowest free piece
// that is long enough, best-fit the shortest; compact is first-fit that moves live pieces together when only their places are in
// the way.
//
// They know every length in advance, which no real engine does: first-fit is the most that contiguous memory without moving can
// do, and compact the most that it can do at all, at the price of its copies.

#include <errno.h>
#include <stdlib.h>

#include "testbed/strategies/contiguous.h"

enum { FIRST, BEST, COMPACT };

static int by_start(const void *a, const void *b)
{
    const struct tb_piece *x = *(struct tb_piece *const *)a, *y = *(struct tb_piece *const *)b;
    return (x->start > y->start) - (x->start < y->start);
}

// Slides all live pieces to the region's beginning, in order of address. Only tokens in use are copied. 0 or -ENOMEM.
static int compact(struct tb_contiguous *all)
{
    struct tb_piece **order = calloc(all->setup->sequences, sizeof(struct tb_piece *));
    uint32_t count = 0;
    uint64_t end = 0;
    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < all->setup->sequences; i++)
        if (all->piece[i].length)
            order[count++] = &all->piece[i];
    qsort(order, count, sizeof(struct tb_piece *), by_start);
    for (uint32_t i = 0; i < count; i++) {
        if (order[i]->start != end)
            tb_kv_copy(all->setup->kv, tb_kv_at(all->setup->kv, end), tb_kv_at(all->setup->kv, order[i]->start), order[i]->tokens);
        order[i]->start = end;
        end += order[i]->length;
    }
    free(order);
    all->extents.free[0] = (struct tb_extent){end, all->extents.total};
    all->extents.count = 1;
    return 0;
}

static int fits_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct tb_contiguous *all = state;
    uint64_t kind = all->setup->strategy->parameter;
    *cached = 0;
    if (most > all->setup->kv->tokens)
        return -ENOSPC;
    uint64_t start = kind == BEST ? tb_extents_take_best(&all->extents, most) : tb_extents_take_first(&all->extents, most);
    if (start == TB_EXTENT_NONE && kind == COMPACT && all->extents.total >= most) {
        int error = compact(all);
        if (error)
            return error;
        start = tb_extents_take_first(&all->extents, most);
    }
    if (start == TB_EXTENT_NONE)
        return -EAGAIN;
    all->piece[sequence] = (struct tb_piece){start, most, prompt->tokens};
    return 0;
}

static const struct tb_strategy_ops ops = {
    .open = tb_contiguous_open,
    .close = tb_contiguous_close,
    .admit = fits_admit,
    .extend = tb_contiguous_extend,
    .cut = tb_contiguous_cut,
    .release = tb_contiguous_release,
    .at = tb_contiguous_at,
    .usage = tb_contiguous_usage,
    .audit = tb_contiguous_audit,
};

static const struct tb_strategy first = {.name = "first-fit",
                                         .summary = "one piece of the exact length, the lowest that fits",
                                         .ops = &ops,
                                         .parameter = FIRST,
                                         .promises = true};
TB_STRATEGY(first);

static const struct tb_strategy best = {.name = "best-fit",
                                        .summary = "one piece of the exact length, from the shortest hole",
                                        .ops = &ops,
                                        .parameter = BEST,
                                        .promises = true};
TB_STRATEGY(best);

static const struct tb_strategy compacting = {.name = "compact",
                                              .summary = "first-fit that moves pieces together when it has to",
                                              .ops = &ops,
                                              .parameter = COMPACT,
                                              .promises = true};
TB_STRATEGY(compacting);
