// SPDX-License-Identifier: Apache-2.0
//
// bill: parts of known size are found, with their intervals, within rounds; and what keeps a bill from being one.
#include <criterion/criterion.h>
#include <math.h>

#include "testbed/judge/bill.h"
#include "testbed/judge/tests/decode_fixture.h"
#include "testbed/measure/engine.h"

#define NEAR(actual, expected, tolerance)                                                                                          \
    cr_assert(fabs((actual) - (expected)) <= (tolerance), "%s is %.9g, not %.9g", #actual, (double)(actual), (double)(expected))

static struct fixture f;

// Rounds are 0 to 19 % slower than the first: 9.5 % in the mean.
Test(bill, parts_are_differences_of_a_step)
{
    static const double us[] = {
        [TB_BILL_ATTENTION] = 900, [TB_BILL_APPEND] = 60,       [TB_BILL_ALLOCATOR] = 30,  [TB_BILL_ALLOCATE] = 12,
        [TB_BILL_FREE] = 10,       [TB_BILL_DRAIN] = 8,         [TB_BILL_HARNESS] = 10,    [TB_BILL_SUM] = 1000,
        [TB_BILL_WHOLE] = 1000,    [TB_BILL_SMALL_PAGES] = 200, [TB_BILL_FIRST_TOUCH] = 50};
    struct tb_rounds *rounds = decode_fixture(&f, 20);
    struct tb_bill bill;
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    for (int line = 0; line < TB_BILL_LINES; line++) {
        const struct tb_bill_figure *figure = &bill.line[line];
        cr_assert(figure->known && figure->ns.bounded && tb_bill_told(figure), "%s", tb_bill_word((enum tb_bill_line)line));
        NEAR(figure->ns.estimate, us[line] * 1e3 * 1.095, 3e3);
        NEAR(figure->share.estimate, us[line] / 1000, 0.003);
        cr_assert(figure->share.low < figure->share.estimate || line == TB_BILL_WHOLE);
        cr_assert_leq(figure->ns.low, figure->ns.estimate);
        cr_assert_geq(figure->ns.high, figure->ns.estimate);
    }
    NEAR(bill.line[TB_BILL_WHOLE].share.high, 1, 0);
    cr_assert_eq(tb_bill_closing(&bill), TB_BILL_CLOSES);
    cr_assert_eq(bill.noisy, -1);
    cr_assert_eq(bill.invalid, -1);
}

// Half of the rounds take three times as long. A share of each does not notice.
Test(bill, shares_are_formed_within_a_round)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_bill bill;
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        fixture_scatter(rounds, 0, arm, 3);
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    NEAR(bill.line[TB_BILL_ATTENTION].share.low, 0.9, 0.003);
    NEAR(bill.line[TB_BILL_ATTENTION].share.high, 0.9, 0.003);
    cr_assert_geq(bill.noisy, 0);
}

Test(bill, a_part_lost_in_noise_cannot_be_told_from_0)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_bill bill;
    fixture_scatter(rounds, 0, NO_APPEND, 1.2);
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_lt(bill.line[TB_BILL_APPEND].ns.estimate, 0);
    cr_expect_not(tb_bill_told(&bill.line[TB_BILL_APPEND]));
    fixture_scatter(rounds, 0, NO_APPEND, 1.1 / 1.2);
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_gt(bill.line[TB_BILL_APPEND].ns.estimate, 0);
    cr_expect_not(tb_bill_told(&bill.line[TB_BILL_APPEND]));
    cr_expect(tb_bill_told(&bill.line[TB_BILL_ATTENTION]));
    rounds = decode_fixture(&f, 5);
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect(bill.line[TB_BILL_ATTENTION].known && !tb_bill_told(&bill.line[TB_BILL_ATTENTION]), "five rounds have no interval");
}

