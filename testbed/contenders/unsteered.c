// SPDX-License-Identifier: Apache-2.0
//
// unsteered: the control. Pools are bound to their nodes and mailboxes are the same as in home-steered, but a freed block goes to
// the free list of the node on which its request finished, as with a cache per thread or per node. Nothing sends it home, so
// blocks wander as far as requests do. One node may end up with more blocks than it needs, and another with too few, so each pool
// is twice as large as the other contenders'.
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "locus/lane.h"
#include "testbed/measure/locality/locality.h"
#include "testbed/measure/nodes/ops.h"

struct shelf { // a station's free list, on its node
    struct locus_mailbox returned;
    struct locus_region *region; // the blocks
    struct locus_region *own;   // memory of this struct
    uint32_t free_count;
    uint64_t taken;             // blocks, by its scheduler
    // Of the requests that began here. U1 (release) by the thread that put their blocks away, partner U2 (acquire): the table is
    // free.
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t requests_home;
    _Atomic uint64_t blocks_home;
    _Alignas(LOCUS_CACHE_LINE) locus_block free[]; // addresses; room for all stations' blocks
};

struct unsteered {
    uint32_t count, blocks_each;
    size_t block_bytes;
    bool *seen;                 // by block, for the audit
    struct shelf *shelves[TB_NODES_MAX];
};

static void unsteered_close(void *context)
{
    struct unsteered *all = context;
    for (uint32_t s = 0; s < all->count; s++) {
        locus_region_close(all->shelves[s]->region);
        locus_region_close(all->shelves[s]->own); // the shelf itself
    }
    free(all->seen);
    free(all);
}

static int shelf_open(struct unsteered *all, uint32_t stations, int node)
{
    struct locus_region *own;
    struct locus_region_config config = {
        .size = sizeof config,
        .bytes = sizeof(struct shelf) + (size_t)stations * all->blocks_each * sizeof(locus_block),
        .memory_class = LOCUS_CLASS_METADATA,
        .page = LOCUS_PAGE_4K,
        .policy = LOCUS_POLICY_BIND,
        .node = node,
        .populate = true,
    };
    int error = locus_region_open(&own, &config);
    if (error)
        return error;
    struct shelf *shelf = all->shelves[all->count++] = locus_region_base(own);
    *shelf = (struct shelf){.own = own};
    locus_mailbox_init(&shelf->returned);
    config.bytes = all->blocks_each * all->block_bytes;
    config.memory_class = LOCUS_CLASS_KV_CACHE;
    error = locus_region_open(&shelf->region, &config);
    for (uint32_t i = 0; i < all->blocks_each && !error; i++)
        shelf->free[shelf->free_count++] = (uintptr_t)locus_region_base(shelf->region) + i * all->block_bytes;
    return error;
}

static int unsteered_open(const struct tb_nodes_setup *setup, void **out)
{
    struct unsteered *all = calloc(1, sizeof *all);
    int error = 0;
    if (!all)
        return -ENOMEM;
    *out = all;
    all->blocks_each = 2 * setup->schedule->pool_blocks;
    all->block_bytes = setup->block_bytes;
    all->seen = calloc((size_t)setup->count * all->blocks_each, sizeof *all->seen);
    if (!all->seen)
        return -ENOMEM;
    for (uint32_t s = 0; s < setup->count && !error; s++)
        error = shelf_open(all, setup->count, setup->nodes[s]);
    return error;
}

static int unsteered_take(void *context, uint32_t station, struct locus_table *table, uint32_t count)
{
    struct shelf *shelf = ((struct unsteered *)context)->shelves[station];
    if (shelf->free_count < count)
        return -EAGAIN; // more may come
    for (uint32_t i = 0; i < count; i++)
        table->blocks[table->count++] = shelf->free[--shelf->free_count];
    shelf->taken += count;
    table->tag = station;
    return 0;
}

static void *unsteered_address(void *context, locus_block block)
{
    (void)context;
    return (void *)(uintptr_t)block;
}

static int unsteered_retire(void *context, uint32_t station, struct locus_table *table)
{
    (void)context, (void)station, (void)table;
    return 0;
}

