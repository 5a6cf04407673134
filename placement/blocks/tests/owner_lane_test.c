// SPDX-License-Identifier: Apache-2.0
//
// owner, through lanes of one pusher: what comes home and in which order, the mode of a lane, what a push does not look at and the
// drain therefore refuses; drains that have a budget; and the inlined calls.
#include "locus/inline.h"
#include "placement/blocks/tests/owner_test.h"

#include <errno.h>
#include <string.h>

#define BLOCKS (TABLES * CAPACITY)

TestSuite(owner_lane, .timeout = 60);

// As world_open(), but with a lane of its own for the route.
static void exclusive_open_with(struct world *world, uint32_t blocks, uint64_t wait_ns)
{
    world_open(world, blocks, false, wait_ns);
    world->route = (struct locus_route){0};
    cr_assert_eq(locus_route_add_exclusive(&world->route, world->owner, 0), 0);
}

static void exclusive_open(struct world *world)
{
    exclusive_open_with(world, BLOCKS, 0);
}

// And another route, by lane 1, that others might use.
static void two_lanes_open(struct world *world, struct locus_route *shared)
{
    exclusive_open(world);
    *shared = (struct locus_route){0};
    cr_assert_eq(locus_route_add(shared, world->owner, 1), 0);
}

static uint64_t refused(const struct world *world, enum locus_free_error kind)
{
    struct locus_pool_stats stats = pool_stats(world);
    for (int i = 0; i < LOCUS_FREE_ERRORS_COUNT; i++)
        cr_assert(i == (int)kind || stats.refused[i] == 0, "kind %d", i);
    return stats.refused[kind];
}

static void expect_all_home(const struct world *world)
{
    struct locus_pool_stats stats = pool_stats(world);
    cr_assert_eq(stats.blocks_free, stats.blocks);
    cr_assert_eq(stats.allocated, stats.freed);
    cr_assert_eq(owner_stats(world).blocks_in_flight, 0);
}

// --- modes ---------------------------------------------------------------------------------------------------------------------

Test(owner_lane, a_lane_keeps_its_mode)
{
    struct world world;
    world_open(&world, BLOCKS, false, 0); // its route shares lane 1
    struct locus_route other = {0};
    cr_assert_eq(locus_route_add_exclusive(&other, world.owner, 1), -EBUSY, "others push there");
    cr_assert_eq(other.homes, 0);
    cr_assert_eq(locus_route_add(&other, world.owner, 1), 0, "and one more may");
    cr_assert_eq(locus_route_add_exclusive(&other, world.owner, 0), 0);
    struct locus_route third = {0};
    cr_assert_eq(locus_route_add_exclusive(&third, world.owner, 0), -EBUSY, "it is exclusive to the other route");
    cr_assert_eq(locus_route_add(&third, world.owner, 0), -EBUSY);
    cr_assert_eq(locus_route_add_exclusive(&third, world.owner, 2), -EINVAL, "no such lane");
    cr_assert(third.homes == 0 && third.exclusive == 0 && !third.only);
    world_close(&world);
}

Test(owner_lane, a_push_leaves_the_lines_of_its_table_alone)
{
    struct world world;
    exclusive_open(&world);
    retired(&world, 0, 3);
    struct locus_table before;
    memcpy(&before, world.tables[0], sizeof before);
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    cr_assert_eq(memcmp(&before, world.tables[0], sizeof before), 0);
    cr_assert_eq(locus_owner_drain(world.owner), 3);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
    expect_all_home(&world);
    world_close(&world);
}

Test(owner_lane, tables_come_home_in_the_order_in_which_they_were_pushed)
{
    struct world world;
    exclusive_open(&world);
    for (unsigned round = 0; round < 3 * LOCUS_LANE_SLOTS; round++) {
        unsigned count = 1 + round % TABLES;
        for (unsigned i = 0; i < count; i++)
            pushed(&world, i, 1 + (round + i) % 3);
        locus_owner_drain(world.owner);
        for (unsigned i = 0; i < count; i++)
            cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[i]);
        cr_assert_null(locus_owner_next_reclaimed(world.owner));
    }
    expect_all_home(&world);
    world_close(&world);
}

