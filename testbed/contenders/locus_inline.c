// SPDX-License-Identifier: Apache-2.0
//
// locus-inline, locus-inline-coloured: locus, and locus-coloured (locus_pools.c), with the usual cases inlined into the engine
// (locus/inline.h). Compared with those two they show what a call costs. They are inlined whatever the compiler
// thinks of it, because that is what is compared.

#include "locus/inline.h"
#include "testbed/contenders/library.h"

static struct locus_owner *owner_of(void *context)
{
    return ((struct tb_library *)context)->owner;
}

TB_INLINE int inline_take(void *context, struct locus_table *table, uint32_t count)
{
    return locus_owner_grow_inline(owner_of(context), table, count);
}

TB_INLINE locus_block inline_alloc(void *context)
{
    return locus_pool_alloc_inline(((struct tb_library *)context)->pool);
}

TB_INLINE void *inline_address(void *context, locus_block block)
{
    return locus_pool_address_inline(((struct tb_library *)context)->pool, block);
}

TB_INLINE void inline_finish(void *context, uint32_t worker, struct locus_table *table)
{
    locus_table_push_inline(&((struct tb_library *)context)->routes[worker], table);
}

TB_INLINE void inline_drain(void *context)
{
    struct locus_owner *owner = owner_of(context);
    locus_owner_drain_inline(owner);
    while (locus_owner_next_reclaimed_inline(owner))
        ; // the driver knows its tables by slot
}

#define INLINE_OPS(name, open_pool)                                                                                                \
    TB_LIBRARY_OPS_BY(name, inline, open_pool, inline_take, NULL, tb_library_give_back, tb_library_freed, tb_library_audit)
INLINE_OPS(plain_ops, tb_library_open_usual);
INLINE_OPS(coloured_ops, tb_library_open_coloured);

static const struct tb_contender plain = {
    .name = "locus-inline",
    .summary = "locus, its usual cases inlined into the engine",
    .driver = &plain_ops_driver,
};
TB_CONTENDER(plain);

static const struct tb_contender coloured = {
    .name = "locus-inline-coloured",
    .summary = "locus-coloured, its usual cases inlined into the engine",
    .driver = &coloured_ops_driver,
};
TB_CONTENDER(coloured);
