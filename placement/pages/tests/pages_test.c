// SPDX-License-Identifier: Apache-2.0
//
// pages: the table of pages.h, cell by cell; handles, kinds, zones, magazines and refusals.
#include "pages_test.h"

#include <string.h>

enum { FREE, PREPARED, UNPINNED, PINNED, EVICTING, DOOMED, STATES };

struct fixture {
    struct locus_pages *pages;
    struct locus_pages_set *set;
    locus_range range;
    locus_range leaving;        // what `leave` was called for
};

static int leaves_later(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    struct fixture *fixture = context;
    (void)kind, (void)owner, (void)memory, (void)bytes;
    fixture->leaving = range;
    return 1;
}

static void bring_to(struct fixture *fixture, int state)
{
    struct locus_pages_config config = arena_config(4);
    config.evict = leaves_later;
    config.context = fixture;
    fixture->pages = arena_of(&config);
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 4};
    if (state == PREPARED) {
        cr_assert_eq(locus_pages_set_prepare(&fixture->set, fixture->pages, &ask, 1, &fixture->range), 0);
        return;
    }
    fixture->range = allocated(fixture->pages, LOCUS_PAGES_KV, 4, 1);
    if (state == FREE || state == DOOMED)
        cr_assert_eq(locus_pages_free(fixture->pages, NULL, fixture->range), 0);
    if (state == FREE || state == UNPINNED || state == EVICTING)
        cr_assert_eq(locus_pages_unpin(fixture->pages, fixture->range), 0);
    if (state == EVICTING)
        cr_assert_eq(locus_pages_evict(fixture->pages, LOCUS_PAGES_KV, 1), -EAGAIN);
}

static int find_range(void *context, const struct locus_range_info *info)
{
    *(struct locus_range_info *)context = *info;
    return 1;
}

static struct locus_range_info seen(const struct fixture *fixture)
{
    struct locus_range_info info = {0};
    locus_pages_each(fixture->pages, find_range, &info);
    return info;
}

enum { PIN, UNPIN, FREES, EVICT, ENDS, STAYS, COMMIT, ROLL_BACK, CALLS };
#define NOT_MADE 1 // of a state in which the protocol has no such call

struct cell {
    int answer, state, pins;
};

static int make(struct fixture *fixture, int call)
{
    struct locus_pages *pages = fixture->pages;
    switch (call) {
    case PIN: return locus_pages_pin(pages, fixture->range);
    case UNPIN: return locus_pages_unpin(pages, fixture->range);
    case FREES: return locus_pages_free(pages, NULL, fixture->range);
    case EVICT: return locus_pages_evict(pages, LOCUS_PAGES_KV, 4);
    case ENDS: return locus_pages_evict_done(pages, fixture->range, 0);
    case STAYS: return locus_pages_evict_done(pages, fixture->range, -EIO);
    case COMMIT: return locus_pages_set_commit(fixture->set), 0;
    default: return locus_pages_set_rollback(fixture->set), 0;
    }
}