// Every table has a link for each station; the first is used.
static void unsteered_finish(void *context, uint32_t lane, uint32_t station, struct locus_table *table)
{
    (void)lane;
    locus_mailbox_push(&((struct unsteered *)context)->shelves[station]->returned, &table->links[0]);
}

static void put_away(struct unsteered *all, struct shelf *shelf, struct locus_table *table)
{
    struct shelf *from = all->shelves[table->tag];
    uint32_t count = table->count;
    for (uint32_t i = 0; i < count; i++)
        shelf->free[shelf->free_count++] = table->blocks[i];
    table->count = 0;
    atomic_fetch_add_explicit(&from->blocks_home, count, memory_order_relaxed);
    atomic_fetch_add_explicit(&from->requests_home, 1, memory_order_release); // U1
}

static void unsteered_drain(void *context, uint32_t station)
{
    struct unsteered *all = context;
    struct locus_link *link = locus_mailbox_take(&all->shelves[station]->returned), *next;
    for (; link; link = next) {
        next = link->next; // read first: once put away, the table is its scheduler's again
        put_away(all, all->shelves[station], (struct locus_table *)(void *)((char *)link - offsetof(struct locus_table, links)));
    }
}

static uint64_t unsteered_home(void *context, uint32_t station)
{
    struct unsteered *all = context;
    return atomic_load_explicit(&all->shelves[station]->requests_home, memory_order_acquire); // U2
}

static int unsteered_kept_on(void *context, uint32_t station, locus_block block)
{
    (void)context, (void)station, (void)block;
    return TB_LOCALITY_HERE;
}

static const struct locus_region *unsteered_region(void *context, uint32_t station)
{
    return ((struct unsteered *)context)->shelves[station]->region;
}

// The block's number among all blocks.
static uint64_t number_of(const struct unsteered *all, locus_block block)
{
    for (uint32_t s = 0; s < all->count; s++) {
        uintptr_t base = (uintptr_t)locus_region_base(all->shelves[s]->region);
        if (block >= base && block - base < all->blocks_each * all->block_bytes)
            return (uint64_t)s * all->blocks_each + (block - base) / all->block_bytes;
    }
    return UINT64_MAX;
}

// Blocks on no shelf: a block that is there twice took another's place.
static uint64_t lost(struct unsteered *all)
{
    uint64_t missing = (uint64_t)all->count * all->blocks_each;
    memset(all->seen, 0, missing * sizeof *all->seen);
    for (uint32_t s = 0; s < all->count; s++)
        for (uint32_t i = 0; i < all->shelves[s]->free_count; i++) {
            uint64_t number = number_of(all, all->shelves[s]->free[i]);
            if (number == UINT64_MAX || all->seen[number])
                continue;
            all->seen[number] = true;
            missing--;
        }
    return missing;
}

// No contract says which shelf a block is on, only that none is lost; the first station reports for all.
static void unsteered_audit(void *context, uint32_t station, struct tb_audit *out)
{
    struct unsteered *all = context;
    struct shelf *shelf = all->shelves[station];
    out->allocated = shelf->taken;
    out->freed = atomic_load_explicit(&shelf->blocks_home, memory_order_relaxed);
    out->drained = unsteered_home(context, station);
    out->not_home = station == 0 ? lost(all) : 0;
}

static const struct tb_nodes_ops unsteered_ops = {
    .open = unsteered_open,
    .close = unsteered_close,
    .take = unsteered_take,
    .address = unsteered_address,
    .retire = unsteered_retire,
    .finish = unsteered_finish,
    .drain = unsteered_drain,
    .home = unsteered_home,
    .kept_on = unsteered_kept_on,
    .region = unsteered_region,
    .audit = unsteered_audit,
};

static const struct tb_nodes_contender unsteered_nodes = {.ops = &unsteered_ops, .policy = LOCUS_POLICY_BIND};
static const struct tb_contender unsteered = {
    .name = "unsteered",
    .summary = "home-steered without the steering: a block stays on the node where its request finished",
    .nodes = &unsteered_nodes,
};
TB_CONTENDER(unsteered);
