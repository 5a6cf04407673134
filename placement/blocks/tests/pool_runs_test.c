// SPDX-License-Identifier: Apache-2.0
//
// pool_runs: tables get neighbours and keep room for growth; and whatever is asked for, each block is in one place. What all kinds
// of reuse have in common is in pool_test.c and pool_handles_test.c.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "locus/owner.h"
#include "placement/blocks/tests/pool_test.h"

#define TABLES 32u
#define BLOCKS_MAX 1024u

struct world {
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_table *table[TABLES];
    bool out[BLOCKS_MAX]; // the model: is the block out?
    uint32_t blocks, out_count;
    uint64_t random;
};

static uint32_t any(struct world *world, uint32_t below)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return (uint32_t)(world->random % below);
}

static struct world world_of(uint32_t blocks, enum locus_reuse reuse, bool tags, uint64_t seed)
{
    struct world world = {.blocks = blocks, .random = seed};
    struct locus_pool_config config = config_of(blocks);
    config.reuse = reuse;
    config.tags = tags;
    world.pool = opened(&config);
    struct locus_owner_config role = {.size = sizeof role, .pool = world.pool, .lanes = 1};
    cr_assert(locus_owner_open(&world.owner, &role) == 0 && locus_owner_adopt(world.owner) == 0);
    for (uint32_t i = 0; i < TABLES; i++) {
        world.table[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(HOME + 1, BLOCKS_MAX));
        cr_assert(world.table[i] && locus_table_init(world.table[i], HOME + 1, BLOCKS_MAX, 16) == 0);
    }
    return world;
}

static void world_close(struct world *world)
{
    for (uint32_t i = 0; i < TABLES; i++)
        free(world->table[i]);
    locus_owner_leave(world->owner);
    locus_owner_close(world->owner);
    locus_pool_close(world->pool);
}

// Grows table `t`, and holds what it got against the model.
static int grow(struct world *world, uint32_t t, uint32_t count)
{
    struct locus_table *table = world->table[t];
    uint32_t first = table->count;
    int error = locus_owner_grow(world->owner, table, count);
    cr_assert_eq(error, count > world->blocks - world->out_count ? -ENOMEM : 0);
    cr_assert_eq(table->count, error ? first : first + count, "all or none");
    for (uint32_t i = first; i < table->count; i++) {
        uint32_t index = locus_block_index(table->blocks[i]);
        cr_assert(index < world->blocks && !world->out[index], "block %u is out already", index);
        cr_assert_eq(locus_pool_check(world->pool, table->blocks[i]), 0);
        world->out[index] = true;
        world->out_count++;
    }
    return error;
}

static void shrink(struct world *world, uint32_t t, uint32_t keep)
{
    struct locus_table *table = world->table[t];
    for (uint32_t i = keep; i < table->count; i++) {
        world->out[locus_block_index(table->blocks[i])] = false;
        world->out_count--;
    }
    cr_assert_eq(locus_owner_truncate(world->owner, table, keep), 0);
}

static void expect_counts(const struct world *world)
{
    struct locus_pool_stats stats = stats_of(world->pool);
    cr_assert_eq(stats.outstanding, world->out_count);
    cr_assert_eq(stats.blocks_free, world->blocks - world->out_count);
}

static uint32_t index_at(const struct world *world, uint32_t t, uint32_t i)
{
    return locus_block_index(world->table[t]->blocks[i]);
}

// Blocks of a table that are followed by their neighbour.
static uint32_t adjacent(const struct world *world, uint32_t t)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < world->table[t]->count; i++)
        count += index_at(world, t, i) == index_at(world, t, i - 1) + 1;
    return count;
}

// --- order ---------------------------------------------------------------------------------------------------------------------

Test(pool_runs, tables_that_grow_in_turn_have_neighbours_only)
{
    for (int tags = 0; tags < 2; tags++) {
        struct world world = world_of(1024, LOCUS_REUSE_RUNS, tags, 1);
        for (uint32_t lap = 0; lap < 3; lap++) { // in memory that others have left
            for (uint32_t t = 0; t < 16; t++)
                grow(&world, t, 8);
            for (uint32_t step = 0; step < 20; step++)
                for (uint32_t t = 0; t < 16; t++)
                    grow(&world, t, 1);
            for (uint32_t t = 0; t < 16; t++)
                cr_expect_eq(adjacent(&world, t), 27, "lap %u, table %u", lap, t);
            for (uint32_t t = 0; t < 16; t++)
                shrink(&world, (t * 5 + lap) % 16, 0);
        }
        world_close(&world);
    }
}

