// SPDX-License-Identifier: Apache-2.0
//
// lru: the block that was kept longest ago leaves first.
//
// Definition. insert(), fresh or again, puts a block at the end of a list. The head of the list is the victim. So the order is that
// of the insert() calls: a cache that keeps a finished request's blocks last to first makes its tail leave first.
//
// O(1); 8 bytes a block.
#include "locus/evict.h"

#include <errno.h>
#include <stdlib.h>

#include "list.h"

struct lru {
    struct list list;
    struct link links[];        // of each block
};

static int lru_open(void **state, uint32_t blocks)
{
    *state = NULL;
    if (blocks == 0 || blocks >= LOCUS_EVICT_NONE / 8)
        return -EINVAL;
    struct lru *lru = malloc(sizeof *lru + blocks * sizeof *lru->links);
    if (!lru)
        return -ENOMEM;
    lru->list = LIST_EMPTY;
    *state = lru;
    return 0;
}

static void lru_insert(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh)
{
    struct lru *lru = state;
    (void)id;
    (void)parent;
    (void)fresh;
    list_push(&lru->list, lru->links, block);
}

static void lru_unlink(void *state, uint32_t block)
{
    struct lru *lru = state;
    list_remove(&lru->list, lru->links, block);
}

static uint32_t lru_victim(void *state)
{
    return ((struct lru *)state)->list.oldest;
}

const struct locus_evict_ops locus_evict_lru = {
    .name = "lru",
    .summary = "least recently used: what was kept longest ago leaves first",
    .open = lru_open,
    .close = free,
    .hit = lru_unlink,
    .insert = lru_insert,
    .victim = lru_victim,
    .remove = lru_unlink,
};
LOCUS_EVICT(locus_evict_lru);
