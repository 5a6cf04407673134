// SPDX-License-Identifier: Apache-2.0
//
// published_ops: operations that all contenders on the paper's pool share. The pool is the first member of their context, so a
// pointer to the context is a pointer to the pool.
#ifndef TB_PUBLISHED_OPS_H
#define TB_PUBLISHED_OPS_H

#include "testbed/contenders/published_pool.h"

static inline locus_block tb_published_ops_alloc(void *pool)
{
    locus_block block;
    return tb_published_alloc(pool, &block) ? block : LOCUS_BLOCK_NONE;
}

static inline void tb_published_ops_release(void *pool, locus_block blocks[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        tb_published_free(pool, blocks[i]);
}

static inline void *tb_published_ops_address(void *pool, locus_block block)
{
    return tb_published_address(pool, block);
}

static inline int tb_published_ops_retire(void *pool, struct locus_table *table)
{
    return tb_published_retire(pool, table);
}

static inline uint64_t tb_published_ops_freed(void *pool)
{
    return ((struct tb_published_pool *)pool)->frees;
}

// The owner frees a request that came home whole, handle by handle; then the table is the driver's again.
static inline void tb_published_home(struct tb_published_pool *pool, struct locus_table *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        tb_published_free(pool, table->blocks[i]);
    table->count = 0;
    table->state = LOCUS_TABLE_LIVE;
}

// For an initializer of struct tb_ops.
#define TB_PUBLISHED_OPS                                                                                                           \
    .alloc = tb_published_ops_alloc, .release = tb_published_ops_release, .address = tb_published_ops_address,                     \
    .retire = tb_published_ops_retire, .freed = tb_published_ops_freed

#endif
