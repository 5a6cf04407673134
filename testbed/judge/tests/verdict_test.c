// SPDX-License-Identifier: Apache-2.0
//
// verdict: every verdict, both sides of each threshold, conjunctions, and what an interval that cannot be had leads to.
#include "testbed/judge/tests/verdict_fixture.h"

#include "testbed/judge/figure.h"
#include "testbed/record/ledger.h"
#include "testbed/stats/stats.h"

// --- claims against figures ----------------------------------------------------------------------------------------------------

static struct tb_part judged(enum tb_relation op, double from, double to, double margin, double low, double high, bool bounded)
{
    struct tb_prediction prediction = {
        .metric = "time_ns", .stat = TB_STAT_HL_RATIO, .op = op, .low = from, .high = to, .margin = margin};
    struct tb_part part = {.figure = {.seen = {.low = low, .high = high, .bounded = bounded}, .known = true}};
    tb_part_judge(&prediction, &part);
    return part;
}

Test(verdict, each_claim_is_judged_on_both_sides_of_its_threshold)
{
    const enum tb_verdict S = TB_VERDICT_SURVIVED, F = TB_VERDICT_FALSIFIED, I = TB_VERDICT_INCONCLUSIVE;
    const struct {
        enum tb_relation op;
        double from, to, low, high;
        enum tb_verdict expected;
    } cases[] = {
        {TB_CLAIM_GE, 1.25, 0, 1.25, 1.4, S},         {TB_CLAIM_GE, 1.25, 0, 1.2499, 1.4, I},
        {TB_CLAIM_GE, 1.25, 0, 1.1, 1.25, I},         {TB_CLAIM_GE, 1.25, 0, 1.1, 1.2499, F},
        {TB_CLAIM_GT, 1.25, 0, 1.2501, 1.4, S},       {TB_CLAIM_GT, 1.25, 0, 1.25, 1.4, I},
        {TB_CLAIM_GT, 1.25, 0, 1.1, 1.2501, I},       {TB_CLAIM_GT, 1.25, 0, 1.1, 1.25, F},
        {TB_CLAIM_LE, 1.25, 0, 1.1, 1.25, S},         {TB_CLAIM_LE, 1.25, 0, 1.1, 1.2501, I},
        {TB_CLAIM_LE, 1.25, 0, 1.25, 1.4, I},         {TB_CLAIM_LE, 1.25, 0, 1.2501, 1.4, F},
        {TB_CLAIM_LT, 1.25, 0, 1.1, 1.2499, S},       {TB_CLAIM_LT, 1.25, 0, 1.1, 1.25, I},
        {TB_CLAIM_LT, 1.25, 0, 1.2499, 1.4, I},       {TB_CLAIM_LT, 1.25, 0, 1.25, 1.4, F},
        {TB_CLAIM_EQ, 1.25, 0, 1.25, 1.25, S},        {TB_CLAIM_EQ, 1.25, 0, 1.2, 1.3, I},
        {TB_CLAIM_EQ, 1.25, 0, 1.1, 1.2499, F},       {TB_CLAIM_EQ, 1.25, 0, 1.2501, 1.4, F},
        {TB_CLAIM_WITHIN, 0.95, 1.05, 0.95, 1.05, S}, {TB_CLAIM_WITHIN, 0.95, 1.05, 0.9, 1, I},
        {TB_CLAIM_WITHIN, 0.95, 1.05, 1, 1.06, I},    {TB_CLAIM_WITHIN, 0.95, 1.05, 0.8, 0.949, F},
        {TB_CLAIM_WITHIN, 0.95, 1.05, 1.051, 1.2, F}, {TB_CLAIM_WITHIN, 0.95, 1.05, 0.8, 1.2, I},
        {TB_CLAIM_WITHIN, 0.95, 1.05, 0.8, 0.95, I},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tb_part part = judged(cases[i].op, cases[i].from, cases[i].to, 0, cases[i].low, cases[i].high, true);
        cr_expect_eq(part.verdict, cases[i].expected, "case %zu: %s", i, tb_verdict_name(part.verdict));
        cr_expect_eq(part.refuted, part.verdict == TB_VERDICT_FALSIFIED, "case %zu", i);
    }
}

