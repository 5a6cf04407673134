// SPDX-License-Identifier: Apache-2.0
//
// pages: what the seeds' listings of equal pages have in common, without their faults: a stack of free pages, a flag for those in
// use, and a list for each request. The members add the fault.
#ifndef TB_SEEDS_PAGES_H
#define TB_SEEDS_PAGES_H

#include "testbed/strategies/strategy.h"

#define SEED_NO_PAGE UINT32_MAX

struct seed_list {
    uint32_t *page;
    uint32_t count, room, tokens;
    uint64_t request;           // its id
    uint32_t listed;            // entries of `page`: those in use, then what is left of longer times
};

struct seed_pages {
    const struct tb_strategy_setup *setup;
    uint32_t page_tokens, pages;
    uint32_t *free, free_count; // what came last leaves first
    bool *in_use;               // [pages]
    uint32_t *references;       // [pages], as a listing counts them
    uint64_t *owner, *taken_for; // [pages]: a request's id as a listing tags it, and the one that took it
    uint64_t requests;          // so far: their ids
    struct seed_list list[];    // [sequences]
};

int seed_open(const struct tb_strategy_setup *setup, void **state);
void seed_close(void *state);

static inline uint32_t seed_pages_for(const struct seed_pages *all, uint32_t tokens)
{
    return (tokens + all->page_tokens - 1) / all->page_tokens;
}

uint32_t seed_take(struct seed_pages *all); // SEED_NO_PAGE: none is free
void seed_give(struct seed_pages *all, uint32_t page); // silent when it is not in use
int seed_room(struct seed_list *list, uint32_t pages); // so that the list can have so many. 0 or -ENOMEM
int seed_fill(struct seed_pages *all, struct seed_list *list, uint32_t pages); // up to so many, or none. 0, -EAGAIN, -ENOMEM

int seed_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached);
int seed_extend(void *state, uint32_t sequence, uint32_t tokens);
void seed_cut(void *state, uint32_t sequence, uint32_t tokens);
void seed_release(void *state, uint32_t sequence, bool keep);
void *seed_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run);
void seed_usage(void *state, uint64_t below, struct tb_usage *out);
int seed_audit(void *state, char *why, size_t why_bytes);

#endif
