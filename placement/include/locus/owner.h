// SPDX-License-Identifier: Apache-2.0
//
// owner: the one role that may touch a pool, and through which all blocks come home.
//
// It is a role, not a thread. Either the engine's scheduler thread on that node adopts it, or the library spawns a thread, pins
// it to the node and calls the engine's step function there.
//
// Threads: unless its comment says otherwise, a function that takes an owner is *owner context*: only the thread that holds the
// role may call it. For any other thread it changes nothing and returns -EPERM, or the result for nothing to do (drain: 0,
// next_reclaimed: NULL).
//
//     scheduler (owner context)                      worker (any thread)
//     grow(table, n)      take blocks
//     ... decode ...
//     retire(table)       declare it in flight  -->  locus_table_push(route, table)
//     drain()             free what arrived     <--
//     next_reclaimed()    tables to use again
//
// Waiting. When the pool has too few blocks, grow drains, and waits up to wait_ns while retired tables are still on their way; it
// never waits for blocks that nobody has declared. With back-pressure it does the same *before* it hands out a never-used block,
// so that the footprint stays at the theoretical peak (a cap above that peak is the pool's size, not a parameter here). Drains
// within a wait count like any other, and next_reclaimed() returns the tables that came home.
#ifndef LOCUS_OWNER_H
#define LOCUS_OWNER_H

#include "pool.h"
#include "route.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_owner;

#define LOCUS_LANES_MAX (1u << 16) // of one owner: 80 MiB
struct locus_owner_config {
    size_t size;                // sizeof this struct (version.h)
    struct locus_pool *pool;    // borrowed; must outlive the owner
    uint32_t lanes;             // 1 .. LOCUS_LANES_MAX: ways in. One per worker keeps them apart, and lets them be exclusive
    bool backpressure;          // LIFO pools only
    uint64_t wait_ns;           // longest wait inside one grow; 0: never wait, return -EAGAIN
};

// 0, -EINVAL, -EBUSY (another owner is open on the pool), -ENOMEM, -E2BIG (version.h), or the error of locus_region_open() for
// the lanes, which are on the pool's node. For one pool, one thread at a time.
int locus_owner_open(struct locus_owner **out, const struct locus_owner_config *config);

// One sentence on why open returned `error`, as locus_pool_why(). Any thread.
void locus_owner_why(const struct locus_owner_config *config, int error, char *why, size_t why_bytes);

// NULL is allowed. One thread, when no other uses the owner any more. 0, or -EBUSY: its spawned thread was not joined, and
// nothing is closed. The pool may get another owner; tables that are retired but not pushed can go home to that one, by a route
// to it. What is still in the lanes, or was drained in part, is dropped: its blocks stay out, and in flight, for good. So drain
// first.
int locus_owner_close(struct locus_owner *owner);

// Adopt takes the role for the calling thread: 0, or -EBUSY while a thread holds it. Leave gives it up: 0, or -EPERM; the next
// adopter sees everything that was done in the role. A thread must leave before it ends. Neither call pins the thread: see pin.h.
// Any thread.
int locus_owner_adopt(struct locus_owner *owner);
int locus_owner_leave(struct locus_owner *owner);

// Does the calling thread hold the role? Any thread.
bool locus_owner_held_here(const struct locus_owner *owner);

// One round of the engine's work, in owner context. Return 0 to be called again; any other result ends the thread.
typedef int locus_owner_step_fn(struct locus_owner *owner, void *context);

// Starts a thread, pinned to the CPUs of `node` (LOCUS_NODE_ANY: not pinned). It adopts the role, calls `step` until that returns
// nonzero, and leaves the role, also if `step` calls pthread_exit or is cancelled. 0; -EBUSY: the role is held, or a spawned
// thread was not joined; or the error of pthread_create or of the pinning. Any thread.
int locus_owner_spawn(struct locus_owner *owner, int node, locus_owner_step_fn *step, void *context);

// Waits for the spawned thread and returns the step function's last result. Any thread; if the caller is cancelled while it
// waits, another thread can still join the spawned one.
// 0; -EINVAL: none was spawned, or another thread is joining it; -EDEADLK: the spawned thread called this itself
// -ECANCELED  the thread has ended and the role is free, but `step` did not return; *result is unchanged
int locus_owner_join(struct locus_owner *owner, int *result);

// Appends `count` blocks to a LIVE table, all or none.
// -ENOMEM     too few blocks, even with everything in flight back home
// -EAGAIN     blocks in flight would suffice, but wait_ns is 0
// -ETIMEDOUT  the declared tables did not arrive within wait_ns (a dead worker, say)
// -ENOSPC     the table is full;  -EINVAL  the table is not LIVE;  -EXDEV  it has no link for this home
int locus_owner_grow(struct locus_owner *owner, struct locus_table *table, uint32_t count);

// Frees the blocks after the first `keep` at once. 0, -EINVAL (not LIVE), or -EXDEV: one of them belongs to another home, and
// nothing is freed. Truncating to 0 releases a table that is not sent home.
int locus_owner_truncate(struct locus_owner *owner, struct locus_table *table, uint32_t keep);

// Sliding window: frees the blocks whose tokens all lie before `position` at once. What is behind keeps its positions, and
// locus_table_at() finds LOCUS_BLOCK_NONE in place of a dropped block. The table's room is that of the whole sequence: a dropped
// block's handle keeps its place (locus_table_extend() makes more).
// 0, -EINVAL (not LIVE), or -EXDEV: one of them belongs to another home, and nothing is freed (locus_domain_drop_before).
int locus_owner_drop_before(struct locus_owner *owner, struct locus_table *table, uint64_t position);

// Declares that the request is finished and its table is about to be pushed. A table of which blocks were dropped loses their
// places: positions mean nothing from here on. 0, -EINVAL (not LIVE), or -ENODATA: it holds no blocks, so nothing has to go home;
// it is empty now and can be used again at once.
int locus_owner_retire(struct locus_owner *owner, struct locus_table *table);

// Frees everything that has arrived. Returns the number of blocks that came home.
uint32_t locus_owner_drain(struct locus_owner *owner);

// The same, but it looks at no more than `blocks` handles, for a scheduler that must not stall; the next drain of either kind goes
// on there. Two kinds of pools free each table whole: FIFO ones, and those with a prefix cache. A table's blocks count as in flight
// until all of it is home. The stack is put in order (pool.h) only if that fits into the budget as well.
uint32_t locus_owner_drain_some(struct locus_owner *owner, uint32_t blocks);

// The next table whose last block has come home, LIVE and empty, oldest first; NULL if none is left.
struct locus_table *locus_owner_next_reclaimed(struct locus_owner *owner);

struct locus_owner_stats {
    uint64_t tables_retired;    // declared here
    uint64_t tables_drained;    // tables of which this home has drained its blocks
    uint64_t blocks_in_flight;  // declared and not home yet, also by the pool's earlier owners
    uint64_t waits;             // grows that had to wait
    uint64_t wait_ns;           // time spent in them
};

// Any thread, at any time. Exact in owner context; elsewhere each figure is as of some moment.
void locus_owner_stats(const struct locus_owner *owner, struct locus_owner_stats *out);
struct locus_pool *locus_owner_pool(const struct locus_owner *owner);

#ifdef __cplusplus
}
#endif

#endif
