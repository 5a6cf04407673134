// SPDX-License-Identifier: Apache-2.0
//
// list: a queue of numbers, oldest first, whose links lie in an array beside it. Not installed.
//
// Several lists may share one array of links if each number is in at most one of them.
#ifndef LOCUS_EVICT_LIST_H
#define LOCUS_EVICT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "locus/evict.h"

struct link {
    uint32_t older, newer;
};

struct list {
    uint32_t oldest, newest, count;
};

#define LIST_EMPTY ((struct list){LOCUS_EVICT_NONE, LOCUS_EVICT_NONE, 0})

// As the newest one.
static inline void list_push(struct list *list, struct link *links, uint32_t i)
{
    links[i] = (struct link){list->newest, LOCUS_EVICT_NONE};
    if (list->newest == LOCUS_EVICT_NONE)
        list->oldest = i;
    else
        links[list->newest].newer = i;
    list->newest = i;
    list->count++;
}

static inline void list_remove(struct list *list, struct link *links, uint32_t i)
{
    const struct link link = links[i];
    if (link.older == LOCUS_EVICT_NONE)
        list->oldest = link.newer;
    else
        links[link.older].newer = link.newer;
    if (link.newer == LOCUS_EVICT_NONE)
        list->newest = link.older;
    else
        links[link.newer].older = link.older;
    list->count--;
}

#endif
