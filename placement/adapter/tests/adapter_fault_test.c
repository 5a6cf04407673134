// SPDX-License-Identifier: Apache-2.0
//
// adapter_fault: copies that are damaged, tiers that refuse or fail, and calls that make no sense.
#include "placement/adapter/tests/adapter_test.h"

#include <dlfcn.h>

static bool write_fails, read_fails;

// In place of the C library's.
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    real = real ? real : (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    errno = EIO;
    return write_fails ? -1 : real(fd, from, bytes, offset);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
    static ssize_t (*real)(int, void *, size_t, off_t);
    real = real ? real : (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    errno = EIO;
    return read_fails ? -1 : real(fd, to, bytes, offset);
}

// The drop is refused at once, or fails later: nothing is lost, and nobody is told that it has gone.
Test(adapter_fault, an_unload_that_the_cold_tier_refuses_changes_nothing, .timeout = 60)
{
    for (int late = 0; late < 2; late++) {
        plain_file = true;
        world_open(true, "lru", 2, 2);
        struct locus_adapter_hold hold;
        struct locus_tier_op op = {0};
        op.done = filled;
        load(1, 0);
        load(1, 1);
        hold = held(1, 1, true);
        if (late)
            write_fails = true;
        else // of version 1: while this is under way, a drop is -EBUSY
            cr_assert_eq(locus_tier_store(world.cold, locus_id_of(UINT64_C(1) << 32 | 1), weights, sizeof weights, &op), 0);
        cr_expect_eq(locus_adapters_unload(world.adapters, 0, 1), late ? -EIO : -EBUSY);
        write_fails = false;
        cr_expect_eq(where(1).holders, 1);
        release(&hold);
        cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
        settle();
        use(1, 1, true);
        cr_expect_eq(locus_adapters_unload(world.adapters, 0, 1), late ? -EIO : 0, "a file that failed takes no drops");
        cr_expect_eq(objects_of(world.cold), (uint64_t)late);
        world_close();
    }
}

Test(adapter_fault, what_has_no_int8_waits_in_the_cold_tier, .timeout = 60)
{
    world_open(false, "lru", 0, 2);
    struct locus_adapter_hold hold;
    make(0, 0);
    weights[777] = 0x7e00; // no number
    cr_assert_eq(locus_adapters_load(world.adapters, 0, 0, weights, sizeof weights), 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(acquire(0, &hold), 0);
        cr_expect_eq(memcmp(hold.weights, weights, sizeof weights), 0);
        release(&hold);
        cr_expect(!where(0).pages && !where(0).warm && where(0).place == LOCUS_ADAPTER_WARM);
    }
    cr_expect_eq(stats().demote_refused, 1, "it is asked once");
    cr_expect_eq(stats().brought_cold, 2);
    world_close();
}

Test(adapter_fault, a_warm_tier_without_room_is_no_error, .timeout = 60)
{
    world_open(false, "lru", 0, NUMBERS);
    static char filler[6u << 20];
    struct locus_tier_op op = {0};
    op.done = filled;
    cr_assert_eq(locus_tier_store(world.warm, locus_id_of(UINT64_MAX), filler, sizeof filler, &op), 0);
    for (uint32_t number = 0; number < 3; number++) {
        load(number, 0);
        use(number, 0, true);
    }
    cr_expect_gt(stats().demote_refused, 0);
    for (uint32_t number = 0; number < 3; number++)
        use(number, 0, !where(number).warm);
    cr_assert_eq(locus_tier_drop(world.warm, locus_id_of(UINT64_MAX), &op), 0);
    for (uint32_t number = 0; number < 3; number++) {
        use(number, 0, !where(number).warm);
        cr_expect(where(number).warm, "now there is room");
    }
    world_close();
}

Test(adapter_fault, a_damaged_warm_copy_gives_way_to_the_cold_one, .timeout = 60)
{
    world_open(false, "lru", 0, 2);
    load(0, 0);
    use(0, 0, true);
    cr_assert(where(0).warm);
    ((char *)locus_region_base(locus_tier_region(world.warm)))[100] ^= 1;
    use(0, 0, true);
    cr_expect_eq(stats().warm_failed, 1);
    cr_expect_eq(stats().brought_cold, 2);
    cr_expect(!where(0).warm && objects_of(world.warm) == 0, "what cannot be given takes no room");
    use(0, 0, true);
    cr_expect_eq(stats().brought_cold, 3);
    cr_expect_eq(stats().demoted, 1, "it is not asked again");
    world_close();
}

Test(adapter_fault, a_damaged_cold_copy_is_an_error_each_time, .timeout = 60)
{
    world_open(false, "lru", 2, 2);
    struct locus_adapter_hold hold;
    load(0, 0);
    char *byte = (char *)locus_region_base(locus_tier_region(world.cold)) + 100;
    *byte ^= 1;
    cr_expect_eq(acquire(0, &hold), -EBADMSG);
    cr_expect_eq(acquire(0, &hold), -EBADMSG);
    cr_expect_eq(locus_adapters_prefetch(world.adapters, 0, 0), -EBADMSG);
    *byte ^= 1;
    use(0, 0, true);
    world_close();
}

// Held versions go from the cold tier before the newest does, so that a restart never finds one of them instead.
Test(adapter_fault, an_unload_that_fails_halfway_leaves_the_newest, .timeout = 60)
{
    plain_file = true;
    world_open(true, "lru", 2, 2);
    const uint64_t key = UINT64_C(1) << 32;
    struct locus_tier_op op = {0};
    op.done = filled;
    load(1, 0);
    struct locus_adapter_hold first = held(1, 0, true);
    load(1, 1);
    // While this is under way, a drop is -EBUSY.
    cr_assert_eq(locus_tier_store(world.cold, locus_id_of(key), weights, sizeof weights, &op), 0);
    cr_expect_eq(locus_adapters_unload(world.adapters, 0, 1), -EBUSY);
    cr_expect_eq(locus_tier_find(world.cold, locus_id_of(key | 1), NULL), 0);
    release(&first);
    use(1, 1, true);
    world_close();
}

Test(adapter_fault, a_load_that_fails_leaves_the_version_before, .timeout = 60)
{
    plain_file = true;
    world_open(true, "lru", 2, 2);
    load(1, 0);
    make(1, 1);
    write_fails = true;
    cr_expect_eq(locus_adapters_load(world.adapters, 0, 1, weights, sizeof weights), -EIO);
    write_fails = false;
    cr_expect_eq(stats().versions, 1);
    use(1, 0, true);
    world_close();
}

// The load of a prefetch that was cancelled fails, and the next request, which knows nothing of it, is not told.
Test(adapter_fault, nobody_is_told_of_an_error_that_others_waited_for, .timeout = 60)
{
    plain_file = true;
    world_open(true, "lru", 2, 2);
    struct locus_adapter_hold hold;
    load(0, 0);
    enum { KEPT, CANCELLED_BEFORE, CANCELLED_AFTER };
    for (int prefetch = KEPT; prefetch <= CANCELLED_AFTER; prefetch++) {
        read_fails = true;
        cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 0), 0);
        if (prefetch == CANCELLED_BEFORE)
            cr_expect_eq(locus_adapters_cancel(world.adapters, 0, 0), 0);
        settle();
        read_fails = false;
        if (prefetch != KEPT)
            cr_expect_eq(locus_adapters_cancel(world.adapters, 0, 0), prefetch == CANCELLED_AFTER ? 0 : -ENOENT);
        cr_expect_eq(locus_adapters_acquire(world.adapters, 0, 0, &hold), prefetch == KEPT ? -EIO : -EAGAIN);
        use(0, 0, true);
        cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    }
    world_close();
}

