// SPDX-License-Identifier: Apache-2.0
#include <locus/locus.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    struct locus_pool_config memory = {.blocks = 8, .block_bytes = 65536};
    struct locus_owner_config role = {.lanes = 1}; // for one worker
    struct locus_route *way = locus_route_new();   // home, for that worker
    struct locus_owner *owner;
    size_t bytes = locus_table_bytes(1, 8); // one home, up to 8 blocks
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, bytes);
    memory.node = LOCUS_NODE_ANY;
    if (locus_pool_open(&role.pool, &memory))
        return EXIT_FAILURE;
    if (locus_owner_open(&owner, &role) || locus_owner_adopt(owner))
        return EXIT_FAILURE;
    if (locus_table_init(table, 1, 8, 16) || locus_route_add(way, owner, 0))
        return EXIT_FAILURE;
    locus_owner_grow(owner, table, 8); // a request takes 8 blocks;
    locus_owner_retire(owner, table);  // it is finished, and a worker,
    locus_table_push(way, table);      // any thread, sends them all home
    printf("%u blocks came home\n", locus_owner_drain(owner));
}
