// SPDX-License-Identifier: Apache-2.0
//
// locus-sharded-chunk, locus-sharded-chunk-8: the paper's pool, and a bounded queue for each worker through which a finished
// request comes home whole, in one send (experiments 0353, 0354 and 0357). Compared with `locus-sharded` it shows the worth of
// sending requests whole; `locus-published`, with an unbounded mailbox instead, shows the cost of the bound.
//
// A worker with two requests on their way waits for the owner. Two places are those of experiment 0353, where a worker sends one
// request per cycle; 0354 to 0357, on the trace, have eight, as has -8.
//
// Atomics: those of rings.h. H1/H2 also hand over the table that the word points to.

#include <errno.h>
#include <stdlib.h>

#include "testbed/contenders/chunk_rings.h"
#include "testbed/measure/driver.h"

static void chunk_close(void *context)
{
    tb_chunk_rings_close(context);
    free(context);
}

static inline int open_with(const struct tb_setup *setup, uint64_t places, void **out)
{
    struct tb_chunk_rings *chunks = calloc(1, sizeof *chunks);
    if (!chunks)
        return -ENOMEM;
    *out = chunks;
    return tb_chunk_rings_open(chunks, setup, places);
}

static int chunk_open(const struct tb_setup *setup, void **out)
{
    return open_with(setup, TB_CHUNK_PLACES, out);
}

static int chunk_8_open(const struct tb_setup *setup, void **out)
{
    return open_with(setup, 8, out);
}

static void chunk_home(void *pool, struct locus_table *table)
{
    tb_published_home(pool, table);
}

static void chunk_drain(void *context)
{
    tb_chunk_rings_drain(context, chunk_home);
}

static int chunk_take(void *context, struct locus_table *table, uint32_t count)
{
    return tb_published_take(context, table, count, chunk_drain, context);
}

static void chunk_finish(void *context, uint32_t worker, struct locus_table *table)
{
    tb_chunk_rings_send(context, worker, table, chunk_drain, context);
}

static void chunk_audit(void *context, struct tb_audit *out)
{
    struct tb_chunk_rings *chunks = context;
    tb_published_audit(&chunks->pool, out);
    out->drained = chunks->drained;
}

#define CHUNK_OPS                                                                                                                  \
    TB_PUBLISHED_OPS, .close = chunk_close, .take = chunk_take, .finish = chunk_finish, .drain = chunk_drain, .audit = chunk_audit

static const struct tb_ops chunk_ops = {CHUNK_OPS, .open = chunk_open};
TB_DRIVER(chunk_ops);
static const struct tb_ops chunk_8_ops = {CHUNK_OPS, .open = chunk_8_open};
TB_DRIVER(chunk_8_ops);

static const struct tb_contender chunk_contender = {
    .name = "locus-sharded-chunk",
    .summary = "the paper's pool, requests whole through a bounded queue for each worker",
    .batch_blocks_max = TB_CHUNK_PLACES * TB_BENCH_BULK_BLOCKS,
    .driver = &chunk_ops_driver,
};
TB_CONTENDER(chunk_contender);

static const struct tb_contender chunk_8_contender = {
    .name = "locus-sharded-chunk-8",
    .summary = "the same with room for eight requests in a queue instead of two",
    .batch_blocks_max = 8 * TB_BENCH_BULK_BLOCKS,
    .driver = &chunk_8_ops_driver,
};
TB_CONTENDER(chunk_8_contender);
