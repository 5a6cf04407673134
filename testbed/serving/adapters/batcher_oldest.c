// SPDX-License-Identifier: Apache-2.0
//
// batcher_oldest: the adapter whose oldest request waits longest gives what it has, but at most an eighth of the batch; then the
// next one. So a batch reads the weights of few adapters, and yet nobody is passed over for good: each turn takes the oldest
// request of all, so of B requests that wait before one, each turn takes one at least.
//
// A heap of the adapters by their oldest request. The eighth is arbitrary: a batch has eight adapters at least, if so many wait.

#include "testbed/serving/adapters/batcher.h"
#include "testbed/serving/adapters/pending.h"

#define PART 8u

struct oldest {
    struct tb_pending pending;
    uint32_t *heap;             // adapters with requests
    uint32_t count, slots, share;
};

static void oldest_close(void *state)
{
    struct oldest *oldest = state;
    if (!oldest)
        return;
    tb_pending_close(&oldest->pending);
    free(oldest->heap);
    free(oldest);
}

static int oldest_open(void **state, uint32_t adapters, uint32_t requests, uint32_t slots)
{
    struct oldest *oldest = *state = calloc(1, sizeof *oldest);
    if (!oldest)
        return -ENOMEM;
    oldest->slots = slots;
    oldest->share = slots < PART ? 1 : slots / PART;
    oldest->heap = malloc(adapters * sizeof *oldest->heap);
    int error = tb_pending_open(&oldest->pending, adapters, requests);
    return oldest->heap ? error : -ENOMEM;
}

static uint32_t first_of(const struct oldest *oldest, uint32_t place)
{
    return oldest->pending.queue[oldest->heap[place]].first;
}

static void push(struct oldest *oldest, uint32_t adapter)
{
    uint32_t at = oldest->count++, request = oldest->pending.queue[adapter].first;
    for (; at > 0 && first_of(oldest, (at - 1) / 2) > request; at = (at - 1) / 2)
        oldest->heap[at] = oldest->heap[(at - 1) / 2];
    oldest->heap[at] = adapter;
}

static uint32_t pop(struct oldest *oldest)
{
    uint32_t top = oldest->heap[0], last = oldest->heap[--oldest->count], at = 0;
    uint32_t request = oldest->pending.queue[last].first;
    for (uint32_t child; (child = 2 * at + 1) < oldest->count; at = child) {
        child += child + 1 < oldest->count && first_of(oldest, child + 1) < first_of(oldest, child);
        if (first_of(oldest, child) >= request)
            break;
        oldest->heap[at] = oldest->heap[child];
    }
    oldest->heap[at] = last;
    return top;
}

static void oldest_add(void *state, uint32_t request, uint32_t adapter)
{
    struct oldest *oldest = state;
    tb_pending_add(&oldest->pending, request, adapter);
    if (oldest->pending.queue[adapter].count == 1)
        push(oldest, adapter);
}

static uint32_t oldest_form(void *state, uint32_t batch[])
{
    struct oldest *oldest = state;
    uint32_t count = 0;
    while (count < oldest->slots && oldest->count) {
        uint32_t adapter = pop(oldest);
        for (uint32_t n = 0; n < oldest->share && count < oldest->slots && oldest->pending.queue[adapter].count; n++)
            batch[count++] = tb_pending_take(&oldest->pending, adapter);
        if (oldest->pending.queue[adapter].count)
            push(oldest, adapter);
    }
    return count;
}

const struct tb_batcher tb_batcher_oldest = {
    .name = "oldest",
    .summary = "the adapter whose request waits longest, up to an eighth of the batch",
    .open = oldest_open,
    .close = oldest_close,
    .add = oldest_add,
    .form = oldest_form,
};
