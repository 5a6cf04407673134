// SPDX-License-Identifier: Apache-2.0
//
// owner_drop: a sequence lets its oldest blocks go and keeps its positions, as sliding-window attention needs.
#include "placement/blocks/tests/owner_test.h"

#include <errno.h>

#define TOKENS 16u // of a block

static void opened(struct world *world, enum locus_reuse reuse)
{
    struct locus_pool_config config = {
        .size = sizeof config, .blocks = 16, .block_bytes = 64, .reuse = reuse, .node = LOCUS_NODE_ANY, .tags = true};
    world_open_with(world, &config, false, 0);
}

Test(owner_drop, positions_keep_their_meaning)
{
    struct world world;
    opened(&world, LOCUS_REUSE_LIFO);
    struct locus_table *table = world.tables[0];
    locus_table_set_tag(table, 7);
    cr_assert_eq(locus_owner_grow(world.owner, table, 6), 0);
    locus_block third = table->blocks[2];
    cr_assert_eq(locus_owner_drop_before(world.owner, table, 2 * TOKENS + 5), 0);
    cr_assert_eq(locus_table_at(table, 0), LOCUS_BLOCK_NONE);
    cr_assert_eq(locus_table_at(table, 2 * TOKENS - 1), LOCUS_BLOCK_NONE);
    cr_assert_eq(locus_table_at(table, 2 * TOKENS), third, "a token of it is still needed");
    cr_assert_eq(locus_table_at(table, 6 * TOKENS), LOCUS_BLOCK_NONE, "past the last block");
    cr_assert(locus_table_count(table) == 6 && locus_table_dropped(table) == 2);
    cr_assert_eq(pool_stats(&world).outstanding, 4);
    cr_assert_eq(locus_owner_grow(world.owner, table, 1), 0);
    cr_assert_neq(locus_table_at(table, 6 * TOKENS), LOCUS_BLOCK_NONE);
    cr_assert_eq(locus_owner_drop_before(world.owner, table, TOKENS), 0, "these are gone already");
    cr_assert_eq(table->dropped, 2);
    world_close(&world);
}

// The rest comes home as ever: by any route, in one drain or in parts, and no handle is refused.
Test(owner_drop, what_is_left_comes_home)
{
    for (enum locus_reuse reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_RUNS; reuse++)
        for (uint32_t budget = 0; budget <= 3; budget++) {
            struct world world;
            opened(&world, reuse);
            struct locus_table *table = world.tables[0];
            uint32_t drained = 0;
            cr_assert_eq(locus_owner_grow(world.owner, table, 6), 0);
            cr_assert_eq(locus_owner_drop_before(world.owner, table, TOKENS), 0);
            cr_assert_eq(locus_owner_retire(world.owner, table), 0);
            cr_assert_eq(owner_stats(&world).blocks_in_flight, 5);
            cr_assert_eq(locus_table_push(&world.route, table), 0);
            for (int i = 0; i < 6; i++)
                drained += budget ? locus_owner_drain_some(world.owner, budget) : locus_owner_drain(world.owner);
            cr_assert_eq(drained, 5, "reuse %d budget %u: %u", reuse, budget, drained);
            cr_assert_eq(locus_owner_next_reclaimed(world.owner), table);
            cr_assert(table->count == 0 && table->dropped == 0 && table->homes == 0);
            struct locus_pool_stats stats = pool_stats(&world);
            for (int i = 0; i < LOCUS_FREE_ERRORS_COUNT; i++)
                cr_assert_eq(stats.refused[i], 0);
            cr_assert_eq(stats.outstanding, 0);
            cr_assert_eq(owner_stats(&world).blocks_in_flight, 0);
            cr_assert_eq(locus_owner_grow(world.owner, table, 16), 0, "all of them can be had again");
            world_close(&world);
        }
}

