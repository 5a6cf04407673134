// SPDX-License-Identifier: Apache-2.0
//
// batcher_fifo: in the order of arrival, whatever the adapter. Requests are added in that order, so two numbers are the queue.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/batcher.h"

struct fifo {
    uint32_t first, end, slots;
};

static int fifo_open(void **state, uint32_t adapters, uint32_t requests, uint32_t slots)
{
    struct fifo *fifo = *state = calloc(1, sizeof *fifo);
    (void)adapters;
    (void)requests;
    if (fifo)
        fifo->slots = slots;
    return fifo ? 0 : -ENOMEM;
}

static void fifo_add(void *state, uint32_t request, uint32_t adapter)
{
    (void)adapter;
    ((struct fifo *)state)->end = request + 1;
}

static uint32_t fifo_form(void *state, uint32_t batch[])
{
    struct fifo *fifo = state;
    uint32_t count = 0;
    while (count < fifo->slots && fifo->first < fifo->end)
        batch[count++] = fifo->first++;
    return count;
}

const struct tb_batcher tb_batcher_fifo = {
    .name = "fifo",
    .summary = "in the order of arrival",
    .open = fifo_open,
    .close = free,
    .add = fifo_add,
    .form = fifo_form,
};
