// SPDX-License-Identifier: Apache-2.0
//
// owner: the ways a grow can end, what a wait must not lose, and back-pressure. A worker that is slow or dead is a thread that
// pushes after a while, or never. Times are bounds from below; nothing here fails because a machine is slow. The role between
// threads: owner_role_test.c.
#include "placement/base/apart.h"
#include "placement/blocks/tests/owner_test.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define LATE_US 20000u // how late a slow worker is

TestSuite(owner, .timeout = 60); // a wait that does not end is a failure

// A worker that pushes `count` tables, from `first` on, each LATE_US after the one before.
struct late_worker {
    struct world *world;
    unsigned first, count;
    pthread_t thread;
};

static void *late_main(void *argument)
{
    struct late_worker *worker = argument;
    for (unsigned i = 0; i < worker->count; i++) {
        usleep(LATE_US);
        cr_expect_eq(locus_table_push(&worker->world->route, worker->world->tables[worker->first + i]), 0);
    }
    return NULL;
}

static void late_start(struct late_worker *worker, struct world *world, unsigned first, unsigned count)
{
    *worker = (struct late_worker){.world = world, .first = first, .count = count};
    cr_assert_eq(pthread_create(&worker->thread, NULL, late_main, worker), 0);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

// --- open and grow -------------------------------------------------------------------------------------------------------------

Test(owner, open_refuses_what_makes_no_sense)
{
    struct locus_pool *pool;
    struct locus_owner *owner = NULL;
    struct locus_pool_config fifo = {
        .size = sizeof fifo, .blocks = 1, .block_bytes = 64, .reuse = LOCUS_REUSE_FIFO, .node = LOCUS_NODE_ANY};
    cr_assert_eq(locus_pool_open(&pool, &fifo), 0);
    struct locus_owner_config config = {.size = sizeof config, .pool = NULL, .lanes = 1};
    cr_assert_eq(locus_owner_open(&owner, &config), -EINVAL);
    config = (struct locus_owner_config){.size = sizeof(struct locus_owner_config), .pool = pool, .lanes = 0};
    cr_assert_eq(locus_owner_open(&owner, &config), -EINVAL);
    config = (struct locus_owner_config){.size = sizeof(struct locus_owner_config), .pool = pool, .lanes = 1, .backpressure = true};
    cr_assert_eq(locus_owner_open(&owner, &config), -EINVAL, "back-pressure needs LIFO");
    cr_assert_null(owner);
    char why[256];
    locus_owner_why(&config, -EINVAL, why, sizeof why);
    cr_assert(strstr(why, "LIFO"), "%s", why);
    config.size = 4;
    cr_assert_eq(locus_owner_open(&owner, &config), -EINVAL);
    locus_owner_why(&config, -EINVAL, why, sizeof why);
    cr_assert(strstr(why, "size"), "%s", why);
    config.size = sizeof config;
    config.backpressure = false;
    cr_assert_eq(locus_owner_open(&owner, &config), 0);
    cr_assert_eq(locus_owner_pool(owner), pool);
    struct locus_owner *second;
    cr_assert_eq(locus_owner_open(&second, &config), -EBUSY, "two owners would be two roles for one pool");
    locus_owner_close(owner);
    locus_owner_close(NULL);
    locus_pool_close(pool);
}

// What every take reads would be pushed out of the cache by whoever writes the first lines of blocks that begin on pages.
Test(owner, pools_and_owners_lie_where_no_page_begins)
{
    struct locus_pool *pools[4];
    struct locus_owner *owners[4];
    for (unsigned i = 0; i < 4; i++) {
        struct locus_pool_config pool = {.size = sizeof pool, .blocks = 8, .block_bytes = 64, .node = LOCUS_NODE_ANY};
        cr_assert_eq(locus_pool_open(&pools[i], &pool), 0);
        struct locus_owner_config owner = {.size = sizeof owner, .pool = pools[i], .lanes = 1};
        cr_assert_eq(locus_owner_open(&owners[i], &owner), 0);
        cr_expect_eq((uintptr_t)pools[i] % APART_PAGE_BYTES, APART_OFFSET_BYTES);
        cr_expect_eq((uintptr_t)owners[i] % APART_PAGE_BYTES, APART_OFFSET_BYTES);
    }
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(locus_owner_close(owners[i]), 0);
        locus_pool_close(pools[i]);
    }
}