// The ledger has the names of those that do not in its own words.
Test(verdict, each_but_two_answers_a_postulate)
{
    for (int i = 0; i < TB_VERDICT_COUNT; i++) {
        json_t *close = json_pack("{s:s, s:s}", "status", "complete", "verdict", tb_verdict_name((enum tb_verdict)i));
        cr_expect_eq(tb_ledger_answered(close), i != TB_VERDICT_INVALID && i != TB_VERDICT_UNMEASURABLE, "%s",
                     tb_verdict_name((enum tb_verdict)i));
        json_decref(close);
    }
}

Test(verdict, an_unbounded_interval_is_for_and_against_nothing)
{
    static const enum tb_relation ops[] = {TB_CLAIM_GE, TB_CLAIM_GT, TB_CLAIM_LE, TB_CLAIM_LT, TB_CLAIM_EQ, TB_CLAIM_WITHIN};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        cr_assert_eq(judged(ops[i], 1, 2, 0.5, 0, INFINITY, false).verdict, TB_VERDICT_INCONCLUSIVE);
        cr_assert_eq(judged(ops[i], -1, INFINITY, 0, 0, INFINITY, false).verdict, TB_VERDICT_INCONCLUSIVE,
                     "even where it would fit");
    }
}

Test(verdict, no_difference_is_an_interval_inside_the_margin)
{
    cr_assert_eq(judged(TB_CLAIM_GE, 1.25, 0, 0.02, 1 / 1.02, 1.02, true).verdict, TB_VERDICT_NO_DIFFERENCE);
    cr_assert_eq(judged(TB_CLAIM_GE, 1.25, 0, 0.02, 0.99, 1.0201, true).verdict, TB_VERDICT_FALSIFIED, "a little outside");
    cr_assert_eq(judged(TB_CLAIM_GE, 1.25, 0, 0.02, 0.98, 1.01, true).verdict, TB_VERDICT_FALSIFIED, "1 / 1.02 is 0.9804");
    cr_assert_eq(judged(TB_CLAIM_GE, 1.00, 0, 0.02, 1.001, 1.01, true).verdict, TB_VERDICT_NO_DIFFERENCE, "ahead, and by nothing");
    cr_assert_eq(judged(TB_CLAIM_GE, 1.25, 0, 0, 0.999, 1.001, true).verdict, TB_VERDICT_FALSIFIED, "no margin was stated");
    cr_assert_eq(judged(TB_CLAIM_WITHIN, 0.95, 1.05, 0.02, 0.99, 1.01, true).verdict, TB_VERDICT_SURVIVED, "that was the claim");
    cr_assert_eq(judged(TB_CLAIM_WITHIN, 1.2, 1.4, 0.02, 0.99, 1.01, true).verdict, TB_VERDICT_NO_DIFFERENCE);
}

Test(verdict, every_verdict_has_a_name_of_its_own)
{
    for (int i = 0; i < TB_VERDICT_COUNT; i++)
        for (int k = 0; k < i; k++)
            cr_assert_str_neq(tb_verdict_name((enum tb_verdict)i), tb_verdict_name((enum tb_verdict)k));
    cr_assert_str_eq(tb_verdict_name(TB_VERDICT_NOISE), "inconclusive (noise)");
}

// --- from samples to verdicts --------------------------------------------------------------------------------------------------

