// SPDX-License-Identifier: Apache-2.0
//
// adapter: versions, holders, wishes, places, evictions and errors, on tiers in memory, which answer at once, and on a file, which
// takes its time.
#include "placement/adapter/adapter.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pages_evict.h"
#include "pages_open.h"
#include "pages_report.h"
#include "quant.h"
#include "tier_far.h"
#include "tier_file.h"

enum { NUMBERS = 8, PAGES = 4, WEIGHTS = 300 * 1024 }; // 600 KiB: two pages
#define PAGE_BYTES (512u << 10)

static struct world {
    struct locus_pages *pages;
    struct locus_tier *cold, *warm;
    struct locus_adapters *adapters;
    char path[64];
    uint64_t now_ns;
} world;

static int (*leave)(void *, locus_range, enum locus_pages_kind, uint64_t, void *, uint64_t); // the arena's

static bool plain_file;    // the cold tier's: no io_uring, so that write_fails counts
static bool write_fails;

// In place of the C library's.
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    real = real ? real : (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    errno = EIO;
    return write_fails ? -1 : real(fd, from, bytes, offset);
}

static uint16_t weights[WEIGHTS], kept[WEIGHTS];

// Numbers that say which version of which adapter they are; `kept`: as int8 keeps them.
static void make(uint32_t number, uint32_t version)
{
    static char stored[WEIGHTS / LOCUS_INT8_GROUP * LOCUS_INT8_GROUP_BYTES + LOCUS_INT8_GROUP_BYTES];
    for (size_t i = 0; i < WEIGHTS; i++)
        weights[i] = (uint16_t)(0x3000 + number * 1000 + version * 100 + i * 7 % 97);
    cr_assert_eq(locus_int8_from_f16(stored, weights, WEIGHTS), 0);
    cr_assert_eq(locus_int8_to_f16(kept, stored, WEIGHTS), 0);
}

static void cold_open(bool file)
{
    if (!file) {
        struct locus_tier_far_config far = {.size = sizeof far, .bytes = 16u << 20, .node = LOCUS_NODE_ANY};
        cr_assert_eq(locus_tier_far_open(&world.cold, &far), 0);
        return;
    }
    char why[200] = "";
    struct locus_tier_file_config config = {.size = sizeof config,
                                            .path = world.path,
                                            .bytes = 16u << 20,
                                            .no_io_uring = plain_file,
                                            .why = why,
                                            .why_bytes = sizeof why};
    int error = -EBUSY;
    for (int tries = 0; error == -EBUSY && tries < 100; tries++, usleep(10000)) // the ring of the one before may still hold it
        error = locus_tier_file_open(&world.cold, &config);
    cr_assert_eq(error, 0, "%d: %s", error, why);
}

static int adapters_open(const char *policy, uint32_t hot, uint32_t warm)
{
    struct locus_adapters_config config = {.size = sizeof config,
                                           .pages = world.pages,
                                           .cold = world.cold,
                                           .warm = world.warm,
                                           .policy = locus_residency_find(policy)};
    config.residency =
        (struct locus_residency_config){.size = sizeof config.residency, .adapters = NUMBERS, .hot = hot, .warm = warm};
    return locus_adapters_open(&world.adapters, &config);
}

static void path_make(void)
{
    snprintf(world.path, sizeof world.path, "/tmp/locus-adapter-%d", (int)getpid());
}

static void world_open_again(bool file, const char *policy, uint32_t hot, uint32_t warm)
{
    struct locus_pages_config pages = {
        .size = sizeof pages, .page_bytes = PAGE_BYTES, .pages = PAGES, .node = LOCUS_NODE_ANY, .leave = leave};
    struct locus_tier_far_config far = {.size = sizeof far, .bytes = 4u << 20, .node = LOCUS_NODE_ANY};
    cr_assert_eq(locus_pages_open(&world.pages, &pages), 0);
    cr_assert_eq(locus_tier_int8_open(&world.warm, &far), 0);
    cold_open(file);
    cr_assert_eq(adapters_open(policy, hot, warm), 0);
}

static void world_open(bool file, const char *policy, uint32_t hot, uint32_t warm)
{
    if (!world.path[0])
        path_make();
    unlink(world.path);
    world_open_again(file, policy, hot, warm);
}

