// SPDX-License-Identifier: Apache-2.0
//
// table: layout, look-up and the push, and how a table of several homes comes apart in the drains of its owners. One thread holds
// all roles here; what several threads may rely on is in table_pending_litmus.c and homes_stress.c.
#include "locus/owner.h"
#include "locus/pool.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY 16u
#define HOMES 3u
#define POOL_BLOCKS 8u

TestSuite(table, .timeout = 60); // a list that does not end is a failure

static struct locus_table *laid_out(uint32_t homes, uint32_t capacity, uint32_t tokens_per_block)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(homes, capacity));
    cr_assert_not_null(table);
    cr_assert_eq(locus_table_init(table, homes, capacity, tokens_per_block), 0);
    return table;
}

// Homes 0, 1, ... with a pool and an owner each, all held by this thread, and one route to all of them.
struct world {
    struct locus_pool *pools[HOMES];
    struct locus_owner *owners[HOMES];
    struct locus_route route;
};

static void world_open(struct world *world)
{
    *world = (struct world){0};
    for (uint32_t i = 0; i < HOMES; i++) {
        struct locus_pool_config pool = {
            .size = sizeof pool, .home = i, .blocks = POOL_BLOCKS, .block_bytes = 64, .node = LOCUS_NODE_ANY};
        cr_assert_eq(locus_pool_open(&world->pools[i], &pool), 0);
        struct locus_owner_config owner = {.size = sizeof owner, .pool = world->pools[i], .lanes = 1};
        cr_assert_eq(locus_owner_open(&world->owners[i], &owner), 0);
        cr_assert_eq(locus_owner_adopt(world->owners[i]), 0);
        cr_assert_eq(locus_route_add(&world->route, world->owners[i], 0), 0);
    }
}

static void world_close(struct world *world)
{
    for (uint32_t i = 0; i < HOMES; i++) {
        locus_owner_leave(world->owners[i]);
        locus_owner_close(world->owners[i]);
        locus_pool_close(world->pools[i]);
    }
}

static struct locus_pool_stats stats_of(const struct world *world, uint32_t home)
{
    struct locus_pool_stats stats;
    locus_pool_stats(world->pools[home], &stats);
    return stats;
}

// --- layout --------------------------------------------------------------------------------------------------------------------

Test(table, init_refuses_zeros_too_many_homes_and_unaligned_memory)
{
    _Alignas(LOCUS_CACHE_LINE) char memory[1024];
    cr_assert_eq(locus_table_init(memory, 0, 4, 16), -EINVAL);
    cr_assert_eq(locus_table_init(memory, LOCUS_HOMES_MAX + 1, 4, 16), -EINVAL);
    cr_assert_eq(locus_table_init(memory, 1, 0, 16), -EINVAL);
    cr_assert_eq(locus_table_init(memory, 1, 4, 0), -EINVAL);
    cr_assert_eq(locus_table_init(NULL, 1, 4, 16), -EINVAL);
    cr_assert_eq(locus_table_init(memory + 8, 1, 4, 16), -EINVAL);
    cr_assert_eq(locus_table_init(memory, 1, 4, 16), 0);
}

Test(table, starts_live_and_empty)
{
    struct locus_table *table = laid_out(2, CAPACITY, 16);
    cr_assert_eq(table->state, LOCUS_TABLE_LIVE);
    cr_assert_eq(table->count + table->homes + table->tag, 0);
    cr_assert_eq(table->capacity, CAPACITY);
    cr_assert_eq(table->homes_max, 2);
    cr_assert_eq(locus_table_at(table, 0), LOCUS_BLOCK_NONE);
    free(table);
}

Test(table, the_bytes_asked_for_hold_links_and_blocks_without_overlap)
{
    for (uint32_t homes = 1; homes <= LOCUS_HOMES_MAX; homes++) {
        for (uint32_t capacity = 1; capacity < 40; capacity += 13) {
            struct locus_table *table = laid_out(homes, capacity, 1);
            size_t bytes = locus_table_bytes(homes, capacity);
            cr_assert_eq(bytes % LOCUS_CACHE_LINE, 0);
            cr_assert_geq((char *)table->blocks, (char *)&table->links[homes]);
            cr_assert_leq((char *)(table->blocks + capacity), (char *)table + bytes);
            free(table);
        }
    }
}

