// SPDX-License-Identifier: Apache-2.0
//
// locus, locus-backpressure, locus-mailbox: the library as it is (library.h); waiting for blocks on their way home before a
// never-used one goes out; and with ways home that promise nothing, as if many threads pushed there. Variants are in
// locus_inline.c, locus_pools.c, locus_drains.c and carrier.h.

#include <errno.h>
#include <stdlib.h>

#include "testbed/contenders/library.h"

static int backpressure_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    return tb_library_open(setup, &pool, true, out);
}

TB_LIBRARY_OPS(locus_ops, tb_library_open_usual, tb_library_take, NULL);
TB_LIBRARY_OPS(backpressure_ops, backpressure_open, tb_library_take, NULL);

static int mailbox_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    struct tb_library *library = calloc(1, sizeof *library);
    if (!library)
        return -ENOMEM;
    library->shared_lanes = true;
    *out = library;
    return tb_library_open_in(library, setup, &pool, false);
}

TB_LIBRARY_OPS(mailbox_ops, mailbox_open, tb_library_take, NULL);

static const struct tb_contender locus_contender = {
    .name = "locus",
    .summary = "this library: mapped pool, LIFO, a ring per worker to send chunks home",
    .driver = &locus_ops_driver,
};
TB_CONTENDER(locus_contender);

static const struct tb_contender backpressure_contender = {
    .name = "locus-backpressure",
    .summary = "locus, waiting for blocks on their way home before it uses a new one",
    .driver = &backpressure_ops_driver,
};
TB_CONTENDER(backpressure_contender);

static const struct tb_contender mailbox_contender = {
    .name = "locus-mailbox",
    .summary = "locus, a mailbox per worker in place of the ring: a way home for many threads",
    .driver = &mailbox_ops_driver,
};
TB_CONTENDER(mailbox_contender);