Test(pool_runs, a_prompt_of_many_spans_is_one_run)
{
    struct world world = world_of(1000, LOCUS_REUSE_RUNS, false, 1);
    grow(&world, 0, 1000);
    cr_expect_eq(adjacent(&world, 0), 999);
    shrink(&world, 0, 700);
    grow(&world, 0, 300);
    cr_expect_eq(adjacent(&world, 0), 999, "it goes on behind what it has kept");
    world_close(&world);
}

Test(pool_runs, whoever_starts_beside_another_leaves_it_half_of_the_room)
{
    struct world world = world_of(64, LOCUS_REUSE_RUNS, false, 1);
    grow(&world, 0, 4);
    grow(&world, 1, 4);
    cr_expect_eq(index_at(&world, 0, 0), 0);
    cr_expect_eq(index_at(&world, 1, 0), 32);
    for (uint32_t step = 0; step < 28; step++)
        for (uint32_t t = 0; t < 2; t++)
            grow(&world, t, 1);
    cr_expect_eq(adjacent(&world, 0), 31);
    cr_expect_eq(adjacent(&world, 1), 31);
    cr_expect_eq(grow(&world, 0, 1), -ENOMEM, "all that was kept is used");
    world_close(&world);
}

Test(pool_runs, the_smallest_extent_that_suffices_is_used)
{
    struct world world = world_of(192, LOCUS_REUSE_RUNS, false, 1);
    grow(&world, 0, 192);
    for (uint32_t t = 1; t < 4; t++)
        cr_assert_eq(locus_owner_grow(world.owner, world.table[t], 1), -ENOMEM);
    locus_block back[64];
    memcpy(back, world.table[0]->blocks, sizeof back); // a whole span
    cr_assert_eq(locus_pool_free_bulk(world.pool, 64, back, 0), 64);
    memcpy(back, world.table[0]->blocks + 80, 32 * sizeof *back); // and half of the next
    cr_assert_eq(locus_pool_free_bulk(world.pool, 32, back, 0), 32);
    cr_assert_eq(locus_owner_grow(world.owner, world.table[1], 10), 0);
    cr_expect_eq(index_at(&world, 1, 0), 91, "10 of 32 blocks, 11 before and 11 behind them");
    cr_assert_eq(locus_owner_grow(world.owner, world.table[2], 60), 0);
    cr_expect_eq(index_at(&world, 2, 0), 0);
    cr_expect_eq(adjacent(&world, 2), 59);
    world_close(&world);
}

// Blocks of live tables that are followed by their neighbour, over all that are followed, after many requests of random lengths
// have come and gone, each growing one block at a time beside the others, in a pool of which four fifths are out.
static double adjacency_under_load(enum locus_reuse reuse, uint64_t seed)
{
    struct world world = world_of(1000, reuse, false, seed);
    uint32_t end[TABLES] = {0};
    uint64_t followed = 0, next = 0;
    for (uint32_t step = 0; step < 20000; step++) {
        uint32_t t = any(&world, TABLES);
        struct locus_table *table = world.table[t];
        if (table->count && table->count >= end[t]) {
            next += step > 5000 ? adjacent(&world, t) : 0;
            followed += step > 5000 ? table->count - 1 : 0;
            shrink(&world, t, 0);
        } else if (table->count) {
            grow(&world, t, world.out_count < world.blocks);
        } else if (world.out_count < 800) {
            uint32_t prompt = 1 + any(&world, 40);
            end[t] = prompt + any(&world, 40);
            grow(&world, t, prompt);
        }
        expect_counts(&world);
    }
    world_close(&world);
    return (double)next / (double)followed;
}

Test(pool_runs, order_survives_requests_that_come_and_go)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        double runs = adjacency_under_load(LOCUS_REUSE_RUNS, seed), lifo = adjacency_under_load(LOCUS_REUSE_LIFO, seed);
        cr_expect_gt(runs, 0.8, "seed %lu: %f", seed, runs);
        cr_expect_lt(lifo, 0.5, "seed %lu: %f; where a stack does as well, this test shows nothing", seed, lifo);
    }
}

// --- books ---------------------------------------------------------------------------------------------------------------------

// 1000 is no multiple of a span, 40 and 1 are less than one.
Test(pool_runs, whatever_is_asked_for_each_block_is_in_one_place)
{
    const uint32_t sizes[] = {1000, 64, 65, 40, 1};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        uint32_t most = 0;
        struct world world = world_of(sizes[seed % 5], LOCUS_REUSE_RUNS, seed % 2, seed);
        for (uint32_t step = 0; step < 4000; step++) {
            uint32_t t = any(&world, TABLES), kind = any(&world, 8);
            if (kind < 4)
                grow(&world, t, 1);
            else if (kind < 6)
                grow(&world, t, any(&world, 1 + any(&world, world.blocks / 2 + 1)));
            else
                shrink(&world, t, kind == 6 ? any(&world, world.table[t]->count + 1) : 0);
            expect_counts(&world);
            most = world.out_count > most ? world.out_count : most;
        }
        cr_expect_eq(stats_of(world.pool).outstanding_high, most);
        world_close(&world);
    }
}

