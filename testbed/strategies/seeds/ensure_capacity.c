// SPDX-License-Identifier: Apache-2.0
//
// ensure_capacity: seed 001's request takes page by page, and when none is left it fails and keeps what it has. Two requests that
// hold half of the pool each, and need more, never go on.

#include <errno.h>

#include "testbed/strategies/seeds/pages.h"

static int ensure_capacity(struct seed_pages *all, struct seed_list *list, uint32_t tokens)
{
    uint32_t wanted = seed_pages_for(all, tokens);
    int error = seed_room(list, wanted);
    while (!error && list->count < wanted) {
        uint32_t page = seed_take(all);
        if (page == SEED_NO_PAGE)
            return -EAGAIN;
        list->page[list->count++] = page;
    }
    if (!error)
        list->tokens = tokens;
    return error;
}

static int ensure_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct seed_pages *all = state;
    *cached = 0;
    return seed_pages_for(all, most) > all->pages ? -ENOSPC : ensure_capacity(all, &all->list[sequence], prompt->tokens);
}

static int ensure_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    struct seed_pages *all = state;
    return ensure_capacity(all, &all->list[sequence], all->list[sequence].tokens + tokens);
}

static const struct tb_strategy_ops ops = {
    .open = seed_open,
    .close = seed_close,
    .admit = ensure_admit,
    .extend = ensure_extend,
    .cut = seed_cut,
    .release = seed_release,
    .at = seed_at,
    .usage = seed_usage,
    .audit = seed_audit,
};

static const struct tb_strategy ensure = {.name = "seed-ensure-capacity",
                                          .summary = "seed 001: keeps a part of what it was refused",
                                          .ops = &ops,
                                          .trap = true};
TB_STRATEGY(ensure);
