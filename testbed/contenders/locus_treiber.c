// SPDX-License-Identifier: Apache-2.0
//
// locus-treiber: the library's pool and mailbox in the frame of the other ways home (carrier.h). It is their control: its
// difference to `locus-mailbox` is the frame, not a mailbox.

#include "testbed/contenders/mailboxes.h"

static int treiber_open(const struct tb_setup *setup, void **out)
{
    return tb_mailboxes_open(&tb_carrier_library, setup, out);
}

TB_MAILBOXES(treiber, tb_carrier);
TB_CARRIER_OPS(treiber);

static const struct tb_contender treiber = {
    .name = "locus-treiber",
    .summary = "locus's pool and mailbox in the frame of locus-spsc: the control for other mailboxes",
    .driver = &treiber_ops_driver,
};
TB_CONTENDER(treiber);
