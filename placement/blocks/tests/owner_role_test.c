// SPDX-License-Identifier: Apache-2.0
//
// owner_role: who holds the role, what a thread without it gets, and how a spawned thread ends. spawn_litmus.c has two threads
// that spawn or join at the same moment.
#include "placement/blocks/tests/owner_test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

TestSuite(owner_role, .timeout = 60); // a role that is never left is a failure

static void *adopt_main(void *argument)
{
    struct world *world = argument;
    int error = locus_owner_adopt(world->owner);
    if (!error) {
        cr_expect_eq(locus_owner_grow(world->owner, world->tables[0], 3), 0);
        locus_owner_leave(world->owner);
    }
    return (void *)(intptr_t)error;
}

static int adopt_elsewhere(struct world *world)
{
    pthread_t thread;
    void *result;
    cr_assert_eq(pthread_create(&thread, NULL, adopt_main, world), 0);
    pthread_join(thread, &result);
    return (int)(intptr_t)result;
}

Test(owner_role, only_one_thread_holds_the_role)
{
    struct world world;
    world_open(&world, 8, false, 0);
    cr_assert_eq(adopt_elsewhere(&world), -EBUSY);
    cr_assert_eq(world.tables[0]->count, 0);
    locus_owner_leave(world.owner);
    cr_assert_eq(adopt_elsewhere(&world), 0);
    cr_assert_eq(locus_owner_adopt(world.owner), 0, "it was left");
    cr_assert_eq(world.tables[0]->count, 3);
    cr_assert_eq(pool_stats(&world).outstanding, 3);
    world_close(&world);
}

struct steps {
    unsigned calls;
    pthread_t caller;
};

static int step(struct locus_owner *owner, void *context)
{
    struct steps *steps = context;
    steps->caller = pthread_self();
    cr_expect_eq(locus_owner_adopt(owner), -EBUSY, "the spawned thread holds the role");
    locus_owner_drain(owner);
    return ++steps->calls == 5 ? 42 : 0;
}

Test(owner_role, a_spawned_thread_steps_until_it_is_told_to_end)
{
    struct world world;
    struct steps steps = {0};
    int result = 0;
    world_open(&world, 8, false, 0);
    cr_assert_eq(locus_owner_join(world.owner, &result), -EINVAL, "none was spawned");
    cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, step, &steps), -EBUSY, "this thread holds the role");
    cr_assert_eq(steps.calls, 0);
    locus_owner_leave(world.owner);
    for (unsigned turn = 0; turn < 2; turn++) {
        steps.calls = 0;
        cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, step, &steps), 0);
        cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, step, &steps), -EBUSY, "one at a time");
        cr_assert_eq(locus_owner_join(world.owner, &result), 0);
        cr_assert_eq(result, 42);
        cr_assert_eq(steps.calls, 5);
        cr_assert_not(pthread_equal(steps.caller, pthread_self()));
        cr_assert_eq(locus_owner_join(world.owner, &result), -EINVAL);
    }
    cr_assert_eq(locus_owner_adopt(world.owner), 0, "the thread has left the role");
    world_close(&world);
}

Test(owner_role, spawn_passes_on_that_a_node_does_not_exist)
{
    struct world world;
    struct steps steps = {0};
    world_open(&world, 8, false, 0);
    locus_owner_leave(world.owner);
    cr_assert_eq(locus_owner_spawn(world.owner, 1000000, step, &steps), -ENODEV);
    cr_assert_eq(steps.calls, 0);
    cr_assert_eq(locus_owner_adopt(world.owner), 0);
    world_close(&world);
}

// Spawned threads that do not return from their step.
static int step_exits(struct locus_owner *owner, void *context)
{
    (void)owner, (void)context;
    pthread_exit(NULL);
}

static void thread_ends(void *context, enum locus_free_error error, locus_block block, uint64_t tag)
{
    (void)context, (void)error, (void)block, (void)tag;
    pthread_exit(NULL);
}

static int step_ends_in_a_drain(struct locus_owner *owner, void *context)
{
    struct world *world = context;
    pushed(world, 0, 2);
    world->tables[0]->blocks[0] = world->tables[0]->blocks[1];
    return locus_owner_drain(owner) != 0;
}

static int step_is_cancelled(struct locus_owner *owner, void *context)
{
    (void)owner, (void)context;
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return 1;
}