// Rows are states before, columns are calls: the answer, the state after, and its pins.
static const struct cell table[STATES][CALLS] = {
    [FREE] = {{-ESTALE, FREE, 0},
              {-ESTALE, FREE, 0},
              {-ESTALE, FREE, 0},
              {0, FREE, 0},
              {-ESTALE, FREE, 0},
              {-ESTALE, FREE, 0},
              {NOT_MADE, 0, 0},
              {NOT_MADE, 0, 0}},
    [PREPARED] = {{-EAGAIN, PREPARED, 1},
                  {-EPERM, PREPARED, 1},
                  {-EPERM, PREPARED, 1},
                  {-ENOMEM, PREPARED, 1},
                  {-ESTALE, PREPARED, 1},
                  {-ESTALE, PREPARED, 1},
                  {0, PINNED, 1},
                  {0, FREE, 0}},
    [UNPINNED] = {{0, PINNED, 1},
                  {-EPERM, UNPINNED, 0},
                  {0, FREE, 0},
                  {-EAGAIN, EVICTING, 1},
                  {-ESTALE, UNPINNED, 0},
                  {-ESTALE, UNPINNED, 0},
                  {NOT_MADE, 0, 0},
                  {NOT_MADE, 0, 0}},
    [PINNED] = {{0, PINNED, 2},
                {0, UNPINNED, 0},
                {0, DOOMED, 1},
                {-ENOMEM, PINNED, 1},
                {-ESTALE, PINNED, 1},
                {-ESTALE, PINNED, 1},
                {NOT_MADE, 0, 0},
                {NOT_MADE, 0, 0}},
    [EVICTING] = {{-EBUSY, EVICTING, 1},
                  {-EPERM, EVICTING, 1},
                  {0, DOOMED, 1},
                  {-EAGAIN, EVICTING, 1},
                  {0, FREE, 0},
                  {0, UNPINNED, 0},
                  {NOT_MADE, 0, 0},
                  {NOT_MADE, 0, 0}},
    [DOOMED] = {{-ESTALE, DOOMED, 1},
                {0, FREE, 0},
                {-ESTALE, DOOMED, 1},
                {-ENOMEM, DOOMED, 1},
                {-ESTALE, DOOMED, 1},
                {-ESTALE, DOOMED, 1},
                {NOT_MADE, 0, 0},
                {NOT_MADE, 0, 0}},
};

static int state_seen(const struct fixture *fixture, int *pins)
{
    static const int of[] = {[LOCUS_RANGE_FREE] = FREE,
                             [LOCUS_RANGE_PREPARED] = PREPARED,
                             [LOCUS_RANGE_RESIDENT] = UNPINNED,
                             [LOCUS_RANGE_EVICTING] = EVICTING,
                             [LOCUS_RANGE_DOOMED] = DOOMED};
    struct locus_range_info info = seen(fixture);
    *pins = (int)info.pins;
    return of[info.state] + (info.state == LOCUS_RANGE_RESIDENT && info.pins > 0);
}

Test(pages, each_call_in_each_state_does_what_the_table_says)
{
    for (int state = 0; state < STATES; state++)
        for (int call = 0; call < CALLS; call++) {
            const struct cell *cell = &table[state][call];
            struct fixture fixture = {0};
            int pins;
            if (cell->answer == NOT_MADE)
                continue;
            bring_to(&fixture, state);
            cr_assert_eq(state_seen(&fixture, &pins), state, "state %d is not brought about", state);
            int answer = make(&fixture, call), after = state_seen(&fixture, &pins);
            cr_expect_eq(answer, cell->answer, "state %d, call %d: answer %d", state, call, answer);
            cr_expect_eq(after, cell->state, "state %d, call %d: becomes %d", state, call, after);
            cr_expect_eq(pins, cell->pins, "state %d, call %d: %d pins", state, call, pins);
        }
}

Test(pages, a_range_that_ended_takes_its_handle_along)
{
    struct locus_pages *pages = arena(1);
    locus_range first = allocated(pages, LOCUS_PAGES_KV, 1, 1);
    cr_assert_eq(locus_pages_unpin(pages, first), 0);
    cr_assert_eq(locus_pages_free(pages, NULL, first), 0);
    locus_range second = allocated(pages, LOCUS_PAGES_KV, 1, 2);
    cr_expect_neq(first, second);
    cr_expect_eq(locus_pages_pin(pages, first), -ESTALE);
    cr_expect_eq(locus_pages_free(pages, NULL, first), -ESTALE);
    cr_expect_eq(locus_pages_unpin(pages, first), -ESTALE);
    cr_expect_eq(locus_pages_evict_done(pages, first, 0), -ESTALE);
    cr_expect_eq(touch(pages, second), 0);
    cr_expect_eq(stats_of(pages).pins_refused, 1);
    cr_expect_eq(locus_pages_pin(pages, LOCUS_RANGE_NONE), -ESTALE);
    cr_expect_eq(locus_pages_pin(pages, UINT64_MAX), -ESTALE);
    cr_expect_eq(locus_pages_unpin(pages, UINT64_MAX), -ESTALE);
    cr_expect_eq(locus_pages_free(pages, NULL, UINT64_MAX), -ESTALE);
    cr_expect_eq(locus_pages_evict_done(pages, UINT64_MAX, 0), -ESTALE);
}