Test(owner_lane, what_a_full_ring_sends_elsewhere_comes_home_as_well)
{
    enum { MANY = 2 * LOCUS_LANE_SLOTS };
    struct world world;
    struct locus_table *tables[MANY];
    world_open(&world, MANY, false, 0);
    world.route = (struct locus_route){0};
    cr_assert_eq(locus_route_add_exclusive(&world.route, world.owner, 0), 0);
    for (unsigned i = 0; i < MANY; i++) {
        tables[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, 1));
        cr_assert(tables[i] && locus_table_init(tables[i], 1, 1, 1) == 0);
    }
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            cr_assert_eq(locus_owner_grow(world.owner, tables[i], 1), 0);
            cr_assert_eq(locus_owner_retire(world.owner, tables[i]), 0);
            cr_assert_eq(locus_table_push(&world.route, tables[i]), 0);
        }
        cr_assert_eq(locus_owner_drain(world.owner), MANY);
        for (unsigned i = 0; i < MANY; i++)
            cr_assert_eq(locus_owner_next_reclaimed(world.owner), tables[i], "round %u, table %u", round, i);
    }
    expect_all_home(&world);
    world_close(&world);
    for (unsigned i = 0; i < MANY; i++)
        free(tables[i]);
}

// --- what a push does not look at ----------------------------------------------------------------------------------------------

Test(owner_lane, a_table_that_was_never_declared_is_refused_at_home)
{
    struct world world;
    exclusive_open(&world);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 2), 0);
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    cr_assert_eq(locus_owner_drain(world.owner), 0);
    cr_assert_null(locus_owner_next_reclaimed(world.owner));
    cr_assert_eq(refused(&world, LOCUS_FREE_NOT_RETIRED), 1);
    cr_assert_eq(world.tables[0]->count, 2, "it still holds its blocks");
    cr_assert_eq(locus_owner_truncate(world.owner, world.tables[0], 0), 0);
    world_close(&world);
}

Test(owner_lane, a_table_that_was_pushed_twice_comes_home_once)
{
    struct world world;
    exclusive_open(&world);
    pushed(&world, 0, 4);
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    cr_assert_eq(locus_owner_drain(world.owner), 4);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
    cr_assert_null(locus_owner_next_reclaimed(world.owner));
    cr_assert_eq(refused(&world, LOCUS_FREE_NOT_RETIRED), 1);
    cr_assert_eq(owner_stats(&world).tables_drained, 1);
    expect_all_home(&world);
    world_close(&world);
}

static void note_tag(void *context, enum locus_free_error error, locus_block block, uint64_t tag)
{
    cr_assert(error == LOCUS_FREE_MISROUTED && block == LOCUS_BLOCK_NONE);
    *(uint64_t *)context = tag;
}

Test(owner_lane, a_table_that_its_route_cannot_carry_can_still_go_by_another)
{
    struct world world, other;
    exclusive_open(&world);
    struct locus_pool_config pool = {.size = sizeof pool, .home = 1, .blocks = BLOCKS, .block_bytes = 64, .node = LOCUS_NODE_ANY};
    world_open_with(&other, &pool, false, 0);
    uint64_t tag = 0;
    locus_pool_on_error(world.pool, note_tag, &tag);
    world.tables[0]->tag = 77;
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 2), 0);
    cr_assert_eq(locus_owner_grow(other.owner, world.tables[0], 3), 0);
    cr_assert_eq(locus_owner_retire(world.owner, world.tables[0]), 0);
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0, "it does not look");
    cr_assert_eq(locus_owner_drain(world.owner), 0);
    cr_assert_eq(refused(&world, LOCUS_FREE_MISROUTED), 1);
    cr_assert_eq(tag, 77);
    cr_assert_eq(locus_route_add_exclusive(&world.route, other.owner, 0), 0);
    cr_assert_null(world.route.only, "there are two homes now");
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), -EINVAL, "with two homes it looks");
    cr_assert_eq(locus_owner_drain(world.owner), 2);
    cr_assert_eq(locus_owner_drain(other.owner), 3);
    cr_assert_eq(locus_owner_next_reclaimed(other.owner), world.tables[0]);
    expect_all_home(&world);
    expect_all_home(&other);
    world_close(&other);
    world_close(&world);
}

