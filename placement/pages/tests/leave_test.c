// SPDX-License-Identifier: Apache-2.0
//
// leave: who leaves, for one page and for an extent, by which score, and between the watermarks.
#include "pages_test.h"

#include <float.h>
#include <string.h>

static uint32_t evicted(const struct locus_pages *pages, uint64_t owners[], uint32_t most)
{
    struct locus_pages_eviction log[LOCUS_PAGES_EVICTIONS];
    uint32_t count = locus_pages_evictions(pages, log, most);
    for (uint32_t i = 0; i < count; i++)
        owners[i] = log[count - 1 - i].owner; // oldest first
    return count;
}

Test(pages_evict, the_least_recently_used_range_leaves_for_one_page)
{
    struct locus_pages *pages = arena(8);
    locus_range old = resident(pages, 3, 1, 10), used = resident(pages, 3, 2, 20), late = resident(pages, 2, 3, 30);
    locus_pages_set_time(pages, 40);
    cr_assert_eq(touch(pages, old), 0);
    allocated(pages, LOCUS_PAGES_SCRATCH, 1, 4);
    cr_expect_eq(touch(pages, used), -ESTALE);
    cr_expect_eq(touch(pages, old), 0);
    cr_expect_eq(touch(pages, late), 0);
    struct locus_pages_stats stats = stats_of(pages);
    cr_expect_eq(stats.ranges_evicted[LOCUS_PAGES_KV][LOCUS_EVICTED_FOR_ROOM], 1);
    cr_expect_eq(stats.pages_evicted[LOCUS_PAGES_KV][LOCUS_EVICTED_FOR_ROOM], 3);
    cr_expect_eq(stats.pages_free, 2, "what was not needed of its pages is free");
    struct locus_pages_eviction log;
    cr_assert_eq(locus_pages_evictions(pages, &log, 1), 1);
    cr_expect_eq(log.owner, 2);
    cr_expect_eq(log.idle_ns, 20);
    cr_expect_eq(log.at_ns, 40);
    cr_expect_eq(log.pages, 3);
    cr_expect_float_eq(log.score, -20, 1e-9);
}

// Twice the victims of one pass, used in another order than that of their pages; some are used again while they wait to leave.
Test(pages_evict, the_order_is_exact_across_passes_and_uses)
{
    enum { RANGES = 600 };
    struct locus_pages *pages = arena(RANGES);
    locus_range ranges[RANGES];
    uint64_t used_ns[RANGES], now_ns = 0;
    for (int i = 0; i < RANGES; i++)
        ranges[i] = resident(pages, 1, (uint64_t)i, 0);
    for (int i = 0; i < RANGES; i++) {
        int at = i * 77 % RANGES;
        locus_pages_set_time(pages, used_ns[at] = ++now_ns);
        cr_assert_eq(touch(pages, ranges[at]), 0);
    }
    for (int left = RANGES; left > 0; left--) {
        int oldest = -1;
        if (left % 3 == 0) {
            int again = 77 * left % RANGES;
            locus_pages_set_time(pages, ++now_ns);
            if (used_ns[again] != UINT64_MAX && touch(pages, ranges[again]) == 0)
                used_ns[again] = now_ns;
        }
        for (int i = 0; i < RANGES; i++)
            if (used_ns[i] != UINT64_MAX && (oldest < 0 || used_ns[i] < used_ns[oldest]))
                oldest = i;
        allocated(pages, LOCUS_PAGES_SCRATCH, 1, 1000); // stays pinned
        struct locus_pages_eviction log;
        cr_assert_eq(locus_pages_evictions(pages, &log, 1), 1);
        cr_assert_eq(log.owner, (uint64_t)oldest, "%d left: %d should have, but %d did", left, oldest, (int)log.owner);
        used_ns[oldest] = UINT64_MAX;
    }
}

