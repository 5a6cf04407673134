// SPDX-License-Identifier: Apache-2.0
//
// locus-treiber: the library's pool and mailbox in the frame of the other ways home (carrier.h). It is their control: its
// difference to `locus` is the frame, not a mailbox.

#include "testbed/contenders/carrier.h"

static int treiber_open(const struct tb_setup *setup, void **out)
{
    int error = tb_carrier_open(setup, sizeof(struct locus_mailbox), out);
    for (uint32_t i = 0; i < setup->workers && !error; i++)
        locus_mailbox_init(tb_carrier_box(*out, i));
    return error;
}

static void treiber_finish(void *context, uint32_t worker, struct locus_table *table)
{
    if (tb_carrier_leaves(table))
        locus_mailbox_push(tb_carrier_box(context, worker), &table->links[0]);
}

static void treiber_drain(void *context)
{
    struct tb_carrier *carrier = context;
    for (uint32_t i = 0; i < carrier->boxes_count; i++) {
        struct locus_link *link = locus_mailbox_take(tb_carrier_box(carrier, i)), *next;
        for (; link; link = next) {
            next = link->next; // read before the table is reused
            tb_carrier_home(carrier, tb_carrier_table(link));
        }
    }
}

TB_CARRIER_OPS(treiber);

static const struct tb_contender treiber = {
    .name = "locus-treiber",
    .summary = "locus's pool and mailbox in the frame of locus-spsc: the control for other mailboxes",
    .driver = &treiber_ops_driver,
};
TB_CONTENDER(treiber);
