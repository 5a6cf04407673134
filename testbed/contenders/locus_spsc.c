// SPDX-License-Identifier: Apache-2.0
//
// locus-spsc: the library's pool, and a ring per worker (spsc.h) in place of the mailbox: the least that a ring can be. It has a
// bound on the tables, so it checks nothing; the library's own ring (lane.h) has none, and sends its pusher to the mailbox when it
// is full. Compared with `locus` it shows what that costs, and the frame.
//
// The worker does not read the table: it passes on a pointer, so the table's lines never leave the owner's cache. The owner reads
// the table when it arrives.

#include "testbed/contenders/carrier.h"
#include "testbed/contenders/spsc.h"

// One table per slot of the schedule; `locus bench` has tables of its own.
static uint64_t slots_of(const struct tb_setup *setup)
{
    uint64_t tables = TB_BENCH_BLOCKS / TB_BENCH_BULK_BLOCKS;
    return tb_spsc_slots(setup->schedule->slots > tables ? setup->schedule->slots : tables);
}

static int spsc_open(const struct tb_setup *setup, void **out)
{
    uint64_t slots = slots_of(setup);
    int error = tb_carrier_open(setup, tb_spsc_bytes(slots), out);
    for (uint32_t i = 0; i < setup->workers && !error; i++)
        tb_spsc_init(tb_carrier_box(*out, i), slots);
    return error;
}

static void spsc_finish(void *context, uint32_t worker, struct locus_table *table)
{
    tb_spsc_push(tb_carrier_box(context, worker), table);
}

static void spsc_drain(void *context)
{
    struct tb_carrier *carrier = context;
    for (uint32_t i = 0; i < carrier->boxes_count; i++) {
        struct tb_spsc *ring = tb_carrier_box(carrier, i);
        for (struct locus_table *table; (table = tb_spsc_take(ring));)
            if (table->state == LOCUS_TABLE_RETIRED && table->homes == 1)
                tb_carrier_home(carrier, table);
    }
}

TB_CARRIER_OPS(spsc);

static const struct tb_contender spsc = {
    .name = "locus-spsc",
    .summary = "locus's pool, a ring with one producer and one consumer per worker",
    .driver = &spsc_ops_driver,
};
TB_CONTENDER(spsc);