Test(pages_evict, a_pinned_range_is_passed_over_and_is_a_victim_again_later)
{
    struct locus_pages *pages = arena(4);
    locus_range pinned = allocated(pages, LOCUS_PAGES_KV, 2, 1), other = resident(pages, 2, 2, 5), range;
    allocated(pages, LOCUS_PAGES_KV, 2, 3);
    cr_expect_eq(touch(pages, other), -ESTALE);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 1, 4, &range), -ENOMEM);
    cr_assert_eq(locus_pages_unpin(pages, pinned), 0);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 1, 4, &range), 0);
    cr_expect_eq(touch(pages, pinned), -ESTALE);
}

Test(pages_evict, a_use_lasts_until_the_unpin)
{
    struct locus_pages *pages = arena(3);
    locus_range held = resident(pages, 1, 1, 1), brief = resident(pages, 1, 2, 2);
    locus_pages_set_time(pages, 3);
    cr_assert_eq(locus_pages_pin(pages, held), 0);
    locus_pages_set_time(pages, 4);
    cr_assert_eq(touch(pages, brief), 0);
    locus_pages_set_time(pages, 5);
    cr_assert_eq(locus_pages_unpin(pages, held), 0);
    allocated(pages, LOCUS_PAGES_KV, 2, 3);
    cr_expect_eq(touch(pages, brief), -ESTALE);
    cr_expect_eq(touch(pages, held), 0);
}

Test(pages_evict, the_most_precious_range_of_an_extent_decides)
{
    struct locus_pages *pages = arena(6);
    const uint64_t used_ns[] = {1, 50, 2, 3, 60, 4};
    locus_range ranges[6], range;
    uint64_t owners[2];
    for (uint64_t i = 0; i < 6; i++)
        ranges[i] = resident(pages, 1, i, 0);
    for (uint64_t now_ns = 1; now_ns <= 60; now_ns++)
        for (int i = 0; i < 6; i++)
            if (used_ns[i] == now_ns) {
                locus_pages_set_time(pages, now_ns);
                cr_assert_eq(touch(pages, ranges[i]), 0);
            }
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 2, 100, &range), 0);
    cr_expect_eq(first_page(range), 2);
    cr_assert_eq(evicted(pages, owners, 2), 2);
}

Test(pages_evict, room_is_made_for_a_range_and_not_for_a_number_of_pages)
{
    struct locus_pages *pages = arena(12);
    locus_range ranges[12], range;
    for (uint64_t i = 0; i < 12; i++)
        ranges[i] = resident(pages, 1, i, i < 6 ? 2 * i : 2 * (17 - i)); // used last: 0 2 4 6 8 10 22 20 18 16 14 12
    cr_assert_eq(locus_pages_pin(pages, ranges[1]), 0);
    locus_pages_set_time(pages, 100);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 4, 100, &range), 0);
    // The four that were used longest ago do not lie together: 1 is pinned. 2 to 5 is the extent that was used longest ago.
    cr_expect_eq(first_page(range), 2);
    uint64_t owners[8];
    cr_assert_eq(evicted(pages, owners, 8), 4);
    cr_expect_eq(owners[0] * 1000 + owners[3], 2005);
    cr_expect_eq(touch(pages, ranges[0]), 0);
    cr_expect_eq(touch(pages, ranges[6]), 0);
    cr_expect_eq(locus_pages_bytes(pages, range), 4u * (512u << 10));
}

Test(pages_evict, free_neighbours_are_used_and_what_is_left_over_is_given_back)
{
    struct locus_pages *pages = arena(12);
    locus_range a = resident(pages, 3, 1, 1), b = resident(pages, 5, 2, 2), c = resident(pages, 4, 3, 3), range;
    cr_assert_eq(locus_pages_free(pages, NULL, a), 0);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 6, 4, &range), 0);
    cr_expect_eq(first_page(range), 0);
    cr_expect_eq(touch(pages, b), -ESTALE);
    cr_expect_eq(touch(pages, c), 0);
    cr_expect_eq(stats_of(pages).pages_largest, 2);
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_assert_eq(locus_pages_free(pages, NULL, range), 0);
    cr_expect_eq(stats_of(pages).pages_largest, 8);
}

struct refusing {
    struct locus_pages *pages;
    uint64_t stays;             // this owner's range must stay
    uint64_t frees;             // this owner's range is freed while it leaves
    int answer, nested;
    unsigned calls;
};

