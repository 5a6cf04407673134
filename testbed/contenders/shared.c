// SPDX-License-Identifier: Apache-2.0
//
// locus-shared: the paper's pool with the obvious way home, one bounded queue that all workers send single handles through. It is
// what the chunk mailbox was made to replace (experiments 0351 to 0355). Pool and blocks are those of `locus-published`, so the
// difference between the two is the transport.
//
// The queue is the bounded array queue with a sequence number per cell (D. Vyukov, "Bounded MPMC queue", 1024cores.net), which is
// also what the original's channel is inside (Rust's std::sync::mpsc::sync_channel). The sequence of the cell for position p runs
//
//     p           empty: the sender that moves `tail` from p to p + 1 may fill it
//     p + 1       full: the owner may take it
//     p + 1024    empty again, for the next turn
//
// Capacity 1024 handles and batches of 64 are the suite's. The original's drain ends after one batch, and its trace ends by
// draining until all is back; here a drain repeats batches until one comes back short, because the testbed's drain takes home all
// that has arrived, for every contender. A sender that finds the queue full spins, and yields its CPU now and then. With inline
// dispatch the sender is the owner, for whom nobody else would make room: it drains.
//
// Atomics:
//   Q1 (release)   the sender fills a cell, partner Q2 (acquire) of the owner: the handle is there.
//   Q3 (release)   the owner has emptied a cell, partner Q4 (acquire) of a sender one turn later: the handle was read.
//   tail           relaxed: it only divides the cells among the senders; what is in them is ordered by their sequences.
// A request is counted (C1 in counting.h) after its last handle was sent. Its table goes back through the dispatch (W1/W2).

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "placement/cpu_relax.h"
#include "testbed/contenders/counting.h"
#include "testbed/contenders/published_pool.h"
#include "testbed/driver.h"

#define QUEUE_CAPACITY 1024u // a power of two
#define BATCH 64u
#define SPINS_PER_YIELD 64u // arbitrary: a full queue empties in about the time of as many spins

struct queue_cell {
    _Atomic uint64_t sequence;
    locus_block block;
};

struct shared_queue {
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t tail; // senders
    _Alignas(LOCUS_CACHE_LINE) uint64_t head;         // owner
    _Alignas(LOCUS_CACHE_LINE) struct queue_cell cells[QUEUE_CAPACITY];
};

struct shared_context {
    struct tb_published_pool pool;
    struct tb_lane_counts counts;
    struct shared_queue *queue;
    pthread_t owner;
};

static int queue_open(struct shared_queue **out)
{
    struct shared_queue *queue = aligned_alloc(LOCUS_CACHE_LINE, sizeof *queue);
    if (!queue)
        return -ENOMEM;
    atomic_init(&queue->tail, 0);
    queue->head = 0;
    for (uint32_t i = 0; i < QUEUE_CAPACITY; i++)
        atomic_init(&queue->cells[i].sequence, i);
    *out = queue;
    return 0;
}

// Any thread. False: full.
static bool queue_send(struct shared_queue *queue, locus_block block)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    for (;;) {
        struct queue_cell *cell = &queue->cells[tail % QUEUE_CAPACITY];
        uint64_t sequence = atomic_load_explicit(&cell->sequence, memory_order_acquire); // Q4
        if (sequence < tail)
            return false; // still holds the handle of one turn ago
        if (sequence > tail) {
            tail = atomic_load_explicit(&queue->tail, memory_order_relaxed); // another sender was here
        } else if (atomic_compare_exchange_weak_explicit(&queue->tail, &tail, tail + 1, memory_order_relaxed,
                                                         memory_order_relaxed)) {
            cell->block = block;
            atomic_store_explicit(&cell->sequence, tail + 1, memory_order_release); // Q1
            return true;
        }
    }
}

