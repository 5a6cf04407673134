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

static int inline_take(void *context, struct locus_table *table, uint32_t count)
{
    return locus_owner_grow_inline(((struct tb_library *)context)->owner, table, count);
}

static inline locus_block inline_alloc(void *context)
{
    return locus_pool_alloc_inline(((struct tb_library *)context)->pool);
}

static inline void *inline_address(void *context, locus_block block)
{
    return locus_pool_address_inline(((struct tb_library *)context)->pool, block);
}

static inline void inline_finish(void *context, uint32_t worker, struct locus_table *table)
{
    locus_table_push_inline(&((struct tb_library *)context)->routes[worker], table);
}

static inline void inline_drain(void *context)
{
    struct locus_owner *owner = ((struct tb_library *)context)->owner;
    locus_owner_drain_inline(owner);
    while (locus_owner_next_reclaimed_inline(owner))
        ;
}

static const struct tb_ops inline_ops = {
    .open = locus_open,
    .close = tb_library_close,
    .take = inline_take,
    .alloc = inline_alloc,
    .release = tb_library_release,
    .address = inline_address,
    .retire = tb_library_retire,
    .finish = inline_finish,
    .drain = inline_drain,
    .give_back = tb_library_give_back,
    .freed = tb_library_freed,
    .audit = tb_library_audit,
};
TB_DRIVER(inline_ops);

static const struct tb_contender inline_contender = {
    .name = "locus-inline",
    .summary = "locus, its usual cases inlined into the engine (owner_inline.h)",
    .driver = &inline_ops_driver,
};
TB_CONTENDER(inline_contender);

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