Test(bill, closes_within_5_percent_of_the_step)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_bill bill;
    fixture_slow(rounds, 0, NO_ATTEND, 1.4); // 40 us that are neither attention nor anything else
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    NEAR(bill.line[TB_BILL_SUM].share.estimate, 0.96, 0.003);
    cr_expect_eq(tb_bill_closing(&bill), TB_BILL_CLOSES);
    fixture_slow(rounds, 0, NOTHING, 3.5); // and 100 that are there twice
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    NEAR(bill.line[TB_BILL_SUM].share.estimate, 1.06, 0.003);
    cr_expect_eq(tb_bill_closing(&bill), TB_BILL_MISSES);
    fixture_slow(rounds, 0, NO_ATTEND, 1.14); // the middle of the interval is within, and its end is not
    fixture_scatter(rounds, 0, NO_ATTEND, 0.9);
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    NEAR(bill.line[TB_BILL_SUM].share.estimate, 1.05, 0.02);
    cr_expect_eq(tb_bill_closing(&bill), TB_BILL_OPEN);
}

Test(bill, is_there_where_its_arms_are)
{
    struct tb_rounds *rounds = decode_fixture(&f, 8);
    struct tb_bill bill;
    for (uint32_t arm = NO_ATTEND; arm < rounds->arms_count; arm++)
        cr_expect_not(tb_bill(rounds, 0, arm, &bill), "%s", rounds->arms[arm].label);
    fixture_invalidate(rounds, 0, SMALL, 2, "lost one");
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_eq(bill.invalid, -1);
    cr_expect_not(bill.line[TB_BILL_SMALL_PAGES].known);
    cr_expect(bill.line[TB_BILL_SUM].known);
    fixture_invalidate(rounds, 0, NOTHING, 2, "lost one");
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_eq(bill.invalid, NOTHING);
    cr_expect_not(bill.line[TB_BILL_ATTENTION].known);
    cr_expect_eq(tb_bill_closing(&bill), TB_BILL_OPEN);
    f.cells[0].touch = TB_TOUCH_FULL;
    cr_expect_not(tb_bill(rounds, 0, LOCUS, &bill), "no steps");
    decode_fixture(&f, 8);
    snprintf(f.arms[ORACLE].label, sizeof f.arms[ORACLE].label, "oracle@no-append");
    cr_expect_not(tb_bill(rounds, 0, LOCUS, &bill), "one is missing");
}

Test(bill, parts_of_the_allocator_add_up_to_it)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_bill bill;
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    const struct tb_bill_figure *line = bill.line;
    NEAR(line[TB_BILL_ALLOCATE].ns.estimate + line[TB_BILL_FREE].ns.estimate + line[TB_BILL_DRAIN].ns.estimate,
         line[TB_BILL_ALLOCATOR].ns.estimate, 300);
    fixture_invalidate(rounds, 0, NO_FREE, 2, "lost one");
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_eq(bill.invalid, -1);
    cr_expect(line[TB_BILL_ALLOCATOR].known && line[TB_BILL_DRAIN].known);
    cr_expect_not(line[TB_BILL_ALLOCATE].known || line[TB_BILL_FREE].known);
    fixture_invalidate(rounds, 0, NO_DRAIN, 2, "lost one");
    fixture_invalidate(rounds, 0, FIRST_TOUCH, 2, "lost one");
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_not(line[TB_BILL_DRAIN].known || line[TB_BILL_FIRST_TOUCH].known);
    cr_expect(line[TB_BILL_SUM].known);
}

// An arm that failed says nothing of frees or drains. Where there is none, the frees have the drains in them.
Test(bill, what_frees_where_a_request_ends_has_no_drains)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_bill bill;
    fixture_invalidate(rounds, 0, NO_DRAIN, 2, "lost one");
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_not(bill.line[TB_BILL_FREE].known);
    snprintf(f.arms[NO_DRAIN].label, sizeof f.arms[NO_DRAIN].label, "mimalloc@no-attend");
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_assert(bill.line[TB_BILL_FREE].known);
    NEAR(bill.line[TB_BILL_FREE].share.estimate, 0.018, 0.0003);
    NEAR(bill.line[TB_BILL_ALLOCATE].share.estimate, 0.012, 0.0003);
    cr_expect_not(bill.line[TB_BILL_DRAIN].known);
}