// A window that slides for longer than the pool is large: a block comes back for each that is taken.
Test(owner_drop, a_window_slides_on_for_ever)
{
    for (enum locus_reuse reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_RUNS; reuse++) {
        struct world world;
        opened(&world, reuse);
        struct locus_table *table = world.tables[0];
        locus_block array[1000], *unused;
        cr_assert_eq(locus_table_extend(table, array, 1000, &unused), 0);
        for (uint32_t block = 0; block < 1000; block++) {
            cr_assert_eq(locus_owner_grow(world.owner, table, 1), 0);
            cr_assert_eq(locus_owner_drop_before(world.owner, table, block >= 4 ? (block - 3) * TOKENS : 0), 0);
            cr_assert_leq(pool_stats(&world).outstanding, 4);
        }
        cr_assert_leq(pool_stats(&world).outstanding_high, 5);
        cr_assert_eq(table->dropped, 996);
        cr_assert_eq(locus_owner_truncate(world.owner, table, 0), 0);
        cr_assert_eq(pool_stats(&world).outstanding, 0);
        world_close(&world);
    }
}

Test(owner_drop, truncate_may_end_among_the_dropped_ones)
{
    struct world world;
    opened(&world, LOCUS_REUSE_LIFO);
    struct locus_table *table = world.tables[0];
    cr_assert_eq(locus_owner_grow(world.owner, table, 6), 0);
    cr_assert_eq(locus_owner_drop_before(world.owner, table, 3 * TOKENS), 0);
    cr_assert_eq(locus_owner_truncate(world.owner, table, 5), 0);
    cr_assert(table->count == 5 && table->dropped == 3);
    cr_assert_eq(pool_stats(&world).outstanding, 2);
    cr_assert_eq(locus_owner_truncate(world.owner, table, 2), 0);
    cr_assert(table->count == 2 && table->dropped == 2 && table->homes == 0);
    cr_assert_eq(pool_stats(&world).outstanding, 0);
    cr_assert_eq(pool_stats(&world).refused[LOCUS_FREE_STALE], 0);
    cr_assert_eq(locus_owner_grow(world.owner, table, 1), 0, "it goes on at its position");
    cr_assert_eq(locus_table_at(table, 2 * TOKENS), table->blocks[2]);
    cr_assert_eq(pool_stats(&world).outstanding, 1);
    world_close(&world);
}

Test(owner_drop, a_sequence_of_which_nothing_is_left_has_nothing_to_send)
{
    struct world world;
    opened(&world, LOCUS_REUSE_LIFO);
    struct locus_table *table = world.tables[0];
    cr_assert_eq(locus_owner_grow(world.owner, table, 2), 0);
    cr_assert_eq(locus_owner_drop_before(world.owner, table, UINT64_MAX), 0);
    cr_assert(table->count == 2 && table->dropped == 2 && table->homes == 0);
    cr_assert_eq(locus_owner_retire(world.owner, table), -ENODATA);
    cr_assert(table->count == 0 && table->dropped == 0 && table->state == LOCUS_TABLE_LIVE);
    cr_assert_eq(locus_owner_grow(world.owner, table, 1), 0);
    cr_assert_neq(locus_table_at(table, 0), LOCUS_BLOCK_NONE);
    world_close(&world);
}

Test(owner_drop, what_is_refused_changes_nothing)
{
    struct world world;
    opened(&world, LOCUS_REUSE_LIFO);
    struct locus_table *table = world.tables[0];
    cr_assert_eq(locus_owner_grow(world.owner, table, 1), 0);
    cr_assert_eq(locus_table_append(table, locus_block_make(1, 3, 1)), 0);
    cr_assert_eq(locus_owner_drop_before(world.owner, table, 2 * TOKENS), -EXDEV, "the second one is another home's");
    cr_assert(table->dropped == 0 && pool_stats(&world).outstanding == 1);
    cr_assert_eq(locus_owner_drop_before(world.owner, table, TOKENS), 0);
    cr_assert_eq(table->homes, 2);
    cr_assert_eq(locus_owner_truncate(world.owner, table, 0), -EXDEV);
    cr_assert(table->count == 2 && table->dropped == 1 && table->homes == 2);
    retired(&world, 1, 1);
    cr_assert_eq(locus_owner_drop_before(world.owner, world.tables[1], TOKENS), -EINVAL, "it is retired");
    cr_assert_eq(locus_table_append(table, LOCUS_BLOCK_NONE), -EINVAL);
    world_close(&world);
}