static int leave_or_not(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    struct refusing *refusing = context;
    locus_range other;
    (void)kind;
    refusing->calls++;
    cr_expect_eq(memory, locus_pages_address(refusing->pages, range));
    cr_expect_eq(bytes, locus_pages_bytes(refusing->pages, range));
    cr_expect_eq(locus_pages_pin(refusing->pages, range), -EBUSY);
    if (owner == refusing->frees)
        cr_expect_eq(locus_pages_free(refusing->pages, NULL, range), 0);
    refusing->nested = ask_for(refusing->pages, LOCUS_PAGES_SCRATCH, stats_of(refusing->pages).pages, 99, &other);
    return owner == refusing->stays ? -EIO : refusing->answer;
}

static struct locus_pages *refusing_arena(struct refusing *refusing, uint32_t count)
{
    struct locus_pages_config config = arena_config(count);
    config.evict = leave_or_not;
    config.context = refusing;
    return refusing->pages = arena_of(&config);
}

Test(pages_evict, a_range_that_must_stay_stays_and_another_leaves)
{
    struct refusing refusing = {.stays = 1};
    struct locus_pages *pages = refusing_arena(&refusing, 6);
    locus_range stays = resident(pages, 2, 1, 1), leaves = resident(pages, 4, 2, 2), range;
    locus_pages_set_time(pages, 9);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 1, 3, &range), 0);
    cr_expect_eq(touch(pages, stays), 0);
    cr_expect_eq(touch(pages, leaves), -ESTALE);
    cr_expect_eq(stats_of(pages).evict_refused, 1);
    cr_expect_eq(refusing.calls, 2);
    cr_expect_eq(refusing.nested, -EDEADLK, "an allocation in `leave` waits for nobody");
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 6, 3, &range), -ENOMEM);
}

// Of ranges of one size the order of LRU; but as a score that ages it is asked anew for each victim.
static double aging(const struct locus_score_view *view)
{
    return -(double)view->idle_ns * (double)view->pages;
}

Test(pages_evict, what_must_stay_is_asked_last_the_next_time)
{
    static const struct locus_score_ops ages = {.name = "ages", .ages = true, .score = aging};
    struct refusing refusing = {.stays = 1};
    struct locus_pages_config config = arena_config(3);
    config.evict = leave_or_not;
    config.context = &refusing;
    config.score = &ages;
    struct locus_pages *pages = refusing.pages = arena_of(&config);
    for (uint64_t i = 1; i <= 3; i++)
        resident(pages, 1, i, i);
    locus_pages_set_time(pages, 5);
    allocated(pages, LOCUS_PAGES_KV, 1, 4);
    cr_expect_eq(refusing.calls, 2, "the first one stays, the second one leaves");
    locus_pages_set_time(pages, 6);
    allocated(pages, LOCUS_PAGES_KV, 1, 5);
    cr_expect_eq(refusing.calls, 3, "the third one leaves, and the first one is not asked again");
}

Test(pages_evict, a_extent_with_a_range_that_must_stay_is_given_up)
{
    struct refusing refusing = {.stays = 1};
    struct locus_pages *pages = refusing_arena(&refusing, 6);
    locus_range gone = resident(pages, 2, 2, 1), stays = resident(pages, 2, 1, 2), late = resident(pages, 2, 3, 30), range;
    locus_pages_set_time(pages, 40);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 4, 4, &range), -ENOMEM);
    cr_expect_eq(touch(pages, stays), 0);
    cr_expect_eq(touch(pages, gone), -ESTALE, "it has left before the other refused");
    cr_expect_eq(touch(pages, late), 0, "no extent is possible without the one that stays");
    cr_expect_eq(stats_of(pages).pages_free, 2);
}

