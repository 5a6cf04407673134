// SPDX-License-Identifier: Apache-2.0
//
// free_page: seed 001's pool says nothing when a page is freed twice. The listing never takes a page off a request's list. So here
// a cut frees the pages behind it, and the release frees the whole list, those pages again: by then they may be somebody else's.

#include "testbed/strategies/seeds/pages.h"

static void free_page_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    while (list->count > seed_pages_for(all, tokens))
        seed_give(all, list->page[--list->count]);
    list->tokens = tokens;
}

static void free_page_release(void *state, uint32_t sequence, bool keep)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    (void)keep;
    for (uint32_t i = 0; i < list->listed; i++)
        seed_give(all, list->page[i]);
    list->count = list->listed = list->tokens = 0;
}

static const struct tb_strategy_ops ops = {
    .open = seed_open,
    .close = seed_close,
    .admit = seed_admit,
    .extend = seed_extend,
    .cut = free_page_cut,
    .release = free_page_release,
    .at = seed_at,
    .usage = seed_usage,
    .audit = seed_audit,
};

static const struct tb_strategy free_page = {.name = "seed-free-page",
                                             .summary = "seed 001: a page that is freed twice is not noticed",
                                             .ops = &ops,
                                             .trap = true};
TB_STRATEGY(free_page);
