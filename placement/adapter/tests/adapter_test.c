// SPDX-License-Identifier: Apache-2.0
//
// adapter: places, prefetches and evictions.
#include "placement/adapter/tests/adapter_test.h"

Test(adapter, it_waits_where_the_policy_says, .timeout = 60)
{
    for (int file = 0; file < 2; file++) {
        world_open(file, "lru", 1, 1);
        for (uint32_t number = 0; number < 3; number++)
            load(number, 0);
        use(0, 0, true);
        cr_expect(where(0).pages && where(0).place == LOCUS_ADAPTER_HOT);
        use(1, 0, true);
        settle();
        cr_expect(!where(0).pages && where(0).warm && where(1).pages && !where(1).warm);
        use(2, 0, true);
        settle();
        cr_expect(!where(0).pages && !where(0).warm && where(1).warm && !where(1).pages && where(2).pages);
        cr_expect_eq(stats().brought_cold, 3);
        cr_expect_eq(stats().demoted, 2);
        use(1, 0, false);
        cr_expect_eq(stats().brought_warm, 1);
        use(1, 0, false);
        cr_expect_eq(stats().found_pages, 1);
        use(0, 0, true);
        cold_expect(3);
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
    cr_assert_eq(locus_pages_evict_done(world.pages, saved_range, -EIO), 0);
    locus_pages_stats(world.pages, &pages);
    cr_expect_eq(pages.ranges, 1, "that of 1");
    cr_expect(!where(0).warm, "what leaves is not read");
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
    cr_expect(where(1).pages && where(1).place == LOCUS_ADAPTER_COLD, "a prefetch is no use");
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
    struct locus_pages_request one = {.pages = 1}, two = {.pages = 2};
    locus_range hole, behind;
    cr_assert_eq(locus_pages_page_bytes(world.pages), PAGE_BYTES);
    cr_assert_eq(locus_pages_alloc(world.pages, NULL, &one, &hole), 0);
    cr_assert_eq(locus_pages_alloc(world.pages, NULL, &one, &behind), 0);
    char *theirs = locus_pages_address(world.pages, behind);
    memset(theirs, 'K', PAGE_BYTES);
    cr_assert_eq(locus_pages_unpin(world.pages, hole), 0);
    cr_assert_eq(locus_pages_free(world.pages, NULL, hole), 0);
    load(0, 0);
    struct locus_adapter_hold hold = held(0, 0, true);
    cr_expect_eq(locus_pages_alloc(world.pages, NULL, &two, &hole), -ENOMEM, "the weights have two of the three pages");
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
    cr_expect_eq(stats().versions, 3);
    cr_expect_eq(stats().holds, 2);
    release(&a);
    cr_expect_eq(acquire(2, &c), 0);
    cr_expect_eq(stats().found_pages, 0);
    release(&b);
    release(&c);
    cr_expect_eq(stats().holds, 0);
    world_close();
}

// A prefetch ends with the error that it is told of, so whoever finds the weights after that has not waited for them.
Test(adapter, an_acquire_after_an_error_is_a_new_one, .timeout = 60)
{
    world_open(false, "lru", 4, 4);
    struct locus_adapter_hold a, b, c;
    for (uint32_t number = 0; number < 3; number++)
        load(number, 0);
    a = held(0, 0, true);
    b = held(1, 0, true);
    cr_expect_eq(locus_adapters_acquire(world.adapters, world.now_ns, 2, &c), -ENOMEM);
    release(&a);
    cr_expect_eq(locus_adapters_prefetch(world.adapters, world.now_ns, 2), 0);
    c = held(2, 0, true);
    cr_expect_eq(stats().found_pages, 1);
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

Test(adapter, a_prefetch_pins_until_it_is_cancelled, .timeout = 60)
{
    world_open(true, "lru", 4, 4);
    struct locus_adapter_hold hold;
    load(0, 0);
    load(1, 0);
    cr_expect_eq(locus_adapters_cancel(world.adapters, 0, 0), -ENOENT);
    cr_expect_eq(locus_adapters_cancel(world.adapters, 0, NUMBERS), -ENOENT);
    for (int i = 0; i < 2; i++) { // brought for it, and there already
        cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 0), 0);
        settle();
        cr_expect_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), -ENOMEM);
        cr_expect_eq(locus_adapters_cancel(world.adapters, 0, 0), 0);
        cr_expect_eq(locus_adapters_cancel(world.adapters, 0, 0), -ENOENT);
        use(0, 0, true);
    }
    cr_expect_eq(stats().brought_cold, 2, "unused, its place was cold when it was cancelled");
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 0), 0);
    settle();
    cr_expect_eq(locus_adapters_cancel(world.adapters, 0, 0), 0);
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    cr_expect_eq(locus_adapters_acquire(world.adapters, 0, 1, &hold), -EAGAIN);
    cr_expect_eq(locus_adapters_cancel(world.adapters, 0, 1), 0, "while it is on its way");
    settle();
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 1), 0);
    settle();
    load(1, 1);
    cr_expect_eq(locus_adapters_cancel(world.adapters, 0, 1), -ENOENT, "a new version ends it");
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 1), 0);
    settle();
    cr_assert_eq(locus_adapters_unload(world.adapters, 0, 1), 0);
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 0), 0);
    world_close();
}

