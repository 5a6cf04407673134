// SPDX-License-Identifier: Apache-2.0
//
// A request's blocks, wherever they lie, as one array.
#include <locus/locus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    struct locus_pool_config memory = {.size = sizeof memory};
    struct locus_owner_config role = {.size = sizeof role};
    struct locus_window_config sight = {.size = sizeof sight};
    struct locus_owner *owner;
    struct locus_window *window;
    memory.blocks = 8;
    memory.block_bytes = 4096;
    memory.node = LOCUS_NODE_ANY;
    memory.windows = true;
    if (locus_pool_open(&role.pool, &memory))
        return 1;
    role.lanes = 1;
    sight.pool = role.pool;
    sight.blocks = 4;
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, 4));
    if (!table || locus_table_init(table, 1, 4, 16) || locus_owner_open(&owner, &role) || locus_owner_adopt(owner) ||
        locus_window_open(&window, &sight))
        return 1;
    if (locus_owner_grow(owner, table, 3) || locus_window_show(window, 0, table))
        return 1;
    memset(locus_window_base(window), 7, 3 * 4096); // over all three blocks at once
    const char *block = locus_pool_address_const(role.pool, locus_table_at(table, 40));
    printf("the block of token 40 begins with %d\n", block[0]);
    locus_window_close(window);
    locus_owner_leave(owner);
    locus_owner_close(owner);
    locus_pool_close(role.pool);
    free(table);
}