Test(verdict, a_ratio_survives_just_above_and_falls_just_below)
{
    struct world w;
    world_open(&w, 20, 2);
    world_pace(&w, 0, 1, 1.25, 0);
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_GE, 1.25 * (1 - 1e-9));
    SAYS(world_judge(&w), "verdict", "survived");
    cr_expect_null(json_object_get(world_prediction(&w, 0), "claim"), "logs of before have no such member");
    snprintf(w.postulate.predictions[0].claim, sizeof w.postulate.predictions[0].claim, "in words");
    world_judge(&w);
    SAYS(world_prediction(&w, 0), "claim", "in words");
    const json_t *said = world_prediction(&w, 0);
    CLOSE(number_at(said, "estimate"), 1.25, 1e-9);
    CLOSE(number_at(said, "low"), 1.25, 1e-9);
    CLOSE(number_at(said, "confidence"), 0.95, 1e-12);
    CLOSE(number_at(said, "achieved"), 0.9516, 1e-4);
    CLOSE(number_at(said, "n"), 20, 0);
    cr_assert(json_is_null(json_object_get(said, "why")) && json_is_null(json_object_get(w.summary, "why")));
    CLOSE(number_at(w.summary, "rounds"), 20, 0);
    CLOSE(number_at(w.summary, "blocks"), 2, 0);
    p->low = 1.25 * (1 + 1e-9);
    SAYS(world_judge(&w), "verdict", "falsified");
    SAYS(world_prediction(&w, 0), "verdict", "falsified");
    WHY_HAS(w.summary, "P1 falsified");
    world_pace(&w, 0, 1, 1, 0.03);
    SAYS(world_judge(&w), "verdict", "inconclusive");
    cr_assert(number_at(world_prediction(&w, 0), "low") < 1.25 && number_at(world_prediction(&w, 0), "high") > 1.25);
    world_close(&w);
}

Test(verdict, the_interval_is_that_of_the_statistics)
{
    struct world w;
    struct tb_ratio ratio;
    double a[20], b[20];
    world_open(&w, 20, 2);
    world_pace(&w, 0, 1, 1.1, 0.03);
    for (uint32_t round = 0; round < 20; round++) {
        a[round] = world_time(&w, 0, 0, round);
        b[round] = world_time(&w, 0, 1, round);
    }
    world_predict(&w, TB_CLAIM_GE, 1);
    world_predict(&w, TB_CLAIM_GE, 1)->stat = TB_STAT_MEDIAN_RATIO;
    world_judge(&w);
    cr_assert_eq(tb_ratio(a, b, 20, 0.975, &ratio), 0);
    CLOSE(number_at(world_prediction(&w, 0), "low"), ratio.low, 0);
    CLOSE(number_at(world_prediction(&w, 0), "high"), ratio.high, 0);
    CLOSE(number_at(world_prediction(&w, 0), "achieved"), ratio.confidence, 0);
    cr_assert_eq(tb_ratio_sign(a, b, 20, 0.975, &ratio), 0);
    CLOSE(number_at(world_prediction(&w, 1), "low"), ratio.low, 0);
    CLOSE(number_at(world_prediction(&w, 1), "achieved"), ratio.confidence, 0);
    cr_assert(number_at(world_prediction(&w, 0), "low") > number_at(world_prediction(&w, 1), "low"), "they are two statistics");
    world_close(&w);
}

Test(verdict, six_rounds_are_enough_for_one_prediction_and_not_for_two)
{
    struct world w;
    world_open(&w, 6, 2);
    world_pace(&w, 0, 1, 2, 0);
    world_predict(&w, TB_CLAIM_GE, 1.5);
    SAYS(world_judge(&w), "verdict", "survived");
    CLOSE(number_at(world_prediction(&w, 0), "achieved"), 0.96875, 0);
    world_predict(&w, TB_CLAIM_LE, 1.5);
    SAYS(world_judge(&w), "verdict", "inconclusive");
    for (size_t i = 0; i < 2; i++) {
        const json_t *said = world_prediction(&w, i);
        SAYS(said, "verdict", "inconclusive");
        WHY_HAS(said, "6 rounds cannot reach a 97.5 % interval, it takes 7");
        CLOSE(number_at(said, "confidence"), 0.975, 1e-12);
        CLOSE(number_at(said, "estimate"), 2, 1e-9);
        CLOSE(number_at(said, "achieved"), 0, 0);
        cr_assert(json_is_null(json_object_get(said, "low")) && json_is_null(json_object_get(said, "high")),
                  "an invented interval");
    }
    world_close(&w);
}

