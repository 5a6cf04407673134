// SPDX-License-Identifier: Apache-2.0
//
// locus-chunk-pool, locus-chunk-pool-idle: chunks that stay whole inside the pool (experiment 0356). They share their way home
// with `locus-sharded-chunk`, so the difference is the pool. It is not in the library, because the paper found no gain.
//
//     free list    | 7 | 2 | 9 | ...                       single blocks, as in published_pool.h
//     store        | 4 5 6 | 8 1 | 3 0 ... |  <- top       blocks of requests that came home, each request's side by side
//                  starts: 0, 3, 5
//
// free_chunk: a request that comes home is checked handle by handle, and then put on top of the store. allocate_chunk: a take of
// several blocks is served from the tail of the topmost chunk, and then from the one below it; a take of as many blocks as the
// topmost chunk has gets it whole. (If chunks were only given away whole, the traces would never find a match: their requests
// come home with 24 to 528 blocks, and arrive with 16.) Blocks that the store lacks come from the free list. A take of one block
// leaves chunks alone, unless the free list is empty: then the topmost chunk is broken up into it. A take that has to wait breaks
// up all chunks, so that waiting counts only one list.
//
// The original's store is a vector of vectors; ours is an array of indices and an array of starts, which allocates nothing. That
// suffices for a stack where only the top changes, and if anything favours this contender.
//
// `locus-chunk-pool-idle` has the store but does not use it: frees go to the free list, and takes come from it block by block,
// checking the store when the list is empty. In the original that alone slowed the hot path down.

#include <errno.h>
#include <stdlib.h>

#include "testbed/contenders/chunk_rings.h"
#include "testbed/measure/driver.h"

struct chunk_pool {
    struct tb_chunk_rings chunks; // first: published_ops.h
    uint32_t *stored;             // [pool blocks] indices
    uint32_t *starts;             // [pool blocks] where in `stored` each chunk begins; a chunk has one block at least
    uint32_t stored_count, starts_count;
};

static void chunk_pool_close(void *context)
{
    struct chunk_pool *all = context;
    tb_chunk_rings_close(&all->chunks);
    free(all->stored);
    free(all->starts);
    free(all);
}

static int chunk_pool_open(const struct tb_setup *setup, void **out)
{
    struct chunk_pool *all = calloc(1, sizeof *all);
    if (!all)
        return -ENOMEM;
    *out = all;
    all->stored = calloc(setup->pool_blocks, sizeof *all->stored);
    all->starts = calloc(setup->pool_blocks, sizeof *all->starts);
    if (!all->stored || !all->starts)
        return -ENOMEM;
    return tb_chunk_rings_open(&all->chunks, setup, TB_CHUNK_PLACES);
}

static void free_chunk(void *context, struct locus_table *table)
{
    struct chunk_pool *all = context;
    uint32_t start = all->stored_count;
    for (uint32_t i = 0; i < table->count; i++)
        all->stored_count += tb_published_accept(context, table->blocks[i], &all->stored[all->stored_count]);
    if (all->stored_count > start)
        all->starts[all->starts_count++] = start;
    table->count = 0;
    table->state = LOCUS_TABLE_LIVE;
}

// pre: the store has a chunk.
static void break_up_chunk(struct chunk_pool *all)
{
    uint32_t start = all->starts[--all->starts_count];
    for (uint32_t i = start; i < all->stored_count; i++)
        tb_published_push(&all->chunks.pool.free, all->stored[i]);
    all->stored_count = start;
}

static inline bool alloc_one(struct chunk_pool *all, locus_block *out)
{
    uint32_t index;
    if (all->chunks.pool.free.count == 0 && all->starts_count)
        break_up_chunk(all);
    if (!tb_published_pop(&all->chunks.pool.free, &index))
        return false;
    *out = tb_published_hand_out(&all->chunks.pool, index, all->chunks.pool.free.count + all->stored_count);
    return true;
}

// Up to `count` blocks of the topmost chunk. pre: the store has one.
static inline uint32_t alloc_of_chunk(struct chunk_pool *all, struct locus_table *table, uint32_t count)
{
    uint32_t start = all->starts[all->starts_count - 1], size = all->stored_count - start;
    uint32_t given = count < size ? count : size;
    all->starts_count -= given == size;
    all->stored_count -= given;
    for (uint32_t i = 0; i < given; i++)
        table->blocks[table->count++] = tb_published_hand_out(&all->chunks.pool, all->stored[all->stored_count + i],
                                                              all->chunks.pool.free.count + all->stored_count + given - 1 - i);
    return given;
}

