// SPDX-License-Identifier: Apache-2.0
#include <locus/locus.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 1, HOMES = 1, BLOCKS = 8, BLOCK_BYTES = 65536, TOKENS_PER_BLOCK = 16 };

int main(void)
{
    struct locus_pool_config memory = {.size = sizeof memory, .blocks = BLOCKS, .block_bytes = BLOCK_BYTES, .node = LOCUS_NODE_ANY};
    struct locus_owner_config role = {.size = sizeof role, .lanes = WORKERS};
    struct locus_table *request = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(HOMES, BLOCKS));
    struct locus_route *route = locus_route_new(); // a worker's return path
    struct locus_owner *owner;
    if (locus_pool_open(&role.pool, &memory) || locus_owner_open(&owner, &role) || locus_owner_adopt(owner) ||
        locus_route_add(route, owner, WORKERS - 1) || locus_table_init(request, HOMES, BLOCKS, TOKENS_PER_BLOCK))
        return EXIT_FAILURE;
    locus_owner_grow(owner, request, BLOCKS); // this thread owns the pool, and takes blocks for a request
    locus_owner_retire(owner, request);       // the request is finished ...
    locus_table_push(route, request);         // ... and a worker, any thread, sends all its blocks home at once
    printf("%u blocks came home\n", locus_owner_drain(owner));
}