Test(verdict, exact_predictions_take_no_confidence_from_the_others)
{
    struct world w;
    world_open(&w, 20, 2);
    world_predict(&w, TB_CLAIM_LE, 1.5);
    world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_EQ, 1);
    world_predict_arm(&w, "outstanding_ratio", TB_STAT_MEDIAN, TB_CLAIM_EQ, 1);
    SAYS(world_judge(&w), "verdict", "survived");
    CLOSE(number_at(world_prediction(&w, 0), "confidence"), 0.95, 1e-12);
    CLOSE(number_at(world_prediction(&w, 1), "confidence"), 1, 0);
    CLOSE(number_at(world_prediction(&w, 1), "low"), 1, 0);
    world_predict_arm(&w, "time_ns", TB_STAT_MEDIAN, TB_CLAIM_GE, 1);
    world_judge(&w);
    CLOSE(number_at(world_prediction(&w, 0), "confidence"), 0.975, 1e-12);
    CLOSE(number_at(world_prediction(&w, 3), "confidence"), 0.975, 1e-12);
    cr_assert(number_at(world_prediction(&w, 3), "low") < number_at(world_prediction(&w, 3), "high"),
              "a median time is an estimate");
    world_close(&w);
}

Test(verdict, a_sum_is_worked_out_and_judged_beside_what_was_measured)
{
    struct world w;
    world_open(&w, 1, 1);
    struct tb_prediction *p = world_predict_arm(&w, "sum", TB_STAT_SUM, TB_CLAIM_EQ, 56);
    p->cell[0] = p->arm[0] = '\0';
    snprintf(p->sum, sizeof p->sum, "0.7 * 80");
    SAYS(world_judge(&w), "verdict", "survived");
    const json_t *said = world_prediction(&w, 0);
    SAYS(said, "text", "0.7 * 80 == 56");
    CLOSE(number_at(said, "estimate"), 56, 0);
    CLOSE(number_at(said, "n"), 0, 0);
    cr_assert(json_is_null(json_object_get(said, "arm")) && json_array_size(json_object_get(said, "parts")) == 0);
    p->low = 57;
    SAYS(world_judge(&w), "verdict", "falsified");
    SAYS(world_prediction(&w, 0), "why", "56");
    world_close(&w);
}

static void set_steps(const struct world *w, uint32_t arm, uint32_t round, int steps)
{
    json_object_set_new(world_sample(w, 0, arm, round), "serving", json_pack("{s:i}", "steps", steps));
}

Test(verdict, a_ratio_of_what_was_decided_in_virtual_time_is_exact)
{
    struct world w;
    world_open(&w, 2, 1);
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_WITHIN, 1.5);
    p->high = 1.6;
    snprintf(p->metric, sizeof p->metric, "steps");
    for (uint32_t round = 0; round < 2; round++) {
        set_steps(&w, 0, round, 100);
        set_steps(&w, 1, round, 150);
    }
    SAYS(world_judge(&w), "verdict", "survived");
    CLOSE(number_at(world_prediction(&w, 0), "low"), 1.5, 0);
    CLOSE(number_at(world_prediction(&w, 0), "high"), 1.5, 0);
    CLOSE(number_at(world_prediction(&w, 0), "confidence"), 1, 0);
    set_steps(&w, 1, 1, 190);
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(world_prediction(&w, 0), "rounds differ in steps, which must be the same in each");
    set_steps(&w, 0, 1, 0);
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(world_prediction(&w, 0), "a round in churn-touch/full has no steps to compare");
    world_close(&w);
}

// 49 * (1 / 49.0) is less than 1: a peak must divide.
Test(verdict, as_many_blocks_as_the_peak_are_exactly_one)
{
    struct world w;
    world_open(&w, 20, 2);
    world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_EQ, 1);
    json_object_set_new(json_array_get(json_object_get(w.header, "cells"), 0), "blocks_peak", json_integer(49));
    for (uint32_t round = 0; round < 20; round++)
        json_object_set_new(world_sample(&w, 0, 0, round), "outstanding_high", json_integer(49));
    SAYS(world_judge(&w), "verdict", "survived");
    world_close(&w);
}

