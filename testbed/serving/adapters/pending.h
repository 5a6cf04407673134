// SPDX-License-Identifier: Apache-2.0
//
// pending: the requests that wait, a queue for each adapter. For batchers; header only.
#ifndef TB_PENDING_H
#define TB_PENDING_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define TB_PENDING_NONE UINT32_MAX

struct tb_pending {
    uint32_t *next;             // of a request: that of the same adapter behind it
    struct tb_pending_queue {
        uint32_t first, last, count;
    } * queue;        // of an adapter
    uint32_t waiting;           // requests in all
};

// 0 or -ENOMEM; close it in both cases.
static inline int tb_pending_open(struct tb_pending *pending, uint32_t adapters, uint32_t requests)
{
    *pending = (struct tb_pending){.next = malloc((requests + (size_t)1) * sizeof *pending->next),
                                   .queue = calloc(adapters, sizeof *pending->queue)};
    return pending->next && pending->queue ? 0 : -ENOMEM;
}

static inline void tb_pending_close(struct tb_pending *pending)
{
    free(pending->next);
    free(pending->queue);
}

static inline void tb_pending_add(struct tb_pending *pending, uint32_t request, uint32_t adapter)
{
    struct tb_pending_queue *queue = &pending->queue[adapter];
    pending->next[request] = TB_PENDING_NONE;
    if (queue->count++)
        pending->next[queue->last] = request;
    else
        queue->first = request;
    queue->last = request;
    pending->waiting++;
}

// pre: the adapter has one.
static inline uint32_t tb_pending_take(struct tb_pending *pending, uint32_t adapter)
{
    struct tb_pending_queue *queue = &pending->queue[adapter];
    uint32_t request = queue->first;
    queue->first = pending->next[request];
    queue->count--;
    pending->waiting--;
    return request;
}

#endif
