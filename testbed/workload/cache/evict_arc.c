// SPDX-License-Identifier: Apache-2.0
//
// evict_arc: ARC (Megiddo, Modha: ARC, a self-tuning, low overhead replacement cache, FAST 2003, figure 4). It keeps what was used
// once and what was used more often in two lists, and learns from what it evicted too early how long each should be.
//
// Definition. c is `blocks`. T1 and T2 are lists of kept blocks, B1 and B2 lists of ids that left them, all by age. p, a real
// number from 0 to c and at first 0, is the size wanted for T1.
//
//   hit, insert(again)  Case I: the block goes to the end (MRU) of T2.
//   miss(x)             Case II, x in B1: p = min(p + max(1, |B2| / |B1|), c).
//                       Case III, x in B2: p = max(p - max(1, |B1| / |B2|), 0). Sizes are those before the victim leaves.
//   victim              REPLACE(x, p), x being the last id that was missed: the head (LRU) of T1 if T1 is not empty and either
//                       |T1| > p, or x is in B2 and |T1| = p; otherwise the head of T2. If that list is empty, the other one's.
//   remove              a block of T1: its id goes to the end of B1. Of T2: to the end of B2.
//   insert(fresh)       Cases II and III: x leaves B1 or B2, its block goes to the end of T2. Case IV: if |T1| + |B1| >= c, the
//                       head of B1 is deleted; otherwise, if |T1| + |T2| + |B1| + |B2| >= 2c, the head of B2 is. Then the block
//                       goes to the end of T1.
//
// The figure deletes in case IV before REPLACE, here it is done after, when the contents are there: the lists are the same
// afterwards. (Where the figure deletes a page of T1 without a trace, because B1 is empty, here it passes through B1.)
//
// Blocks in use are in no list. A cache that lets a block below the victim leave instead, or that has blocks in use, may hold more
// ids in B1 and B2 than the figure allows: if there would be more than 2c, the head of the longer list is deleted.
//
// O(1); about 170 bytes a block.
#include "locus/evict.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/cache/ghosts.h"

enum { ONCE, OFTEN, LISTS };    // T1 and B1, T2 and B2

struct block {
    struct locus_id id;
    uint32_t list;
    TAILQ_ENTRY(block) age;
};

TAILQ_HEAD(list, block);        // the oldest first

struct arc {
    uint32_t blocks;
    double p;
    bool missed_often;          // the last id that was missed is in B2
    struct list kept[LISTS];
    uint32_t count[LISTS];      // of `kept`
    struct block *block;
    struct tb_ghosts gone;
};

static void arc_close(void *state)
{
    struct arc *arc = state;
    if (!arc)
        return;
    tb_ghosts_close(&arc->gone);
    free(arc->block);
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
        TAILQ_INIT(&arc->kept[i]);
    int error = tb_ghosts_open(&arc->gone, 2 * blocks);
    arc->block = calloc(blocks, sizeof *arc->block);
    if (error || !arc->block) {
        arc_close(arc);
        return -ENOMEM;
    }
    *state = arc;
    return 0;
}

static void oldest_drop(struct arc *arc, uint32_t list)
{
    tb_ghosts_drop(&arc->gone, TAILQ_FIRST(&arc->gone.queue[list]));
}

static void ghost_add(struct arc *arc, struct locus_id id, uint32_t list)
{
    struct tb_ghost *ghost = tb_ghosts_find(&arc->gone, id);
    if (ghost) // the same contents were in two blocks
        tb_ghosts_drop(&arc->gone, ghost);
    if (TAILQ_EMPTY(&arc->gone.free))
        oldest_drop(arc, arc->gone.count[ONCE] > arc->gone.count[OFTEN] ? ONCE : OFTEN);
    tb_ghosts_add(&arc->gone, id, list);
}

static void arc_miss(void *state, struct locus_id id)
{
    struct arc *arc = state;
    const struct tb_ghost *ghost = tb_ghosts_find(&arc->gone, id);
    const double once = arc->gone.count[ONCE], often = arc->gone.count[OFTEN];
    arc->missed_often = false;
    if (!ghost)
        return;
    if (ghost->queue == ONCE) {
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
    const uint32_t once = arc->count[ONCE], often = arc->count[OFTEN];
    const bool shorten = once > arc->p || (arc->missed_often && once == arc->p);
    if (once + often == 0)
        return LOCUS_EVICT_NONE;
    return (uint32_t)(TAILQ_FIRST(&arc->kept[once > 0 && (shorten || often == 0) ? ONCE : OFTEN]) - arc->block);
}

static void arc_hit(void *state, uint32_t block)
{
    struct arc *arc = state;
    struct block *it = &arc->block[block];
    TAILQ_REMOVE(&arc->kept[it->list], it, age);
    arc->count[it->list]--;
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
    const uint32_t *gone = arc->gone.count;
    const uint64_t first = (uint64_t)arc->count[ONCE] + gone[ONCE], second = (uint64_t)arc->count[OFTEN] + gone[OFTEN];
    if (first >= arc->blocks && gone[ONCE] > 0)
        oldest_drop(arc, ONCE);
    else if (first + second >= 2 * (uint64_t)arc->blocks && gone[OFTEN] > 0)
        oldest_drop(arc, OFTEN);
}

static void arc_insert(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh)
{
    struct arc *arc = state;
    struct block *it = &arc->block[block];
    struct tb_ghost *ghost = fresh ? tb_ghosts_find(&arc->gone, id) : NULL;
    (void)parent;
    if (ghost)
        tb_ghosts_drop(&arc->gone, ghost);
    else if (fresh)
        forget(arc);
    it->id = id;
    it->list = fresh && !ghost ? ONCE : OFTEN;
    TAILQ_INSERT_TAIL(&arc->kept[it->list], it, age);
    arc->count[it->list]++;
}

static const struct locus_evict_ops tb_evict_arc = {
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
LOCUS_EVICT(tb_evict_arc);