Test(verdict, one_round_of_twenty_falsifies_an_exact_claim)
{
    struct world w;
    world_open(&w, 20, 2);
    world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_LE, 1.05);
    json_object_set_new(world_sample(&w, 0, 0, 13), "outstanding_high", json_integer(105));
    SAYS(world_judge(&w), "verdict", "survived");
    json_object_set_new(world_sample(&w, 0, 0, 13), "outstanding_high", json_integer(106));
    SAYS(world_judge(&w), "verdict", "falsified");
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 1.06, 1e-12);
    CLOSE(number_at(world_prediction(&w, 0), "n"), 20, 0);
    w.postulate.predictions[0].stat = TB_STAT_MIN;
    w.postulate.predictions[0].op = TB_CLAIM_GE;
    w.postulate.predictions[0].low = 1;
    SAYS(world_judge(&w), "verdict", "survived");
    snprintf(w.postulate.predictions[0].metric, sizeof w.postulate.predictions[0].metric, "distinct_ratio");
    json_object_set_new(world_sample(&w, 0, 0, 4), "distinct", json_integer(99));
    SAYS(world_judge(&w), "verdict", "falsified");
    world_close(&w);
}

Test(verdict, a_postulate_stands_or_falls_with_each_prediction)
{
    struct world w;
    world_open(&w, 20, 2);
    world_pace(&w, 0, 1, 1.25, 0.01);
    world_predict(&w, TB_CLAIM_GE, 1.2);
    struct tb_prediction *second = world_predict(&w, TB_CLAIM_GE, 1.25);
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(w.summary, "P2 inconclusive: 1.25");
    SAYS(world_prediction(&w, 0), "verdict", "survived");
    second->low = 1.3;
    SAYS(world_judge(&w), "verdict", "falsified");
    WHY_HAS(w.summary, "P2 falsified");
    second->margin = 0.5;
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(w.summary, "P2 no-difference");
    w.postulate.predictions[0].margin = 0.5;
    SAYS(world_judge(&w), "verdict", "no-difference");
    world_close(&w);
}

Test(verdict, what_was_promised_and_not_run_cannot_survive)
{
    struct world w;
    world_open(&w, 20, 2);
    world_cell(&w, "long-tail/full"); // in the postulate only
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_LE, 1.5);
    snprintf(p->cell, sizeof p->cell, "*");
    w.postulate.cells_count = 2;
    json_t *summary = NULL;
    cr_assert_eq(tb_verdict_summary(&w.view, &w.postulate, &summary), 0);
    SAYS(summary, "verdict", "inconclusive");
    WHY_HAS(summary, "the cell long-tail/full was not run");
    json_decref(summary);
    w.postulate.cells_count = 1;
    snprintf(p->over, sizeof p->over, "Z");
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(w.summary, "arm Z was not run");
    world_close(&w);
}

Test(verdict, rounds_that_do_not_match_are_no_pairs)
{
    struct world w;
    world_open(&w, 20, 2);
    world_predict(&w, TB_CLAIM_LE, 1.5);
    json_object_set_new(world_sample(&w, 0, 1, 19), "round", json_integer(20));
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(w.summary, "the rounds of B and A in churn-touch/full do not match");
    world_close(&w);
}

// --- conjunctions --------------------------------------------------------------------------------------------------------------

