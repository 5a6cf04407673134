// SPDX-License-Identifier: Apache-2.0
//
// A scheduler in a thread of its own, on node 0, which takes blocks for
// a request and lets it go home by a route of its own.
#include <locus/locus.h>
#include <stdlib.h>

struct request {
    struct locus_table *table;
    struct locus_route *route;
};

static int step(struct locus_owner *owner, void *context)
{
    struct request *request = context;
    int error = locus_owner_grow(owner, request->table, 4);
    if (error)
        return error;
    locus_owner_retire(owner, request->table);
    locus_table_push(request->route, request->table);
    return locus_owner_drain(owner) == 4 ? 1 : -1; // it ends
}

int main(void)
{
    struct locus_pool_config memory = {.size = sizeof memory};
    struct locus_owner_config role = {.size = sizeof role};
    memory.blocks = 64;
    memory.block_bytes = 65536;
    role.lanes = 1;
    struct locus_owner *owner;
    if (locus_pool_open(&role.pool, &memory))
        return 1;
    if (locus_owner_open(&owner, &role))
        return 1;
    struct request request;
    request.route = locus_route_new();
    request.table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, 8));
    if (locus_route_add(request.route, owner, 0))
        return 1;
    if (locus_table_init(request.table, 1, 8, 16))
        return 1;

    int result = 0;
    if (locus_owner_spawn(owner, 0, step, &request))
        return 1;
    if (locus_owner_join(owner, &result))
        return 1;
    locus_owner_close(owner);
    locus_pool_close(role.pool);
    locus_route_free(request.route);
    free(request.table);
    return result == 1 ? 0 : 1;
}
