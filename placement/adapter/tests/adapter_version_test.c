// SPDX-License-Identifier: Apache-2.0
//
// adapter_version: holders keep the version that they acquired, what was unloaded is gone, and a restart finds the newest version.
#include "placement/adapter/tests/adapter_test.h"

#include <sys/wait.h>

Test(adapter_version, holders_keep_the_version_that_they_acquired, .timeout = 60)
{
    for (int file = 0; file < 2; file++) {
        world_open(file, "lru", 2, 2);
        load(5, 0);
        struct locus_adapter_hold first = held(5, 0, true), second = held(5, 0, true);
        load(5, 1);
        struct locus_adapter_hold third = held(5, 1, true);
        cr_expect_neq(first.weights, third.weights);
        cold_expect(2);
        make(5, 0);
        cr_expect_eq(memcmp(first.weights, weights, sizeof weights), 0);
        release(&first);
        cr_expect_eq(stats().versions, 2);
        make(5, 0);
        cr_expect_eq(memcmp(second.weights, weights, sizeof weights), 0);
        cr_expect_eq(locus_adapters_close(world.adapters), -EBUSY);
        release(&second);
        cold_expect(1);
        cr_expect_eq(stats().versions, 1);
        release(&third);
        load(5, 2);
        use(5, 2, true);
        cold_expect(1);
        world_close();
    }
}

Test(adapter_version, unloaded_ones_serve_their_holders_and_are_gone, .timeout = 60)
{
    world_open(false, "lru", 2, 2);
    struct locus_adapter_hold hold, none;
    load(1, 0);
    hold = held(1, 0, true);
    cr_expect_eq(locus_adapters_unload(world.adapters, 0, 1), 0);
    cr_expect_eq(locus_adapters_unload(world.adapters, 0, 1), -ENOENT);
    cr_expect_eq(acquire(1, &none), -ENOENT);
    cr_expect_eq(locus_adapters_prefetch(world.adapters, 0, 1), -ENOENT);
    cr_expect_eq(acquire(NUMBERS, &none), -ENOENT);
    cr_expect_eq(memcmp(hold.weights, weights, sizeof weights), 0);
    cr_expect_eq(objects_of(world.cold), 0);
    release(&hold);
    cr_expect_eq(stats().versions, 0);
    load(1, 3);
    cr_expect_eq(where(1).place, LOCUS_ADAPTER_COLD, "its uses are forgotten");
    use(1, 3, true);
    world_close();
}

// Version 0 stays for its holder, and the process dies.
static void die_with_a_holder(void)
{
    struct locus_tier_stats cold;
    world_open(true, "lru", 2, 2);
    load(1, 0);
    load(3, 0);
    held(3, 0, true);
    load(3, 1);
    locus_tier_stats(world.cold, &cold);
    _exit(cold.objects == 3 ? 0 : 1);
}

Test(adapter_version, a_restart_finds_the_newest_version_of_each, .timeout = 60)
{
    int status = 0;
    path_make();
    pid_t child = fork();
    if (child == 0)
        die_with_a_holder();
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    world_open_again(true, "lru", 2, 2);
    use(3, 1, true);
    use(1, 0, true);
    cold_expect(2);
    load(3, 2);
    use(3, 2, true);
    cold_expect(2);
    world_close();
}

// Two versions have holders, and the process dies after the unload.
static void die_after_unload(void)
{
    struct locus_tier_stats cold;
    world_open(true, "lru", 2, 2);
    load(2, 0);
    load(3, 0);
    held(3, 0, true);
    load(3, 1);
    held(3, 1, true);
    int error = locus_adapters_unload(world.adapters, 0, 3);
    locus_tier_stats(world.cold, &cold);
    _exit(error == 0 && cold.objects == 1 ? 0 : 1);
}

Test(adapter_version, a_restart_finds_no_version_of_what_was_unloaded, .timeout = 60)
{
    int status = 0;
    struct locus_adapter_where none;
    path_make();
    pid_t child = fork();
    if (child == 0)
        die_after_unload();
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    world_open_again(true, "lru", 2, 2);
    cr_expect_not(locus_adapters_where(world.adapters, 0, 3, &none));
    use(2, 0, true);
    world_close();
}

// What is under way of an adapter ends before its unload, and what waits for its pages is told.
Test(adapter_version, what_moves_can_be_unloaded, .timeout = 60)
{
    for (int file = 0; file < 2; file++) {
        world_open(file, "lru", 2, 2);
        struct locus_adapter_hold first, none;
        load(1, 0);
        first = held(1, 0, true);
        load(1, 1);
        release(&first); // version 0 leaves the cold tier
        cr_expect_eq(locus_adapters_prefetch(world.adapters, 0, 1), 0);
        cr_expect_eq(locus_adapters_unload(world.adapters, 0, 1), 0);
        cr_expect_eq(objects_of(world.cold), 0);
        cr_expect_eq(stats().versions, 0);
        cr_expect_eq(locus_adapters_acquire(world.adapters, 0, 1, &none), -ENOENT);
        world_close();
    }
}

// Numbers of versions go on where those in the cold tier end, and do not begin again after the last.
Test(adapter_version, versions_are_numbered_after_those_that_are_found, .timeout = 60)
{
    const uint64_t number = UINT64_C(3) << 32;
    const struct {
        uint64_t found;
        int error;
    } cases[] = {{7, 0}, {UINT32_MAX - 2, 0}, {UINT32_MAX - 1, -EOVERFLOW}, {UINT32_MAX, -EOVERFLOW}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct locus_tier_op op = {0};
        op.done = filled;
        world_open(false, "lru", 2, 2);
        cr_assert_eq(locus_adapters_close(world.adapters), 0);
        make(3, 0);
        cr_assert_eq(locus_tier_store(world.cold, locus_id_of(number | cases[i].found), weights, sizeof weights, &op), 0);
        cr_assert_eq(adapters_open("lru", 2, 2), 0);
        cr_expect_eq(locus_adapters_load(world.adapters, 0, 3, weights, sizeof weights), cases[i].error);
        cr_expect_eq(locus_tier_find(world.cold, locus_id_of(number | (cases[i].found + !cases[i].error)), NULL), 0);
        cr_expect_eq(objects_of(world.cold), 1);
        use(3, 0, true);
        world_close();
    }
}
