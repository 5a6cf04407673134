// SPDX-License-Identifier: Apache-2.0
//
// locus-spsc: the library's pool, and a ring per worker (spsc.h) in place of the mailbox. A push is one plain store, where
// Treiber's is a locked instruction on a line that the owner polls. The price is a bound on the tables, and that each ring has
// just one producer: an engine whose threads share a way home cannot use it.
//
// The worker does not read the table either: it passes on a pointer, so the table's lines never leave the owner's cache. That is
// worth as much as the store (churn-touch, one byte, on a Xeon: 15 us against 22 for `locus`, whose push fetches one line of the
// table). The owner reads the table when it arrives. With several homes, the dispatcher of the request would have to say where
// the table goes.

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