Test(pages, a_free_of_a_pinned_range_happens_at_the_last_unpin)
{
    struct locus_pages *pages = arena(4);
    locus_range range = allocated(pages, LOCUS_PAGES_ADAPTER, 3, 1);
    cr_assert_eq(locus_pages_pin(pages, range), 0);
    cr_assert_eq(locus_pages_free(pages, NULL, range), 0);
    cr_expect_eq(stats_of(pages).pages_free, 1);
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_expect_eq(stats_of(pages).pages_free, 1);
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_expect_eq(stats_of(pages).pages_free, 4);
    cr_expect_eq(stats_of(pages).pages_largest, 4);
}

Test(pages, more_pins_than_the_word_may_hold_are_refused)
{
    struct locus_pages *pages = arena(1);
    locus_range range = allocated(pages, LOCUS_PAGES_KV, 1, 1);
    for (uint32_t i = 1; i < LOCUS_PINS_MAX; i++)
        cr_assert_eq(locus_pages_pin(pages, range), 0);
    cr_expect_eq(locus_pages_pin(pages, range), -EOVERFLOW);
    for (uint32_t i = 0; i < LOCUS_PINS_MAX; i++)
        cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_expect_eq(locus_pages_unpin(pages, range), -EPERM);
}

Test(pages, asks_that_cannot_be_met_are_refused)
{
    struct locus_pages *pages = arena(8);
    locus_range range;
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_GRADIENT, 1, 1, &range), -EOPNOTSUPP);
    cr_expect_eq(ask_for(pages, (enum locus_pages_kind)7, 1, 1, &range), -EINVAL);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 0, 1, &range), -EINVAL);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 9, 1, &range), -EINVAL);
    cr_expect_eq(range, LOCUS_RANGE_NONE);
    allocated(pages, LOCUS_PAGES_KV, 8, 1);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 1, 1, &range), -ENOMEM);
}

Test(pages, a_scoped_pin_ends_with_its_scope)
{
    struct locus_pages *pages = arena(2);
    locus_range range = resident(pages, 1, 1, 0);
    {
        LOCUS_PINNED struct locus_pin pin = {0};
        cr_assert_eq(locus_pin_take(&pin, pages, range), 0);
        cr_expect_eq(locus_pin_take(&pin, pages, range), -EBUSY);
        cr_expect_eq(stats_of(pages).pages_pinned, 1);
    }
    cr_expect_eq(stats_of(pages).pages_pinned, 0);
    LOCUS_PINNED struct locus_pin refused = {0};
    cr_assert_eq(locus_pages_free(pages, NULL, range), 0);
    cr_expect_eq(locus_pin_take(&refused, pages, range), -ESTALE);
    cr_expect_null(refused.pages);
}

Test(pages, memory_is_whole_pages_and_apart)
{
    struct locus_pages *pages = arena(8);
    locus_range one = allocated(pages, LOCUS_PAGES_KV, 3, 1), other = allocated(pages, LOCUS_PAGES_SCRATCH, 2, 2);
    char *a = locus_pages_address(pages, one), *b = locus_pages_address(pages, other);
    cr_expect_eq((uintptr_t)a % 4096, 0);
    cr_expect_eq(locus_pages_bytes(pages, one), 3u * (512u << 10));
    memset(a, 1, locus_pages_bytes(pages, one));
    memset(b, 2, locus_pages_bytes(pages, other));
    cr_expect_eq(a[locus_pages_bytes(pages, one) - 1], 1);
    cr_expect(a + locus_pages_bytes(pages, one) <= b || b + locus_pages_bytes(pages, other) <= a);
}