// --- drains with a budget ------------------------------------------------------------------------------------------------------

static void take_all(struct world *world, locus_block out[BLOCKS])
{
    cr_assert_eq(locus_pool_alloc_bulk(world->pool, BLOCKS, out), 0);
}

// The blocks that leave next, after four tables came home by drains of `budget` blocks.
static void order_after(uint32_t budget, bool exclusive, uint32_t out[BLOCKS])
{
    struct world world;
    locus_block blocks[BLOCKS];
    if (exclusive)
        exclusive_open(&world);
    else
        world_open(&world, BLOCKS, false, 0);
    retired(&world, TABLES - 1, 5); // stays out, so that the stack is not put in order
    const uint32_t counts[] = {7, 1, 12, 3};
    for (unsigned i = 0; i < 4; i++)
        pushed(&world, i, counts[i]);
    uint32_t home = 0, drains = 0;
    for (uint32_t now; home < 23; home += now, drains++) {
        now = locus_owner_drain_some(world.owner, budget);
        cr_assert_eq(now, home + budget < 23 ? budget : 23 - home);
        cr_assert_eq(pool_stats(&world).freed, home + now);
    }
    cr_assert_eq(drains, (23 + budget - 1) / budget);
    cr_assert_eq(locus_owner_drain_some(world.owner, budget), 0);
    for (unsigned i = 0; i < 4; i++)
        cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[i]);
    cr_assert_eq(owner_stats(&world).blocks_in_flight, 5);
    cr_assert_eq(locus_table_push(&world.route, world.tables[TABLES - 1]), 0);
    locus_pool_alloc_bulk(world.pool, BLOCKS - 5, blocks);
    for (unsigned i = 0; i < BLOCKS - 5; i++)
        out[i] = locus_block_index(blocks[i]);
    world_close(&world);
}

Test(owner_lane, what_leaves_next_is_the_same_however_many_drains_it_took)
{
    uint32_t expected[BLOCKS] = {0}, got[BLOCKS] = {0};
    order_after(1000, true, expected);
    for (uint32_t budget = 1; budget < 25; budget++)
        for (unsigned exclusive = 0; exclusive < 2; exclusive++) {
            order_after(budget, exclusive, got);
            cr_assert_eq(memcmp(expected, got, sizeof got), 0, "budget %u, exclusive %u", budget, exclusive);
        }
}

// Of a table that another home has a block in, and of a ring.
static void order_of(enum locus_reuse reuse, bool foreign, uint32_t budget, uint32_t out[8])
{
    struct world world, other;
    struct locus_pool_config pool = {.size = sizeof pool, .blocks = 8, .block_bytes = 64, .reuse = reuse, .node = LOCUS_NODE_ANY};
    world_open_with(&world, &pool, false, 0);
    pool.home = 1;
    world_open_with(&other, &pool, false, 0);
    cr_assert_eq(locus_route_add(&world.route, other.owner, 0), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[1], 1), 0); // stays out
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 7), 0);
    if (foreign)
        cr_assert_eq(locus_owner_grow(other.owner, world.tables[0], 1), 0);
    cr_assert_eq(locus_owner_retire(world.owner, world.tables[0]), 0);
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    uint32_t home = 0;
    for (unsigned i = 0; i < 9 && home < 7; i++)
        home += locus_owner_drain_some(world.owner, budget);
    cr_assert_eq(home, 7);
    for (uint32_t i = 0; i < 7; i++)
        out[i] = locus_block_index(locus_pool_alloc(world.pool));
    world_close(&other);
    world_close(&world);
}

Test(owner_lane, nor_does_the_budget_show_in_a_ring_or_in_a_table_of_two_homes)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        uint32_t expected[8], got[8];
        order_of(kind == 2 ? LOCUS_REUSE_FIFO : LOCUS_REUSE_LIFO, kind == 1, 100, expected);
        for (uint32_t i = 0; i < 7; i++)
            cr_assert_eq(expected[i], i + 1, "in the order in which they were in use");
        for (uint32_t budget = 1; budget < 9; budget++) {
            order_of(kind == 2 ? LOCUS_REUSE_FIFO : LOCUS_REUSE_LIFO, kind == 1, budget, got);
            cr_assert_eq(memcmp(expected, got, 7 * sizeof *got), 0, "kind %u, budget %u", kind, budget);
        }
    }
}

