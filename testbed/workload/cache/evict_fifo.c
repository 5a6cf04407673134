// SPDX-License-Identifier: Apache-2.0
//
// evict_fifo: the block whose contents came first leaves first. The yardstick without any memory of use.
//
// Definition. insert(fresh) puts a block at the end of the queue. The head of the queue is the victim. Being found changes nothing:
// a block that is kept again has its old place.
//
// The queue is a heap by arrival, because a block that is in use must not be a victim and gets its place back. O(log blocks); 36
// bytes a block.
#include "locus/evict.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/cache/heap.h"

struct fifo {
    struct tb_heap queue;       // key: when the contents came
    uint64_t *arrival;          // of each block
    uint64_t arrivals;
};

static void fifo_close(void *state)
{
    struct fifo *fifo = state;
    if (!fifo)
        return;
    tb_heap_close(&fifo->queue);
    free(fifo->arrival);
    free(fifo);
}

static int fifo_open(void **state, uint32_t blocks)
{
    *state = NULL;
    if (blocks == 0 || blocks >= LOCUS_EVICT_NONE / 8)
        return -EINVAL;
    struct fifo *fifo = calloc(1, sizeof *fifo);
    if (!fifo)
        return -ENOMEM;
    int error = tb_heap_open(&fifo->queue, blocks);
    fifo->arrival = calloc(blocks, sizeof *fifo->arrival);
    if (error || !fifo->arrival) {
        fifo_close(fifo);
        return -ENOMEM;
    }
    *state = fifo;
    return 0;
}

static void fifo_insert(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh)
{
    struct fifo *fifo = state;
    (void)id;
    (void)parent;
    if (fresh)
        fifo->arrival[block] = fifo->arrivals++;
    tb_heap_push(&fifo->queue, block, (struct tb_heap_key){fifo->arrival[block], 0});
}

static void fifo_unlink(void *state, uint32_t block)
{
    tb_heap_remove(&((struct fifo *)state)->queue, block);
}

static uint32_t fifo_victim(void *state)
{
    return tb_heap_top(&((struct fifo *)state)->queue);
}

static const struct locus_evict_ops tb_evict_fifo = {
    .name = "fifo",
    .summary = "first in, first out: what came first leaves first",
    .open = fifo_open,
    .close = fifo_close,
    .hit = fifo_unlink,
    .insert = fifo_insert,
    .victim = fifo_victim,
    .remove = fifo_unlink,
};
LOCUS_EVICT(tb_evict_fifo);
