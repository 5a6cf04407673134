// SPDX-License-Identifier: Apache-2.0
//
// arc: ARC (Megiddo, Modha: ARC, a self-tuning, low overhead replacement cache, FAST 2003, figure 4). It keeps what was used once
// and what was used more often in two lists, and learns from what it evicted too early how long each should be.
//
// Definition. c is `blocks`. T1 and T2 are lists of kept blocks, B1 and B2 lists of ids that left them, all by age. p, a real
// number from 0 to c and at first 0, is the size wanted for T1.
//
//   take, keep(again)   Case I: the block goes to the end (MRU) of T2.
//   miss(x)             Case II, x in B1: p = min(p + max(1, |B2| / |B1|), c).
//                       Case III, x in B2: p = max(p - max(1, |B1| / |B2|), 0). Sizes are those before the victim leaves.
//   victim              REPLACE(x, p), x being the last id that was missed: the head (LRU) of T1 if T1 is not empty and either
//                       |T1| > p, or x is in B2 and |T1| = p; otherwise the head of T2. If that list is empty, the other one's.
//   leave               a block of T1: its id goes to the end of B1. Of T2: to the end of B2.
//   keep(fresh)         Cases II and III: x leaves B1 or B2, its block goes to the end of T2. Case IV: if |T1| + |B1| >= c, the
//                       head of B1 is deleted; otherwise, if |T1| + |T2| + |B1| + |B2| >= 2c, the head of B2 is. Then the block
//                       goes to the end of T1.
//
// The figure deletes in case IV before REPLACE, here it is done after, when the contents are there: the lists are the same
// afterwards. (Where the figure deletes a page of T1 without a trace, because B1 is empty, here it passes through B1.)
//
// Blocks in use are in no list. A cache that lets a block below the victim leave instead, or that has blocks in use, may hold more
// ids in B1 and B2 than the figure allows: if there would be more than 2c, the head of the longer list is deleted.
//
// O(1); about 100 bytes a block.
#include "locus/evict.h"

#include <errno.h>
#include <stdlib.h>

#include "ids.h"
#include "list.h"

enum { ONCE, OFTEN, LISTS };    // T1 and B1, T2 and B2

struct block {
    struct locus_id id;
    uint8_t list;
};

struct arc {
    uint32_t blocks;
    double p;
    bool missed_often;          // the last id that was missed is in B2
    struct list kept[LISTS], gone[LISTS];
    struct link *links;         // of blocks
    struct block *block;
    struct ids ghosts;          // the ids in `gone`, whose numbers are slots
    struct link *ghost_links;
    uint8_t *ghost_list;
};

static void arc_close(void *state)
{
    struct arc *arc = state;
    if (!arc)
        return;
    ids_close(&arc->ghosts);
    free(arc->links);
    free(arc->block);
    free(arc->ghost_links);
    free(arc->ghost_list);
    free(arc);
}

static int arc_open(void **state, uint32_t blocks)
{
    *state = NULL;
    if (blocks == 0 || blocks >= LOCUS_EVICT_NONE / 8)
        return -EINVAL;
    struct arc *arc = calloc(1, sizeof *arc);
    if (!arc)
        return -ENOMEM;
    arc->blocks = blocks;
    for (int i = 0; i < LISTS; i++)
        arc->kept[i] = arc->gone[i] = LIST_EMPTY;
    int error = ids_open(&arc->ghosts, 2 * blocks);
    arc->links = calloc(blocks, sizeof *arc->links);
    arc->block = calloc(blocks, sizeof *arc->block);
    arc->ghost_links = calloc(2 * (size_t)blocks, sizeof *arc->ghost_links);
    arc->ghost_list = calloc(2 * (size_t)blocks, sizeof *arc->ghost_list);
    if (error || !arc->links || !arc->block || !arc->ghost_links || !arc->ghost_list) {
        arc_close(arc);
        return -ENOMEM;
    }
    *state = arc;
    return 0;
}