Test(owner_lane, a_budget_takes_one_lane_after_the_other)
{
    struct world world;
    struct locus_route shared;
    two_lanes_open(&world, &shared);
    for (unsigned i = 0; i < 6; i++) {
        retired(&world, i, 2);
        cr_assert_eq(locus_table_push(i < 5 ? &world.route : &shared, world.tables[i]), 0);
    }
    cr_assert_eq(locus_owner_drain_some(world.owner, 2), 2);
    cr_assert_eq(locus_owner_drain_some(world.owner, 2), 2);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[5], "the other lane does not wait for the first");
    locus_owner_drain(world.owner);
    expect_all_home(&world);
    world_close(&world);
}

// While a table is being read, nothing may hand it back.
static void drain_again(void *context, enum locus_free_error error, locus_block block, uint64_t tag)
{
    struct world *world = context;
    struct locus_table *table = world->tables[5];
    (void)error, (void)block, (void)tag;
    cr_expect_eq(locus_owner_drain(world->owner), 0);
    cr_expect_eq(locus_owner_drain_some(world->owner, 9), 0);
    cr_expect_null(locus_owner_next_reclaimed(world->owner));
    cr_expect_eq(locus_owner_grow(world->owner, table, pool_stats(world).blocks_free + 1), -EAGAIN);
}

Test(owner_lane, whoever_hears_of_an_error_drains_nothing)
{
    struct world world;
    exclusive_open_with(&world, 16, 30 * SECOND_NS);
    locus_pool_on_error(world.pool, drain_again, &world);
    retired(&world, 0, 6);
    world.tables[0]->blocks[4] = world.tables[0]->blocks[5];
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    pushed(&world, 1, 3);
    locus_owner_drain_some(world.owner, 2);
    locus_owner_drain(world.owner);
    cr_assert_eq(pool_stats(&world).freed, 8);
    cr_assert_eq(refused(&world, LOCUS_FREE_DOUBLE) + pool_stats(&world).outstanding, 2);
    unsigned back = 0;
    for (struct locus_table *table; (table = locus_owner_next_reclaimed(world.owner)); back++)
        cr_assert(table == world.tables[0] || table == world.tables[1]);
    cr_assert_eq(back, 2);
    world_close(&world);
}

Test(owner_lane, a_drain_with_a_budget_goes_on_where_it_ended)
{
    struct world world;
    struct locus_route shared;
    two_lanes_open(&world, &shared);
    for (unsigned i = 0; i < 4; i++) {
        retired(&world, i, 4);
        cr_assert_eq(locus_table_push(i % 2 ? &shared : &world.route, world.tables[i]), 0);
    }
    cr_assert_eq(locus_owner_drain_some(world.owner, 0), 0);
    cr_assert_eq(locus_owner_drain_some(world.owner, 3), 3);
    cr_assert_null(locus_owner_next_reclaimed(world.owner), "the first table is not whole");
    cr_assert_eq(owner_stats(&world).blocks_in_flight, 16);
    cr_assert_eq(locus_owner_drain_some(world.owner, 2), 2);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
    cr_assert_eq(owner_stats(&world).blocks_in_flight, 12);
    cr_assert_eq(locus_owner_drain_inline(world.owner), 11, "a drain without one takes all the rest");
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[1]);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[3], "what was in the mailbox with it");
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[2]);
    cr_assert_null(locus_owner_next_reclaimed(world.owner));
    expect_all_home(&world);
    world_close(&world);
}

