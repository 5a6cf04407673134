// SPDX-License-Identifier: Apache-2.0
//
// mailboxes: the library's own mailbox as the way home in the frame of carrier.h, for pools that are compared with each other
// (locus_treiber.c, locus_bare.c). Threads as there.
#ifndef TB_MAILBOXES_H
#define TB_MAILBOXES_H

#include "testbed/contenders/carrier.h"

static inline int tb_mailboxes_open(const struct tb_carrier_pool *calls, const struct tb_setup *setup, void **out)
{
    int error = tb_carrier_open_with(calls, setup, sizeof(struct locus_mailbox), out);
    for (uint32_t i = 0; i < setup->workers && !error; i++)
        locus_mailbox_init(tb_carrier_box(*out, i));
    return error;
}

// name_finish() and name_drain() on a frame, see TB_CARRIER_FRAME().
#define TB_MAILBOXES(name, frame)                                                                                                  \
    static void name##_finish(void *context, uint32_t worker, struct locus_table *table)                                           \
    {                                                                                                                              \
        if (tb_carrier_leaves(table))                                                                                              \
            locus_mailbox_push(tb_carrier_box(context, worker), &table->links[0]);                                                 \
    }                                                                                                                              \
    static void name##_drain(void *context)                                                                                        \
    {                                                                                                                              \
        struct tb_carrier *carrier = context;                                                                                      \
        for (uint32_t i = 0; i < carrier->boxes_count; i++) {                                                                      \
            struct locus_link *link = locus_mailbox_take(tb_carrier_box(carrier, i)), *next;                                       \
            for (; link; link = next) {                                                                                            \
                next = link->next; /* read before the table is reused */                                                           \
                frame##_home(carrier, tb_carrier_table(link));                                                                     \
            }                                                                                                                      \
        }                                                                                                                          \
    }

#endif