// A push reads and writes only between the owner's line and the handles.
Test(table, what_a_push_writes_shares_no_cache_line_with_the_rest)
{
    for (uint32_t homes = 1; homes <= LOCUS_HOMES_MAX; homes++) {
        struct locus_table *table = laid_out(homes, 1, 1);
        uintptr_t owner_last = (uintptr_t)&table->retired_by, blocks = (uintptr_t)table->blocks;
        uintptr_t push_first = (uintptr_t)&table->push_to, push_last = (uintptr_t)&table->links[homes] - 1;
        cr_assert_lt(owner_last / LOCUS_CACHE_LINE, push_first / LOCUS_CACHE_LINE);
        cr_assert_lt(push_last / LOCUS_CACHE_LINE, blocks / LOCUS_CACHE_LINE);
        free(table);
    }
}

Test(table, append_fills_up_to_the_capacity_and_notes_homes)
{
    struct locus_table *table = laid_out(2, 2, 16);
    cr_assert_eq(locus_table_append(table, locus_block_make(2, 0, 1)), -EXDEV, "no link for home 2");
    cr_assert_eq(table->count, 0);
    cr_assert_eq(locus_table_append(table, locus_block_make(1, 5, 1)), 0);
    cr_assert_eq(table->homes, 2);
    cr_assert_eq(locus_table_append(table, locus_block_make(0, 6, 1)), 0);
    cr_assert_eq(table->homes, 3);
    cr_assert_eq(locus_table_append(table, locus_block_make(0, 7, 1)), -ENOSPC);
    cr_assert_eq(table->count, 2);
    table->state = LOCUS_TABLE_RETIRED;
    cr_assert_eq(locus_table_append(table, locus_block_make(0, 7, 1)), -EINVAL);
    free(table);
}

// --- growing -------------------------------------------------------------------------------------------------------------------

Test(table, extend_gives_room_and_keeps_what_is_held)
{
    struct locus_table *table = laid_out(2, 2, 16);
    locus_block *unused, first[4], second[9];
    for (uint32_t i = 0; i < 2; i++)
        cr_assert_eq(locus_table_append(table, locus_block_make(i, i, 1)), 0);
    cr_assert_eq(locus_table_append(table, locus_block_make(0, 2, 1)), -ENOSPC);
    cr_assert_eq(locus_table_extend(table, first, 4, &unused), 0);
    cr_assert_null(unused, "the first array is a part of the table");
    for (uint32_t i = 2; i < 4; i++)
        cr_assert_eq(locus_table_append(table, locus_block_make(0, i, 1)), 0);
    cr_assert_eq(locus_table_append(table, locus_block_make(0, 4, 1)), -ENOSPC);
    cr_assert_eq(locus_table_extend(table, second, 9, &unused), 0);
    cr_assert_eq(unused, first);
    memset(first, 0xAA, sizeof first); // as free() would
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(locus_table_at(table, i * 16u), locus_block_make(i == 1, i, 1));
    cr_assert_eq(locus_table_at(table, 64), LOCUS_BLOCK_NONE);
    cr_assert(table->capacity == 9 && locus_table_count(table) == 4 && table->homes == 3);
    free(table);
}

Test(table, extend_refuses_what_would_lose_blocks)
{
    struct locus_table *table = laid_out(1, 4, 16);
    locus_block array[8], *unused = array;
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(locus_table_append(table, locus_block_make(0, i, 1)), 0);
    cr_assert_eq(locus_table_extend(table, array, 2, &unused), -EINVAL);
    cr_assert_null(unused);
    cr_assert_eq(locus_table_extend(table, NULL, 8, &unused), -EINVAL);
    table->state = LOCUS_TABLE_RETIRED;
    cr_assert_eq(locus_table_extend(table, array, 8, &unused), -EINVAL);
    table->state = LOCUS_TABLE_LIVE;
    cr_assert_eq(locus_table_extend(table, array, 3, &unused), 0, "smaller, but large enough");
    cr_assert_eq(locus_table_append(table, locus_block_make(0, 3, 1)), -ENOSPC);
    cr_assert_eq(locus_table_extend(table, array, 8, &unused), 0, "the same array, of which more may be used");
    cr_assert_null(unused);
    cr_assert_eq(locus_table_at(table, 47), locus_block_make(0, 2, 1));
    free(table);
}