Test(adapter, a_prefetch_waits_for_room_that_is_on_its_way, .timeout = 60)
{
    leave = save;
    world_open(false, "lru", 4, 4);
    struct locus_pages_request all = {.pages = PAGES};
    locus_range range;
    load(0, 0);
    load(1, 0);
    load(2, 0);
    cr_assert_eq(locus_pages_alloc(world.pages, NULL, &all, &range), 0);
    cr_assert_eq(locus_pages_unpin(world.pages, range), 0);
    for (uint32_t number = 0; number < 3; number++)
        cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, number), 0);
    cr_assert_eq(locus_adapters_unload(world.adapters, 0, 1), 0);
    settle();
    cr_expect(!where(0).pages && !where(2).pages);
    cr_assert_eq(locus_pages_evict_done(world.pages, saved_range, 0), 0);
    settle();
    cr_expect(where(0).pages && where(2).pages);
    use(0, 0, true);
    use(2, 0, true);
    // Pages of their own are being saved, and stay.
    cr_expect_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, 1), -EAGAIN);
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 0), 0);
    cr_assert_eq(locus_adapters_prefetch(world.adapters, 0, 2), 0);
    cr_assert_eq(locus_pages_evict_done(world.pages, saved_range, -EIO), 0);
    settle();
    cr_expect_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, 1), -ENOMEM, "both are kept");
    use(0, 0, true);
    use(2, 0, true);
    cr_expect_eq(stats().brought_cold, 2);
    world_close();
}

static struct locus_score_view viewed;

static double view_keep(const struct locus_score_view *view)
{
    viewed = *view;
    return 0;
}

Test(adapter, the_arena_knows_whose_a_range_is_and_what_it_costs, .timeout = 60)
{
    static const struct locus_score_ops keeps = {.name = "keeps", .summary = "what it was shown", .score = view_keep};
    static const uint64_t costs[NUMBERS] = {11, 22, 33, 44, 55, 66, 77, 88};
    score = &keeps;
    cost_ns = costs;
    world_open(false, "lru", 4, 4);
    load(5, 0);
    use(5, 0, true);
    cr_assert_eq(locus_pages_evict(world.pages, LOCUS_PAGES_KV, PAGES), 0);
    cr_expect_eq(viewed.kind, LOCUS_PAGES_ADAPTER);
    cr_expect_eq(viewed.owner, 5);
    cr_expect_eq(viewed.cost_ns, 66);
    cr_expect_eq(viewed.pages, 2);
    world_close();
}

// Both its pages and its warm copy are given back, and the prefetch brings nothing anew.
Test(adapter, close_ends_a_prefetch_for_a_warm_one, .timeout = 60)
{
    world_open(false, "lru", 0, 2);
    load(0, 0);
    use(0, 0, true);
    cr_assert(where(0).warm && !where(0).pages);
    cr_assert_eq(locus_adapters_prefetch(world.adapters, world.now_ns, 0), 0);
    cr_assert(where(0).warm && where(0).pages);
    world_close();
}
