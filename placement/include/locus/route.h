// SPDX-License-Identifier: Apache-2.0
//
// route: a worker's return path. It has a lane of each home, and sends a finished request's table by it.
#ifndef LOCUS_ROUTE_H
#define LOCUS_ROUTE_H

#include "lane.h"
#include "table.h"

#ifdef __cplusplus
extern "C" {
#endif

// One worker's lanes, one of each home. Filled once, read-only afterwards, so several threads may share one, unless it has an
// exclusive lane.
struct locus_route {
    uint64_t homes;             // bit h: home[h] is set
    uint64_t exclusive;         // bit h: that lane has no other pusher
    struct locus_lane *only;    // the lane, if there is one home and no other pusher
    struct locus_lane *home[LOCUS_HOMES_MAX];
};

// An empty route (`struct locus_route route = {0}` is the same). NULL: out of memory.
struct locus_route *locus_route_new(void);
void locus_route_free(struct locus_route *route); // NULL is allowed

// Adds an owner's lane, before the route is used. Any thread.
// add_exclusive: only this route pushes there, and by one thread at a time (handing the route on must synchronise). Then a push is
// a plain store (lane.h), and with one home it does not look into the table: what it should have refused, the owner's drain refuses
// (pool.h: LOCUS_FREE_NOT_RETIRED, LOCUS_FREE_MISROUTED). 0; -EINVAL: no such lane; -EBUSY: it has the other mode. A lane keeps its
// mode as long as the owner is open.
struct locus_owner;
int locus_route_add(struct locus_route *route, const struct locus_owner *owner, uint32_t lane);
int locus_route_add_exclusive(struct locus_route *route, const struct locus_owner *owner, uint32_t lane);

// Sends a RETIRED table home: one push for each home whose blocks it holds. From then on the table belongs to the owners. Any
// thread that may use the route.
// 0, -EINVAL (not RETIRED: pushed twice, or never declared), -EXDEV (the route lacks one of its homes; nothing was sent). A route
// of one exclusive lane mostly returns 0 for these, too, and the drain refuses the table. No check of either kind helps if the
// table has been retired again by then: a second push is taken for the new one.
int locus_table_push(const struct locus_route *route, struct locus_table *table);

int locus_table_push_slow(const struct locus_route *route, struct locus_table *table); // private to the function below

// The same, inlined (inline.h). One home and an exclusive lane: one store, and the table's lines stay where they are.
inline int locus_table_push_inline(const struct locus_route *route, struct locus_table *table)
{
    if (route->only && locus_lane_send(route->only, table))
        return 0;
    return locus_table_push_slow(route, table);
}

#ifdef __cplusplus
}
#endif

#endif
