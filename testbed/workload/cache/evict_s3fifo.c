// SPDX-License-Identifier: Apache-2.0
//
// evict_s3fifo: S3-FIFO (Yang, Zhang, Qiu, Yue, Vinayak: FIFO queues are all you need for cache eviction, SOSP 2023, algorithm 1).
// Most contents are used once, so what is new waits in a small queue, and only what was used again there gets into the main queue.
//
// Definition. c is `blocks`. S and M are FIFO queues of blocks; G is a FIFO queue of at most floor(0.9 c) ids that left from S.
//
//   hit              freq = min(freq + 1, 3). The block keeps its place.
//   insert(fresh)    freq = 0. If its id is in G, the id leaves G, and the block goes to the end of M; else to the end of S.
//   victim           if |S| >= 0.1 c, or M is empty: EVICT-S; else EVICT-M.
//     EVICT-S        look at the head t of S, again and again. If t.freq > 1: t.freq = 0, t goes to the end of M, and if then
//                    |M| > 0.9 c: EVICT-M. Otherwise t is the victim. If S becomes empty: EVICT-M.
//     EVICT-M        look at the head t of M, again and again. If t.freq > 0: t.freq -= 1, t goes to the end of M. Otherwise t is
//                    the victim.
//   remove           from S: its id goes to the end of G, from whose head one leaves if G is over its size. From M: nothing.
//
// 0.1 c and 0.9 c are compared exactly, without rounding. Three points that the paper's listing leaves open or does otherwise:
//   - The listing's EVICT-S goes on after EVICT-M evicted a block, until a block of S leaves as well. Here one block leaves at a
//     time: whoever is the victim, the search ends. A cache asks again if it needs more room.
//   - "Its access bits are cleared during the move" from S to M is in the text (4.1), not in the listing: freq = 0.
//   - "M is full" is |M| > 0.9 c after t came, so that M can have its 90 %.
// G takes an id when its block leaves and gives it up when its contents come back: a block is never in G and in the cache.
//
// Blocks in use count neither in S nor in M. The queues are heaps by arrival, because a block that is in use must not be a victim
// and gets its place back. O(log blocks), amortized: a block of M is looked at at most three times for each time it was found.
// About 150 bytes a block.
#include "locus/evict.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/cache/ghosts.h"
#include "testbed/workload/cache/heap.h"

enum { FREQ_MAX = 3, LEFT = 0 };

struct block {
    struct locus_id id;
    uint64_t arrival;           // in its queue
    uint8_t freq;
    bool main;                  // in M, not S
};

struct s3fifo {
    uint32_t blocks;
    uint64_t arrivals;
    struct tb_heap small, main;
    struct block *block;
    struct tb_ghosts ghosts;    // G is its queue LEFT
};

static void s3fifo_close(void *state)
{
    struct s3fifo *s3 = state;
    if (!s3)
        return;
    tb_heap_close(&s3->small);
    tb_heap_close(&s3->main);
    tb_ghosts_close(&s3->ghosts);
    free(s3->block);
    free(s3);
}

static uint32_t ghosts_max(const struct s3fifo *s3)
{
    return (uint32_t)(UINT64_C(9) * s3->blocks / 10);
}

static int s3fifo_open(void **state, uint32_t blocks)
{
    *state = NULL;
    if (blocks == 0 || blocks >= LOCUS_EVICT_NONE / 8)
        return -EINVAL;
    struct s3fifo *s3 = calloc(1, sizeof *s3);
    if (!s3)
        return -ENOMEM;
    s3->blocks = blocks;
    int error = tb_heap_open(&s3->small, blocks) | tb_heap_open(&s3->main, blocks);
    error |= tb_ghosts_open(&s3->ghosts, ghosts_max(s3) + 1);
    s3->block = calloc(blocks, sizeof *s3->block);
    if (error || !s3->block) {
        s3fifo_close(s3);
        return -ENOMEM;
    }
    *state = s3;
    return 0;
}

static struct tb_heap *queue_of(struct s3fifo *s3, uint32_t block)
{
    return s3->block[block].main ? &s3->main : &s3->small;
}

static bool ghost_comes_back(struct s3fifo *s3, struct locus_id id)
{
    struct tb_ghost *ghost = tb_ghosts_find(&s3->ghosts, id);
    if (ghost)
        tb_ghosts_drop(&s3->ghosts, ghost);
    return ghost;
}

// A request may have computed contents that are held already, or have left by another block's name, so the id may be there.
static void ghost_add(struct s3fifo *s3, struct locus_id id)
{
    ghost_comes_back(s3, id);
    tb_ghosts_add(&s3->ghosts, id, LEFT);
    if (s3->ghosts.count[LEFT] > ghosts_max(s3))
        tb_ghosts_drop(&s3->ghosts, TAILQ_FIRST(&s3->ghosts.queue[LEFT]));
}

static void s3fifo_insert(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh)
{
    struct s3fifo *s3 = state;
    (void)parent;
    if (fresh)
        s3->block[block] = (struct block){.id = id, .arrival = s3->arrivals++, .main = ghost_comes_back(s3, id)};
    tb_heap_push(queue_of(s3, block), block, (struct tb_heap_key){s3->block[block].arrival, 0});
}

static void s3fifo_hit(void *state, uint32_t block)
{
    struct s3fifo *s3 = state;
    s3->block[block].freq += s3->block[block].freq < FREQ_MAX;
    tb_heap_remove(queue_of(s3, block), block);
}

static void to_main(struct s3fifo *s3, uint32_t block, uint8_t freq)
{
    tb_heap_remove(queue_of(s3, block), block);
    s3->block[block].main = true;
    s3->block[block].freq = freq;
    s3->block[block].arrival = s3->arrivals++;
    tb_heap_push(&s3->main, block, (struct tb_heap_key){s3->block[block].arrival, 0});
}

static uint32_t victim_of_main(struct s3fifo *s3)
{
    uint32_t block;
    while ((block = tb_heap_top(&s3->main)) != LOCUS_EVICT_NONE && s3->block[block].freq > 0)
        to_main(s3, block, s3->block[block].freq - 1);
    return block;
}

// A second call finds the same block: after a promotion that leads to EVICT-M, S is below its share.
static uint32_t s3fifo_victim(void *state)
{
    struct s3fifo *s3 = state;
    const uint64_t share = s3->blocks;
    if (s3->main.count > 0 && 10 * (uint64_t)s3->small.count < share)
        return victim_of_main(s3);
    while (s3->small.count > 0) {
        uint32_t block = tb_heap_top(&s3->small);
        if (s3->block[block].freq <= 1)
            return block;
        to_main(s3, block, 0);
        if (10 * (uint64_t)s3->main.count > 9 * share)
            break;
    }
    return victim_of_main(s3);
}

static void s3fifo_remove(void *state, uint32_t block)
{
    struct s3fifo *s3 = state;
    tb_heap_remove(queue_of(s3, block), block);
    if (!s3->block[block].main)
        ghost_add(s3, s3->block[block].id);
}

static const struct locus_evict_ops tb_evict_s3fifo = {
    .name = "s3fifo",
    .summary = "S3-FIFO: a small queue for what is new, a main queue for what was used again, a memory of what left",
    .open = s3fifo_open,
    .close = s3fifo_close,
    .hit = s3fifo_hit,
    .insert = s3fifo_insert,
    .victim = s3fifo_victim,
    .remove = s3fifo_remove,
};
LOCUS_EVICT(tb_evict_s3fifo);
