// SPDX-License-Identifier: Apache-2.0
//
// locus-shared, locus-shared-8, -64 and -256: the paper's pool with the obvious way home, one bounded queue (handle_queue.h)
// through which all workers send single handles. The chunk mailbox was made to replace it (experiments 0351 to 0355). Pool and
// blocks are those of `locus-published`, so the difference is the transport.
//
// Capacity 1024 handles and batches of 64 are the suite's. A batch is only a limit: the original takes handle after handle, at
// most that many in one call. So it matters only to an owner that does other work between two calls. It has no effect in a drain
// that takes all that has arrived, as the testbed's does for every contender: that is `locus-shared`. The others have the
// original's batch in their name, and differ from `locus-shared` only in this:
//
//     at a step, and at each look at a worker at a lap's end     one batch: the rest waits in the queue, and workers before it
//     for a take that finds too few blocks, and at the very end  all, as in `locus-shared`: here the original repeats its batches
//
// So experiment 0351, which compares batches of 8, 64 and 256, is -8, -64 and -256; `locus-shared` has no batch in this sense.
//
// A request is counted (C1 in counting.h) after its last handle is sent. Its table goes back through the dispatch (W1/W2).

#include <errno.h>
#include <stdlib.h>

#include "testbed/contenders/counting.h"
#include "testbed/contenders/full_queue.h"
#include "testbed/contenders/handle_queue.h"
#include "testbed/contenders/published_ops.h"
#include "testbed/measure/driver.h"

#define BATCH 64u

struct shared_context {
    struct tb_published_pool pool; // first: published_ops.h
    struct tb_lane_counts counts;
    struct tb_handle_queue *queue;
    pthread_t owner;
};

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
    int error = tb_handle_queue_open(&shared->queue);
    if (!error)
        error = tb_lane_counts_open(&shared->counts, setup->workers);
    if (!error)
        error = tb_published_open(&shared->pool, setup);
    return error;
}

static inline uint32_t drain_batch(struct shared_context *shared, uint32_t most)
{
    uint32_t drained = 0;
    locus_block block;
    for (; drained < most && tb_handle_queue_receive(shared->queue, &block); drained++)
        tb_published_free(&shared->pool, block);
    return drained;
}

static void shared_drain(void *context)
{
    while (drain_batch(context, BATCH) == BATCH)
        ;
}

static int shared_take(void *context, struct locus_table *table, uint32_t count)
{
    return tb_published_take(context, table, count, shared_drain, context);
}

static void shared_send(struct shared_context *shared, locus_block block)
{
    for (uint32_t spins = 1; !tb_handle_queue_send(shared->queue, block); spins++)
        tb_full_queue_wait(spins, shared->owner, shared_drain, shared);
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

// Handles do not know their request, so a request counts as drained when its worker has sent all of them; allocated == freed
// shows that they arrived.
static void shared_audit(void *context, struct tb_audit *out)
{
    struct shared_context *shared = context;
    tb_published_audit(&shared->pool, out);
    out->drained = tb_lane_counts_requests(&shared->counts);
}

#define SHARED_OPS                                                                                                                 \
    TB_PUBLISHED_OPS, .open = shared_open, .close = shared_close, .take = shared_take, .finish = shared_finish,                    \
                      .drain = shared_drain, .audit = shared_audit

static const struct tb_ops shared_ops = {SHARED_OPS};
TB_DRIVER(shared_ops);

static const struct tb_contender shared_contender = {
    .name = "locus-shared",
    .summary = "the paper's pool, handles one by one through a shared bounded queue",
    .batch_blocks_max = TB_HANDLE_QUEUE_CAPACITY,
    .driver = &shared_ops_driver,
};
TB_CONTENDER(shared_contender);

// The limit is a compile-time constant of each contender (driver.h).
#define SHARED_BATCH(most)                                                                                                         \
    static void step_##most(void *context)                                                                                         \
    {                                                                                                                              \
        drain_batch(context, most);                                                                                                \
    }                                                                                                                              \
    static const struct tb_ops shared_##most##_ops = {SHARED_OPS, .step = step_##most};                                            \
    TB_DRIVER(shared_##most##_ops);                                                                                                \
    static const struct tb_contender shared_##most = {                                                                             \
        .name = "locus-shared-" #most,                                                                                             \
        .summary = "the same, taking home at most " #most " handles a step",                                                       \
        .batch_blocks_max = TB_HANDLE_QUEUE_CAPACITY,                                                                              \
        .driver = &shared_##most##_ops_driver,                                                                                     \
    }

SHARED_BATCH(8);
TB_CONTENDER(shared_8);
SHARED_BATCH(64);
TB_CONTENDER(shared_64);
SHARED_BATCH(256);
TB_CONTENDER(shared_256);