Test(pool_runs, an_exhausted_pool_has_given_out_every_block_once)
{
    struct world world = world_of(1000, LOCUS_REUSE_RUNS, false, 3);
    for (uint32_t t = 0; t < TABLES; t++)
        grow(&world, t, 1 + any(&world, 29));
    for (uint32_t t = 0; t < TABLES; t += 2)
        shrink(&world, t, 0);
    for (uint32_t t = 0; world.out_count < 1000; t = (t + 1) % TABLES)
        grow(&world, t, 1);
    cr_expect_eq(grow(&world, 0, 1), -ENOMEM);
    cr_expect_eq(locus_pool_alloc(world.pool), LOCUS_BLOCK_NONE);
    cr_expect_eq(stats_of(world.pool).distinct_high, 1000);
    world_close(&world);
}

Test(pool_runs, blocks_are_counted_when_they_are_first_used)
{
    struct world world = world_of(1000, LOCUS_REUSE_RUNS, false, 1);
    for (uint32_t turn = 0; turn < 3; turn++) {
        grow(&world, 0, 70);
        grow(&world, 1, 5);
        cr_expect_eq(stats_of(world.pool).distinct_high, 75);
        shrink(&world, 1, 0);
        shrink(&world, 0, 0);
    }
    cr_expect_eq(stats_of(world.pool).outstanding_high, 75);
    world_close(&world);
}

// One by one, and none for the first time.
Test(pool_runs, a_peak_of_used_blocks_is_noted)
{
    struct world world = world_of(128, LOCUS_REUSE_RUNS, false, 1);
    grow(&world, 0, 30);
    shrink(&world, 0, 1);
    grow(&world, 1, 60);
    shrink(&world, 1, 1);
    for (uint32_t i = 1; i < 30; i++)
        grow(&world, 0, 1);
    for (uint32_t i = 1; i < 60; i++)
        grow(&world, 1, 1);
    cr_expect_eq(stats_of(world.pool).distinct_high, 90);
    cr_expect_eq(stats_of(world.pool).outstanding_high, 90);
    world_close(&world);
}

Test(pool_runs, a_refused_handle_among_neighbours_hurts_none_of_them)
{
    struct locus_pool *pool = worn_by(0, 200, LOCUS_REUSE_RUNS);
    locus_block blocks[100], chunk[100];
    cr_assert_eq(locus_pool_alloc_bulk(pool, 100, blocks), 0);
    memcpy(chunk, blocks, sizeof chunk);
    chunk[10] = chunk[9];  // freed twice
    chunk[70]++;           // a use that has not been yet
    chunk[80] = locus_block_make(HOME + 1, 80, locus_block_generation(blocks[80]));
    cr_expect_eq(locus_pool_free_bulk(pool, 100, chunk, 0), 97);
    struct locus_pool_stats stats = stats_of(pool);
    cr_expect_eq(stats.refused[LOCUS_FREE_DOUBLE], 1);
    cr_expect_eq(stats.refused[LOCUS_FREE_STALE], 1);
    cr_expect_eq(stats.refused[LOCUS_FREE_FOREIGN], 1);
    cr_expect_eq(stats.blocks_free, 197);
    cr_expect(give_back(pool, blocks[10]) && give_back(pool, blocks[70]) && give_back(pool, blocks[80]));
    locus_pool_close(pool);
}

// It looks like any other, but there is no block more.
Test(pool_runs, a_guessed_handle_of_a_free_block_does_not_double_it)
{
    struct locus_pool *pool = worn_by(0, 100, LOCUS_REUSE_RUNS);
    locus_block blocks[100];
    cr_assert_eq(locus_pool_alloc_bulk(pool, 100, blocks), 0);
    cr_assert_eq(locus_pool_free_bulk(pool, 50, blocks, 0), 50);
    for (unsigned i = 0; i < 50; i++)
        blocks[i]++; // the handle that leaves next
    locus_pool_free_bulk(pool, 50, blocks, 0);
    cr_expect_eq(locus_pool_alloc_bulk(pool, 51, blocks), -ENOMEM);
    cr_expect_eq(locus_pool_alloc_bulk(pool, 50, blocks), 0);
    cr_expect_eq(locus_pool_alloc(pool), LOCUS_BLOCK_NONE);
    locus_pool_close(pool);
}