static void ghost_drop(struct arc *arc, uint32_t slot)
{
    list_remove(&arc->gone[arc->ghost_list[slot]], arc->ghost_links, slot);
    ids_drop(&arc->ghosts, slot);
}

static void ghost_add(struct arc *arc, struct locus_id id, uint8_t list)
{
    uint32_t slot = ids_find(&arc->ghosts, id);
    if (slot != LOCUS_EVICT_NONE) // the same contents were in two blocks
        ghost_drop(arc, slot);
    if (arc->ghosts.free == LOCUS_EVICT_NONE)
        ghost_drop(arc, arc->gone[arc->gone[ONCE].count > arc->gone[OFTEN].count ? ONCE : OFTEN].oldest);
    slot = ids_add(&arc->ghosts, id);
    arc->ghost_list[slot] = list;
    list_push(&arc->gone[list], arc->ghost_links, slot);
}

static void arc_miss(void *state, struct locus_id id)
{
    struct arc *arc = state;
    const uint32_t slot = ids_find(&arc->ghosts, id);
    const double once = arc->gone[ONCE].count, often = arc->gone[OFTEN].count;
    arc->missed_often = false;
    if (slot == LOCUS_EVICT_NONE)
        return;
    if (arc->ghost_list[slot] == ONCE) {
        arc->p += once >= often ? 1 : often / once;
        arc->p = arc->p < arc->blocks ? arc->p : arc->blocks;
    } else {
        arc->p -= often >= once ? 1 : once / often;
        arc->p = arc->p > 0 ? arc->p : 0;
        arc->missed_often = true;
    }
}

static uint32_t arc_victim(void *state)
{
    const struct arc *arc = state;
    const struct list *once = &arc->kept[ONCE], *often = &arc->kept[OFTEN];
    const bool shorten = once->count > arc->p || (arc->missed_often && once->count == arc->p);
    return once->count > 0 && (shorten || often->count == 0) ? once->oldest : often->oldest;
}

static void arc_hit(void *state, uint32_t block)
{
    struct arc *arc = state;
    list_remove(&arc->kept[arc->block[block].list], arc->links, block);
}

static void arc_remove(void *state, uint32_t block)
{
    struct arc *arc = state;
    arc_hit(arc, block);
    ghost_add(arc, arc->block[block].id, arc->block[block].list);
}

// Case IV: makes room for one more id that is in no list.
static void forget(struct arc *arc)
{
    const uint64_t first = (uint64_t)arc->kept[ONCE].count + arc->gone[ONCE].count;
    const uint64_t second = (uint64_t)arc->kept[OFTEN].count + arc->gone[OFTEN].count;
    if (first >= arc->blocks && arc->gone[ONCE].count > 0)
        ghost_drop(arc, arc->gone[ONCE].oldest);
    else if (first + second >= 2 * (uint64_t)arc->blocks && arc->gone[OFTEN].count > 0)
        ghost_drop(arc, arc->gone[OFTEN].oldest);
}

static void arc_insert(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh)
{
    struct arc *arc = state;
    uint32_t slot = fresh ? ids_find(&arc->ghosts, id) : LOCUS_EVICT_NONE;
    (void)parent;
    if (slot != LOCUS_EVICT_NONE)
        ghost_drop(arc, slot);
    else if (fresh)
        forget(arc);
    arc->block[block] = (struct block){id, fresh && slot == LOCUS_EVICT_NONE ? ONCE : OFTEN};
    list_push(&arc->kept[arc->block[block].list], arc->links, block);
}

const struct locus_evict_ops locus_evict_arc = {
    .name = "arc",
    .summary = "ARC: one list for what was used once, one for the rest, and their sizes adapt",
    .open = arc_open,
    .close = arc_close,
    .miss = arc_miss,
    .hit = arc_hit,
    .insert = arc_insert,
    .victim = arc_victim,
    .remove = arc_remove,
};
LOCUS_EVICT(locus_evict_arc);
