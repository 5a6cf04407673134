// SPDX-License-Identifier: Apache-2.0
//
// row: medians, ratios with their direction, validity, the A/A control, and the order in which everybody stands.
#include <criterion/criterion.h>
#include <math.h>

#include "testbed/measure/tests/rounds_fixture.h"
#include "testbed/judge/board.h"

#define NEAR(actual, expected, tolerance)                                                                                          \
    cr_assert(fabs((actual) - (expected)) <= (tolerance), "%s is %.9g, not %.9g", #actual, (double)(actual), (double)(expected))

static struct fixture f;
static const struct fixture_arm usual[] = {
    {"mimalloc", 200000}, {"locus", 100000}, {"oracle", 98000}, {"locus#2", 100000}, {"null", 20000}, {"glibc", 250000},
};
enum { MIMALLOC, LOCUS, ORACLE, TWIN, HARNESS, GLIBC };

Test(row, median_spread_and_minimum_are_over_the_rounds)
{
    static const struct fixture_arm one[] = {{"locus", 1}};
    struct tb_rounds *rounds = FIXTURE(f, one, 5);
    const double laps[] = {50, 10, 30, 20, 1000};
    for (uint32_t round = 0; round < 5; round++) {
        tb_rounds_sample(rounds, 0, 0, round)->lap_ns = laps[round];
        tb_rounds_sample(rounds, 0, 0, round)->lap_ns_min = laps[round] / 2;
    }
    struct tb_row row;
    tb_rounds_row(rounds, 0, 0, &row);
    NEAR(row.ns_median, 30, 0);
    NEAR(row.ns_mad, 20, 0);
    NEAR(row.ns_min, 5, 0);
    cr_assert(row.valid && row.arm == &rounds->arms[0]);
}

Test(row, ratios_point_the_right_way)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 30);
    struct tb_row row;
    tb_rounds_row(rounds, 0, LOCUS, &row);
    cr_assert(row.has_vs_base && row.has_vs_oracle && !row.has_vs_aa);
    NEAR(row.vs_base.estimate, 2.0, 0.003); // twice as fast as mimalloc
    NEAR(row.vs_oracle.estimate, 1.0204, 0.003); // 2 % over the floor
    cr_assert(row.vs_base.bounded && row.vs_base.low < row.vs_base.high && row.vs_base.confidence >= 0.95);
    tb_rounds_row(rounds, 0, MIMALLOC, &row);
    NEAR(row.vs_base.estimate, 1.0, 0);
}

Test(row, ratios_are_formed_within_a_round)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    for (uint32_t round = 10; round < 20; round++) // the machine loses half its speed half-way
        for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
            tb_rounds_sample(rounds, 0, arm, round)->lap_ns *= 2;
    struct tb_row row;
    tb_rounds_row(rounds, 0, LOCUS, &row);
    NEAR(row.vs_base.low, 2.0, 0.01);
    NEAR(row.vs_base.high, 2.0, 0.01);
}

Test(row, without_an_oracle_another_floor_is_held_against)
{
    static const struct fixture_arm coloured[] = {{"locus", 100000},
                                                  {"oracle-coloured@delay:3", 10000},
                                                  {"oracle-coloured", 50000}};
    static const struct fixture_arm both[] = {{"locus", 100000}, {"oracle-coloured", 50000}, {"oracle", 98000}};
    struct tb_row row;
    struct tb_rounds *rounds = FIXTURE(f, coloured, 20);
    f.arms[1].fault = TB_FAULT_DELAY; // put there to lose: no floor
    tb_rounds_row(rounds, 0, 0, &row);
    cr_assert(row.has_vs_oracle);
    NEAR(row.vs_oracle.estimate, 2, 0.02);
    tb_rounds_row(FIXTURE(f, both, 20), 0, 0, &row);
    NEAR(row.vs_oracle.estimate, 1.0204, 0.003);
}