Test(adapter_fault, what_cannot_be_is_refused, .timeout = 60)
{
    world_open(false, "lru", 2, 2);
    static char large[20u << 20];
    struct locus_adapters *other;
    cr_expect_eq(locus_adapters_load(world.adapters, 0, NUMBERS, weights, 2), -EINVAL);
    cr_expect_eq(locus_adapters_load(world.adapters, 0, 0, weights, 0), -EINVAL);
    cr_expect_eq(locus_adapters_load(world.adapters, 0, 0, weights, 3), -EINVAL);
    load(0, 0);
    cr_expect_eq(locus_adapters_load(world.adapters, 0, 0, large, sizeof large), -EFBIG);
    use(0, 0, true);
    struct locus_adapters_config config = {.size = sizeof config, .pages = world.pages};
    cr_expect_eq(locus_adapters_open(&other, &config), -EINVAL);
    config.cold = world.cold;
    cr_expect_eq(locus_adapters_open(&other, &config), -EINVAL, "no adapters");
    cr_expect_null(other);
    load(NUMBERS - 1, 0);
    config.policy_config = (struct locus_adapter_policy_config){.size = sizeof config.policy_config, .adapters = NUMBERS};
    config.warm = world.cold;
    cr_expect_eq(locus_adapters_open(&other, &config), -EINVAL, "a warm copy would take the place of the cold one");
    config.warm = NULL;
    config.policy_config.adapters = NUMBERS - 1;
    cr_expect_eq(locus_adapters_open(&other, &config), -EINVAL, "an object of another number");
    cr_expect_eq(locus_adapters_close(NULL), 0);
    world_close();
}