static void chunk_pool_drain(void *context)
{
    tb_chunk_rings_drain(context, free_chunk);
}

static void drain_and_break_up(void *context)
{
    struct chunk_pool *all = context;
    chunk_pool_drain(context);
    while (all->starts_count)
        break_up_chunk(all);
}

// 0, or why `count` more blocks are impossible.
static inline int make_room(struct chunk_pool *all, struct locus_table *table, uint32_t count, void (*drain)(void *context))
{
    int full = tb_published_room(table, count);
    if (full || __builtin_expect(all->chunks.pool.free.count + all->stored_count >= count, 1))
        return full;
    return tb_published_wait(&all->chunks.pool, count, drain, all);
}

static inline int take_singles(struct chunk_pool *all, struct locus_table *table, uint32_t count)
{
    for (uint32_t end = table->count + count; table->count < end; table->count++)
        if (!alloc_one(all, &table->blocks[table->count]))
            return -ENOMEM;
    return 0;
}

static int chunk_pool_take(void *context, struct locus_table *table, uint32_t count)
{
    struct chunk_pool *all = context;
    int error = make_room(all, table, count, drain_and_break_up);
    if (error)
        return error;
    if (count > 1)
        while (count && all->starts_count)
            count -= alloc_of_chunk(all, table, count);
    return take_singles(all, table, count);
}

static locus_block chunk_pool_alloc(void *context)
{
    locus_block block;
    return alloc_one(context, &block) ? block : LOCUS_BLOCK_NONE;
}

static void chunk_pool_finish(void *context, uint32_t worker, struct locus_table *table)
{
    tb_chunk_rings_send(context, worker, table, chunk_pool_drain, context);
}

static void chunk_pool_audit(void *context, struct tb_audit *out)
{
    struct chunk_pool *all = context;
    tb_published_audit(&all->chunks.pool, out);
    out->not_home -= all->stored_count;
    out->drained = all->chunks.drained;
}

static void idle_home(void *pool, struct locus_table *table)
{
    tb_published_home(pool, table);
}

static void idle_drain(void *context)
{
    tb_chunk_rings_drain(context, idle_home);
}

static int idle_take(void *context, struct locus_table *table, uint32_t count)
{
    int error = make_room(context, table, count, idle_drain);
    return error ? error : take_singles(context, table, count);
}

static void idle_finish(void *context, uint32_t worker, struct locus_table *table)
{
    tb_chunk_rings_send(context, worker, table, idle_drain, context);
}

#define CHUNK_POOL_OPS(which)                                                                                                      \
    .open = chunk_pool_open, .close = chunk_pool_close, .alloc = chunk_pool_alloc, .release = tb_published_ops_release,            \
    .address = tb_published_ops_address, .retire = tb_published_ops_retire, .freed = tb_published_ops_freed,                       \
    .audit = chunk_pool_audit, .take = which##_take, .finish = which##_finish, .drain = which##_drain

static const struct tb_ops chunk_pool_ops = {CHUNK_POOL_OPS(chunk_pool)};
TB_DRIVER(chunk_pool_ops);
static const struct tb_ops idle_ops = {CHUNK_POOL_OPS(idle)};
TB_DRIVER(idle_ops);

static const struct tb_contender chunk_pool_contender = {
    .name = "locus-chunk-pool",
    .summary = "locus-sharded-chunk, and requests stay whole inside the pool",
    .batch_blocks_max = TB_CHUNK_PLACES * TB_BENCH_BULK_BLOCKS,
    .driver = &chunk_pool_ops_driver,
};
TB_CONTENDER(chunk_pool_contender);

static const struct tb_contender idle_contender = {
    .name = "locus-chunk-pool-idle",
    .summary = "locus-sharded-chunk on the pool of locus-chunk-pool, without using its chunks",
    .batch_blocks_max = TB_CHUNK_PLACES * TB_BENCH_BULK_BLOCKS,
    .driver = &idle_ops_driver,
};
TB_CONTENDER(idle_contender);