// Four cells; A locus, B glibc, C mimalloc, and what `*` does not mean: D locus (twin), E null, F oracle, G locus@delay:3.
static void open_field(struct world *w)
{
    static const char *const arms[] = {"locus", "glibc", "mimalloc", "locus", "null", "oracle", "locus@delay:3"};
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < sizeof arms / sizeof *arms; i++)
        world_arm(w, arms[i]);
    world_cell(w, "churn-touch/full");
    world_cell(w, "churn-touch/byte");
    world_cell(w, "long-tail/full");
    world_cell(w, "long-tail/byte");
    world_run(w, 20, 2);
    for (uint32_t cell = 0; cell < 4; cell++) {
        world_pace(w, cell, 1, 1.5, 0.01);
        world_pace(w, cell, 2, 1.2, 0.01);
        world_pace(w, cell, 3, 1, 0.001);
        world_pace(w, cell, 4, 0.1, 0);
        world_pace(w, cell, 5, 0.5, 0);
        world_pace(w, cell, 6, 1.03, 0.001);
    }
}

static const json_t *parts_of(const struct world *w)
{
    return json_object_get(world_prediction(w, 0), "parts");
}

Test(verdict, a_star_is_every_other_ranked_arm_in_every_cell)
{
    struct world w;
    open_field(&w);
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_GT, 1);
    strcpy(p->over, "*");
    strcpy(p->cell, "*");
    SAYS(world_judge(&w), "verdict", "survived");
    cr_assert_eq(json_array_size(parts_of(&w)), 8);
    size_t i;
    json_t *part;
    json_array_foreach (parts_of(&w), i, part) {
        SAYS(part, "over", i % 2 ? "C" : "B");
        SAYS(part, "verdict", "survived");
        CLOSE(number_at(part, "achieved"), 0.9516, 1e-4); // full confidence each
    }
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 1.2, 0.01); // of the part that stands worst
    SAYS(world_prediction(&w, 0), "over", "*");
    SAYS(world_prediction(&w, 0), "cell", "*");
    world_close(&w);
}

Test(verdict, a_touch_stands_for_its_cells_only)
{
    struct world w;
    open_field(&w);
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_GT, 1);
    strcpy(p->cell, "*/full");
    world_pace(&w, 1, 1, 0.5, 0); // at one byte glibc is ahead
    SAYS(world_judge(&w), "verdict", "survived");
    cr_assert_eq(json_array_size(parts_of(&w)), 2);
    SAYS(json_array_get(parts_of(&w), 1), "cell", "long-tail/full");
    strcpy(p->cell, "*/byte");
    SAYS(world_judge(&w), "verdict", "falsified");
    WHY_HAS(w.summary, "churn-touch/byte, B/A: 0.75");
    SAYS(json_array_get(parts_of(&w), 1), "verdict", "survived");
    strcpy(p->cell, "*/none");
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(w.summary, "there is nothing to compare");
    world_close(&w);
}

// A before C before B, as open_field() has it: C takes 1.2 of A's time, B 1.25 of C's.
static struct tb_prediction *predict_order(struct world *w, const char *const keys[3], const char *cell)
{
    struct tb_prediction *p = world_predict(w, TB_CLAIM_GT, 1);
    p->stat = TB_STAT_ORDER;
    p->over[0] = p->under[0] = '\0';
    strcpy(p->cell, cell);
    for (p->order_count = 0; p->order_count < 3; p->order_count++)
        strcpy(p->order[p->order_count], keys[p->order_count]);
    return p;
}

Test(verdict, an_order_is_its_neighbours_in_every_cell)
{
    struct world w;
    open_field(&w);
    predict_order(&w, (const char *const[]){"A", "C", "B"}, "*/full");
    SAYS(world_judge(&w), "verdict", "survived");
    const json_t *prediction = world_prediction(&w, 0);
    cr_assert_eq(json_array_size(parts_of(&w)), 4);
    SAYS(prediction, "stat", "order");
    SAYS(prediction, "text", "order(A<C<B) > 1");
    cr_expect_eq(json_array_size(json_object_get(prediction, "order")), 3);
    cr_expect(json_is_null(json_object_get(prediction, "over")) && json_is_null(json_object_get(prediction, "under")));
    const json_t *first = json_array_get(parts_of(&w), 0), *second = json_array_get(parts_of(&w), 1);
    SAYS(first, "over", "C");
    SAYS(first, "under", "A");
    CLOSE(number_at(first, "estimate"), 1.2, 0.01);
    SAYS(second, "over", "B");
    SAYS(second, "under", "C");
    CLOSE(number_at(second, "estimate"), 1.25, 0.01);
    SAYS(json_array_get(parts_of(&w), 3), "cell", "long-tail/full");
    CLOSE(number_at(first, "achieved"), 0.9516, 1e-4); // full confidence each
    world_close(&w);
}

