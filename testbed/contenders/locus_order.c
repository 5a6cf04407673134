// SPDX-License-Identifier: Apache-2.0
//
// The order in which blocks leave, for which attention pays: hardware prefetches along ascending addresses.
//
//     locus-runs        a table's blocks are neighbours, by the library's own means (LOCUS_REUSE_RUNS)
//     locus-shuffled    the library's stack, shuffled at open: the worst case, and what a stack comes to in an hour
//     locus-ascending   all blocks of a table are neighbours: the best case, a reference
//
// locus-shuffled is the library as it is, and as fast, since only what lies on its stack differs. All blocks are taken at open and
// given back in an order from a generator with a fixed seed. One block more than the pool's stays out for good, because the
// library puts its stack in order when everything has come home.
//
// locus-ascending knows what no allocator knows: the length of the longest request. A table has an area of that length to itself
// until it retires, and its i-th block is always the area's i-th. So it is a floor like the oracle: its blocks are free at once,
// and what it reserves (an area for each live request) is no allocator's footprint. It is not populated. The area that was left
// last is used first.

#include <errno.h>
#include <stdlib.h>

#include "locus/region.h"
#include "testbed/contenders/counting.h"
#include "testbed/contenders/library.h"

// --- locus-runs ----------------------------------------------------------------------------------------------------------------

static int runs_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    pool.reuse = LOCUS_REUSE_RUNS;
    return tb_library_open(setup, &pool, false, out);
}

TB_LIBRARY_OPS(runs_ops, runs_open, tb_library_take, NULL);

static const struct tb_contender runs = {
    .name = "locus-runs",
    .summary = "locus whose tables get neighbours in memory, and room to grow beside them",
    .driver = &runs_ops_driver,
};
TB_CONTENDER(runs);

// --- locus-shuffled ------------------------------------------------------------------------------------------------------------

struct shuffled {
    struct tb_library library;  // the first member: all else sees only this
    uint64_t before;            // blocks freed at open
};

// xorshift64; the seed is arbitrary and fixed, so that every process has the same order.
static void shuffle(locus_block blocks[], uint32_t count)
{
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = count; i > 1; i--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint32_t j = (uint32_t)(random % i);
        locus_block block = blocks[i - 1];
        blocks[i - 1] = blocks[j];
        blocks[j] = block;
    }
}

static int stack_shuffle(struct shuffled *shuffled, uint32_t count)
{
    locus_block *all = calloc(count + 1, sizeof *all);
    int error = all ? locus_pool_alloc_bulk(shuffled->library.pool, count + 1, all) : -ENOMEM;
    if (!error) {
        shuffle(all, count + 1);
        shuffled->before = locus_pool_free_bulk(shuffled->library.pool, count, all, 0);
    }
    free(all);
    return error;
}

static int shuffled_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    struct shuffled *shuffled = calloc(1, sizeof *shuffled);
    if (!shuffled)
        return -ENOMEM;
    *out = shuffled;
    pool.blocks++;
    int error = tb_library_open_in(&shuffled->library, setup, &pool, false);
    return error ? error : stack_shuffle(shuffled, setup->pool_blocks);
}

static uint64_t shuffled_freed(void *context)
{
    return tb_library_freed(context) - ((struct shuffled *)context)->before;
}

static void shuffled_audit(void *context, struct tb_audit *out)
{
    uint64_t before = ((struct shuffled *)context)->before;
    tb_library_audit(context, out);
    out->allocated -= before + 1;
    out->freed -= before;
    out->not_home--;
}

TB_LIBRARY_OPS_OF(shuffled_ops, shuffled_open, tb_library_take, NULL, tb_library_give_back, shuffled_freed, shuffled_audit);

static const struct tb_contender shuffled_contender = {
    .name = "locus-shuffled",
    .summary = "locus on a stack that was shuffled at open: the worst order for attention",
    .driver = &shuffled_ops_driver,
};
TB_CONTENDER(shuffled_contender);

// --- locus-ascending -----------------------------------------------------------------------------------------------------------

struct ascending {
    struct tb_lane_counts counts;
    struct locus_region *region;
    char *base;
    size_t block_bytes;
    uint32_t *areas;            // free ones; a table in use has its area in `tag`
    uint32_t areas_free, area_blocks, pool_blocks;
    uint32_t single;            // the next block without a table
    uint64_t taken, freed;
};