static void world_close(void)
{
    struct locus_tier_stats warm;
    struct locus_pages_stats pages;
    cr_expect_eq(locus_adapters_close(world.adapters), 0);
    locus_tier_stats(world.warm, &warm);
    cr_expect_eq(warm.objects, 0, "warm copies are left");
    locus_pages_stats(world.pages, &pages);
    cr_expect_eq(pages.ranges, 0, "pages are left");
    locus_tier_close(world.warm);
    locus_tier_close(world.cold);
    cr_expect_eq(locus_pages_close(world.pages), 0);
    unlink(world.path);
}

static void load(uint32_t number, uint32_t version)
{
    make(number, version);
    cr_assert_eq(locus_adapters_load(world.adapters, world.now_ns, number, weights, sizeof weights), 0);
}

static int acquire(uint32_t number, struct locus_adapter_hold *hold)
{
    int error;
    for (int tries = 0; (error = locus_adapters_acquire(world.adapters, ++world.now_ns, number, hold)) == -EAGAIN && tries < 1000;
         tries++)
        locus_adapters_poll(world.adapters, world.now_ns, 10000000);
    return error;
}

// Acquired and as it should be: exact, or as int8 has it.
static struct locus_adapter_hold held(uint32_t number, uint32_t version, bool exact)
{
    struct locus_adapter_hold hold = {0};
    cr_assert_eq(acquire(number, &hold), 0);
    make(number, version);
    cr_assert_eq(hold.bytes, sizeof weights);
    cr_assert_eq(memcmp(hold.weights, exact ? weights : kept, sizeof weights), 0, "%u, version %u", number, version);
    return hold;
}

static void release(struct locus_adapter_hold *hold)
{
    locus_adapters_release(world.adapters, ++world.now_ns, hold);
    cr_assert_null(hold->version);
}

static void use(uint32_t number, uint32_t version, bool exact)
{
    struct locus_adapter_hold hold = held(number, version, exact);
    release(&hold);
}

static struct locus_adapter_where where(uint32_t number)
{
    struct locus_adapter_where out = {0};
    cr_assert(locus_adapters_where(world.adapters, world.now_ns, number, &out));
    return out;
}

static struct locus_adapters_stats stats(void)
{
    struct locus_adapters_stats out;
    locus_adapters_stats(world.adapters, &out);
    return out;
}

// Until nothing moves.
static void settle(void)
{
    for (uint32_t number = 0, tries = 0; number < NUMBERS && tries < 1000; tries++) {
        struct locus_adapter_where at;
        locus_adapters_poll(world.adapters, world.now_ns, 1000000);
        number += !locus_adapters_where(world.adapters, world.now_ns, number, &at) || !at.moving;
    }
}

static void filled(struct locus_tier_op *op, int result)
{
    (void)op;
    cr_assert_eq(result, 0);
}

// A range that an arena with this `leave` has been told to evict, and which waits for locus_pages_left().
static locus_range saved_range;

static int save(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    (void)context, (void)kind, (void)owner, (void)memory, (void)bytes;
    saved_range = range;
    return 1;
}

static uint64_t cold_objects(void)
{
    struct locus_tier_stats out;
    locus_tier_stats(world.cold, &out);
    return out.objects;
}

// What leaves takes its time, too.
static void cold_expect(uint64_t objects)
{
    struct locus_tier_stats out;
    for (int tries = 0; tries < 1000; tries++) {
        locus_tier_stats(world.cold, &out);
        if (out.objects == objects)
            break;
        locus_adapters_poll(world.adapters, world.now_ns, 1000000);
    }
    cr_assert_eq(out.objects, objects);
}

Test(adapter, it_waits_where_the_policy_says, .timeout = 60)
{
    for (int file = 0; file < 2; file++) {
        world_open(file, "lru", 1, 1);
        for (uint32_t number = 0; number < 3; number++)
            load(number, 0);
        use(0, 0, true);
        cr_expect(where(0).pages && where(0).place == LOCUS_RESIDENCE_HOT);
        use(1, 0, true);
        settle();
        cr_expect(!where(0).pages && where(0).warm && where(1).pages && !where(1).warm);
        use(2, 0, true);
        settle();
        cr_expect(!where(0).pages && !where(0).warm && where(1).warm && !where(1).pages && where(2).pages);
        cr_expect_eq(stats().brought_cold, 3);
        cr_expect_eq(stats().sunk, 2);
        use(1, 0, false);
        cr_expect_eq(stats().brought_warm, 1);
        use(1, 0, false);
        cr_expect_eq(stats().found_pages, 1);
        use(0, 0, true);
        cold_expect(3);
        world_close();
    }
}

