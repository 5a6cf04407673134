// SPDX-License-Identifier: Apache-2.0
//
// pages: see pages.h.

#include "testbed/strategies/seeds/pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void seed_close(void *state)
{
    struct seed_pages *all = state;
    if (!all)
        return;
    for (uint32_t i = 0; i < all->setup->sequences; i++)
        free(all->list[i].page);
    free(all->free);
    free(all->in_use);
    free(all->references);
    free(all->owner);
    free(all->taken_for);
    free(all);
}

int seed_open(const struct tb_strategy_setup *setup, void **state)
{
    struct seed_pages *all = calloc(1, sizeof *all + setup->sequences * sizeof *all->list);
    if (!all)
        return -ENOMEM;
    all->setup = setup;
    all->page_tokens = setup->block_tokens;
    all->pages = (uint32_t)(setup->kv->tokens / setup->block_tokens);
    all->free = calloc(all->pages + 1, sizeof *all->free);
    all->in_use = calloc(all->pages + 1, sizeof *all->in_use);
    all->references = calloc(all->pages + 1, sizeof *all->references);
    all->owner = calloc(all->pages + 1, sizeof *all->owner);
    all->taken_for = calloc(all->pages + 1, sizeof *all->taken_for);
    if (!all->free || !all->in_use || !all->references || !all->owner || !all->taken_for) {
        seed_close(all);
        return -ENOMEM;
    }
    for (; all->free_count < all->pages; all->free_count++)
        all->free[all->free_count] = all->free_count;
    *state = all;
    return 0;
}

uint32_t seed_take(struct seed_pages *all)
{
    if (all->free_count == 0)
        return SEED_NO_PAGE;
    uint32_t page = all->free[--all->free_count];
    all->in_use[page] = true;
    return page;
}

void seed_give(struct seed_pages *all, uint32_t page)
{
    if (!all->in_use[page])
        return;
    all->in_use[page] = false;
    all->free[all->free_count++] = page;
}

int seed_room(struct seed_list *list, uint32_t pages)
{
    if (pages <= list->room)
        return 0;
    uint32_t room = pages > 2 * list->room ? pages : 2 * list->room;
    uint32_t *more = reallocarray(list->page, room, sizeof *more);
    if (!more)
        return -ENOMEM;
    list->page = more;
    list->room = room;
    return 0;
}

int seed_fill(struct seed_pages *all, struct seed_list *list, uint32_t pages)
{
    if (pages > list->count && pages - list->count > all->free_count)
        return -EAGAIN;
    int error = seed_room(list, pages);
    while (!error && list->count < pages)
        list->page[list->count++] = seed_take(all);
    if (list->listed < list->count)
        list->listed = list->count;
    return error;
}

int seed_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    *cached = 0;
    if (seed_pages_for(all, most) > all->pages)
        return -ENOSPC;
    int error = seed_fill(all, list, seed_pages_for(all, prompt->tokens));
    list->tokens = error ? 0 : prompt->tokens;
    return error;
}

int seed_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    int error = seed_fill(all, list, seed_pages_for(all, list->tokens + tokens));
    list->tokens += error ? 0 : tokens;
    return error;
}

void seed_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    struct seed_pages *all = state;
    struct seed_list *list = &all->list[sequence];
    while (list->count > seed_pages_for(all, tokens))
        seed_give(all, list->page[--list->count]);
    list->listed = list->count;
    list->tokens = tokens;
}

void seed_release(void *state, uint32_t sequence, bool keep)
{
    (void)keep;
    seed_cut(state, sequence, 0);
}

void *seed_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct seed_pages *all = state;
    uint32_t within = position % all->page_tokens;
    *run = all->page_tokens - within;
    return tb_kv_at(all->setup->kv, (uint64_t)all->list[sequence].page[position / all->page_tokens] * all->page_tokens + within);
}

void seed_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct seed_pages *all = state;
    uint64_t free_tokens = (uint64_t)all->free_count * all->page_tokens;
    (void)below;
    *out = (struct tb_usage){
        .reserved = (uint64_t)(all->pages - all->free_count) * all->page_tokens,
        .free = free_tokens,
        .largest = free_tokens,
    };
}

int seed_audit(void *state, char *why, size_t why_bytes)
{
    const struct seed_pages *all = state;
    uint32_t in_use = 0;
    for (uint32_t i = 0; i < all->pages; i++)
        in_use += all->in_use[i];
    if (in_use + all->free_count == all->pages)
        return 0;
    snprintf(why, why_bytes, "strategy %s: %u pages are in use and %u are free, of %u", all->setup->strategy->name, in_use,
             all->free_count, all->pages);
    return -EBADMSG;
}