Test(table, an_extended_table_travels_and_comes_home_like_any_other)
{
    struct world world;
    world_open(&world);
    struct locus_table *table = laid_out(1, 1, 16);
    locus_block array[POOL_BLOCKS], *unused;
    for (unsigned turn = 0; turn < 3; turn++) {
        cr_assert_eq(locus_owner_grow(world.owners[0], table, 1), 0);
        if (turn == 0)
            cr_assert_eq(locus_owner_grow(world.owners[0], table, 1), -ENOSPC);
        if (turn == 0)
            cr_assert_eq(locus_table_extend(table, array, POOL_BLOCKS, &unused), 0);
        cr_assert_eq(locus_owner_grow(world.owners[0], table, POOL_BLOCKS - 1), 0);
        cr_assert_eq(locus_owner_retire(world.owners[0], table), 0);
        cr_assert_eq(locus_table_push(&world.route, table), 0);
        cr_assert_eq(locus_owner_drain(world.owners[0]), POOL_BLOCKS);
        cr_assert_eq(locus_owner_next_reclaimed(world.owners[0]), table);
        cr_assert_eq(table->capacity, POOL_BLOCKS, "it keeps its room");
    }
    world_close(&world);
    free(table);
}

// --- look-up -------------------------------------------------------------------------------------------------------------------

Test(table, a_position_is_found_on_both_sides_of_every_block_edge)
{
    const uint32_t sizes[] = {1, 16, 100};
    for (unsigned s = 0; s < 3; s++) {
        uint32_t tokens = sizes[s];
        struct locus_table *table = laid_out(1, CAPACITY, tokens);
        for (uint32_t i = 0; i < CAPACITY; i++)
            cr_assert_eq(locus_table_append(table, locus_block_make(0, 100 - i, i + 1)), 0);
        for (uint32_t i = 0; i < CAPACITY; i++) {
            locus_block expected = locus_block_make(0, 100 - i, i + 1);
            cr_assert_eq(locus_table_at(table, (uint64_t)i * tokens), expected);
            cr_assert_eq(locus_table_at(table, (uint64_t)(i + 1) * tokens - 1), expected);
        }
        cr_assert_eq(locus_table_at(table, (uint64_t)CAPACITY * tokens), LOCUS_BLOCK_NONE);
        cr_assert_eq(locus_table_at(table, UINT64_MAX), LOCUS_BLOCK_NONE);
        free(table);
    }
}

Test(table, blocks_for_rounds_up)
{
    const struct {
        uint32_t tokens_per_block;
        uint64_t tokens, blocks;
    } cases[] = {
        {16, 0, 0},
        {16, 1, 1},
        {16, 16, 1},
        {16, 17, 2},
        {1, 7, 7},
        {100, 99, 1},
        {100, 100, 1},
        {100, 101, 2},
        {16, UINT64_C(1) << 40, UINT64_C(1) << 36},
        {1, UINT64_MAX, UINT64_MAX},
        {16, UINT64_MAX, UINT64_C(1) << 60},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct locus_table *table = laid_out(1, 1, cases[i].tokens_per_block);
        cr_assert_eq(locus_table_blocks_for(table, cases[i].tokens), cases[i].blocks, "case %u", i);
        free(table);
    }
}

// --- push ----------------------------------------------------------------------------------------------------------------------

Test(table, push_refuses_what_was_not_retired)
{
    struct world world;
    world_open(&world);
    struct locus_table *table = laid_out(1, CAPACITY, 16);
    cr_assert_eq(locus_table_push(&world.route, table), -EINVAL);
    cr_assert_eq(locus_owner_grow(world.owners[0], table, 2), 0);
    cr_assert_eq(locus_table_push(&world.route, table), -EINVAL, "never declared");
    cr_assert_eq(locus_owner_drain(world.owners[0]), 0);
    cr_assert_eq(locus_owner_truncate(world.owners[0], table, 0), 0);
    world_close(&world);
    free(table);
}