Test(pages, each_kind_stays_in_its_zone)
{
    struct locus_pages_config config = arena_config(10);
    config.split = LOCUS_SPLIT_ZONES;
    uint32_t zones[LOCUS_PAGES_KINDS] = {4, 3, 2, 1};
    memcpy(config.zone_pages, zones, sizeof zones);
    struct locus_pages *pages = arena_of(&config);
    locus_range range;
    cr_expect_eq(first_page(allocated(pages, LOCUS_PAGES_ACTIVATION, 1, 1)), 9);
    cr_expect_eq(first_page(allocated(pages, LOCUS_PAGES_SCRATCH, 2, 1)), 7);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_SCRATCH, 1, 1, &range), -ENOMEM);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_ADAPTER, 4, 1, &range), -EINVAL);
    locus_range adapter = allocated(pages, LOCUS_PAGES_ADAPTER, 3, 1);
    cr_expect_eq(first_page(adapter), 4);
    cr_assert_eq(locus_pages_unpin(pages, adapter), 0);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 4, 1, &range), 0);
    cr_expect_eq(first_page(range), 0);
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_KV, 1, 1, &range), -ENOMEM, "an adapter left for KV");
    cr_expect_eq(ask_for(pages, LOCUS_PAGES_ADAPTER, 1, 2, &range), 0, "its own kind may take its room");
    cr_expect_eq(first_page(range), 4);
}

Test(pages, kinds_grow_from_both_ends)
{
    struct locus_pages_config config = arena_config(10);
    config.split = LOCUS_SPLIT_ENDS;
    struct locus_pages *pages = arena_of(&config);
    cr_expect_eq(first_page(allocated(pages, LOCUS_PAGES_KV, 2, 1)), 0);
    cr_expect_eq(first_page(allocated(pages, LOCUS_PAGES_SCRATCH, 2, 1)), 8);
    cr_expect_eq(first_page(allocated(pages, LOCUS_PAGES_ADAPTER, 1, 1)), 2);
    cr_expect_eq(first_page(allocated(pages, LOCUS_PAGES_ACTIVATION, 3, 1)), 5);
    cr_expect_eq(stats_of(pages).pages_largest, 2);
}

Test(pages, a_magazine_does_not_mix_the_ends)
{
    struct locus_pages_config config = arena_config(10);
    config.split = LOCUS_SPLIT_ENDS;
    struct locus_pages *pages = arena_of(&config);
    struct locus_magazine *magazine;
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_SCRATCH, .pages = 1};
    locus_range range;
    cr_assert_eq(locus_magazine_open(&magazine, pages), 0);
    cr_assert_eq(locus_pages_alloc(pages, magazine, &ask, &range), 0);
    cr_expect_eq(first_page(range), 9);
    cr_expect_eq(stats_of(pages).pages_largest, 9);
    locus_magazine_close(magazine);
}

// Holes of 5 and of 3 pages at the beginning, the rest in use.
static struct locus_pages *with_holes(bool first_fit)
{
    struct locus_pages_config config = arena_config(16);
    config.first_fit = first_fit;
    struct locus_pages *pages = arena_of(&config);
    locus_range five = allocated(pages, LOCUS_PAGES_KV, 5, 1);
    allocated(pages, LOCUS_PAGES_KV, 1, 1);
    locus_range three = allocated(pages, LOCUS_PAGES_KV, 3, 1);
    allocated(pages, LOCUS_PAGES_KV, 7, 1);
    locus_range holes[] = {five, three};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(locus_pages_unpin(pages, holes[i]), 0);
        cr_assert_eq(locus_pages_free(pages, NULL, holes[i]), 0);
    }
    return pages;
}

Test(pages, best_fit_takes_the_smaller_hole_and_first_fit_the_first)
{
    struct locus_pages *best = with_holes(false), *first = with_holes(true), *hurried = with_holes(false);
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 2, .first_fit = true};
    locus_range range;
    cr_expect_eq(first_page(allocated(best, LOCUS_PAGES_KV, 2, 1)), 6);
    cr_expect_eq(first_page(allocated(first, LOCUS_PAGES_KV, 2, 1)), 0);
    cr_expect_eq(locus_pages_alloc(hurried, NULL, &ask, &range), 0);
    cr_expect_eq(first_page(range), 0);
}

