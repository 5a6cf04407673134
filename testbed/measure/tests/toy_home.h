// SPDX-License-Identifier: Apache-2.0
//
// toy_home: how the toy's blocks come home, and its tables of functions. Only the mailbox through which they come synchronises;
// with `at_once` not even that, so that a litmus sees only the stations' own edges.
#ifndef TB_TESTS_TOY_HOME_H
#define TB_TESTS_TOY_HOME_H

#include "testbed/measure/tests/toy_owner.h"

static inline void toy_put_away(struct toy *toy, struct locus_table *table)
{
    struct toy_home *home = &toy->homes[table->tag];
    for (uint32_t i = 0; i < table->count; i++)
        home->free[home->free_count++] = table->blocks[i];
    home->freed += table->count;
    home->requests_home++;
    table->count = 0;
}

static inline void toy_finish(void *context, uint32_t lane, uint32_t station, struct locus_table *table)
{
    struct toy *toy = context;
    (void)station;
    toy->lanes[lane].from[table->tag]++;
    if (table->tag == toy->broken && toy->loses_request)
        toy->loses_request = false;
    else
        locus_mailbox_push(&toy->homes[table->tag].returned, &table->links[0]);
}

// Called by the worker that finishes. The blocks are forgotten: only the table goes back.
static inline void toy_finish_at_once(void *context, uint32_t lane, uint32_t station, struct locus_table *table)
{
    (void)context, (void)lane, (void)station;
    table->count = 0;
}

static inline int toy_take_for_ever(void *context, uint32_t station, struct locus_table *table, uint32_t count)
{
    (void)context;
    while (count--)
        table->blocks[table->count++] = station * TOY_BLOCKS;
    table->tag = station;
    return 0;
}

static inline void toy_no_drain(void *context, uint32_t station)
{
    (void)context, (void)station;
}

static inline void toy_drain(void *context, uint32_t station)
{
    struct toy *toy = context;
    struct toy_home *home = &toy->homes[station];
    home->drained_outside |= !home->entered || home->left;
    struct locus_link *link = locus_mailbox_take(&home->returned), *next;
    for (; link; link = next) {
        next = link->next;
        toy_put_away(toy, (struct locus_table *)(void *)((char *)link - offsetof(struct locus_table, links)));
    }
}

static inline uint64_t toy_home(void *context, uint32_t station)
{
    return ((struct toy *)context)->homes[station].requests_home;
}

static inline int toy_kept_on(void *context, uint32_t station, locus_block block)
{
    (void)context;
    fixture_cpu = (int)station;
    return (int)(block / TOY_BLOCKS);
}

static inline void toy_audit(void *context, uint32_t station, struct tb_audit *out)
{
    const struct toy_home *home = &((struct toy *)context)->homes[station];
    out->allocated = home->taken;
    out->freed = home->freed;
    out->drained = home->requests_home;
    out->not_home = TOY_BLOCKS - home->free_count;
}

static const struct tb_nodes_ops toy_ops = {
    .enter = toy_enter,
    .leave = toy_leave,
    .take = toy_take,
    .address = toy_address,
    .retire = toy_retire,
    .finish = toy_finish,
    .drain = toy_drain,
    .home = toy_home,
    .kept_on = toy_kept_on,
    .audit = toy_audit,
};

static const struct tb_nodes_ops toy_ops_at_once = {
    .take = toy_take_for_ever,
    .address = toy_address,
    .retire = toy_retire,
    .finish = toy_finish_at_once,
    .drain = toy_no_drain,
    .kept_on = toy_kept_on,
    .audit = toy_audit,
};

#endif