// Three cycles for each nanosecond: every line of them is three times that of time.
Test(bill, counts_are_differences_too)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_counter_set set;
    struct tb_bill bill;
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_not(bill.line[TB_BILL_WHOLE].counted[TB_BILL_CYCLES], "nobody counted");
    decode_fixture_counted(&f, &set);
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    for (int line = 0; line < TB_BILL_LINES; line++) {
        const struct tb_bill_figure *figure = &bill.line[line];
        cr_assert(figure->counted[TB_BILL_CYCLES] && figure->counted[TB_BILL_PAGE_FAULTS] && !figure->counted[TB_BILL_TLB_MISSES]);
        NEAR(figure->count[TB_BILL_CYCLES].estimate, 3 * figure->ns.estimate, 1);
        NEAR(figure->count[TB_BILL_CYCLES].high, 3 * figure->ns.high, 1);
        NEAR(figure->count[TB_BILL_PAGE_FAULTS].low, line == TB_BILL_FIRST_TOUCH, 0);
    }
}

// One round in which it was not counted, or for a part of the time, is enough: a count is never scaled.
Test(bill, a_count_that_a_round_lacks_is_none)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_counter_set set;
    struct tb_bill bill;
    decode_fixture_counted(&f, &set);
    tb_rounds_sample(rounds, 0, NO_APPEND, 3)->counters[1].running_ns = 999;
    tb_rounds_sample(rounds, 0, FIRST_TOUCH, 11)->counters[0].error = EBUSY;
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_not(bill.line[TB_BILL_APPEND].counted[TB_BILL_CYCLES]);
    cr_expect_not(bill.line[TB_BILL_SUM].counted[TB_BILL_CYCLES]);
    cr_expect(bill.line[TB_BILL_ATTENTION].counted[TB_BILL_CYCLES]);
    cr_expect(bill.line[TB_BILL_APPEND].counted[TB_BILL_PAGE_FAULTS]);
    cr_expect_not(bill.line[TB_BILL_FIRST_TOUCH].counted[TB_BILL_PAGE_FAULTS]);
    cr_expect(bill.line[TB_BILL_FIRST_TOUCH].known, "its time is");
    cr_expect_null(bill.uncounted);
    tb_rounds_sample(rounds, 0, LOCUS, 0)->counters[1] = (struct tb_counter_value){0};
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_not(bill.line[TB_BILL_WHOLE].counted[TB_BILL_CYCLES], "it was never on");
    cr_expect(strstr(bill.uncounted, "not in every round"));
    f.cells[0].laps_metered = 0;
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    cr_expect_null(bill.uncounted, "nobody asked");
}

static void expect_arms(const struct tb_arm *named, const char *const labels[])
{
    char label[64];
    size_t count = 0;
    for (; tb_bill_arm(named, count, label, sizeof label); count++) {
        cr_assert_not_null(labels[count], "%s is one too many", label);
        cr_expect_str_eq(label, labels[count]);
    }
    cr_expect_null(labels[count]);
}

Test(bill, names_the_arms_that_it_needs)
{
    static const struct tb_ops no_pages;
    static const struct tb_driver driver = {.ops = &no_pages};
    static const struct tb_contender pool = {.name = "locus"};
    static const struct tb_contender list = {.name = "mimalloc", .frees_on_worker = true, .driver = &driver};
    static const struct tb_contender bounded = {.name = "short", .batch_blocks_max = 64, .driver = &driver};
    expect_arms(&(struct tb_arm){.label = "locus", .contender = &pool},
                (const char *const[]){"locus", "locus@no-attend", "locus@no-append", "locus@nothing", "oracle@nothing",
                                      "locus@no-drain", "locus@no-free", "locus@first-touch", "locus-4k", NULL});
    expect_arms(&(struct tb_arm){.label = "mimalloc", .contender = &list},
                (const char *const[]){"mimalloc", "mimalloc@no-attend", "mimalloc@no-append", "mimalloc@nothing", "oracle@nothing",
                                      "mimalloc@no-free", NULL});
    expect_arms(&(struct tb_arm){.label = "short", .contender = &bounded},
                (const char *const[]){"short", "short@no-attend", "short@no-append", "short@nothing", "oracle@nothing",
                                      "short@no-free", NULL});
}