Test(adapter, holders_keep_the_version_that_they_acquired, .timeout = 60)
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

Test(adapter, unloaded_ones_serve_their_holders_and_are_gone, .timeout = 60)
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
    cr_expect_eq(cold_objects(), 0);
    release(&hold);
    cr_expect_eq(stats().versions, 0);
    load(1, 3);
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

Test(adapter, a_restart_finds_the_newest_version_of_each, .timeout = 60)
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

Test(adapter, a_restart_finds_no_version_of_what_was_unloaded, .timeout = 60)
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
Test(adapter, what_moves_can_be_unloaded, .timeout = 60)
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
        cr_expect_eq(cold_objects(), 0);
        cr_expect_eq(stats().versions, 0);
        cr_expect_eq(locus_adapters_acquire(world.adapters, 0, 1, &none), -ENOENT);
        world_close();
    }
}

// The drop is refused at once, or fails later: nothing is lost, and nobody is told that it has gone.
Test(adapter, an_unload_that_the_cold_tier_refuses_changes_nothing, .timeout = 60)
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
            cr_assert_eq(locus_tier_store(world.cold, UINT64_C(1) << 32 | 1, weights, sizeof weights, &op), 0);
        cr_expect_eq(locus_adapters_unload(world.adapters, 0, 1), late ? -EIO : -EBUSY);
        write_fails = false;
        cr_expect_eq(where(1).holders, 1);
        release(&hold);
        cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
        settle();
        use(1, 1, true);
        cr_expect_eq(locus_adapters_unload(world.adapters, 0, 1), late ? -EIO : 0, "a file that failed takes no drops");
        cr_expect_eq(cold_objects(), (uint64_t)late);
        world_close();
    }
}

// Its pages are being saved when its policy wants it elsewhere: they are given back even if the save fails and they stay.
Test(adapter, pages_that_could_not_be_saved_are_not_forgotten, .timeout = 60)
{
    leave = save;
    world_open(false, "lru", 1, 2);
    struct locus_pages_stats pages;
    load(0, 0);
    load(1, 0);
    use(0, 0, true);
    cr_expect_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), -EAGAIN);
    use(1, 0, true); // now 0 is WARM
    cr_assert_eq(locus_pages_left(world.pages, saved_range, -EIO), 0);
    locus_pages_stats(world.pages, &pages);
    cr_expect_eq(pages.ranges, 1, "that of 1");
    world_close();
}

Test(adapter, who_is_prefetched_is_there_when_it_is_acquired, .timeout = 60)
{
    world_open(true, "seed", 2, 2);
    struct locus_adapter_hold hold;
    load(0, 0);
    cr_expect_eq(locus_adapters_acquire(world.adapters, 1, 0, &hold), -EAGAIN, "a file does not answer at once");
    settle();
    use(0, 0, true);
    settle();
    cr_expect(where(0).warm && !where(0).pages, "one use is warm");
    load(1, 0);
    cr_expect_eq(locus_adapters_prefetch(world.adapters, world.now_ns, 1), 0);
    cr_expect_eq(locus_adapters_prefetch(world.adapters, world.now_ns, 1), 0, "it is on its way");
    settle();
    cr_expect(where(1).pages && where(1).place == LOCUS_RESIDENCE_COLD, "a prefetch is no use");
    uint64_t found = stats().found_pages;
    cr_expect_eq(locus_adapters_acquire(world.adapters, world.now_ns, 1, &hold), 0);
    cr_expect_eq(stats().found_pages, found + 1);
    release(&hold);
    world.now_ns += UINT64_C(60000000000);
    settle();
    cr_expect(!where(0).warm && !where(1).warm && !where(1).pages, "a minute later all is cold");
    use(0, 0, true);
    world_close();
}

Test(adapter, what_the_arena_evicts_is_brought_back, .timeout = 60)
{
    world_open(false, "lru", 4, 4);
    load(0, 0);
    use(0, 0, true);
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    use(0, 0, true);
    cr_expect_eq(stats().brought_cold, 2);
    struct locus_adapter_hold hold = held(0, 0, true);
    cr_expect_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), -ENOMEM, "held ones stay");
    make(0, 0);
    cr_expect_eq(memcmp(hold.weights, weights, sizeof weights), 0);
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, 2), 0);
    release(&hold);
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    cr_expect_eq(locus_adapters_prefetch(world.adapters, world.now_ns, 0), 0);
    cr_expect(where(0).pages);
    cr_expect_eq(stats().brought_cold, 3);
    world_close();
}

