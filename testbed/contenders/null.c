// SPDX-License-Identifier: Apache-2.0
//
// null: the same block for everyone. It measures the testbed itself (stream, tables, dispatch, and writes to memory that never
// leaves the first-level cache) and is not ranked.

#include <errno.h>
#include <stdlib.h>

#include "testbed/contenders/counting.h"
#include "testbed/measure/driver.h"

struct null_context {
    struct tb_lane_counts counts;
    void *block;
    uint64_t taken, released;
};

static int null_open(const struct tb_setup *setup, void **out)
{
    struct null_context *null = calloc(1, sizeof *null);
    if (!null)
        return -ENOMEM;
    int error = tb_lane_counts_open(&null->counts, setup->workers);
    null->block = aligned_alloc(4096, (setup->block_bytes + 4095) / 4096 * 4096);
    *out = null;
    return null->block ? error : -ENOMEM;
}

static void null_close(void *context)
{
    struct null_context *null = context;
    tb_lane_counts_close(&null->counts);
    free(null->block);
    free(null);
}

static int null_take(void *context, struct locus_table *table, uint32_t count)
{
    struct null_context *null = context;
    for (uint32_t i = 0; i < count; i++)
        table->blocks[table->count++] = (locus_block)(uintptr_t)null->block;
    null->taken += count;
    return 0;
}

static locus_block null_alloc(void *context)
{
    struct null_context *null = context;
    null->taken++;
    return (locus_block)(uintptr_t)null->block;
}

static void null_release(void *context, locus_block blocks[], uint32_t count)
{
    (void)blocks;
    ((struct null_context *)context)->released += count;
}

static void *null_address(void *context, locus_block block)
{
    (void)context;
    return (void *)(uintptr_t)block;
}

static int null_retire(void *context, struct locus_table *table)
{
    (void)context, (void)table;
    return 0;
}

static void null_finish(void *context, uint32_t worker, struct locus_table *table)
{
    struct null_context *null = context;
    tb_lane_count(&null->counts, worker, table->count);
    table->count = 0;
}

static void null_drain(void *context)
{
    (void)context;
}

static uint64_t null_freed(void *context)
{
    struct null_context *null = context;
    return tb_lane_counts_blocks(&null->counts);
}

static void null_audit(void *context, struct tb_audit *out)
{
    struct null_context *null = context;
    out->allocated = null->taken;
    out->freed = tb_lane_counts_blocks(&null->counts) + null->released;
    out->drained = tb_lane_counts_requests(&null->counts);
}

static const struct tb_ops null_ops = {
    .open = null_open,
    .close = null_close,
    .take = null_take,
    .alloc = null_alloc,
    .release = null_release,
    .address = null_address,
    .retire = null_retire,
    .finish = null_finish,
    .drain = null_drain,
    .freed = null_freed,
    .audit = null_audit,
};
TB_DRIVER(null_ops);

static const struct tb_contender null_contender = {
    .name = "null",
    .summary = "always the same block: the cost of the testbed itself",
    .harness = true,
    .driver = &null_ops_driver,
};
TB_CONTENDER(null_contender);