Test(owner_role, a_step_that_does_not_return_leaves_the_role_all_the_same)
{
    locus_owner_step_fn *const ends[] = {step_exits, step_is_cancelled};
    struct world world;
    world_open(&world, 8, false, 0);
    locus_owner_leave(world.owner);
    for (unsigned i = 0; i < 2; i++) {
        int result = 99;
        cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, ends[i], NULL), 0);
        cr_assert_eq(locus_owner_join(world.owner, &result), -ECANCELED);
        cr_assert_eq(result, 99);
        cr_assert_eq(locus_owner_adopt(world.owner), 0, "the role is free again");
        cr_assert_eq(locus_owner_leave(world.owner), 0);
    }
    struct steps steps = {0};
    int result;
    locus_pool_on_error(world.pool, thread_ends, NULL);
    cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, step_ends_in_a_drain, &world), 0);
    cr_assert_eq(locus_owner_join(world.owner, &result), -ECANCELED);
    cr_assert_eq(locus_owner_adopt(world.owner), 0);
    pushed(&world, 1, 3);
    cr_assert_eq(locus_owner_drain(world.owner), 3, "who comes next can drain");
    cr_assert_eq(locus_owner_leave(world.owner), 0);
    cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, step, &steps), 0, "and another thread may be spawned");
    cr_assert_eq(locus_owner_join(world.owner, &result), 0);
    cr_assert_eq(locus_owner_adopt(world.owner), 0);
    world_close(&world);
}

// The first join of a thread is its own, as nobody else tries before it was answered.
static int step_joins_itself(struct locus_owner *owner, void *context)
{
    int result, error;
    while ((error = locus_owner_join(owner, &result)) == -EINVAL)
        ; // spawn has not returned yet
    atomic_store((_Atomic int *)context, error);
    return 1;
}

Test(owner_role, a_spawned_thread_cannot_join_itself)
{
    struct world world;
    _Atomic int answer = 0;
    int result = 0;
    world_open(&world, 8, false, 0);
    locus_owner_leave(world.owner);
    cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, step_joins_itself, &answer), 0);
    while (atomic_load(&answer) == 0)
        sched_yield();
    cr_assert_eq(answer, -EDEADLK);
    cr_assert_eq(locus_owner_join(world.owner, &result), 0, "and it is there to be joined");
    cr_assert_eq(result, 1);
    cr_assert_eq(locus_owner_adopt(world.owner), 0);
    world_close(&world);
}

static int step_until_told(struct locus_owner *owner, void *context)
{
    (void)owner;
    sched_yield();
    return atomic_load((_Atomic int *)context);
}

static void *join_main(void *argument)
{
    int result;
    locus_owner_join(argument, &result);
    return NULL;
}

Test(owner_role, a_join_that_is_cancelled_leaves_the_thread_to_be_joined)
{
    struct world world;
    _Atomic int end = 0;
    int result = 0;
    pthread_t joiner;
    void *ended;
    world_open(&world, 8, false, 0);
    locus_owner_leave(world.owner);
    cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, step_until_told, &end), 0);
    cr_assert_eq(pthread_create(&joiner, NULL, join_main, world.owner), 0);
    cr_assert_eq(pthread_cancel(joiner), 0);
    cr_assert_eq(pthread_join(joiner, &ended), 0);
    cr_assert_eq(ended, PTHREAD_CANCELED, "it waits as long as the thread runs");
    atomic_store(&end, 7);
    cr_assert_eq(locus_owner_join(world.owner, &result), 0);
    cr_assert_eq(result, 7);
    cr_assert_eq(locus_owner_adopt(world.owner), 0);
    world_close(&world);
}

Test(owner_role, an_owner_is_not_closed_under_its_thread)
{
    struct world world;
    struct steps steps = {0};
    int result;
    world_open(&world, 8, false, 0);
    locus_owner_leave(world.owner);
    cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, step, &steps), 0);
    cr_assert_eq(locus_owner_close(world.owner), -EBUSY);
    cr_assert_eq(locus_owner_join(world.owner, &result), 0, "nothing was closed");
    cr_assert_eq(locus_owner_adopt(world.owner), 0);
    world_close(&world);
}

