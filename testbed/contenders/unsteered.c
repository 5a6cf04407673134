// SPDX-License-Identifier: Apache-2.0
//
// unsteered: the control. Pools bound to their nodes like home-steered, and the same mailboxes, but a freed block goes to the
// free list of the node on which its request finished, as a cache per thread or per node does it. Nothing sends it home, so blocks
// wander as far as requests do. A node may also end up with more of them than it needs, and another with fewer: so each has twice
// the pool of the others.
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "placement/mailbox.h"
#include "testbed/locality.h"
#include "testbed/nodes/ops.h"

struct shelf { // of one station
    struct locus_mailbox returned;
    struct locus_region *region;
    locus_block *free;          // addresses; room for the blocks of all
    uint32_t free_count;
    uint64_t taken;             // blocks, by its scheduler
    // Of the requests that began here. U1 (release) by whoever put their blocks away, partner U2 (acquire): the table is free.
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t requests_home;
    _Atomic uint64_t blocks_home;
};

struct unsteered {
    uint32_t count, blocks_each;
    struct shelf shelves[];
};

static void unsteered_close(void *context)
{
    struct unsteered *all = context;
    for (uint32_t s = 0; s < all->count; s++) {
        locus_region_close(all->shelves[s].region);
        free(all->shelves[s].free);
    }
    free(all);
}

static int shelf_open(struct shelf *shelf, const struct tb_nodes_setup *setup, int node)
{
    uint32_t blocks = 2 * setup->schedule->pool_blocks;
    struct locus_region_config config = {
        .bytes = (size_t)blocks * setup->block_bytes,
        .page = LOCUS_PAGE_4K,
        .policy = LOCUS_POLICY_BIND,
        .node = node,
        .populate = true,
    };
    locus_mailbox_init(&shelf->returned);
    shelf->free = calloc((size_t)blocks * setup->count, sizeof *shelf->free);
    int error = shelf->free ? locus_region_open(&shelf->region, &config) : -ENOMEM;
    for (uint32_t i = 0; i < blocks && !error; i++)
        shelf->free[shelf->free_count++] = (uintptr_t)locus_region_base(shelf->region) + (uint64_t)i * setup->block_bytes;
    return error;
}

static int unsteered_open(const struct tb_nodes_setup *setup, void **out)
{
    size_t bytes = sizeof(struct unsteered) + setup->count * sizeof(struct shelf);
    struct unsteered *all = aligned_alloc(LOCUS_CACHE_LINE, (bytes + LOCUS_CACHE_LINE - 1) / LOCUS_CACHE_LINE * LOCUS_CACHE_LINE);
    int error = 0;
    if (!all)
        return -ENOMEM;
    *out = all;
    *all = (struct unsteered){.blocks_each = 2 * setup->schedule->pool_blocks};
    for (; all->count < setup->count && !error; all->count++) {
        memset(&all->shelves[all->count], 0, sizeof all->shelves[0]);
        error = shelf_open(&all->shelves[all->count], setup, setup->nodes[all->count]);
    }
    return error;
}

static int unsteered_take(void *context, uint32_t station, struct locus_table *table, uint32_t count)
{
    struct shelf *shelf = &((struct unsteered *)context)->shelves[station];
    if (shelf->free_count < count)
        return -ENOMEM;
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

// Every table has a link for each station; the first will do.
static void unsteered_finish(void *context, uint32_t lane, uint32_t station, struct locus_table *table)
{
    (void)lane;
    locus_mailbox_push(&((struct unsteered *)context)->shelves[station].returned, &table->links[0]);
}

static void put_away(struct unsteered *all, struct shelf *shelf, struct locus_table *table)
{
    struct shelf *from = &all->shelves[table->tag];
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
    struct locus_link *link = locus_mailbox_take(&all->shelves[station].returned), *next;
    for (; link; link = next) {
        next = link->next; // the table is its scheduler's again when it was put away
        put_away(all, &all->shelves[station], (struct locus_table *)(void *)((char *)link - offsetof(struct locus_table, links)));
    }
}

static uint64_t unsteered_home(void *context, uint32_t station)
{
    struct unsteered *all = context;
    return atomic_load_explicit(&all->shelves[station].requests_home, memory_order_acquire); // U2
}

static int unsteered_kept_on(void *context, uint32_t station, locus_block block)
{
    (void)context, (void)station, (void)block;
    return TB_LOCALITY_HERE;
}

static const struct locus_region *unsteered_region(void *context, uint32_t station)
{
    return ((struct unsteered *)context)->shelves[station].region;
}

// Which shelf a block lies on is nobody's claim here; that none is lost is, and the first station answers for all.
static void unsteered_audit(void *context, uint32_t station, struct tb_audit *out)
{
    struct unsteered *all = context;
    struct shelf *shelf = &all->shelves[station];
    uint64_t blocks = (uint64_t)all->count * all->blocks_each;
    out->allocated = shelf->taken;
    out->freed = atomic_load_explicit(&shelf->blocks_home, memory_order_relaxed);
    out->drained = unsteered_home(context, station);
    for (uint32_t s = 0; s < all->count; s++)
        blocks -= all->shelves[s].free_count;
    out->not_home = station == 0 ? blocks : 0;
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
