// SPDX-License-Identifier: Apache-2.0
//
// Shared by the pool's tests: small pools, and counts that must always add up.
#ifndef LOCUS_TESTS_POOL_TEST_H
#define LOCUS_TESTS_POOL_TEST_H

#include "locus/pool.h"

#include <criterion/criterion.h>

#define BLOCKS 8u
#define HOME 3u

static inline struct locus_pool_config config_of(uint32_t blocks)
{
    return (struct locus_pool_config){
        .size = sizeof(struct locus_pool_config), .home = HOME, .blocks = blocks, .block_bytes = 256, .node = LOCUS_NODE_ANY};
}

static inline struct locus_pool *opened(const struct locus_pool_config *config)
{
    struct locus_pool *pool = NULL;
    cr_assert_eq(locus_pool_open(&pool, config), 0);
    return pool;
}

static inline struct locus_pool *plain(uint32_t blocks)
{
    struct locus_pool_config config = config_of(blocks);
    return opened(&config);
}

static inline struct locus_pool *worn_by(uint32_t generations, uint32_t blocks, enum locus_reuse reuse)
{
    struct locus_pool_config config = config_of(blocks);
    config.generations = generations;
    config.reuse = reuse;
    return opened(&config);
}

static inline struct locus_pool_stats stats_of(const struct locus_pool *pool)
{
    struct locus_pool_stats stats;
    locus_pool_stats(pool, &stats);
    cr_assert_eq(stats.outstanding, stats.allocated - stats.freed);
    cr_assert_eq(stats.blocks, stats.blocks_free + stats.outstanding + stats.blocks_worn, "every block is somewhere");
    return stats;
}

static inline bool give_back(struct locus_pool *pool, locus_block block)
{
    return locus_pool_free_bulk(pool, 1, &block, 0) == 1;
}

#endif