Test(table, the_second_push_is_refused_and_the_blocks_come_home_once)
{
    struct world world;
    world_open(&world);
    struct locus_table *table = laid_out(1, CAPACITY, 16);
    cr_assert_eq(locus_owner_grow(world.owners[0], table, 2), 0);
    cr_assert_eq(locus_owner_retire(world.owners[0], table), 0);
    cr_assert_eq(locus_table_push(&world.route, table), 0);
    cr_assert_eq(locus_table_push(&world.route, table), -EINVAL);
    cr_assert_eq(locus_owner_drain(world.owners[0]), 2);
    cr_assert_eq(locus_owner_drain(world.owners[0]), 0);
    struct locus_owner_stats stats;
    locus_owner_stats(world.owners[0], &stats);
    cr_assert_eq(stats.tables_drained, 1);
    cr_assert_eq(stats.blocks_in_flight, 0);
    world_close(&world);
    free(table);
}

Test(table, a_push_whose_route_lacks_a_home_sends_nothing)
{
    struct world world;
    world_open(&world);
    struct locus_route half = {0};
    cr_assert_eq(locus_route_add(&half, world.owners[0], 0), 0);
    cr_assert_eq(locus_route_add(&half, world.owners[0], 1), -EINVAL, "no such mailbox");
    struct locus_table *table = laid_out(2, CAPACITY, 16);
    cr_assert_eq(locus_owner_grow(world.owners[0], table, 1), 0);
    cr_assert_eq(locus_owner_grow(world.owners[1], table, 1), 0);
    cr_assert_eq(locus_owner_retire(world.owners[0], table), 0);
    cr_assert_eq(locus_table_push(&half, table), -EXDEV);
    cr_assert(table->push_to, "it can still be sent by a better route");
    cr_assert_eq(locus_owner_drain(world.owners[0]), 0);
    cr_assert_eq(locus_table_push(&world.route, table), 0);
    cr_assert_eq(locus_owner_drain(world.owners[0]), 1);
    cr_assert_eq(locus_owner_drain(world.owners[1]), 1);
    world_close(&world);
    free(table);
}

// --- several homes -------------------------------------------------------------------------------------------------------------

// 2 blocks of home 0, 3 of home 1, mixed, retired by home 0, and sent.
static struct locus_table *two_homes_sent(struct world *world)
{
    struct locus_table *table = laid_out(HOMES, CAPACITY, 16);
    table->tag = 99;
    const unsigned order[] = {0, 1, 1, 0, 1};
    for (unsigned i = 0; i < 5; i++)
        cr_assert_eq(locus_owner_grow(world->owners[order[i]], table, 1), 0);
    cr_assert_eq(table->homes, 3);
    cr_assert_eq(locus_owner_retire(world->owners[0], table), 0);
    return table;
}

Test(table, each_home_frees_its_own_and_the_last_hands_the_table_back)
{
    for (unsigned last = 0; last < 2; last++) {
        struct world world;
        world_open(&world);
        struct locus_table *table = two_homes_sent(&world);
        cr_assert_eq(locus_table_push(&world.route, table), 0);
        unsigned first = 1 - last;
        cr_assert_eq(locus_owner_drain(world.owners[first]), first == 0 ? 2 : 3);
        cr_assert_null(locus_owner_next_reclaimed(world.owners[first]));
        cr_assert_eq(locus_owner_drain(world.owners[last]), last == 0 ? 2 : 3);
        cr_assert_eq(locus_owner_next_reclaimed(world.owners[last]), table);
        cr_assert_null(locus_owner_next_reclaimed(world.owners[last]), "once");
        cr_assert_null(locus_owner_next_reclaimed(world.owners[first]));
        cr_assert(table->state == LOCUS_TABLE_LIVE && !table->push_to && table->count == 0 && table->homes == 0);
        for (uint32_t home = 0; home < HOMES; home++) {
            struct locus_pool_stats stats = stats_of(&world, home);
            cr_assert_eq(stats.blocks_free, POOL_BLOCKS);
            cr_assert_eq(stats.allocated, stats.freed);
            for (unsigned kind = 0; kind < LOCUS_FREE_ERRORS_COUNT; kind++)
                cr_assert_eq(stats.refused[kind], 0);
        }
        struct locus_owner_stats owner;
        locus_owner_stats(world.owners[0], &owner);
        cr_assert_eq(owner.blocks_in_flight, 0);
        world_close(&world);
        free(table);
    }
}