static void ascending_close(void *context)
{
    struct ascending *all = context;
    tb_lane_counts_close(&all->counts);
    locus_region_close(all->region);
    free(all->areas);
    free(all);
}

static int ascending_open(const struct tb_setup *setup, void **out)
{
    const uint32_t *capacity = tb_schedule_capacity(setup->schedule);
    struct ascending *all = calloc(1, sizeof *all);
    if (!all)
        return -ENOMEM;
    *out = all;
    all->block_bytes = setup->block_bytes;
    all->pool_blocks = setup->pool_blocks;
    all->area_blocks = TB_BENCH_BULK_BLOCKS;
    for (uint32_t i = 0; i < setup->schedule->slots; i++)
        all->area_blocks = capacity[i] > all->area_blocks ? capacity[i] : all->area_blocks;
    uint64_t tables = TB_BENCH_BLOCKS / TB_BENCH_BULK_BLOCKS; // of a bench
    tables = setup->schedule->live_max > tables ? setup->schedule->live_max : tables;
    struct locus_region_config region = {
        .size = sizeof region,
        .bytes = (tables * all->area_blocks + setup->pool_blocks) * setup->block_bytes,
        .page = LOCUS_PAGE_THP,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .node = LOCUS_NODE_ANY,
    };
    all->areas = calloc(tables, sizeof *all->areas);
    int error = all->areas ? tb_lane_counts_open(&all->counts, setup->workers) : -ENOMEM;
    if (!error)
        error = locus_region_open(&all->region, &region);
    all->base = error ? NULL : locus_region_base(all->region);
    for (; !error && all->areas_free < tables; all->areas_free++)
        all->areas[all->areas_free] = (uint32_t)tables - 1 - all->areas_free;
    return error;
}

static int ascending_take(void *context, struct locus_table *table, uint32_t count)
{
    struct ascending *all = context;
    if (table->count == 0)
        table->tag = all->areas[--all->areas_free];
    locus_block first = all->pool_blocks + table->tag * all->area_blocks;
    for (uint32_t i = 0; i < count; i++, table->count++)
        table->blocks[table->count] = first + table->count;
    all->taken += count;
    return 0;
}

// As the oracle's, these may be out twice.
static locus_block ascending_alloc(void *context)
{
    struct ascending *all = context;
    all->single = all->single + 1 < all->pool_blocks ? all->single + 1 : 0;
    all->taken++;
    return all->single;
}

static void ascending_release(void *context, locus_block blocks[], uint32_t count)
{
    (void)blocks;
    ((struct ascending *)context)->freed += count;
}

static void *ascending_address(void *context, locus_block block)
{
    const struct ascending *all = context;
    return all->base + block * all->block_bytes;
}

static int ascending_retire(void *context, struct locus_table *table)
{
    struct ascending *all = context;
    all->areas[all->areas_free++] = (uint32_t)table->tag;
    all->freed += table->count;
    table->count = 0;
    return 0;
}

static void ascending_finish(void *context, uint32_t worker, struct locus_table *table)
{
    (void)table;
    tb_lane_count(&((struct ascending *)context)->counts, worker, 0);
}

static void ascending_drain(void *context)
{
    (void)context;
}

static uint64_t ascending_freed(void *context)
{
    return ((struct ascending *)context)->freed;
}

static void ascending_audit(void *context, struct tb_audit *out)
{
    struct ascending *all = context;
    out->allocated = all->taken;
    out->freed = all->freed;
    out->drained = tb_lane_counts_requests(&all->counts);
}

static const struct tb_ops ascending_ops = {
    .open = ascending_open,
    .close = ascending_close,
    .take = ascending_take,
    .alloc = ascending_alloc,
    .release = ascending_release,
    .address = ascending_address,
    .retire = ascending_retire,
    .finish = ascending_finish,
    .drain = ascending_drain,
    .freed = ascending_freed,
    .audit = ascending_audit,
};
TB_DRIVER(ascending_ops);

static const struct tb_contender ascending_contender = {
    .name = "locus-ascending",
    .summary = "an area of memory for each table, no allocator: the best order, a reference",
    .floor = true,
    .on_demand = true,
    .driver = &ascending_ops_driver,
};
TB_CONTENDER(ascending_contender);
