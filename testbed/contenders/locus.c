// SPDX-License-Identifier: Apache-2.0
//
// locus, locus-backpressure, locus-growth, locus-coloured: the library as an engine would use it. The owner thread grows tables
// and drains, each worker pushes into a mailbox of its own. The pool is one mapped region with transparent huge pages, populated
// beforehand, reused LIFO.
//
// Growth: drains once more before a take would have to use a block that was never used, and waits for nothing. If the burst
// overshoot came from draining too seldom, as the LOCUS paper has it, this would end it.
//
// Coloured: one cache line lies between two blocks, so that their first bytes do not fall into one and the same cache set.

#include <errno.h>
#include <stdlib.h>

#include "placement/locus.h"
#include "testbed/driver.h"

// Long enough for any worker that lives; a dead one makes the run invalid instead of endless.
#define WAIT_NS UINT64_C(2000000000)

struct locus_context {
    struct locus_owner *owner;
    struct locus_pool *pool;
    struct locus_route *routes; // one per worker
};

static void locus_contender_close(void *context)
{
    struct locus_context *locus = context;
    if (locus->owner)
        locus_owner_leave(locus->owner);
    locus_owner_close(locus->owner);
    locus_pool_close(locus->pool);
    free(locus->routes);
    free(locus);
}

static int open_with(const struct tb_setup *setup, size_t gap_bytes, bool backpressure, void **out)
{
    struct locus_context *locus = calloc(1, sizeof *locus);
    if (!locus)
        return -ENOMEM;
    *out = locus;
    struct locus_pool_config pool = {
        .blocks = setup->pool_blocks,
        .block_bytes = setup->block_bytes,
        .stride_bytes = setup->block_bytes + gap_bytes,
        .backing = LOCUS_BACKING_MAPPED,
        .reuse = LOCUS_REUSE_LIFO,
        .page = LOCUS_PAGE_THP,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .node = LOCUS_NODE_ANY,
        .populate = true,
    };
    locus->routes = calloc(setup->workers, sizeof *locus->routes);
    int error = locus->routes ? locus_pool_open(&locus->pool, &pool) : -ENOMEM;
    if (error)
        return error;
    struct locus_owner_config owner = {
        .pool = locus->pool,
        .mailboxes = setup->workers,
        .backpressure = backpressure,
        .wait_ns = WAIT_NS,
    };
    error = locus_owner_open(&locus->owner, &owner);
    if (error)
        return error;
    for (uint32_t i = 0; i < setup->workers; i++)
        locus_route_add(&locus->routes[i], locus->owner, i);
    return locus_owner_adopt(locus->owner);
}

static int locus_open(const struct tb_setup *setup, void **out)
{
    return open_with(setup, 0, false, out);
}

static int locus_open_backpressure(const struct tb_setup *setup, void **out)
{
    return open_with(setup, 0, true, out);
}

static int locus_open_coloured(const struct tb_setup *setup, void **out)
{
    return open_with(setup, LOCUS_CACHE_LINE, false, out);
}

static int locus_take(void *context, struct locus_table *table, uint32_t count)
{
    return locus_owner_grow(((struct locus_context *)context)->owner, table, count);
}

static int growth_take(void *context, struct locus_table *table, uint32_t count)
{
    struct locus_context *locus = context;
    struct locus_pool_stats pool;
    locus_pool_stats(locus->pool, &pool);
    if (pool.outstanding + count > pool.distinct_high) // more than what came home so far
        locus_owner_drain(locus->owner);
    return locus_owner_grow(locus->owner, table, count);
}

static locus_block locus_alloc(void *context)
{
    return locus_pool_alloc(((struct locus_context *)context)->pool);
}

static void locus_release(void *context, locus_block blocks[], uint32_t count)
{
    locus_pool_free_bulk(((struct locus_context *)context)->pool, count, blocks, 0);
}

static void *locus_address(void *context, locus_block block)
{
    return locus_pool_address(((struct locus_context *)context)->pool, block);
}

static int locus_retire(void *context, struct locus_table *table)
{
    return locus_owner_retire(((struct locus_context *)context)->owner, table);
}

static void locus_finish(void *context, uint32_t worker, struct locus_table *table)
{
    locus_push(&((struct locus_context *)context)->routes[worker], table);
}

static void locus_drain(void *context)
{
    struct locus_owner *owner = ((struct locus_context *)context)->owner;
    locus_owner_drain(owner);
    while (locus_owner_reclaimed(owner))
        ; // the driver knows its tables by slot
}

static uint64_t locus_freed(void *context)
{
    struct locus_pool_stats stats;
    locus_pool_stats(((struct locus_context *)context)->pool, &stats);
    return stats.freed;
}

static void locus_audit(void *context, struct tb_audit *out)
{
    struct locus_context *locus = context;
    struct locus_pool_stats pool;
    struct locus_owner_stats owner;
    locus_pool_stats(locus->pool, &pool);
    locus_owner_stats(locus->owner, &owner);
    out->allocated = pool.allocated;
    out->freed = pool.freed;
    out->drained = owner.tables_drained;
    for (int i = 0; i < LOCUS_FREE_ERRORS; i++)
        out->refused += pool.refused[i];
    out->not_home = pool.blocks - pool.blocks_free - pool.blocks_retired;
}

#define LOCUS_OPS(name, open_pool, take_blocks)                                                                                    \
    static const struct tb_ops name = {                                                                                            \
        .open = open_pool,                                                                                                         \
        .close = locus_contender_close,                                                                                            \
        .take = take_blocks,                                                                                                       \
        .alloc = locus_alloc,                                                                                                      \
        .release = locus_release,                                                                                                  \
        .address = locus_address,                                                                                                  \
        .retire = locus_retire,                                                                                                    \
        .finish = locus_finish,                                                                                                    \
        .drain = locus_drain,                                                                                                      \
        .freed = locus_freed,                                                                                                      \
        .audit = locus_audit,                                                                                                      \
    };                                                                                                                             \
    TB_DRIVER(name)
LOCUS_OPS(locus_ops, locus_open, locus_take);
LOCUS_OPS(backpressure_ops, locus_open_backpressure, locus_take);
LOCUS_OPS(growth_ops, locus_open, growth_take);
LOCUS_OPS(coloured_ops, locus_open_coloured, locus_take);

static const struct tb_contender locus_contender = {
    .name = "locus",
    .summary = "this library: mapped pool, LIFO, one chunk mailbox per worker",
    .driver = &locus_ops_driver,
};
TB_CONTENDER(locus_contender);

static const struct tb_contender backpressure_contender = {
    .name = "locus-backpressure",
    .summary = "the same, waiting for blocks on their way home before it uses a new one",
    .driver = &backpressure_ops_driver,
};
TB_CONTENDER(backpressure_contender);

static const struct tb_contender growth_contender = {
    .name = "locus-growth",
    .summary = "the same, draining once more before it uses a new block",
    .driver = &growth_ops_driver,
};
TB_CONTENDER(growth_contender);

static const struct tb_contender coloured_contender = {
    .name = "locus-coloured",
    .summary = "the same with a cache line between blocks: good for a touch of one byte, worse for whole blocks",
    .driver = &coloured_ops_driver,
};
TB_CONTENDER(coloured_contender);
