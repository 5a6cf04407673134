// SPDX-License-Identifier: Apache-2.0
//
// table: layout, append and push (route.h). What needs the pool is in owner.c and owner_drain.c.
//
//     | owner's line | line that travels: push_to, pending, links[0 .. 5] | more links ... | blocks[capacity] |
//
// The handles begin on a cache line of their own, so a drain reads the owner's line and then the handles in order.

#include "locus/inline.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The links take whole lines, because the pusher writes them and the owner writes the handles after them.
static size_t blocks_offset(uint32_t homes)
{
    size_t bytes = sizeof(struct locus_table);
    if (offsetof(struct locus_table, links) + homes * sizeof(struct locus_link) > bytes)
        bytes = offsetof(struct locus_table, links) + homes * sizeof(struct locus_link);
    return (bytes + LOCUS_CACHE_LINE - 1) / LOCUS_CACHE_LINE * LOCUS_CACHE_LINE;
}

size_t locus_table_bytes(uint32_t homes, uint32_t capacity)
{
    size_t bytes = blocks_offset(homes) + (size_t)capacity * sizeof(locus_block);
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
        .blocks = (locus_block *)(void *)((char *)memory + blocks_offset(homes)),
        .capacity = capacity,
        .tokens_per_block = tokens_per_block,
        .state = LOCUS_TABLE_LIVE,
        .homes_max = (uint8_t)homes,
    };
    return 0;
}

int locus_table_extend(struct locus_table *table, locus_block array[], uint32_t capacity, locus_block **unused)
{
    locus_block *own = (locus_block *)(void *)((char *)table + blocks_offset(table->homes_max));
    *unused = NULL;
    if (table->state != LOCUS_TABLE_LIVE || !array || capacity == 0 || capacity < table->count)
        return -EINVAL;
    memmove(array, table->blocks, table->count * sizeof *array);
    if (table->blocks != own && table->blocks != array)
        *unused = table->blocks;
    table->blocks = array;
    table->capacity = capacity;
    return 0;
}

int locus_table_append(struct locus_table *table, locus_block block)
{
    uint32_t home = locus_block_home(block);
    if (table->state != LOCUS_TABLE_LIVE || block == LOCUS_BLOCK_NONE)
        return -EINVAL;
    if (home >= table->homes_max)
        return -EXDEV;
    if (table->count == table->capacity)
        return -ENOSPC;
    table->homes |= UINT64_C(1) << home;
    table->blocks[table->count++] = block;
    return 0;
}

struct locus_route *locus_route_new(void)
{
    return calloc(1, sizeof(struct locus_route));
}

void locus_route_free(struct locus_route *route)
{
    free(route);
}

// D1 (relaxed), partner D2 in owner_drain.c: the number of drains that the table has to wait for. Relaxed suffices: the count is
// written before the first push, and P1/T1 or V1/V2 of each push orders it for the drain that takes it. A table of one home needs
// no count.
static void push_to_homes(const struct locus_route *route, struct locus_table *table, uint64_t homes)
{
    struct locus_link *links = table->links;
    table->push_to = 0;
    if (homes & (homes - 1))
        __atomic_store_n(&table->pending, (uint32_t)__builtin_popcountll(homes), __ATOMIC_RELAXED); // D1
    while (homes) { // after the last push the table may be gone: read only locals and the route
        int home = __builtin_ctzll(homes);
        homes &= homes - 1;
        struct locus_lane *lane = route->home[home];
        if (!(route->exclusive >> home & 1) || !locus_lane_send(lane, table))
            locus_mailbox_push(&lane->mailbox, &links[home]);
    }
}

int locus_table_push_slow(const struct locus_route *route, struct locus_table *table)
{
    uint64_t homes = table->push_to; // read nothing else of the table: its first line stays in the owner's cache
    if (!homes)
        return -EINVAL;
    if (homes & ~route->homes)
        return -EXDEV;
    push_to_homes(route, table, homes);
    return 0;
}

int locus_table_push(const struct locus_route *route, struct locus_table *table)
{
    return locus_table_push_inline(route, table);
}