Test(owner, grow_appends_all_or_none)
{
    struct world world;
    world_open(&world, 8, false, 0);
    struct locus_table *table = world.tables[0];
    cr_assert_eq(locus_owner_grow(world.owner, table, 0), 0);
    cr_assert_eq(table->homes, 0, "nothing is held");
    cr_assert_eq(locus_owner_grow(world.owner, table, 1), 0);
    cr_assert_eq(locus_owner_grow(world.owner, table, 4), 0);
    cr_assert_eq(table->count, 5);
    cr_assert_eq(table->homes, 1);
    for (uint32_t i = 0; i < 5; i++)
        cr_assert_eq(locus_pool_check(world.pool, table->blocks[i]), 0);
    cr_assert_eq(locus_owner_grow(world.owner, table, 4), -ENOMEM);
    cr_assert_eq(table->count, 5);
    cr_assert_eq(locus_owner_grow(world.owner, table, 3), 0);
    cr_assert_eq(locus_owner_truncate(world.owner, table, 0), 0);
    world_close(&world);
}

Test(owner, grow_refuses_full_tables_foreign_tables_and_tables_not_live)
{
    struct locus_pool_config pool = {.size = sizeof pool, .home = 5, .blocks = 32, .block_bytes = 64, .node = LOCUS_NODE_ANY};
    struct world world;
    world_open_with(&world, &pool, false, 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 1), -EXDEV, "it has links for homes 0 and 1");
    world_close(&world);
    world_open(&world, 32, false, 0);
    struct locus_table *table = world.tables[0];
    cr_assert_eq(locus_owner_grow(world.owner, table, CAPACITY + 1), -ENOSPC);
    cr_assert_eq(locus_owner_grow(world.owner, table, CAPACITY), 0);
    cr_assert_eq(locus_owner_grow(world.owner, table, 1), -ENOSPC);
    cr_assert_eq(locus_owner_retire(world.owner, table), 0);
    cr_assert_eq(locus_owner_grow(world.owner, table, 1), -EINVAL);
    cr_assert_eq(pool_stats(&world).outstanding, CAPACITY);
    world_close(&world);
}

Test(owner, truncate_frees_behind_what_is_kept)
{
    struct world world;
    world_open(&world, 8, false, 0);
    struct locus_table *table = world.tables[0];
    cr_assert_eq(locus_owner_grow(world.owner, table, 6), 0);
    locus_block kept[2] = {table->blocks[0], table->blocks[1]}, gone = table->blocks[2];
    cr_assert_eq(locus_owner_truncate(world.owner, table, 9), 0);
    cr_assert_eq(table->count, 6, "there is nothing behind 9");
    cr_assert_eq(locus_owner_truncate(world.owner, table, 2), 0);
    cr_assert_eq(table->count, 2);
    cr_assert_eq(table->homes, 1);
    cr_assert_eq(pool_stats(&world).outstanding, 2);
    cr_assert(table->blocks[0] == kept[0] && table->blocks[1] == kept[1]);
    cr_assert_eq(locus_pool_check(world.pool, kept[1]), 0);
    cr_assert_eq(locus_pool_check(world.pool, gone), -ESTALE);
    cr_assert_eq(locus_owner_truncate(world.owner, table, 0), 0);
    cr_assert_eq(table->homes, 0);
    retired(&world, 1, 1);
    cr_assert_eq(locus_owner_truncate(world.owner, world.tables[1], 0), -EINVAL);
    world_close(&world);
}

