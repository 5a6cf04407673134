// SPDX-License-Identifier: Apache-2.0
//
// malloc_nodes: the mallocs on many nodes. A scheduler allocates block by block, and the worker that finishes the request frees
// block by block in its own thread. The malloc decides where the block goes, and that is what we measure: to the free list of the
// thread that freed it, or of the one that allocated it.
#include <errno.h>
#include <stdlib.h>

#include "testbed/contenders/counting.h"
#include "testbed/contenders/malloc.h"

struct malloc_nodes {
    size_t block_bytes;
    uint32_t stations;
    struct { // one per scheduler, which writes it in timed laps
        _Alignas(LOCUS_CACHE_LINE) uint64_t blocks;
    } taken[TB_NODES_MAX]; // by station
    struct tb_lane_counts from[TB_NODES_MAX]; // freed blocks, by the station that took them and the lane that freed them
};

static void malloc_nodes_close(void *context)
{
    struct malloc_nodes *all = context;
    for (uint32_t s = 0; s < all->stations; s++)
        tb_lane_counts_close(&all->from[s]);
    free(all);
}

static int malloc_nodes_open(const struct tb_nodes_setup *setup, void **out)
{
    struct malloc_nodes *all = aligned_alloc(LOCUS_CACHE_LINE, sizeof *all);
    int error = all ? 0 : -ENOMEM;
    if (error)
        return error;
    *all = (struct malloc_nodes){.block_bytes = setup->block_bytes};
    *out = all;
    for (; all->stations < setup->count && !error; all->stations++)
        error = tb_lane_counts_open(&all->from[all->stations], setup->lanes);
    return error;
}

static int malloc_nodes_take(void *context, uint32_t station, struct locus_table *table, uint32_t count)
{
    struct malloc_nodes *all = context;
    for (uint32_t i = 0; i < count; i++) {
        void *block = malloc(all->block_bytes);
        if (!block)
            return -ENOMEM;
        table->blocks[table->count++] = (locus_block)(uintptr_t)block;
    }
    all->taken[station].blocks += count;
    table->tag = station;
    return 0;
}

static void *malloc_nodes_address(void *context, locus_block block)
{
    (void)context;
    return (void *)(uintptr_t)block;
}

static int malloc_nodes_retire(void *context, uint32_t station, struct locus_table *table)
{
    (void)context, (void)station, (void)table;
    return 0;
}

static void malloc_nodes_finish(void *context, uint32_t lane, uint32_t station, struct locus_table *table)
{
    struct malloc_nodes *all = context;
    uint32_t count = table->count;
    (void)station;
    for (uint32_t i = 0; i < count; i++)
        free((void *)(uintptr_t)table->blocks[i]);
    table->count = 0;
    tb_lane_count(&all->from[table->tag], lane, count);
}

static void malloc_nodes_drain(void *context, uint32_t station)
{
    (void)context, (void)station;
}

static void malloc_nodes_audit(void *context, uint32_t station, struct tb_audit *out)
{
    struct malloc_nodes *all = context;
    out->allocated = all->taken[station].blocks;
    out->freed = tb_lane_counts_blocks(&all->from[station]);
    out->drained = tb_lane_counts_requests(&all->from[station]);
    tb_malloc_version(out->version, sizeof out->version);
}

static const struct tb_nodes_ops malloc_nodes_ops = {
    .open = malloc_nodes_open,
    .close = malloc_nodes_close,
    .take = malloc_nodes_take,
    .address = malloc_nodes_address,
    .retire = malloc_nodes_retire,
    .finish = malloc_nodes_finish,
    .drain = malloc_nodes_drain,
    .audit = malloc_nodes_audit,
};

const struct tb_nodes_contender tb_malloc_nodes = {.ops = &malloc_nodes_ops, .policy = LOCUS_POLICY_FIRST_TOUCH};