Test(pages_evict, a_free_while_it_leaves_is_a_free_and_no_eviction)
{
    struct refusing refusing = {.frees = 1};
    struct locus_pages *pages = refusing_arena(&refusing, 6);
    resident(pages, 6, 1, 1);
    allocated(pages, LOCUS_PAGES_KV, 1, 2);
    struct locus_pages_stats stats = stats_of(pages);
    cr_expect_eq(stats.ranges_freed, 1);
    cr_expect_eq(stats.ranges_evicted[LOCUS_PAGES_KV][LOCUS_EVICTED_FOR_ROOM], 0);
    cr_expect_eq(stats.pages_free, 5);
}

Test(pages_evict, contents_that_are_still_being_saved_are_room_on_its_way)
{
    struct refusing refusing = {.answer = 1};
    struct locus_pages *pages = refusing_arena(&refusing, 6);
    locus_range first = resident(pages, 3, 1, 1), second = resident(pages, 3, 2, 2), range;
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 2, 3, &range), -EAGAIN);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 2, 3, &range), -EAGAIN);
    cr_expect_eq(refusing.calls, 1, "the second ask waits for the room that the first one began to make");
    cr_expect_eq(touch(pages, second), 0);
    cr_assert_eq(locus_pages_evict_done(pages, first, 0), 0);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 2, 3, &range), 0);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 2, 4, &range), -EAGAIN);
    cr_assert_eq(locus_pages_evict_done(pages, second, -EIO), 0);
    cr_expect_eq(touch(pages, second), 0, "it could not be saved, so it stays");
    cr_expect_eq(stats_of(pages).evict_refused, 1);
}

Test(pages_evict, one_answer_ends_a_range_that_was_freed_while_it_left)
{
    struct refusing refusing = {.answer = 1, .frees = 1};
    struct locus_pages *pages = refusing_arena(&refusing, 4);
    locus_range range = resident(pages, 2, 1, 1), pinned = allocated(pages, LOCUS_PAGES_KV, 2, 2), next;
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 1, 3, &next), -EAGAIN);
    cr_expect_eq(locus_pages_evict_done(pages, range, 0), 0);
    cr_expect_eq(locus_pages_evict_done(pages, range, 0), -ESTALE);
    cr_expect_eq(stats_of(pages).pages_free, 2);
    cr_assert_eq(locus_pages_free(pages, NULL, pinned), 0);
    cr_expect_eq(locus_pages_evict_done(pages, pinned, 0), -ESTALE, "nobody evicts it: its pin is its holder's");
    cr_expect_eq(stats_of(pages).pages_pinned, 2);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 4, 3, &next), -ENOMEM, "and no room is on its way");
}

Test(pages_evict, one_that_must_stay_does_not_keep_the_others)
{
    for (uint32_t i = 0; locus_score_at(i); i++) {
        struct refusing refusing = {.stays = 3};
        struct locus_pages_config config = arena_config(8);
        config.evict = leave_or_not;
        config.context = &refusing;
        config.score = locus_score_at(i);
        struct locus_pages *pages = refusing.pages = arena_of(&config);
        locus_range range;
        for (uint64_t owner = 1; owner <= 8; owner++) {
            struct locus_pages_request ask = {.kind = LOCUS_PAGES_SCRATCH,
                                              .pages = 1,
                                              .owner = owner,
                                              .cost_ns = owner == 3 ? 0 : 5};
            cr_assert_eq(locus_pages_alloc(pages, NULL, &ask, &range), 0);
            cr_assert_eq(locus_pages_unpin(pages, range), 0);
        }
        locus_pages_set_time(pages, SECOND_NS);
        for (int more = 0; more < 7; more++)
            cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 1, 9, &range), 0, "%s, range %d", config.score->name, more);
        cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 1, 9, &range), -ENOMEM, "%s", config.score->name);
        cr_expect_leq(refusing.calls, 7 + 8, "it is asked once in each ask");
    }
}

static int leave_and_evict(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory,
                           uint64_t bytes)
{
    struct refusing *refusing = context;
    (void)range, (void)owner, (void)memory, (void)bytes;
    refusing->calls++;
    refusing->nested = locus_pages_evict(refusing->pages, kind, 1);
    return 0;
}