Test(pages, a_magazine_keeps_single_pages_and_others_take_them_before_anybody_leaves)
{
    struct locus_pages *pages = arena(32);
    struct locus_magazine *magazine;
    locus_range held[32];
    struct locus_pages_request one = {.kind = LOCUS_PAGES_KV, .pages = 1};
    cr_assert_eq(locus_magazine_open(&magazine, pages), 0);
    cr_assert_eq(locus_pages_alloc(pages, magazine, &one, &held[0]), 0);
    struct locus_pages_stats stats = stats_of(pages);
    cr_expect_eq(stats.pages_in_magazines, 7, "half a magazine of 16 came, and one page went");
    cr_expect_eq(stats.pages_free, 31);
    cr_expect_eq(stats.ranges_allocated, 1);
    cr_assert_eq(locus_pages_unpin(pages, held[0]), 0);
    cr_expect_eq(locus_pages_close(pages), -EBUSY, "a magazine is open");
    locus_range range = allocated(pages, LOCUS_PAGES_KV, 31, 2);
    cr_expect_eq(first_page(range), 1);
    stats = stats_of(pages);
    cr_expect_eq(stats.pages_in_magazines, 0);
    cr_expect_eq(stats.ranges_evicted[LOCUS_PAGES_KV][LOCUS_EVICTED_FOR_ROOM], 0);
    cr_expect_eq(touch(pages, held[0]), 0);
    cr_assert_eq(locus_pages_free(pages, magazine, held[0]), 0);
    cr_expect_eq(stats_of(pages).pages_in_magazines, 1);
    locus_magazine_close(magazine);
    cr_expect_eq(stats_of(pages).pages_in_magazines, 0);
    cr_expect_eq(stats_of(pages).ranges_allocated, 2);
    cr_expect_eq(stats_of(pages).ranges_freed, 1);
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_expect_eq(locus_pages_close(pages), 0);
}

Test(pages, what_left_a_magazine_long_ago_is_not_counted_in_one)
{
    struct locus_pages *pages = arena(8);
    struct locus_magazine *magazine;
    struct locus_pages_request one = {.kind = LOCUS_PAGES_KV, .pages = 1};
    locus_range range;
    cr_assert_eq(locus_magazine_open(&magazine, pages), 0);
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(locus_pages_alloc(pages, magazine, &one, &range), 0);
        cr_assert_eq(locus_pages_unpin(pages, range), 0);
    }
    range = allocated(pages, LOCUS_PAGES_KV, 8, 1); // all of them leave
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_assert_eq(locus_pages_free(pages, NULL, range), 0);
    allocated(pages, LOCUS_PAGES_KV, 3, 2);
    cr_expect_eq(stats_of(pages).pages_free, 5);
    cr_expect_eq(stats_of(pages).pages_in_magazines, 0);
    locus_magazine_close(magazine);
}

Test(pages, a_full_magazine_gives_to_the_arena)
{
    struct locus_pages_config config = arena_config(64);
    config.magazine_pages = 4;
    struct locus_pages *pages = arena_of(&config);
    struct locus_magazine *magazine;
    locus_range held[16];
    struct locus_pages_request one = {.kind = LOCUS_PAGES_KV, .pages = 1};
    cr_assert_eq(locus_magazine_open(&magazine, pages), 0);
    for (int i = 0; i < 16; i++)
        cr_assert_eq(locus_pages_alloc(pages, magazine, &one, &held[i]), 0);
    for (int i = 0; i < 16; i++) {
        cr_assert_eq(locus_pages_unpin(pages, held[i]), 0);
        cr_assert_eq(locus_pages_free(pages, magazine, held[i]), 0);
    }
    cr_expect_eq(stats_of(pages).pages_in_magazines, 4);
    cr_expect_eq(stats_of(pages).pages_free, 64);
    locus_magazine_close(magazine);
    cr_expect_eq(stats_of(pages).pages_largest, 64, "everything has joined again");
}

