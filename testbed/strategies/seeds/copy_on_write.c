// SPDX-License-Identifier: Apache-2.0
//
// copy_on_write: seed 003's blocks count references and are tagged with the request that has them. The copy that a write makes gets
// the tag of the block that it was copied from: who asks by tag finds the old owner, and frees or evicts what another writes.

#include <errno.h>
#include <stdio.h>

#include "testbed/strategies/seeds/pages.h"

// The ids of requests begin at 1, and are not used again.
static void tag(struct seed_pages *all, uint32_t page, uint64_t owner, uint64_t taken_for)
{
    all->references[page] = 1;
    all->owner[page] = owner;
    all->taken_for[page] = taken_for;
}

static int counted_fill(struct seed_pages *all, uint32_t sequence, uint32_t tokens)
{
    struct seed_list *list = &all->list[sequence];
    uint32_t before = list->count;
    int error = seed_fill(all, list, seed_pages_for(all, tokens));
    if (error)
        return error;
    for (uint32_t i = before; i < list->count; i++)
        tag(all, list->page[i], all->list[sequence].request, all->list[sequence].request);
    list->tokens = tokens;
    return 0;
}

static int cow_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct seed_pages *all = state;
    *cached = 0;
    all->list[sequence].request = ++all->requests;
    return seed_pages_for(all, most) > all->pages ? -ENOSPC : counted_fill(all, sequence, prompt->tokens);
}

static int cow_fork(void *state, uint32_t from, uint32_t to, uint32_t most)
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
    target->request = ++all->requests;
    return 0;
}

static void leave(struct seed_pages *all, uint32_t page)
{
    if (--all->references[page] == 0)
        seed_give(all, page);
}

static void copy_on_write(struct seed_pages *all, uint32_t sequence)
{
    struct seed_list *list = &all->list[sequence];
    uint32_t *last = &list->page[list->count - 1], page = seed_take(all), run;
    uint32_t used = list->tokens % all->page_tokens;
    void *from = seed_at(all, sequence, list->tokens - used, &run);
    tag(all, page, all->owner[*last], all->list[sequence].request);
    tb_kv_copy(all->setup->kv, tb_kv_at(all->setup->kv, (uint64_t)page * all->page_tokens), from, used);
    leave(all, *last);
    *last = page;
}

static int cow_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    bool copies = list->tokens % all->page_tokens && all->references[list->page[list->count - 1]] > 1;
    if (seed_pages_for(all, list->tokens + tokens) - list->count + copies > all->free_count)
        return -EAGAIN;
    if (copies)
        copy_on_write(all, sequence);
    return counted_fill(all, sequence, list->tokens + tokens);
}

static void cow_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    while (list->count > seed_pages_for(all, tokens))
        leave(all, list->page[--list->count]);
    list->tokens = tokens;
}

static void cow_release(void *state, uint32_t sequence, bool keep)
{
    (void)keep;
    cow_cut(state, sequence, 0);
}

static int cow_audit(void *state, char *why, size_t why_bytes)
{
    const struct seed_pages *all = state;
    for (uint32_t i = 0; i < all->pages; i++) {
        if (all->references[i] == 0 || all->owner[i] == all->taken_for[i])
            continue;
        snprintf(why, why_bytes,
                 "strategy %s: two owners: block %u was taken for request %llu and is tagged as that of request %llu",
                 all->setup->strategy->name, i, (unsigned long long)all->taken_for[i], (unsigned long long)all->owner[i]);
        return -EBADMSG;
    }
    return seed_audit(state, why, why_bytes);
}

static const struct tb_strategy_ops ops = {
    .open = seed_open,
    .close = seed_close,
    .admit = cow_admit,
    .extend = cow_extend,
    .fork = cow_fork,
    .cut = cow_cut,
    .release = cow_release,
    .at = seed_at,
    .usage = seed_usage,
    .audit = cow_audit,
};

static const struct tb_strategy copies = {.name = "seed-copy-on-write",
                                          .summary = "seed 003: tags a copy with the owner of the original",
                                          .ops = &ops,
                                          .trap = true};
TB_STRATEGY(copies);