Test(table, in_flight_counts_only_the_blocks_of_the_home_that_retired_it)
{
    struct world world;
    world_open(&world);
    struct locus_table *table = two_homes_sent(&world);
    struct locus_owner_stats stats;
    locus_owner_stats(world.owners[0], &stats);
    cr_assert_eq(stats.blocks_in_flight, 2);
    cr_assert_eq(stats.tables_retired, 1);
    locus_owner_stats(world.owners[1], &stats);
    cr_assert_eq(stats.blocks_in_flight, 0);
    cr_assert_eq(locus_table_push(&world.route, table), 0);
    cr_assert_eq(locus_owner_drain(world.owners[1]) + locus_owner_drain(world.owners[0]), 5);
    world_close(&world);
    free(table);
}

static void count_call(void *context, enum locus_free_error error, locus_block block, uint64_t tag)
{
    cr_expect(error == LOCUS_FREE_FOREIGN && block == locus_block_make(2, 0, 1) && tag == 99);
    ++*(unsigned *)context;
}

Test(table, a_damaged_handle_of_a_third_home_is_refused_exactly_once)
{
    for (unsigned first = 0; first < 2; first++) {
        struct world world;
        world_open(&world);
        unsigned calls = 0;
        for (uint32_t home = 0; home < HOMES; home++)
            locus_pool_on_error(world.pools[home], count_call, &calls);
        struct locus_table *table = two_homes_sent(&world);
        table->blocks[table->count++] = locus_block_make(2, 0, 1); // written over: no append has noted home 2
        cr_assert_eq(locus_table_push(&world.route, table), 0);
        cr_assert_eq(locus_owner_drain(world.owners[first]) + locus_owner_drain(world.owners[1 - first]), 5);
        cr_assert_eq(calls, 1);
        cr_assert_eq(stats_of(&world, 0).refused[LOCUS_FREE_FOREIGN] + stats_of(&world, 1).refused[LOCUS_FREE_FOREIGN], 1);
        cr_assert_eq(stats_of(&world, 2).freed, 0);
        world_close(&world);
        free(table);
    }
}

// Handles that change between retire and drain must not leave an owner waiting for blocks that do not exist.
Test(table, damaged_handles_do_not_disturb_what_is_in_flight)
{
    const struct {
        unsigned at;
        locus_block block;
    } damages[] = {
        {0, locus_block_make(2, 0, 1)}, // one of the retiring home's own is gone
        {4, locus_block_make(0, 7, 9)}, // one more seems to be there
    };
    for (unsigned i = 0; i < 2; i++) {
        struct world world;
        world_open(&world);
        struct locus_table *table = two_homes_sent(&world);
        table->blocks[damages[i].at] = damages[i].block;
        cr_assert_eq(locus_table_push(&world.route, table), 0);
        cr_assert_eq(locus_owner_drain(world.owners[0]) + locus_owner_drain(world.owners[1]), 4);
        struct locus_owner_stats stats;
        locus_owner_stats(world.owners[0], &stats);
        cr_assert_eq(stats.blocks_in_flight, 0, "damage %u", i);
        world_close(&world);
        free(table);
    }
}

Test(table, a_block_that_is_in_a_table_twice_is_freed_once)
{
    struct world world;
    world_open(&world);
    struct locus_table *table = laid_out(1, CAPACITY, 16);
    cr_assert_eq(locus_owner_grow(world.owners[0], table, 2), 0);
    cr_assert_eq(locus_table_append(table, table->blocks[0]), 0);
    cr_assert_eq(locus_owner_retire(world.owners[0], table), 0);
    cr_assert_eq(locus_table_push(&world.route, table), 0);
    cr_assert_eq(locus_owner_drain(world.owners[0]), 2);
    cr_assert_eq(stats_of(&world, 0).refused[LOCUS_FREE_DOUBLE], 1);
    struct locus_owner_stats stats;
    locus_owner_stats(world.owners[0], &stats);
    cr_assert_eq(stats.blocks_in_flight, 0);
    world_close(&world);
    free(table);
}
