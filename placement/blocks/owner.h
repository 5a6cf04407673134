// SPDX-License-Identifier: Apache-2.0
//
// owner: the role that alone touches a pool, and through which everything comes home.
//
// It is a role, not only a thread. Either the engine's scheduler thread of that node adopts it, or the library spawns a thread,
// pins it to the node and calls the engine's step function there. All functions below that take an owner are *owner context*,
// except where a comment says otherwise: only the thread that holds the role may call them. Any other is answered -EPERM, or
// as if there were nothing to do (drain: 0, reclaimed: NULL), and changes nothing.
//
//     scheduler (owner context)                      worker (any thread)
//     grow(table, n)      take blocks
//     ... decode ...
//     retire(table)       declare it in flight  -->  locus_table_push(route, table)
//     drain()             free what arrived     <--
//     reclaimed()         tables to use again
//
// Waiting. When the pool has too few blocks, grow drains, and waits while retired tables are still on their way, up to wait_ns;
// it never waits for blocks that nobody has declared. With back-pressure it does the same *before* a never-used block goes out, so
// that the footprint stays at the theoretical peak (a cap above that peak is the pool's size, not a parameter here). All
// drains of a wait are counted like any other, and the tables that came home wait in reclaimed().
#ifndef LOCUS_OWNER_H
#define LOCUS_OWNER_H

#include "pool_report.h"
#include "table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_owner;

struct locus_owner_config {
    size_t size;                // sizeof this struct (version.h)
    struct locus_pool *pool;    // borrowed; must outlive the owner
    uint32_t lanes;             // >= 1: mailboxes; one per worker that pushes here keeps their heads apart
    bool backpressure;          // LIFO pools only
    uint64_t wait_ns;           // longest wait inside one grow; 0: do not wait, answer -EAGAIN
};

// 0, -EINVAL, -EBUSY (another owner is open on the pool), -ENOMEM, -E2BIG (version.h), or what locus_region_open() answered for the
// mailboxes, which lie on the pool's node. Of one pool by one thread at a time.
int locus_owner_open(struct locus_owner **out, const struct locus_owner_config *config);

// One sentence on why it answered `error`, as locus_pool_why(). Any thread.
void locus_owner_why(const struct locus_owner_config *config, int error, char *why, size_t why_bytes);

// NULL is allowed. One thread, when no other uses the owner any more. 0, or -EBUSY: its spawned thread was not joined, and nothing
// is closed. The pool may get another owner. Tables that are retired and not pushed come home to that one, by a route to it. Tables
// still in the mailboxes are dropped: their blocks stay out, and in flight, for good. So drain first.
int locus_owner_close(struct locus_owner *owner);

// Takes the role for the calling thread: 0, or -EBUSY while a thread holds it. Leave gives it up: 0, or -EPERM; the next
// adopter sees everything that was done in it. A thread leaves before it ends. Neither pins the thread: see pin.h. Any thread.
int locus_owner_adopt(struct locus_owner *owner);
int locus_owner_leave(struct locus_owner *owner);

// Does the calling thread hold the role? Any thread.
bool locus_owner_held_here(const struct locus_owner *owner);

// One round of the engine's work, in owner context. 0 to be called again, anything else ends the thread with that result.
typedef int locus_owner_step_fn(struct locus_owner *owner, void *context);

// Starts a thread pinned to the CPUs of `node` (LOCUS_NODE_ANY: not pinned) that adopts the role and calls `step` until it
// ends, and then leaves the role, also if `step` ended it by pthread_exit or was cancelled. 0; -EBUSY: the role is held, or a
// thread was spawned and not joined; or what pthread_create or the pinning answered. Any thread.
int locus_owner_spawn(struct locus_owner *owner, int node, locus_owner_step_fn *step, void *context);

// Waits for the spawned thread and hands out the step function's last result. Any thread; one that is cancelled while it waits
// leaves the spawned one to be joined by another.
// 0; -EINVAL: none was spawned, or another thread is joining it; -EDEADLK: it is this thread, and goes on
// -ECANCELED  the thread has ended, and the role is free, but `step` did not return; *result is as it was
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
struct locus_table *locus_owner_next_reclaimed(struct locus_owner *owner);

struct locus_owner_stats {
    uint64_t tables_retired;    // declared here
    uint64_t tables_drained;    // tables that this home has drained its part of
    uint64_t blocks_in_flight;  // declared and not home yet: the pool's, whichever owner it had then
    uint64_t waits;             // grows that had to wait
    uint64_t wait_ns;           // time spent in them
};

// Any thread, at any time: exact in owner context, elsewhere each figure as of some moment.
void locus_owner_stats(const struct locus_owner *owner, struct locus_owner_stats *out);
struct locus_pool *locus_owner_pool(const struct locus_owner *owner);

#ifdef __cplusplus
}
#endif

#endif
