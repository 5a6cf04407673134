// SPDX-License-Identifier: Apache-2.0
//
// table: layout, append and push. What needs the pool (grow, truncate, the drains) is in owner.c.
//
//     | header 48 B | chunk[0] 16 B | ... chunk[homes_max - 1] | blocks[capacity] |
//
// With one home the header, its chunk and nothing else share the first cache line, and the handles follow; a drain reads the
// line that the push wrote and then the handles in order.

#include "table.h"

#include <errno.h>
#include <stdint.h>

_Static_assert(sizeof(struct locus_table) + sizeof(struct locus_chunk) == LOCUS_CACHE_LINE,
               "header and first chunk share one cache line");

size_t locus_table_bytes(uint32_t homes, uint32_t capacity)
{
    size_t bytes = sizeof(struct locus_table) + homes * sizeof(struct locus_chunk) + (size_t)capacity * sizeof(locus_block);
    return (bytes + LOCUS_CACHE_LINE - 1) / LOCUS_CACHE_LINE * LOCUS_CACHE_LINE;
}

int locus_table_init(void *memory, uint32_t homes, uint32_t capacity, uint32_t tokens_per_block)
{
    if (homes == 0 || homes > LOCUS_HOMES_MAX || capacity == 0 || tokens_per_block == 0)
        return -EINVAL;
    if (!memory || (uintptr_t)memory % LOCUS_CACHE_LINE)
        return -EINVAL;
    struct locus_table *table = memory;
    *table = (struct locus_table){
        .blocks = (locus_block *)(void *)(table->chunks + homes),
        .capacity = capacity,
        .tokens_per_block = tokens_per_block,
        .state = LOCUS_TABLE_LIVE,
        .homes_max = (uint8_t)homes,
    };
    for (uint32_t i = 0; i < homes; i++)
        table->chunks[i].table = table;
    return 0;
}

int locus_table_append(struct locus_table *table, locus_block block)
{
    uint32_t home = locus_block_home(block);
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    if (home >= table->homes_max)
        return -EXDEV;
    if (table->count == table->capacity)
        return -ENOSPC;
    table->homes |= UINT64_C(1) << home;
    table->blocks[table->count++] = block;
    return 0;
}

// D1 (relaxed), partner D2 in owner.c: how many drains the table has to wait for. Relaxed suffices: the count is written before
// the first push, and P1/T1 of that push orders it for every drain.
static int push_to_homes(const struct locus_route *route, struct locus_table *table)
{
    uint64_t homes = table->homes;
    if (homes & ~route->homes)
        return -EXDEV;
    atomic_store_explicit(&table->pending, (uint32_t)__builtin_popcountll(homes), memory_order_relaxed); // D1
    table->state = LOCUS_TABLE_PUSHED;
    // After the last push the table may be gone: everything that is read below is local or the route's.
    struct locus_chunk *chunks = table->chunks;
    while (homes) {
        int home = __builtin_ctzll(homes);
        homes &= homes - 1;
        locus_mailbox_push(route->home[home], &chunks[home].link);
    }
    return 0;
}

int locus_push(const struct locus_route *route, struct locus_table *table)
{
    return table->state == LOCUS_TABLE_RETIRED ? push_to_homes(route, table) : -EINVAL;
}
