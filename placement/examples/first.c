// SPDX-License-Identifier: Apache-2.0
#include <locus/locus.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    struct locus_pool_config kv = {.blocks = 8, .block_bytes = 65536};
    struct locus_owner_config role = {.lanes = 1}; // for one worker
    struct locus_route *way = locus_route_new();   // home, for that worker
    struct locus_owner *owner;
    size_t bytes = locus_table_bytes(1, kv.blocks); // for one home
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, bytes);
    kv.node = LOCUS_NODE_ANY;
    if (locus_pool_open(&role.pool, &kv) || locus_owner_open(&owner, &role))
        return EXIT_FAILURE;
    if (locus_owner_adopt(owner) || locus_route_add(way, owner, 0))
        return EXIT_FAILURE;
    if (locus_table_init(table, 1, kv.blocks, 16))
        return EXIT_FAILURE;
    locus_owner_grow(owner, table, kv.blocks); // a request takes blocks,
    locus_owner_retire(owner, table);          // and is finished;
    locus_table_push(way, table);              // a worker sends them home
    printf("%u blocks came home\n", locus_owner_drain(owner));
}