// Owner only. False: empty, or the next handle is not in its cell yet.
static bool queue_receive(struct shared_queue *queue, locus_block *block)
{
    struct queue_cell *cell = &queue->cells[queue->head % QUEUE_CAPACITY];
    if (atomic_load_explicit(&cell->sequence, memory_order_acquire) != queue->head + 1) // Q2
        return false;
    *block = cell->block;
    atomic_store_explicit(&cell->sequence, queue->head + QUEUE_CAPACITY, memory_order_release); // Q3
    queue->head++;
    return true;
}

static void shared_close(void *context)
{
    struct shared_context *shared = context;
    tb_lane_counts_close(&shared->counts);
    tb_published_close(&shared->pool);
    free(shared->queue);
    free(shared);
}

static int shared_open(const struct tb_setup *setup, void **out)
{
    struct shared_context *shared = calloc(1, sizeof *shared);
    if (!shared)
        return -ENOMEM;
    *out = shared;
    shared->owner = pthread_self();
    int error = queue_open(&shared->queue);
    if (!error)
        error = tb_lane_counts_open(&shared->counts, setup->workers);
    if (!error)
        error = tb_published_open(&shared->pool, setup);
    return error;
}

static uint32_t shared_drain_batch(struct shared_context *shared)
{
    uint32_t drained = 0;
    locus_block block;
    for (; drained < BATCH && queue_receive(shared->queue, &block); drained++)
        tb_published_free(&shared->pool, block);
    return drained;
}

static void shared_drain(void *context)
{
    while (shared_drain_batch(context) == BATCH)
        ;
}

static int shared_take(void *context, struct locus_table *table, uint32_t count)
{
    return tb_published_take(&((struct shared_context *)context)->pool, table, count, shared_drain, context);
}

static locus_block shared_alloc(void *context)
{
    locus_block block;
    return tb_published_alloc(&((struct shared_context *)context)->pool, &block) ? block : LOCUS_BLOCK_NONE;
}

static void shared_release(void *context, locus_block blocks[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        tb_published_free(&((struct shared_context *)context)->pool, blocks[i]);
}

static void *shared_address(void *context, locus_block block)
{
    return tb_published_address(&((struct shared_context *)context)->pool, block);
}

static int shared_retire(void *context, struct locus_table *table)
{
    return tb_published_retire(&((struct shared_context *)context)->pool, table);
}

static void shared_send(struct shared_context *shared, locus_block block)
{
    for (uint32_t spins = 1; !queue_send(shared->queue, block); spins++) {
        if (pthread_equal(shared->owner, pthread_self()))
            shared_drain(shared);
        else if (spins % SPINS_PER_YIELD == 0)
            sched_yield();
        else
            locus_cpu_relax();
    }
}

static void shared_finish(void *context, uint32_t worker, struct locus_table *table)
{
    struct shared_context *shared = context;
    for (uint32_t i = 0; i < table->count; i++)
        shared_send(shared, table->blocks[i]);
    tb_lane_count(&shared->counts, worker, table->count);
    table->count = 0;
    table->state = LOCUS_TABLE_LIVE;
}

static uint64_t shared_freed(void *context)
{
    return ((struct shared_context *)context)->pool.frees;
}

// Handles do not know their request, so a request counts as drained when its worker has sent all of them; that they arrived is
// what allocated == freed says.
static void shared_audit(void *context, struct tb_audit *out)
{
    struct shared_context *shared = context;
    tb_published_audit(&shared->pool, out);
    out->drained = tb_lane_counts_requests(&shared->counts);
}

static const struct tb_ops shared_ops = {
    .open = shared_open,
    .close = shared_close,
    .take = shared_take,
    .alloc = shared_alloc,
    .release = shared_release,
    .address = shared_address,
    .retire = shared_retire,
    .finish = shared_finish,
    .drain = shared_drain,
    .freed = shared_freed,
    .audit = shared_audit,
};
TB_DRIVER(shared_ops);

static const struct tb_contender shared_contender = {
    .name = "locus-shared",
    .summary = "the paper's pool, handles one by one through a shared bounded queue",
    .batch_blocks_max = QUEUE_CAPACITY,
    .driver = &shared_ops_driver,
};
TB_CONTENDER(shared_contender);