Test(pages_evict, who_evicts_may_ask_for_room_that_is_there)
{
    struct refusing refusing = {.nested = 1};
    struct locus_pages_config config = arena_config(4);
    config.evict = leave_and_evict;
    config.context = &refusing;
    struct locus_pages *pages = refusing.pages = arena_of(&config);
    locus_range range;
    resident(pages, 2, 1, 1);
    allocated(pages, LOCUS_PAGES_KV, 1, 2);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 2, 3, &range), 0);
    cr_expect_eq(refusing.calls, 1);
    cr_expect_eq(refusing.nested, 0, "the last page is free");
}

Test(pages_evict, a_extent_is_given_up_at_the_first_refusal)
{
    struct refusing refusing = {.stays = 3};
    struct locus_pages *pages = refusing_arena(&refusing, 8);
    locus_range ranges[8], range;
    for (uint64_t i = 0; i < 8; i++)
        ranges[i] = resident(pages, 1, i, i);
    locus_pages_set_time(pages, 100);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 8, 9, &range), -ENOMEM);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(touch(pages, ranges[i]), i < 3 ? -ESTALE : 0, "whoever was not asked yet stays: %d", i);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 4, 9, &range), 0, "beside the one that must stay there is room");
    cr_expect_eq(first_page(range), 4);
}

Test(pages_evict, room_on_its_way_in_one_zone_is_none_in_another)
{
    struct refusing refusing = {.answer = 1};
    struct locus_pages_config config = arena_config(8);
    config.split = LOCUS_SPLIT_ZONES;
    config.zone_pages[LOCUS_PAGES_KV] = config.zone_pages[LOCUS_PAGES_ADAPTER] = 4;
    config.evict = leave_or_not;
    config.context = &refusing;
    struct locus_pages *pages = refusing.pages = arena_of(&config);
    locus_range range, adapter;
    resident(pages, 4, 1, 1);
    cr_assert_eq(ask_for(pages, LOCUS_PAGES_ADAPTER, 4, 2, &adapter), 0);
    cr_assert_eq(locus_pages_unpin(pages, adapter), 0);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 1, 3, &range), -EAGAIN);
    refusing.answer = 0;
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_ADAPTER, 1, 4, &range), 0);
}

Test(pages_evict, an_ask_that_evicts_nobody_is_refused)
{
    struct locus_pages *pages = arena(4);
    locus_range kept = resident(pages, 4, 1, 1), range;
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 1, .no_evict = true};
    cr_expect_eq(locus_pages_alloc(pages, NULL, &ask, &range), -ENOMEM);
    cr_expect_eq(touch(pages, kept), 0);
}

Test(pages_evict, room_can_be_asked_for_beforehand)
{
    struct locus_pages *pages = arena(8);
    resident(pages, 4, 1, 1);
    locus_range late = resident(pages, 4, 2, 2);
    cr_expect_eq(locus_pages_evict(pages, LOCUS_PAGES_KV, 3), 0);
    cr_expect_eq(stats_of(pages).pages_largest, 4);
    cr_expect_eq(stats_of(pages).ranges_evicted[LOCUS_PAGES_KV][LOCUS_EVICTED_ON_REQUEST], 1);
    cr_expect_eq(locus_pages_evict(pages, LOCUS_PAGES_KV, 4), 0, "there is room");
    cr_expect_eq(touch(pages, late), 0);
    cr_expect_eq(locus_pages_evict(pages, LOCUS_PAGES_KV, 9), -EINVAL);
    cr_expect_eq(locus_pages_evict(pages, LOCUS_PAGES_GRADIENT, 1), -EOPNOTSUPP);
}

// --- watermarks ----------------------------------------------------------------------------------------------------------------

static struct locus_pages *marked(bool by_caller)
{
    struct locus_pages_config config = arena_config(100);
    config.high_permille = 900;
    config.low_permille = 800;
    config.balance_by_caller = by_caller;
    return arena_of(&config);
}

static uint32_t in_use(const struct locus_pages *pages)
{
    return 100 - stats_of(pages).pages_free;
}