Test(owner_lane, a_grow_waits_for_the_rest_of_what_a_budget_left)
{
    struct world world;
    exclusive_open(&world);
    pushed(&world, 0, CAPACITY);
    for (unsigned i = 1; i < TABLES; i++)
        cr_assert_eq(locus_owner_grow(world.owner, world.tables[i], CAPACITY), 0);
    cr_assert_eq(locus_owner_drain_some(world.owner, 5), 5);
    cr_assert_eq(locus_owner_truncate(world.owner, world.tables[1], 0), 0);
    cr_assert_eq(locus_owner_truncate(world.owner, world.tables[2], 0), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[1], CAPACITY), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[2], CAPACITY), 0);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), NULL);
    cr_assert_eq(locus_owner_drain(world.owner), CAPACITY - 5);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
    world_close(&world);
}

Test(owner_lane, the_stack_is_put_in_order_only_within_the_budget)
{
    for (unsigned enough = 0; enough < 2; enough++) {
        struct world world;
        locus_block blocks[BLOCKS];
        exclusive_open(&world);
        for (unsigned i = 0; i < 8; i++) // each has every fourth block or so: no order
            cr_assert_eq(locus_owner_grow(world.owner, world.tables[i % 4], 1), 0);
        for (unsigned i = 0; i < 4; i++) {
            cr_assert_eq(locus_owner_retire(world.owner, world.tables[i]), 0);
            cr_assert_eq(locus_table_push(&world.route, world.tables[i]), 0);
        }
        cr_assert_eq(locus_owner_drain_some(world.owner, enough ? 16 : 15), 8);
        take_all(&world, blocks);
        bool ascending = true;
        for (unsigned i = 1; i < 8; i++)
            ascending &= blocks[i] >> 32 == (blocks[i - 1] >> 32) + 1;
        cr_assert_eq(ascending, enough, "8 to free and 8 to order");
        world_close(&world);
    }
}

// --- the inlined calls ---------------------------------------------------------------------------------------------------------

Test(owner_lane, the_inlined_calls_do_what_the_plain_ones_do)
{
    struct world plain, inlined;
    exclusive_open(&plain);
    exclusive_open(&inlined);
    unsigned random = 7;
    for (unsigned i = 0; i < 20000; i++) {
        random = random * 1664525 + 1013904223;
        unsigned table = random >> 16 & (TABLES - 1), count = random >> 24 & 3, what = random >> 28;
        struct locus_table *a = plain.tables[table], *b = inlined.tables[table];
        if (what < 12)
            cr_assert_eq(locus_owner_grow(plain.owner, a, count), locus_owner_grow_inline(inlined.owner, b, count));
        else if (what < 14 && locus_owner_retire(plain.owner, a) == 0 && locus_owner_retire(inlined.owner, b) == 0)
            cr_assert_eq(locus_table_push(&plain.route, a), locus_table_push_inline(&inlined.route, b));
        else if (what == 14)
            cr_assert_eq(locus_owner_drain(plain.owner), locus_owner_drain_inline(inlined.owner));
        else if (what == 15)
            cr_assert_eq(!locus_owner_next_reclaimed(plain.owner), !locus_owner_next_reclaimed_inline(inlined.owner));
        cr_assert(a->count == b->count && a->homes == b->homes && a->state == b->state);
        for (uint32_t k = 0; k < a->count; k++) {
            cr_assert_eq(a->blocks[k] >> 32, b->blocks[k] >> 32);
            cr_assert_eq(locus_pool_address_inline(inlined.pool, b->blocks[k]), locus_pool_address(inlined.pool, b->blocks[k]));
        }
    }
    struct locus_pool_stats a = pool_stats(&plain), b = pool_stats(&inlined);
    cr_assert(a.freed == b.freed && a.allocated == b.allocated && a.outstanding_high == b.outstanding_high);
    cr_assert(a.distinct_high == b.distinct_high && a.blocks_free == b.blocks_free);
    cr_assert_gt(a.freed, 1000);
    world_close(&plain);
    world_close(&inlined);
}

