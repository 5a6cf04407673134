// SPDX-License-Identifier: Apache-2.0
//
// owner_internal: the owner's fields, for owner.c, owner_drain.c and owner_thread.c, and what domain.c and share.c need of an owner
// and its tables besides the public functions. Not installed. The theory is in owner.c.
#ifndef LOCUS_OWNER_INTERNAL_H
#define LOCUS_OWNER_INTERNAL_H

#include "locus/inline.h"
#include "pool_internal.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

struct locus_owner {
    struct locus_owner_hot hot; // owner_inline.h

    // Owner context: what a drain works on (owner_drain.c).
    struct locus_table *open;   // NULL, or the table that a drain's budget did not suffice for
    uint32_t open_left;         // its first blocks, which are not looked at yet
    bool draining;              // on_error() may be running
    uint32_t lane;              // where the next drain goes on
    struct locus_link *chain;   // taken from a mailbox and not drained yet
    struct locus_table *reclaimed_last;

    // Never changes after open.
    bool backpressure;
    uint64_t wait_ns;
    struct locus_region *lanes_region;

    // The spawned thread (owner_thread.c).
    _Atomic int thread_state; // enum thread_state; the call that changes it owns the fields below
    pthread_t thread;
    locus_owner_step_fn *step;
    void *step_context;
    int step_result;
    bool step_returned; // false: ended by pthread_exit or cancelled
    int node;
    int start_error;
    sem_t started;

    _Alignas(COUNTERS_ALIGN_BYTES) struct locus_owner_stats counters; // any thread reads
};

enum thread_state { THREAD_NONE, THREAD_STARTING, THREAD_RUNNING, THREAD_JOINING };

static inline bool holds_role(const struct locus_owner *owner)
{
    return locus_owner_is_here(&owner->hot);
}

// The homes of a table's handles, counted anew.
static inline uint64_t table_homes(const struct locus_table *table)
{
    uint64_t homes = 0;
    for (uint32_t i = table->dropped; i < table->count; i++)
        homes |= UINT64_C(1) << locus_block_home(table->blocks[i]);
    return homes;
}

// A sliding window: the blocks of `table` before *end hold no token from `position` on, and go. What is dropped already stays so.
static inline uint32_t table_drops(const struct locus_table *table, uint64_t position)
{
    uint64_t end = position / table->tokens_per_block;
    end = end < table->count ? end : table->count;
    return end > table->dropped ? (uint32_t)end : table->dropped;
}

static inline void table_drop(struct locus_table *table, uint32_t end)
{
    for (; table->dropped < end; table->dropped++)
        table->blocks[table->dropped] = LOCUS_BLOCK_NONE;
    table->homes = table_homes(table);
}

// True: a spawned thread was not joined, so the owner cannot be closed. Any thread.
bool owner_has_thread(const struct locus_owner *owner);

#endif