Test(verdict, an_order_falls_with_one_pair_and_a_tie_leaves_it_open)
{
    struct world w;
    open_field(&w);
    struct tb_prediction *p = predict_order(&w, (const char *const[]){"A", "B", "C"}, "long-tail/full");
    SAYS(world_judge(&w), "verdict", "falsified");
    WHY_HAS(w.summary, "long-tail/full, C/B: 0.8");
    SAYS(json_array_get(parts_of(&w), 0), "verdict", "survived");
    cr_assert_eq(json_array_size(parts_of(&w)), 2, "one cell, and still every pair is shown");
    world_pace(&w, 2, 2, 1.25, 0.02);
    SAYS(world_judge(&w), "verdict", "inconclusive"); // C and B are level now
    WHY_HAS(w.summary, "long-tail/full, C/B: 1");
    p->low = 1.6;
    SAYS(world_judge(&w), "verdict", "falsified");
    world_close(&w);
}

Test(verdict, an_order_of_what_is_no_time_is_judged_alike)
{
    struct world w;
    open_field(&w);
    struct tb_prediction *p = predict_order(&w, (const char *const[]){"A", "B", "C"}, "churn-touch/full");
    strcpy(p->metric, "outstanding_ratio");
    for (uint32_t round = 0; round < w.rounds; round++) {
        json_object_set_new(world_sample(&w, 0, 1, round), "outstanding_high", json_integer(110));
        json_object_set_new(world_sample(&w, 0, 2, round), "outstanding_high", json_integer(121));
    }
    SAYS(world_judge(&w), "verdict", "survived");
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 1.1, 1e-6);
    world_close(&w);
}

Test(verdict, one_part_falsifies_a_conjunction_and_one_doubt_holds_it_up)
{
    struct world w;
    open_field(&w);
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_GE, 1.2);
    strcpy(p->over, "*");
    strcpy(p->cell, "*/full");
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(w.summary, ", C/A: 1.2, [");
    world_pace(&w, 2, 1, 0.6, 0);
    SAYS(world_judge(&w), "verdict", "falsified");
    WHY_HAS(w.summary, "long-tail/full, B/A: 0.9");
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 0.9, 0.01);
    world_close(&w);
}

Test(verdict, a_conjunction_is_without_a_difference_when_all_of_it_is)
{
    struct world w;
    open_field(&w);
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_GT, 1);
    strcpy(p->over, "*");
    p->margin = 0.3;
    SAYS(world_judge(&w), "verdict", "inconclusive"); // C is, B is ahead
    SAYS(json_array_get(parts_of(&w), 0), "verdict", "survived");
    SAYS(json_array_get(parts_of(&w), 1), "verdict", "no-difference");
    p->margin = 0.6;
    SAYS(world_judge(&w), "verdict", "no-difference");
    p->margin = 0.3;
    p->low = 1.4; // C refutes that as well
    SAYS(world_judge(&w), "verdict", "falsified");
    world_close(&w);
}

Test(verdict, an_exact_claim_about_all_cells_is_a_conjunction)
{
    struct world w;
    open_field(&w);
    struct tb_prediction *p = world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_EQ, 1);
    strcpy(p->cell, "*");
    SAYS(world_judge(&w), "verdict", "survived");
    cr_assert_eq(json_array_size(parts_of(&w)), 4);
    json_object_set_new(world_sample(&w, 3, 0, 7), "outstanding_high", json_integer(101));
    SAYS(world_judge(&w), "verdict", "falsified");
    WHY_HAS(w.summary, "long-tail/byte, A: 1.01");
    world_close(&w);
}
