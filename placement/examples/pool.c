// SPDX-License-Identifier: Apache-2.0
//
// A pool that one thread uses by itself.
#include <locus/locus.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    struct locus_pool_config config = {.size = sizeof config};
    struct locus_pool *pool;
    config.blocks = 8;
    config.block_bytes = 65536;
    config.node = LOCUS_NODE_ANY;
    int error = locus_pool_open(&pool, &config);
    if (error) {
        char why[400];
        locus_pool_why(&config, error, why, sizeof why);
        fprintf(stderr, "no pool: %s\n", why);
        return 1;
    }
    locus_block block = locus_pool_alloc(pool);
    memset(locus_pool_address(pool, block), 0, 65536);
    locus_pool_free_bulk(pool, 1, &block, 0);
    locus_pool_free_bulk(pool, 1, &block, 0); // refused, and counted

    struct locus_pool_stats stats;
    locus_pool_stats(pool, &stats);
    printf("%u of %u blocks are free\n", stats.blocks_free, stats.blocks);
    locus_pool_close(pool);
}
