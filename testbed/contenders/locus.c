// SPDX-License-Identifier: Apache-2.0
//
// locus, locus-backpressure: the library as it is (library.h), without and with waiting for blocks on their way home before a
// never-used one goes out. Variants are in locus_pools.c, locus_drains.c and carrier.h.

#include "testbed/contenders/library.h"

static int locus_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    return tb_library_open(setup, &pool, false, out);
}

static int backpressure_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    return tb_library_open(setup, &pool, true, out);
}

TB_LIBRARY_OPS(locus_ops, locus_open, tb_library_take, NULL);
TB_LIBRARY_OPS(backpressure_ops, backpressure_open, tb_library_take, NULL);

static const struct tb_contender locus_contender = {
    .name = "locus",
    .summary = "this library: mapped pool, LIFO, one chunk mailbox per worker",
    .driver = &locus_ops_driver,
};
TB_CONTENDER(locus_contender);

static const struct tb_contender backpressure_contender = {
    .name = "locus-backpressure",
    .summary = "locus, waiting for blocks on their way home before it uses a new one",
    .driver = &backpressure_ops_driver,
};
TB_CONTENDER(backpressure_contender);
