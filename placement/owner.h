// SPDX-License-Identifier: Apache-2.0
//
// owner: the role that alone touches a pool, and through which everything comes home.
//
// It is a role, not only a thread. Either the engine's scheduler thread of that node adopts it, or the library spawns a thread,
// pins it to the node and calls the engine's step function there. All functions below that take an owner are *owner context*:
// they may be called only by the thread that holds the role (debug builds assert it), except where a comment says otherwise.
//
//     scheduler (owner context)                      worker (any thread)
//     grow(table, n)      take blocks
//     ... decode ...
//     retire(table)       declare it in flight  -->  locus_push(route, table)
//     drain()             free what arrived     <--
//     reclaimed()         tables to use again
//
// Waiting. When the pool has too few blocks, grow drains, and waits while retired tables are still on their way, up to wait_ns;
// it never waits for blocks that nobody has declared. With back-pressure it does the same *before* a never-used block goes out, so
// that the footprint stays at the theoretical peak (a cap above that peak is the pool's size, not a parameter here). All
// drains of a wait are counted like any other, and the tables that came home wait in reclaimed().
#ifndef LOCUS_OWNER_H
#define LOCUS_OWNER_H

#include "pool.h"
#include "table.h"

struct locus_owner;

struct locus_owner_config {
    struct locus_pool *pool;    // borrowed; must outlive the owner
    uint32_t mailboxes;         // >= 1: one per worker that pushes here keeps their heads apart
    bool backpressure;          // LIFO pools only
    uint64_t wait_ns;           // longest wait inside one grow; 0: do not wait, answer -EAGAIN
};

// 0, -EINVAL, -ENOMEM, or what locus_region_open() answered for the mailboxes, which lie on the pool's node.
int locus_owner_open(struct locus_owner **out, const struct locus_owner_config *config);

// NULL is allowed. Tables still in the mailboxes are dropped, not freed: drain first.
void locus_owner_close(struct locus_owner *owner);

// Takes the role for the calling thread: 0, or -EBUSY while another thread holds it. Leave gives it up; the next adopter sees
// everything that was done in it. Neither pins the thread: see topo.h.
int locus_owner_adopt(struct locus_owner *owner);
void locus_owner_leave(struct locus_owner *owner);

// One round of the engine's work, in owner context. 0 to be called again, anything else ends the thread with that result.
typedef int locus_owner_step_fn(struct locus_owner *owner, void *context);

// Starts a thread pinned to the CPUs of `node` (LOCUS_NODE_ANY: not pinned) that adopts the role and calls `step` until it
// ends. 0, -EBUSY, or what pthread_create or the pinning answered. Any thread.
int locus_owner_spawn(struct locus_owner *owner, int node, locus_owner_step_fn *step, void *context);

// Waits for the spawned thread and hands out the step function's last result. 0, or -EINVAL when none was spawned. Any thread.
int locus_owner_join(struct locus_owner *owner, int *result);

// Appends `count` blocks to a LIVE table, all or none.
// -ENOMEM     the pool cannot hold this, even when everything in flight is home
// -EAGAIN     it could, but wait_ns is 0
// -ETIMEDOUT  it waited wait_ns, and the declared tables did not arrive (a dead worker, say)
// -ENOSPC     the table is full;  -EINVAL  the table is not LIVE;  -EXDEV  it has no link for this home
int locus_owner_grow(struct locus_owner *owner, struct locus_table *table, uint32_t count);

// Frees the blocks behind the first `keep`, at once. 0, -EINVAL (not LIVE), or -EXDEV when one of them is another home's (nothing
// is freed then). Truncate to 0 releases a table without a mailbox.
int locus_owner_truncate(struct locus_owner *owner, struct locus_table *table, uint32_t keep);

// Declares that the request is finished and its table is about to be pushed. 0, -EINVAL (not LIVE), or -ENODATA: there are no
// blocks in it, so nothing has to go home and it can be used again at once.
int locus_owner_retire(struct locus_owner *owner, struct locus_table *table);

// Frees everything that has arrived. Returns how many blocks came home by it.
uint32_t locus_owner_drain(struct locus_owner *owner);

// Next table whose last block has come home, LIVE and empty, oldest first; NULL when there is none.
struct locus_table *locus_owner_reclaimed(struct locus_owner *owner);

struct locus_owner_stats {
    uint64_t tables_retired;    // declared here
    uint64_t tables_drained;    // tables that this home has drained its part of
    uint64_t blocks_in_flight;  // declared here and not home yet
    uint64_t waits;             // grows that had to wait
    uint64_t wait_ns;           // time spent in them
};

void locus_owner_stats(const struct locus_owner *owner, struct locus_owner_stats *out);
struct locus_pool *locus_owner_pool(const struct locus_owner *owner);

// Enters this owner's mailbox number `lane` into a route. Before the route is shared; any thread. 0 or -EINVAL (no such lane).
int locus_route_add(struct locus_route *route, const struct locus_owner *owner, uint32_t lane);

#endif