Test(owner, truncate_of_another_homes_block_frees_nothing)
{
    struct world world;
    world_open(&world, 8, false, 0);
    struct locus_table *table = world.tables[0];
    cr_assert_eq(locus_table_append(table, locus_block_make(1, 3, 1)), 0);
    cr_assert_eq(locus_owner_grow(world.owner, table, 2), 0);
    cr_assert_eq(locus_owner_truncate(world.owner, table, 0), -EXDEV);
    cr_assert_eq(table->count, 3);
    cr_assert_eq(pool_stats(&world).outstanding, 2);
    cr_assert_eq(locus_owner_truncate(world.owner, table, 1), 0, "the borrowed one is kept");
    cr_assert_eq(table->homes, 2);
    cr_assert_eq(pool_stats(&world).outstanding, 0);
    world_close(&world);
}

Test(owner, retire_of_an_empty_table_has_nothing_to_send)
{
    struct world world;
    world_open(&world, 8, false, 0);
    cr_assert_eq(locus_owner_retire(world.owner, world.tables[0]), -ENODATA);
    cr_assert_eq(world.tables[0]->state, LOCUS_TABLE_LIVE);
    retired(&world, 0, 3);
    cr_assert_eq(locus_owner_retire(world.owner, world.tables[0]), -EINVAL, "twice");
    cr_assert_eq(owner_stats(&world).tables_retired, 1);
    cr_assert_eq(owner_stats(&world).blocks_in_flight, 3);
    world_close(&world);
}

// --- waiting -------------------------------------------------------------------------------------------------------------------

Test(owner, grow_answers_at_once_when_even_everything_in_flight_would_not_suffice)
{
    struct world world;
    world_open(&world, 8, false, 3600 * SECOND_NS);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 5), 0); // held, not declared
    retired(&world, 1, 2);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[2], 4), -ENOMEM); // 1 free and 2 in flight
    cr_assert_eq(world.tables[2]->count, 0);
    cr_assert_eq(pool_stats(&world).outstanding, 7);
    world_close(&world);
}

Test(owner, grow_that_may_not_wait_answers_again)
{
    struct world world;
    world_open(&world, 8, false, 0);
    retired(&world, 0, 8);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[1], 4), -EAGAIN);
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[1], 4), 0, "it drains although it may not wait");
    cr_assert_eq(owner_stats(&world).blocks_in_flight, 0);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
    world_close(&world);
}

Test(owner, an_exhausted_pool_waits_for_a_late_worker_and_counts_exactly)
{
    struct world world;
    world_open(&world, 8, false, 60 * SECOND_NS);
    retired(&world, 0, 3);
    retired(&world, 1, 3);
    retired(&world, 2, 2);
    struct late_worker worker;
    late_start(&worker, &world, 0, 3);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[3], 7), 0); // needs all three
    pthread_join(worker.thread, NULL);
    struct locus_pool_stats pool = pool_stats(&world);
    struct locus_owner_stats owner = owner_stats(&world);
    cr_assert_eq(pool.allocated, 8 + 7);
    cr_assert_eq(pool.freed, 8, "what came home inside the wait is counted");
    cr_assert_eq(pool.outstanding, 7);
    cr_assert_eq(owner.tables_retired, 3);
    cr_assert_eq(owner.tables_drained, 3);
    cr_assert_eq(owner.blocks_in_flight, 0);
    cr_assert_eq(owner.waits, 1);
    cr_assert_gt(owner.wait_ns, 0);
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[i], "oldest first");
    cr_assert_null(locus_owner_next_reclaimed(world.owner));
    cr_assert_eq(locus_owner_drain(world.owner), 0);
    world_close(&world);
}