Test(owner_lane, the_inlined_calls_refuse_who_does_not_hold_the_role)
{
    struct world world;
    exclusive_open(&world);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[3], CAPACITY), 0);
    cr_assert_eq(locus_owner_truncate(world.owner, world.tables[3], 0), 0, "now there are used blocks, which are the usual case");
    pushed(&world, 0, 2);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[1], 2), 0);
    cr_assert_eq(locus_owner_drain(world.owner), 2);
    pushed(&world, 2, 2);
    cr_assert_eq(locus_owner_leave(world.owner), 0);
    cr_assert_eq(locus_owner_grow_inline(world.owner, world.tables[1], 1), -EPERM);
    cr_assert_eq(locus_owner_grow_inline(world.owner, world.tables[1], 2), -EPERM);
    cr_assert_eq(locus_owner_drain_inline(world.owner), 0);
    cr_assert_eq(locus_owner_drain_some(world.owner, 9), 0);
    cr_assert_null(locus_owner_next_reclaimed_inline(world.owner));
    cr_assert_eq(world.tables[1]->count, 2);
    cr_assert_eq(locus_owner_adopt(world.owner), 0);
    cr_assert_eq(locus_owner_next_reclaimed_inline(world.owner), world.tables[0]);
    cr_assert_eq(locus_owner_grow_inline(world.owner, world.tables[2], 1), -EINVAL, "it is retired");
    cr_assert_eq(locus_owner_grow_inline(world.owner, world.tables[1], CAPACITY), -ENOSPC);
    cr_assert_eq(locus_owner_grow_inline(world.owner, world.tables[1], CAPACITY - 2), 0);
    cr_assert_eq(locus_owner_grow_inline(world.owner, world.tables[1], 1), -ENOSPC);
    world_close(&world);
}

Test(owner_lane, the_inlined_calls_refuse_a_table_without_a_link_for_the_home)
{
    struct world world;
    struct locus_pool_config pool = {.size = sizeof pool, .home = 1, .blocks = 8, .block_bytes = 64, .node = LOCUS_NODE_ANY};
    _Alignas(LOCUS_CACHE_LINE) char memory[1024];
    struct locus_table *narrow = (struct locus_table *)(void *)memory;
    world_open_with(&world, &pool, false, 0);
    cr_assert(locus_table_bytes(1, CAPACITY) <= sizeof memory && locus_table_init(memory, 1, CAPACITY, 16) == 0);
    cr_assert_eq(locus_owner_grow_inline(world.owner, world.tables[0], 8), 0);
    cr_assert_eq(locus_owner_truncate(world.owner, world.tables[0], 0), 0);
    cr_assert_eq(locus_owner_grow_inline(world.owner, narrow, 2), -EXDEV);
    cr_assert_eq(locus_owner_grow_inline(world.owner, narrow, 1), -EXDEV);
    cr_assert_eq(narrow->count, 0);
    world_close(&world);
}

Test(owner_lane, blocks_on_the_heap_have_inlined_addresses_as_well)
{
    struct world world;
    struct locus_pool_config pool = {
        .size = sizeof pool, .blocks = 4, .block_bytes = 64, .backing = LOCUS_BACKING_HEAP, .node = LOCUS_NODE_ANY};
    world_open_with(&world, &pool, false, 0);
    locus_block block = locus_pool_alloc_inline(world.pool);
    cr_assert_eq(locus_pool_address_inline(world.pool, block), locus_pool_address(world.pool, block));
    memset(locus_pool_address_inline(world.pool, block), 1, 64);
    world_close(&world);
}

// The last takes of a pool look ahead past the end of its stack.
Test(owner_lane, a_pool_that_fetches_ahead_hands_out_the_same_blocks)
{
    for (uint32_t blocks = 1; blocks < 12; blocks++) {
        struct world world;
        struct locus_pool_config pool = {
            .size = sizeof pool, .blocks = blocks, .block_bytes = 64, .node = LOCUS_NODE_ANY, .fetch_ahead = true};
        world_open_with(&world, &pool, false, 0);
        for (unsigned turn = 0; turn < 2; turn++) {
            for (uint32_t i = 0; i < blocks; i++) {
                cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 1), 0);
                cr_assert_eq(locus_block_index(world.tables[0]->blocks[i]), i);
            }
            cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 1), -ENOMEM);
            cr_assert_eq(locus_owner_truncate(world.owner, world.tables[0], 0), 0);
            cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], blocks), 0);
            cr_assert_eq(locus_owner_truncate(world.owner, world.tables[0], 0), 0);
        }
        world_close(&world);
    }
}
