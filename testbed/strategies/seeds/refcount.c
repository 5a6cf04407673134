// SPDX-License-Identifier: Apache-2.0
//
// refcount: seed 001's pool with reference counts. Taking a page sets no count, so a fork makes it one for two: the first of them
// that leaves, or copies, frees the page of the other.
//
// A page that was never shared has no count, and the listing's decrement would end in a KeyError there. Here it goes the way of
// the listing's pool without counts.

#include <errno.h>

#include "testbed/strategies/seeds/pages.h"

static void leave(struct seed_pages *all, uint32_t page)
{
    if (all->references[page] > 0 && --all->references[page] > 0)
        return;
    seed_give(all, page);
}

static int refcount_fork(void *state, uint32_t from, uint32_t to, uint32_t most)
{
    struct seed_pages *all = state;
    struct seed_list *source = &all->list[from], *target = &all->list[to];
    (void)most;
    int error = seed_room(target, source->count);
    if (error)
        return error;
    for (uint32_t i = 0; i < source->count; i++) {
        target->page[i] = source->page[i];
        all->references[source->page[i]]++;
    }
    target->count = source->count;
    target->tokens = source->tokens;
    return 0;
}

// A partial last page that is shared is copied before it is written.
static int refcount_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    uint32_t partial = list->tokens % all->page_tokens, wanted = seed_pages_for(all, list->tokens + tokens);
    uint32_t *last = &list->page[list->count - 1];
    bool copies = partial && all->references[*last] > 0;
    if (wanted - list->count + copies > all->free_count)
        return -EAGAIN;
    if (copies) {
        uint32_t page = seed_take(all), run;
        void *from = seed_at(all, sequence, list->tokens - partial, &run);
        tb_kv_copy(all->setup->kv, tb_kv_at(all->setup->kv, (uint64_t)page * all->page_tokens), from, partial);
        leave(all, *last);
        *last = page;
    }
    return seed_extend(all, sequence, tokens);
}

static void refcount_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    while (list->count > seed_pages_for(all, tokens))
        leave(all, list->page[--list->count]);
    list->tokens = tokens;
}

static void refcount_release(void *state, uint32_t sequence, bool keep)
{
    (void)keep;
    refcount_cut(state, sequence, 0);
}

static const struct tb_strategy_ops ops = {
    .open = seed_open,
    .close = seed_close,
    .admit = seed_admit,
    .extend = refcount_extend,
    .fork = refcount_fork,
    .cut = refcount_cut,
    .release = refcount_release,
    .at = seed_at,
    .usage = seed_usage,
    .audit = seed_audit,
};

static const struct tb_strategy refcount = {.name = "seed-refcount",
                                            .summary = "seed 001: a page that is taken has no count",
                                            .ops = &ops,
                                            .trap = true};
TB_STRATEGY(refcount);