// Pages of 512 KiB, which are not the arena's default: a range is as long as its weights, and who lies behind it is let be.
Test(adapter, weights_stay_within_their_own_pages, .timeout = 60)
{
    world_open(false, "lru", 4, 4);
    struct locus_pages_ask one = {.pages = 1}, two = {.pages = 2};
    locus_range hole, behind;
    cr_assert_eq(locus_pages_page_bytes(world.pages), PAGE_BYTES);
    cr_assert_eq(locus_pages_allocate(world.pages, NULL, &one, &hole), 0);
    cr_assert_eq(locus_pages_allocate(world.pages, NULL, &one, &behind), 0);
    char *theirs = locus_pages_address(world.pages, behind);
    memset(theirs, 'K', PAGE_BYTES);
    cr_assert_eq(locus_pages_unpin(world.pages, hole), 0);
    cr_assert_eq(locus_pages_free(world.pages, NULL, hole), 0);
    load(0, 0);
    struct locus_adapter_hold hold = held(0, 0, true);
    cr_expect_eq(locus_pages_allocate(world.pages, NULL, &two, &hole), -ENOMEM, "the weights have two of the three pages");
    for (size_t i = 0; i < PAGE_BYTES; i++)
        cr_assert_eq(theirs[i], 'K');
    release(&hold);
    cr_assert_eq(locus_pages_unpin(world.pages, behind), 0);
    cr_assert_eq(locus_pages_free(world.pages, NULL, behind), 0);
    world_close();
}

Test(adapter, more_holders_than_pages_are_told_so, .timeout = 60)
{
    world_open(false, "lru", 4, 4);
    struct locus_adapter_hold a, b, c;
    for (uint32_t number = 0; number < 3; number++)
        load(number, 0);
    a = held(0, 0, true);
    b = held(1, 0, true);
    cr_expect_eq(acquire(2, &c), -ENOMEM);
    cr_expect_eq(locus_adapters_prefetch(world.adapters, world.now_ns, 2), -ENOMEM);
    release(&a);
    c = held(2, 0, true);
    release(&b);
    release(&c);
    world_close();
}

// Room for one, and two requests that wait in turn: each gets it while the other does not, instead of taking it from the other.
Test(adapter, what_is_brought_is_kept_for_who_asked, .timeout = 60)
{
    for (int file = 0; file < 2; file++) {
        world_open(file, "lru", 4, 4);
        struct locus_adapter_hold other = {0}, hold;
        int error[2] = {-EAGAIN, -EAGAIN};
        for (uint32_t number = 0; number < 3; number++)
            load(number, 0);
        other = held(2, 0, true); // two pages are left
        for (uint32_t i = 0; i < 100 && error[0] != 0 && error[1] != 0; i++) {
            error[i % 2] = locus_adapters_acquire(world.adapters, ++world.now_ns, i % 2, &hold);
            settle();
        }
        cr_assert_eq(error[0], 0);
        cr_expect_eq(error[1], file ? -ENOMEM : -EAGAIN, "the file was asked for both, the memory not");
        cr_expect_eq(stats().brought_cold, 2, "once each");
        release(&hold);
        use(1, 0, true);
        release(&other);
        world_close();
    }
}