Test(row, an_invalid_round_names_its_gate_and_takes_away_every_ratio)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    fixture_invalidate(rounds, 0, MIMALLOC, 11, "pushed 2688, drained 2687");
    fixture_invalidate(rounds, 0, MIMALLOC, 15, "a later one");
    struct tb_row row;
    tb_rounds_row(rounds, 0, MIMALLOC, &row);
    cr_assert(!row.valid && !row.has_vs_base && !row.has_vs_oracle);
    cr_assert_str_eq(row.invalid, "pushed 2688, drained 2687 (round 12)");
    tb_rounds_row(rounds, 0, LOCUS, &row);
    cr_assert(row.valid && !row.has_vs_base && row.has_vs_oracle);
    tb_rounds_row(rounds, 1, LOCUS, &row);
    cr_assert(row.has_vs_base, "the other cell is none of its business");
}

Test(row, a_process_that_never_came_back_is_invalid)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    *tb_rounds_sample(rounds, 0, LOCUS, 2) = (struct tb_sample){.valid = true};
    struct tb_row row;
    tb_rounds_row(rounds, 0, LOCUS, &row);
    cr_assert(!row.valid);
    cr_assert_str_eq(row.invalid, "it did not run to its end (round 3)");
}

Test(row, no_rounds_make_no_row)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 0);
    struct tb_row row;
    tb_rounds_row(rounds, 0, LOCUS, &row);
    cr_assert(!row.valid && !row.has_vs_base && row.invalid[0]);
}

Test(row, footprint_is_that_of_the_worst_round)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 3);
    struct tb_row row;
    tb_rounds_row(rounds, 0, LOCUS, &row);
    NEAR(row.outstanding_ratio, 1.02, 1e-12);
    NEAR(row.outstanding_ratio_mean, 1.01, 1e-12);
    NEAR(row.distinct_ratio, 1.04, 1e-12);
}

Test(row, adjacency_is_that_of_the_worst_round_that_knows_it)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 3);
    struct tb_row row;
    tb_rounds_row(rounds, 0, LOCUS, &row);
    cr_expect(isnan(row.adjacency));
    const double adjacency[] = {0.9, 0.8};
    for (uint32_t round = 0; round < 2; round++) {
        tb_rounds_sample(rounds, 0, LOCUS, round)->adjacency_known = true;
        tb_rounds_sample(rounds, 0, LOCUS, round)->adjacency = adjacency[round];
    }
    tb_rounds_row(rounds, 0, LOCUS, &row);
    NEAR(row.adjacency, 0.8, 1e-12);
}

Test(row, version_is_what_was_really_there)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 3);
    snprintf(tb_rounds_sample(rounds, 0, MIMALLOC, 0)->version, 64, "mimalloc 2.0.9");
    struct tb_row row;
    tb_rounds_row(rounds, 0, MIMALLOC, &row);
    cr_assert_str_eq(row.version, "mimalloc 2.0.9");
}

Test(row, resolution_is_how_far_the_twins_interval_reaches)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 30);
    struct tb_ratio twin;
    cr_assert(tb_pair_ratio(rounds, 0, TWIN, TB_LAP, LOCUS, TB_LAP, &twin));
    NEAR(tb_rounds_resolution(rounds, 0), fmax(twin.high - 1, 1 - twin.low), 0);
    fixture_slow(rounds, 0, TWIN, 1.05); // the same thing, measured 5 % apart
    cr_assert(tb_rounds_resolution(rounds, 0) > 0.05);
    struct tb_row row;
    tb_rounds_row(rounds, 0, TWIN, &row);
    cr_assert(row.has_vs_aa);
}

Test(row, resolution_is_unknown_without_a_valid_control)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 30);
    fixture_invalidate(rounds, 0, TWIN, 0, "gone");
    cr_assert(tb_rounds_resolution(rounds, 0) < 0);
    cr_assert(tb_rounds_resolution(rounds, 1) >= 0);
    rounds = fixture_open(&f, usual, TWIN, 30);
    cr_assert(tb_rounds_resolution(rounds, 0) < 0);
    rounds = FIXTURE(f, usual, 5);
    cr_assert(isinf(tb_rounds_resolution(rounds, 0)), "five rounds bound nothing");
}