Test(owner, a_dead_worker_costs_the_waiting_time_and_nothing_else)
{
    struct world world;
    world_open(&world, 8, false, SECOND_NS / 20);
    pushed(&world, 0, 2);
    retired(&world, 1, 6); // its worker has died
    uint64_t start_ns = now_ns();
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[2], 4), -ETIMEDOUT);
    cr_assert_geq(now_ns() - start_ns, SECOND_NS / 20);
    cr_assert_eq(world.tables[2]->count, 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[2], 2), 0, "what did come home can be had");
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
    cr_assert_eq(locus_table_push(&world.route, world.tables[1]), 0); // somebody finds its request after all
    cr_assert_eq(locus_owner_drain(world.owner), 6);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[1]);
    cr_assert_eq(owner_stats(&world).blocks_in_flight, 0);
    cr_assert_eq(owner_stats(&world).tables_drained, 2);
    cr_assert_eq(pool_stats(&world).outstanding, 2);
    world_close(&world);
}

Test(owner, tables_are_reclaimed_in_the_order_in_which_they_came_home)
{
    struct world world;
    world_open(&world, 8, false, 0);
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < 4; i++)
            pushed(&world, i, 2);
        cr_assert_eq(locus_owner_drain(world.owner), 8);
        cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
        pushed(&world, 4, 1); // comes home behind those that wait
        cr_assert_eq(locus_owner_drain(world.owner), 1);
        for (unsigned i = 1; i <= 4; i++)
            cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[i]);
        cr_assert_null(locus_owner_next_reclaimed(world.owner));
    }
    world_close(&world);
}

// --- back-pressure -------------------------------------------------------------------------------------------------------------

// Bursts of 4 requests of 4 blocks, each burst begun while the last one's worker still sleeps. At most 16 are held at a time.
static uint32_t footprint_of_bursts(bool backpressure)
{
    struct world world;
    world_open(&world, 64, backpressure, 60 * SECOND_NS);
    for (unsigned burst = 0; burst < 4; burst++) {
        unsigned first = burst % 2 * 4;
        for (unsigned i = first; i < first + 4; i++)
            cr_assert_eq(locus_owner_grow(world.owner, world.tables[i], 4), 0);
        for (unsigned i = first; i < first + 4; i++)
            cr_assert_eq(locus_owner_retire(world.owner, world.tables[i]), 0);
        struct late_worker worker;
        late_start(&worker, &world, first, 4);
        if (burst % 2 == 0) { // the burst that overlaps
            for (unsigned i = 4; i < 8; i++)
                cr_assert_eq(locus_owner_grow(world.owner, world.tables[i], 4), 0);
            for (unsigned i = 4; i < 8; i++)
                cr_assert_eq(locus_owner_truncate(world.owner, world.tables[i], 0), 0);
        }
        pthread_join(worker.thread, NULL);
        locus_owner_drain(world.owner);
        while (locus_owner_next_reclaimed(world.owner))
            ;
    }
    struct locus_pool_stats stats = pool_stats(&world);
    cr_assert_eq(stats.outstanding, 0);
    cr_assert_eq(stats.outstanding_high, stats.distinct_high);
    cr_assert_eq(owner_stats(&world).waits > 0, backpressure);
    world_close(&world);
    return stats.outstanding_high;
}

Test(owner, back_pressure_keeps_the_footprint_at_the_theoretical_peak)
{
    cr_assert_eq(footprint_of_bursts(true), 16);
    cr_assert_eq(footprint_of_bursts(false), 32, "without it the same bursts need twice as much");
}

Test(owner, back_pressure_grows_when_nothing_is_in_flight)
{
    struct world world;
    world_open(&world, 16, true, 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 4), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[1], 4), 0);
    cr_assert_eq(locus_owner_retire(world.owner, world.tables[0]), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[2], 1), -EAGAIN, "a never-used block, while others are on their way");
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[2], 1), 0);
    cr_assert_eq(pool_stats(&world).distinct_high, 8);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[2], 4), 0, "nothing is in flight any more");
    cr_assert_eq(pool_stats(&world).distinct_high, 9);
    world_close(&world);
}