// A thread without the role gets nothing but -EPERM, and nothing changes.
static void *intruder_main(void *argument)
{
    struct world *world = argument;
    cr_expect_eq(locus_owner_grow(world->owner, world->tables[0], 1), -EPERM, "one block for a table that has some");
    cr_expect_eq(locus_owner_grow(world->owner, world->tables[0], 2), -EPERM);
    cr_expect_eq(locus_owner_grow(world->owner, world->tables[1], 1), -EPERM, "the first block of a table");
    cr_expect_eq(locus_owner_truncate(world->owner, world->tables[0], 0), -EPERM);
    cr_expect_eq(locus_owner_drop_before(world->owner, world->tables[0], 1000), -EPERM);
    cr_expect_eq(locus_owner_retire(world->owner, world->tables[0]), -EPERM);
    cr_expect_eq(locus_owner_leave(world->owner), -EPERM);
    cr_expect_eq(locus_owner_drain(world->owner), 0);
    cr_expect_null(locus_owner_next_reclaimed(world->owner));
    return NULL;
}

static void intrude(struct world *world)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, intruder_main, world), 0);
    pthread_join(thread, NULL);
}

Test(owner_role, a_thread_without_the_role_changes_nothing)
{
    struct world world;
    world_open(&world, 16, false, 0);
    pushed(&world, 2, 3);
    cr_assert_eq(locus_owner_drain(world.owner), 3); // waits to be reclaimed, and its blocks are on top
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 1), 0);
    pushed(&world, 3, 1); // waits in a mailbox
    struct locus_pool_stats before = pool_stats(&world);
    intrude(&world);
    struct locus_pool_stats after = pool_stats(&world);
    cr_assert(before.allocated == after.allocated && before.freed == after.freed && before.blocks_free == after.blocks_free);
    cr_assert_arr_eq(before.refused, after.refused, sizeof before.refused);
    cr_assert(world.tables[0]->count == 1 && world.tables[0]->state == LOCUS_TABLE_LIVE && world.tables[1]->count == 0);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[2]);
    cr_assert_eq(locus_owner_drain(world.owner), 1);
    cr_assert_eq(locus_owner_leave(world.owner), 0);
    intrude(&world); // nobody holds it
    cr_assert_eq(locus_owner_leave(world.owner), -EPERM, "it was left");
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 1), -EPERM);
    cr_assert_eq(locus_owner_adopt(world.owner), 0);
    world_close(&world);
}

// --- one owner after the other -------------------------------------------------------------------------------------------------

static void reopen(struct world *world, bool backpressure, uint64_t wait_ns)
{
    struct locus_owner_config config = {
        .size = sizeof config, .pool = world->pool, .lanes = 1, .backpressure = backpressure, .wait_ns = wait_ns};
    cr_assert_eq(locus_owner_leave(world->owner), 0);
    cr_assert_eq(locus_owner_close(world->owner), 0);
    cr_assert_eq(locus_owner_open(&world->owner, &config), 0);
    cr_assert_eq(locus_owner_adopt(world->owner), 0);
    world->route = (struct locus_route){0};
    cr_assert_eq(locus_route_add(&world->route, world->owner, 0), 0);
}

Test(owner_role, a_table_retired_under_one_owner_comes_home_under_the_next)
{
    struct world world;
    world_open(&world, 8, true, SECOND_NS / 100);
    retired(&world, 0, 4);
    reopen(&world, true, SECOND_NS / 100);
    cr_assert_eq(owner_stats(&world).blocks_in_flight, 4, "they still are");
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[1], 1), -ETIMEDOUT, "back-pressure knows of them");
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    cr_assert_eq(locus_owner_drain(world.owner), 4);
    cr_assert_eq(owner_stats(&world).blocks_in_flight, 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[1], 4), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[1], 1), 0, "nothing is in flight that could be waited for");
    world_close(&world);
}

// Misuse, but what it does to the books is bounded: a table that was declared to a pool of the same number.
Test(owner_role, a_table_declared_to_another_pool_of_this_number_does_not_make_the_count_wrap)
{
    struct world here, there;
    world_open(&here, 8, true, 0);
    world_open(&there, 8, true, 0);
    retired(&there, 0, 4);
    cr_assert_eq(locus_table_push(&here.route, there.tables[0]), 0);
    locus_owner_drain(here.owner);
    cr_assert_eq(owner_stats(&here).blocks_in_flight, 0);
    cr_assert_eq(locus_owner_grow(here.owner, here.tables[0], 8), 0);
    world_close(&there);
    world_close(&here);
}