static int refuses(struct locus_pages_config *config, const char *word)
{
    struct locus_pages *pages;
    char why[200];
    int error = locus_pages_open(&pages, config);
    locus_pages_why(config, error, why, sizeof why);
    cr_expect_null(pages);
    cr_expect(strstr(why, word), "%s", why);
    return error;
}

Test(pages, open_refuses_what_is_not_possible_and_says_why)
{
    struct {
        size_t offset, bytes;
        uint64_t value;
        const char *word;
    } cases[] = {
#define CASE(member, value, word) {offsetof(struct locus_pages_config, member), sizeof arena_config(1).member, value, word}
        CASE(page_bytes, 3 << 20, "page_bytes"),
        CASE(page_bytes, 8 << 20, "page_bytes"),
        CASE(page_bytes, 4096, "page_bytes"),
        CASE(pages, 0, "pages"),
        CASE(pages, (1 << 24) + 1, "pages"),
        CASE(page, LOCUS_PAGE_1G, "hugetlb"),
        CASE(page, LOCUS_PAGE_2M, "hugetlb"),
        CASE(magazine_pages, 65, "magazine"),
        CASE(split, 3, "split"),
        CASE(split, LOCUS_SPLIT_ZONES, "zone"),
        CASE(low_permille, 10, "watermarks"),
        CASE(high_permille, 1001, "watermarks"),
        CASE(sets, 65537, "sets"),
        CASE(size, 7, "size"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct locus_pages_config config = arena_config(8);
        memcpy((char *)&config + cases[i].offset, &cases[i].value, cases[i].bytes);
        cr_expect_eq(refuses(&config, cases[i].word), -EINVAL, "case %zu", i);
    }
    struct locus_pages_config equal = arena_config(8), no_node = arena_config(8);
    equal.low_permille = equal.high_permille = 900;
    cr_expect_eq(refuses(&equal, "band"), -EINVAL);
    no_node.policy = LOCUS_POLICY_BIND;
    no_node.node = 1000;
    cr_expect_eq(refuses(&no_node, "1000"), -EINVAL);
}

Test(pages, close_refuses_while_anybody_pins)
{
    struct locus_pages *pages = arena(2);
    locus_range range = allocated(pages, LOCUS_PAGES_KV, 1, 1);
    cr_expect_eq(locus_pages_close(pages), -EBUSY);
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_expect_eq(locus_pages_close(pages), 0);
    cr_expect_eq(locus_pages_close(NULL), 0);
    locus_magazine_close(NULL);
}

static void keep_info(void *context, const struct locus_range_info *found)
{
    *(struct locus_range_info *)context = *found;
}

Test(pages, a_pin_that_is_held_too_long_is_named_with_its_owner)
{
    struct locus_pages *pages = arena(8);
    struct locus_range_info info;
    locus_pages_set_time(pages, 5 * SECOND_NS);
    allocated(pages, LOCUS_PAGES_KV, 2, 77);
    locus_range brief = resident(pages, 1, 78, 6 * SECOND_NS);
    locus_pages_set_time(pages, 34 * SECOND_NS);
    locus_pages_set_time(pages, 3 * SECOND_NS); // ignored: the clock does not go back
    cr_assert_eq(locus_pages_pin(pages, brief), 0);
    cr_expect_eq(locus_pages_overdue(pages, 30 * SECOND_NS, NULL, NULL), 0);
    locus_pages_set_time(pages, 37 * SECOND_NS);
    cr_expect_eq(locus_pages_overdue(pages, 30 * SECOND_NS, keep_info, &info), 1);
    cr_expect_eq(info.owner, 77);
    cr_expect_eq(info.pinned_since_ns, 5 * SECOND_NS);
    cr_expect_eq(info.pages, 2);
    cr_expect_eq(locus_pages_overdue(pages, 60 * SECOND_NS, NULL, NULL), 0);
}
