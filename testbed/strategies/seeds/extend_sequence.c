// SPDX-License-Identifier: Apache-2.0
//
// extend_sequence: seed 003 takes the length of a sequence to be all tokens that its blocks could hold. So it never finds room in
// the last block, and every extension takes a new one: 1,000 tokens and 200 more have 263 blocks of 16 where 75 would do. The
// tokens lie in the first ones.

#include <errno.h>

#include "testbed/strategies/seeds/pages.h"

static int extend_sequence(void *state, uint32_t sequence, uint32_t tokens)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    uint32_t supposed = list->count * all->page_tokens, used_in_last = supposed % all->page_tokens;
    uint32_t left = used_in_last ? all->page_tokens - used_in_last : 0;
    uint32_t more = tokens > left ? seed_pages_for(all, tokens - left) : 0;
    int error = seed_fill(all, list, list->count + more);
    list->tokens += error ? 0 : tokens;
    return error;
}

static const struct tb_strategy_ops ops = {
    .open = seed_open,
    .close = seed_close,
    .admit = seed_admit,
    .extend = extend_sequence,
    .cut = seed_cut,
    .release = seed_release,
    .at = seed_at,
    .usage = seed_usage,
    .audit = seed_audit,
};

static const struct tb_strategy extends = {.name = "seed-extend",
                                           .summary = "seed 003: every extension takes a new block",
                                           .ops = &ops,
                                           .trap = true};
TB_STRATEGY(extends);