Test(pages_evict, between_the_watermarks_it_does_what_it_did_last)
{
    struct locus_pages *pages = marked(false);
    uint32_t seen_most = 0;
    for (uint64_t i = 0; i < 500; i++) {
        resident(pages, 1, i, i);
        uint32_t now = in_use(pages);
        seen_most = now > seen_most ? now : seen_most;
        cr_assert_eq(now, i < 89 ? i + 1 : 80 + (i - 89) % 10, "after %d", (int)i);
    }
    cr_expect_eq(seen_most, 89);
    cr_expect_eq(stats_of(pages).pages_peak, 90);
    cr_expect_eq(stats_of(pages).ranges_evicted[LOCUS_PAGES_KV][LOCUS_EVICTED_BY_WATERMARK], 500 - in_use(pages));
}

Test(pages_evict, a_caller_who_balances_decides_when)
{
    struct locus_pages *pages = marked(true);
    for (uint64_t i = 0; i < 95; i++)
        resident(pages, 1, i, i);
    cr_expect_eq(in_use(pages), 95);
    cr_expect_eq(locus_pages_balance(pages), 15);
    cr_expect_eq(in_use(pages), 80);
    for (uint64_t i = 0; i < 9; i++)
        resident(pages, 1, i, 100 + i);
    cr_expect_eq(locus_pages_balance(pages), 0, "89 is below the high one");
    resident(pages, 1, 1, 200);
    cr_expect_eq(locus_pages_balance(pages), 10);
    struct locus_pages *without = arena(4);
    resident(without, 4, 1, 1);
    cr_expect_eq(locus_pages_balance(without), 0);
}

// Half of what must leave is pinned, so the low watermark is not reached; the arena goes on when it can.
Test(pages_evict, it_goes_on_when_pins_end)
{
    struct locus_pages *pages = marked(false);
    locus_range pinned = allocated(pages, LOCUS_PAGES_KV, 86, 1), range;
    for (uint64_t i = 0; i < 4; i++)
        resident(pages, 1, i, i);
    cr_expect_eq(in_use(pages), 87, "the allocation that crosses the mark keeps its own range");
    cr_expect(stats_of(pages).draining);
    cr_assert_eq(locus_pages_unpin(pages, pinned), 0);
    cr_expect_eq(locus_pages_balance(pages), 86);
    cr_expect_not(stats_of(pages).draining);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 88, 1, &range), 0);
    cr_expect_not(stats_of(pages).draining);
}

Test(pages_evict, a_watermark_between_two_numbers_of_pages_is_kept_on_its_side)
{
    struct locus_pages_config config = arena_config(7);
    config.high_permille = 900; // 6.3 pages
    config.low_permille = 500;  // 3.5 pages
    config.balance_by_caller = true;
    struct locus_pages *pages = arena_of(&config);
    for (uint64_t i = 0; i < 6; i++)
        resident(pages, 1, i, i);
    cr_expect_eq(locus_pages_balance(pages), 0, "6 pages are not 90 %% of 7");
    resident(pages, 1, 6, 6);
    cr_expect_eq(locus_pages_balance(pages), 4, "4 pages are more than half of 7");
}

static int leave_later(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    struct refusing *refusing = context;
    (void)kind, (void)owner, (void)memory, (void)bytes;
    if (++refusing->calls > 10000)
        return 0; // or the test would never end
    cr_expect_eq(locus_pages_evict_done(refusing->pages, range, refusing->answer), 0);
    return 1;
}

static struct locus_pages *later(struct refusing *refusing)
{
    struct locus_pages_config config = arena_config(100);
    config.high_permille = 900;
    config.low_permille = 800;
    config.evict = leave_later;
    config.context = refusing;
    return refusing->pages = arena_of(&config);
}

Test(pages_evict, refusals_that_come_later_end_the_eviction_all_the_same)
{
    struct refusing refusing = {.answer = -EIO};
    struct locus_pages *pages = later(&refusing);
    for (uint64_t i = 0; i < 90; i++)
        resident(pages, 1, i, i);
    cr_expect_eq(refusing.calls, 64, "the number of refusals after which an ask is given up");
    cr_expect_eq(stats_of(pages).evict_refused, 64);
    cr_expect_eq(stats_of(pages).pages_pinned, 0);
    cr_expect(stats_of(pages).draining);
    resident(pages, 1, 90, 90);
    cr_expect_eq(refusing.calls, 64, "and it is not tried again at once");
}