Test(adapter, a_wish_pins_until_it_is_forgone, .timeout = 60)
{
    world_open(true, "lru", 4, 4);
    struct locus_adapter_hold hold;
    load(0, 0);
    load(1, 0);
    cr_expect_eq(locus_adapters_forgo(world.adapters, 0, 0), -ENOENT);
    cr_expect_eq(locus_adapters_forgo(world.adapters, 0, NUMBERS), -ENOENT);
    for (int i = 0; i < 2; i++) { // brought for it, and there already
        cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 0), 0);
        settle();
        cr_expect_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), -ENOMEM);
        cr_expect_eq(locus_adapters_forgo(world.adapters, 0, 0), 0);
        cr_expect_eq(locus_adapters_forgo(world.adapters, 0, 0), -ENOENT);
        use(0, 0, true);
    }
    cr_expect_eq(stats().brought_cold, 2, "unused, its place was cold when it was forgone");
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 0), 0);
    settle();
    cr_expect_eq(locus_adapters_forgo(world.adapters, 0, 0), 0);
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    cr_expect_eq(locus_adapters_acquire(world.adapters, 0, 1, &hold), -EAGAIN);
    cr_expect_eq(locus_adapters_forgo(world.adapters, 0, 1), 0, "while it is on its way");
    settle();
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 1), 0);
    settle();
    load(1, 1);
    cr_expect_eq(locus_adapters_forgo(world.adapters, 0, 1), -ENOENT, "a new version ends it");
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 1), 0);
    settle();
    cr_assert_eq(locus_adapters_unload(world.adapters, 0, 1), 0);
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 0), 0);
    world_close();
}

Test(adapter, a_wish_waits_for_room_that_is_on_its_way, .timeout = 60)
{
    leave = save;
    world_open(false, "lru", 4, 4);
    struct locus_pages_ask all = {.pages = PAGES};
    locus_range range;
    load(0, 0);
    load(1, 0);
    load(2, 0);
    cr_assert_eq(locus_pages_allocate(world.pages, NULL, &all, &range), 0);
    cr_assert_eq(locus_pages_unpin(world.pages, range), 0);
    for (uint32_t number = 0; number < 3; number++)
        cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, number), 0);
    cr_assert_eq(locus_adapters_unload(world.adapters, 0, 1), 0);
    settle();
    cr_expect(!where(0).pages && !where(2).pages);
    cr_assert_eq(locus_pages_left(world.pages, saved_range, 0), 0);
    settle();
    cr_expect(where(0).pages && where(2).pages);
    use(0, 0, true);
    use(2, 0, true);
    // Pages of their own are being saved, and stay.
    cr_expect_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, 1), -EAGAIN);
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 0), 0);
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 2), 0);
    cr_assert_eq(locus_pages_left(world.pages, saved_range, -EIO), 0);
    settle();
    cr_expect_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, 1), -ENOMEM, "both are kept");
    use(0, 0, true);
    use(2, 0, true);
    cr_expect_eq(stats().brought_cold, 2);
    world_close();
}

Test(adapter, what_has_no_int8_waits_in_the_cold_tier, .timeout = 60)
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
        cr_expect(!where(0).pages && !where(0).warm && where(0).place == LOCUS_RESIDENCE_WARM);
    }
    cr_expect_eq(stats().sink_refused, 1, "it is asked once");
    cr_expect_eq(stats().brought_cold, 2);
    world_close();
}

Test(adapter, a_warm_tier_without_room_is_no_error, .timeout = 60)
{
    world_open(false, "lru", 0, NUMBERS);
    static char filler[6u << 20];
    struct locus_tier_op op = {0};
    op.done = filled;
    cr_assert_eq(locus_tier_store(world.warm, UINT64_MAX, filler, sizeof filler, &op), 0);
    for (uint32_t number = 0; number < 3; number++) {
        load(number, 0);
        use(number, 0, true);
    }
    cr_expect_gt(stats().sink_refused, 0);
    for (uint32_t number = 0; number < 3; number++)
        use(number, 0, !where(number).warm);
    cr_assert_eq(locus_tier_drop(world.warm, UINT64_MAX, &op), 0);
    world_close();
}

Test(adapter, a_damaged_warm_copy_gives_way_to_the_cold_one, .timeout = 60)
{
    world_open(false, "lru", 0, 2);
    load(0, 0);
    use(0, 0, true);
    cr_assert(where(0).warm);
    ((char *)locus_region_base(locus_tier_region(world.warm)))[100] ^= 1;
    use(0, 0, true);
    cr_expect_eq(stats().warm_failed, 1);
    cr_expect_eq(stats().brought_cold, 2);
    use(0, 0, true);
    world_close();
}

Test(adapter, a_damaged_cold_copy_is_an_error_each_time, .timeout = 60)
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

Test(adapter, what_cannot_be_is_refused, .timeout = 60)
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
    config.residency.adapters = NUMBERS - 1;
    cr_expect_eq(locus_adapters_open(&other, &config), -EINVAL, "an object of another number");
    cr_expect_eq(locus_adapters_close(NULL), 0);
    world_close();
}
