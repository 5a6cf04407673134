// SPDX-License-Identifier: Apache-2.0
//
// events: what is due at some virtual time: a binary heap. Of equal times what was added first comes first. Header only.
#ifndef TB_EVENTS_H
#define TB_EVENTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct tb_event {
    uint64_t at_ns, order;
    uint32_t what;              // the caller's
    uint32_t of;
    uint64_t value;
};

struct tb_events {
    struct tb_event *event;
    uint32_t count, room;
    uint64_t order;
};

static inline bool tb_event_before(const struct tb_event *a, const struct tb_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static inline int tb_events_add(struct tb_events *events, struct tb_event event) // 0 or -ENOMEM
{
    if (events->count == events->room) {
        uint32_t room = events->room ? 2 * events->room : 64;
        struct tb_event *grown = reallocarray(events->event, room, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        events->event = grown;
        events->room = room;
    }
    uint32_t at = events->count++;
    event.order = events->order++;
    for (; at > 0 && tb_event_before(&event, &events->event[(at - 1) / 2]); at = (at - 1) / 2)
        events->event[at] = events->event[(at - 1) / 2];
    events->event[at] = event;
    return 0;
}

// pre: there is one.
static inline struct tb_event tb_events_next(struct tb_events *events)
{
    struct tb_event next = events->event[0], last = events->event[--events->count];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < events->count) {
        child += child + 1 < events->count && tb_event_before(&events->event[child + 1], &events->event[child]);
        if (!tb_event_before(&events->event[child], &last))
            break;
        events->event[at] = events->event[child];
        at = child;
    }
    if (events->count)
        events->event[at] = last;
    return next;
}

#endif