Test(pages_evict, later_answers_that_let_go_reach_the_low_watermark)
{
    struct refusing refusing = {0};
    struct locus_pages *pages = later(&refusing);
    for (uint64_t i = 0; i < 90; i++)
        resident(pages, 1, i, i);
    cr_expect_eq(in_use(pages), 80);
    cr_expect_not(stats_of(pages).draining);
}

Test(pages_evict, what_comes_back_within_a_second_is_thrash)
{
    struct locus_pages *pages = arena(2);
    resident(pages, 2, 1, 0);
    resident(pages, 2, 2, SECOND_NS);            // evicts 1
    resident(pages, 2, 1, SECOND_NS * 3 / 2);    // thrash, and evicts 2
    cr_expect_eq(stats_of(pages).thrashed, 1);
    locus_pages_evict(pages, LOCUS_PAGES_KV, 2); // evicts 1
    locus_range other = allocated(pages, LOCUS_PAGES_ADAPTER, 1, 1);
    cr_expect_eq(stats_of(pages).thrashed, 1, "another kind");
    locus_pages_set_time(pages, 4 * SECOND_NS);
    allocated(pages, LOCUS_PAGES_KV, 1, 1);
    cr_expect_eq(stats_of(pages).thrashed, 1, "later than a second");
    cr_expect_eq(touch(pages, other), 0);
}

// --- scores --------------------------------------------------------------------------------------------------------------------

static double scored(const char *name, enum locus_pages_kind kind, uint32_t count, uint64_t idle_ns, uint64_t cost_ns)
{
    struct locus_score_view view = {kind, count, 1000, 7, idle_ns, cost_ns};
    return locus_score_find(name)->score(&view);
}

Test(pages_evict, scores_are_as_their_files_say)
{
    cr_expect_float_eq(scored("lru", LOCUS_PAGES_KV, 9, 50, 1), -50, 1e-9);
    cr_expect_float_eq(scored("weighted", LOCUS_PAGES_KV, 100, 0, 0), 0.6 + 0.02 + 1.0, 1e-9);
    cr_expect_float_eq(scored("weighted", LOCUS_PAGES_SCRATCH, 100, SECOND_NS, 0), 0.3 + 0.02 + 0.2, 1e-9);
    cr_expect_float_eq(scored("weighted", LOCUS_PAGES_ADAPTER, 0, 59 * SECOND_NS, 0), 0.01 + 0.8, 1e-9);
    cr_expect_float_eq(scored("weighted", LOCUS_PAGES_ADAPTER, 0, 60 * SECOND_NS, 0), 0.6 / 61 + 0.6, 1e-9);
    cr_expect_null(locus_score_find("none"));
    uint32_t count = 0;
    while (locus_score_at(count))
        count++;
    cr_expect_eq(count, 2, "a file's score is missing from the list");
}

// The document's own score keeps a KV range that nobody has used for an hour and gives up scratch that was used just now.
Test(pages_evict, the_weighted_score_ranks_an_idle_hour_of_kv_above_fresh_scratch)
{
    const char *names[] = {"weighted", "lru"};
    for (int i = 0; i < 2; i++) {
        struct locus_pages_config config = arena_config(2);
        config.score = locus_score_find(names[i]);
        struct locus_pages *pages = arena_of(&config);
        locus_range kv = resident(pages, 1, 1, 0);
        locus_pages_set_time(pages, 3600 * SECOND_NS);
        locus_range scratch = allocated(pages, LOCUS_PAGES_SCRATCH, 1, 2);
        cr_assert_eq(locus_pages_unpin(pages, scratch), 0);
        allocated(pages, LOCUS_PAGES_KV, 1, 3);
        cr_expect_eq(touch(pages, i == 0 ? scratch : kv), -ESTALE);
        cr_expect_eq(touch(pages, i == 0 ? kv : scratch), 0);
    }
}
