// SPDX-License-Identifier: Apache-2.0
//
// locus-sharded: `locus-shared` with a queue for each worker (rings.h), so that workers do not contend with each other
// (experiment 0352). The same are the pool, handles sent one by one, batches of 64, and a drain that takes all that has arrived.
//
// The queues have 256 places together, as in 0352: 256 divided by the workers, rounded up to a power of two. That is less than
// the 1,024 of `locus-shared`, and with four workers a request of 64 blocks fills its queue: so the owner checks the queues
// whenever it waits for a worker. A queue with one sender needs no exchange, and this one has none; the original uses the same
// channel as the shared queue. So this shows all that sharding can gain.
//
// A batch is the handles that the owner takes with one look at the sender's counter; it frees their places at once.
//
// A request is counted (C1 in counting.h) after its last handle was sent, as in shared.c.

#include <errno.h>
#include <stdlib.h>

#include "testbed/contenders/counting.h"
#include "testbed/contenders/published_ops.h"
#include "testbed/contenders/rings.h"
#include "testbed/measure/driver.h"

#define PLACES 256u // of all queues
#define BATCH 64u

struct sharded_context {
    struct tb_published_pool pool; // first: published_ops.h
    struct tb_lane_counts counts;
    struct tb_rings rings;
};

static uint64_t places_each(uint32_t workers)
{
    uint64_t places = 1;
    while (places * workers < PLACES)
        places *= 2;
    return places;
}

static void sharded_close(void *context)
{
    struct sharded_context *sharded = context;
    tb_rings_close(&sharded->rings);
    tb_lane_counts_close(&sharded->counts);
    tb_published_close(&sharded->pool);
    free(sharded);
}

static int sharded_open(const struct tb_setup *setup, void **out)
{
    struct sharded_context *sharded = calloc(1, sizeof *sharded);
    if (!sharded)
        return -ENOMEM;
    *out = sharded;
    int error = tb_rings_open(&sharded->rings, setup->workers, places_each(setup->workers));
    if (!error)
        error = tb_lane_counts_open(&sharded->counts, setup->workers);
    if (!error)
        error = tb_published_open(&sharded->pool, setup);
    return error;
}

static uint64_t drain_batch(struct sharded_context *sharded, struct tb_ring *ring)
{
    uint64_t count = tb_ring_arrived(ring);
    if (count == 0)
        return 0;
    count = count < BATCH ? count : BATCH;
    for (uint64_t i = 0; i < count; i++)
        tb_published_free(&sharded->pool, tb_ring_word(ring, i));
    tb_ring_took(ring, count);
    return count;
}

static void sharded_drain(void *context)
{
    struct sharded_context *sharded = context;
    for (uint32_t i = 0; i < sharded->rings.count; i++)
        while (drain_batch(sharded, sharded->rings.ring[i]) == BATCH)
            ;
}

static int sharded_take(void *context, struct locus_table *table, uint32_t count)
{
    return tb_published_take(context, table, count, sharded_drain, context);
}

static void sharded_finish(void *context, uint32_t worker, struct locus_table *table)
{
    struct sharded_context *sharded = context;
    for (uint32_t i = 0; i < table->count; i++)
        tb_rings_send(&sharded->rings, worker, table->blocks[i], sharded_drain, sharded);
    tb_lane_count(&sharded->counts, worker, table->count);
    table->count = 0;
    table->state = LOCUS_TABLE_LIVE;
}

static void sharded_audit(void *context, struct tb_audit *out)
{
    struct sharded_context *sharded = context;
    tb_published_audit(&sharded->pool, out);
    out->drained = tb_lane_counts_requests(&sharded->counts);
}

static const struct tb_ops sharded_ops = {
    .open = sharded_open,
    .close = sharded_close,
    .take = sharded_take,
    .finish = sharded_finish,
    .drain = sharded_drain,
    .audit = sharded_audit,
    TB_PUBLISHED_OPS,
};
TB_DRIVER(sharded_ops);

static const struct tb_contender sharded_contender = {
    .name = "locus-sharded",
    .summary = "the paper's pool, handles one by one through a bounded queue for each worker",
    .batch_blocks_max = PLACES,
    .driver = &sharded_ops_driver,
};
TB_CONTENDER(sharded_contender);