Test(row, bench_holds_bulk_against_the_bases_single_allocation)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 30);
    rounds->bench = true; // the fixture's operations take lap/1, lap/2, lap/3, lap/4
    struct tb_row row;
    tb_rounds_row(rounds, 0, LOCUS, &row);
    NEAR(row.bench_vs_base[TB_BENCH_ALLOC].estimate, 2, 0.01);
    NEAR(row.bench_vs_base[TB_BENCH_BULK].estimate, 4, 0.02);
    NEAR(row.bench_vs_base[TB_BENCH_FREE].estimate, 2, 0.01);
    cr_assert_eq(row.bench_vs_base[TB_BENCH_PUSH].n, 0);
    NEAR(row.bench_ns[TB_BENCH_BULK], row.bench_ns[TB_BENCH_ALLOC] / 2, 1e-6);
}

Test(row, arms_are_found_by_label)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 1);
    cr_assert_eq(tb_rounds_arm(rounds, "oracle"), ORACLE);
    cr_assert_eq(tb_rounds_arm(rounds, "locus"), LOCUS);
    cr_assert_eq(tb_rounds_arm(rounds, "locu"), -1);
    cr_assert_eq(tb_twin(rounds, TWIN), LOCUS);
    cr_assert_eq(tb_twin(rounds, LOCUS), -1);
}

Test(row, base_name_leaves_paths_alone)
{
    struct tb_arm arm = {.label = "malloc:/opt/a#b@c/lib.so#2"};
    char name[96];
    tb_base_name(&arm, name, sizeof name);
    cr_assert_str_eq(name, "malloc:/opt/a#b@c/lib.so");
    arm = (struct tb_arm){.label = "locus@delay:3#2", .fault = TB_FAULT_DELAY};
    tb_base_name(&arm, name, sizeof name);
    cr_assert_str_eq(name, "locus");
}

Test(row, best_malloc_is_valid_whole_and_no_twin)
{
    static const struct fixture_arm arms[] = {{"locus", 1000},    {"glibc", 9000},      {"mimalloc", 5000},
                                              {"jemalloc", 4000}, {"mimalloc#2", 3000}, {"malloc:/a.so", 2000}};
    struct tb_rounds *rounds = FIXTURE(f, arms, 10);
    cr_assert_eq(tb_best_malloc(rounds, 0, TB_LAP).arm, 5);
    f.arms[5].fault = TB_FAULT_SKIP_TOUCH;
    cr_assert_eq(tb_best_malloc(rounds, 0, TB_LAP).arm, 3);
    fixture_invalidate(rounds, 0, 3, 4, "lost one");
    cr_assert_eq(tb_best_malloc(rounds, 0, TB_LAP).arm, 2);
}

Test(row, board_ranks_by_time_and_keeps_the_unranked_below)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    static struct tb_board board;
    fixture_invalidate(rounds, 0, ORACLE, 0, "lost one");
    tb_board(rounds, 0, &board);
    const uint32_t order[] = {LOCUS, MIMALLOC, GLIBC, TWIN, ORACLE, HARNESS};
    const enum tb_place places[] = {TB_PLACE_RANKED,  TB_PLACE_RANKED,  TB_PLACE_RANKED,
                                    TB_PLACE_CONTROL, TB_PLACE_INVALID, TB_PLACE_HARNESS};
    for (uint32_t i = 0; i < board.count; i++) {
        cr_assert_eq(board.arm[i], order[i], "place %u is arm %u", i, board.arm[i]);
        cr_assert_eq(board.place[i], places[i]);
        cr_assert_eq(board.row[i].arm, &rounds->arms[order[i]]);
    }
}

Test(row, names_of_touch_and_dispatch)
{
    cr_assert_str_eq(tb_touch_name(TB_TOUCH_NONE), "none");
    cr_assert_str_eq(tb_touch_name(TB_TOUCH_BYTE), "byte");
    cr_assert_str_eq(tb_touch_name(TB_TOUCH_FULL), "full");
    cr_assert_str_eq(tb_dispatch_name(TB_DISPATCH_INLINE), "inline");
    cr_assert_str_eq(tb_dispatch_name(TB_DISPATCH_SPIN), "spin");
    cr_assert_str_eq(tb_dispatch_name(TB_DISPATCH_FUTEX), "futex");
}
