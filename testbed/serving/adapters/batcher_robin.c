// SPDX-License-Identifier: Apache-2.0
//
// batcher_robin: round robin over the adapters that have requests, one request a turn; the next batch goes on where this one ended.
// An adapter that gets its first request stands behind all others, and one that has more left after its turn as well. A turn is
// constant time. Deficit round robin (Shreedhar and Varghese, 1996) with a quantum of one request, as all requests take one slot.

#include <stdbool.h>

#include "testbed/serving/adapters/batcher.h"
#include "testbed/serving/adapters/pending.h"

struct robin {
    struct tb_pending pending;
    uint32_t *after;            // of an adapter in the line: the one behind it
    uint32_t first, last, slots; // TB_PENDING_NONE: nobody
};

static void robin_close(void *state)
{
    struct robin *robin = state;
    if (!robin)
        return;
    tb_pending_close(&robin->pending);
    free(robin->after);
    free(robin);
}

static int robin_open(void **state, uint32_t adapters, uint32_t requests, uint32_t slots)
{
    struct robin *robin = *state = calloc(1, sizeof *robin);
    if (!robin)
        return -ENOMEM;
    robin->first = robin->last = TB_PENDING_NONE;
    robin->slots = slots;
    robin->after = malloc(adapters * sizeof *robin->after);
    int error = tb_pending_open(&robin->pending, adapters, requests);
    return robin->after ? error : -ENOMEM;
}

static void queue(struct robin *robin, uint32_t adapter)
{
    robin->after[adapter] = TB_PENDING_NONE;
    if (robin->first == TB_PENDING_NONE)
        robin->first = adapter;
    else
        robin->after[robin->last] = adapter;
    robin->last = adapter;
}

static void robin_add(void *state, uint32_t request, uint32_t adapter)
{
    struct robin *robin = state;
    bool waits = robin->pending.queue[adapter].count;
    tb_pending_add(&robin->pending, request, adapter);
    if (!waits)
        queue(robin, adapter);
}

static uint32_t robin_form(void *state, uint32_t batch[])
{
    struct robin *robin = state;
    uint32_t count = 0;
    while (count < robin->slots && robin->first != TB_PENDING_NONE) {
        uint32_t adapter = robin->first;
        robin->first = robin->after[adapter];
        batch[count++] = tb_pending_take(&robin->pending, adapter);
        if (robin->pending.queue[adapter].count)
            queue(robin, adapter);
    }
    return count;
}

const struct tb_batcher tb_batcher_robin = {
    .name = "robin",
    .summary = "the fair one: the adapters by turns, one request a turn",
    .open = robin_open,
    .close = robin_close,
    .add = robin_add,
    .form = robin_form,
};
