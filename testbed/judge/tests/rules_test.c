// SPDX-License-Identifier: Apache-2.0
//
// rules: what the second rules of judgement decide otherwise than the first.
#include "testbed/judge/tests/verdict_fixture.h"

#include "testbed/judge/figure.h"
#include "testbed/stats/looks.h"
#include "testbed/stats/stats.h"

// A world judged by rules 2, with an A/A pair: A and C are locus, B is glibc.
static void second_open(struct world *w, uint32_t rounds)
{
    memset(w, 0, sizeof *w);
    world_arm(w, "locus");
    world_arm(w, "glibc");
    world_arm(w, "locus");
    world_cell(w, "churn-touch/full");
    world_cell(w, "burst-storm/full");
    world_run(w, rounds, 1);
    w->postulate.rules = 2;
}

static const char *verdict_of(const struct world *w, size_t index)
{
    return tb_member_text(world_prediction(w, index), "verdict");
}

static void second_half_slower(struct world *w, uint32_t cell, uint32_t arm, double factor)
{
    for (uint32_t round = w->rounds / 2; round < w->rounds; round++)
        world_slow(w, cell, arm, round, factor);
}

Test(rules, halves_on_two_sides_are_unstable_and_on_one_side_widen)
{
    struct world w;
    second_open(&w, 40);
    world_pace(&w, 0, 1, 1.0, 0.005);
    second_half_slower(&w, 0, 1, 1.05);
    world_predict(&w, TB_CLAIM_GE, 1.02); // between the halves
    world_predict(&w, TB_CLAIM_GE, 0.9);
    world_predict(&w, TB_CLAIM_GE, 1.5);
    world_judge(&w);
    cr_expect_str_eq(verdict_of(&w, 0), "inconclusive (unstable)");
    WHY_HAS(world_prediction(&w, 0), "in the first half of the rounds");
    cr_expect_str_eq(verdict_of(&w, 1), "survived");
    cr_expect_str_eq(verdict_of(&w, 2), "falsified");
    double low = number_at(world_prediction(&w, 1), "low"), high = number_at(world_prediction(&w, 1), "high");
    cr_expect(low < 1.0 && high > 1.05, "both halves are in [%g, %g]", low, high);
    CLOSE(json_number_value(json_array_get(tb_member(world_prediction(&w, 1), "halves"), 1)), 1.05, 0.002);
    world_close(&w);
}

Test(rules, blocks_of_rounds_that_differ_by_noise_are_not_unstable)
{
    struct world w;
    second_open(&w, 20);
    for (size_t i = 0; i < w.view.samples_count; i++) // as rules 1 have them
        json_object_set_new(w.view.samples[i].line, "block", json_integer(i >= w.view.samples_count / 2));
    world_pace(&w, 0, 1, 1.5, 0.4);
    world_slow(&w, 0, 1, 19, 1.3);
    world_predict(&w, TB_CLAIM_GE, 1.1);
    w.postulate.rules = 1;
    for (uint32_t round = 10; round < 20; round++)
        world_slow(&w, 0, 1, round, 1.1);
    world_judge(&w);
    cr_expect_str_eq(verdict_of(&w, 0), "inconclusive (unstable)");
    w.postulate.rules = 2;
    world_judge(&w);
    cr_expect_str_eq(verdict_of(&w, 0), "survived", "%s", tb_member_text(world_prediction(&w, 0), "why"));
    world_close(&w);
}

Test(rules, a_zone_has_three_outcomes)
{
    const struct {
        enum tb_relation op;
        double value, zone, low, high;
        enum tb_verdict wanted;
    } cases[] = {
        {TB_CLAIM_GE, 1.0, 0.95, 1.0, 1.1, TB_VERDICT_SURVIVED},      {TB_CLAIM_GE, 1.0, 0.95, 0.9, 0.949, TB_VERDICT_FALSIFIED},
        {TB_CLAIM_GE, 1.0, 0.95, 0.9, 0.95, TB_VERDICT_IN_BETWEEN},   {TB_CLAIM_GE, 1.0, 0.95, 0.95, 1.2, TB_VERDICT_IN_BETWEEN},
        {TB_CLAIM_GE, 1.0, 0.95, 0.96, 0.99, TB_VERDICT_IN_BETWEEN},  {TB_CLAIM_GE, 1.0, 0.95, 0.9, 0.999, TB_VERDICT_IN_BETWEEN},
        {TB_CLAIM_GE, 1.0, 0.95, 0.94, 1.0, TB_VERDICT_INCONCLUSIVE}, {TB_CLAIM_LE, 1.0, 1.05, 0.9, 1.0, TB_VERDICT_SURVIVED},
        {TB_CLAIM_LE, 1.0, 1.05, 1.051, 1.2, TB_VERDICT_FALSIFIED},   {TB_CLAIM_LE, 1.0, 1.05, 1.01, 1.2, TB_VERDICT_IN_BETWEEN},
        {TB_CLAIM_LE, 1.0, 1.05, 0.9, 1.05, TB_VERDICT_IN_BETWEEN},   {TB_CLAIM_LE, 1.0, 1.05, 1.0, 1.06, TB_VERDICT_INCONCLUSIVE},
        {TB_CLAIM_GT, 1.0, 0.95, 1.0, 1.1, TB_VERDICT_IN_BETWEEN},    {TB_CLAIM_GT, 1.0, 0.95, 1.001, 1.1, TB_VERDICT_SURVIVED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tb_prediction p = {
            .metric = "time_ns", .stat = TB_STAT_HL_RATIO, .op = cases[i].op, .low = cases[i].value, .zone = cases[i].zone};
        struct tb_part part = {.figure = {.seen = {.low = cases[i].low, .high = cases[i].high, .bounded = true}, .known = true}};
        tb_part_judge(&p, &part);
        cr_expect_eq(part.verdict, cases[i].wanted, "case %zu: %s", i, tb_verdict_name(part.verdict));
        cr_expect_eq(part.refuted, part.verdict == TB_VERDICT_FALSIFIED);
    }
}

Test(rules, a_noisy_cell_holds_back_its_times_and_nothing_else)
{
    struct world w;
    second_open(&w, 20);
    w.postulate.aa_band = 0.02;
    world_gate(&w, "aa_equivalent");
    world_pace(&w, 0, 1, 2, 0);
    world_pace(&w, 1, 1, 2, 0);
    world_pace(&w, 1, 2, 1, 0.2); // C against A in the second cell: wide, and about 1
    world_predict(&w, TB_CLAIM_GE, 1.5);
    snprintf(world_predict(&w, TB_CLAIM_GE, 1.5)->cell, 64, "burst-storm/full");
    snprintf(world_predict(&w, TB_CLAIM_GE, 1.5)->cell, 64, "*");
    snprintf(world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_LE, 1)->cell, 64, "burst-storm/full");
    world_judge(&w);
    cr_expect_str_eq(verdict_of(&w, 0), "survived");
    cr_expect_str_eq(verdict_of(&w, 1), "inconclusive (noise)");
    WHY_HAS(world_prediction(&w, 1), "aa_equivalent");
    cr_expect_str_eq(verdict_of(&w, 2), "inconclusive (noise)");
    WHY_HAS(world_prediction(&w, 2), "1 survived, 1 inconclusive (noise)");
    cr_expect_str_eq(verdict_of(&w, 3), "survived", "a count");
    world_close(&w);
}

Test(rules, a_wide_interval_about_1_is_no_equivalence)
{
    struct world w;
    second_open(&w, 20);
    world_pace(&w, 0, 2, 1, 0.2);
    world_gate(&w, "aa_ratio_ci contains 1");
    world_predict(&w, TB_CLAIM_GE, 0.5);
    w.postulate.rules = 1;
    SAYS(world_judge(&w), "verdict", "survived");
    w.postulate.rules = 2;
    w.postulate.aa_band = 0.02;
    snprintf(w.postulate.gates[0], sizeof w.postulate.gates[0], "aa_equivalent");
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    w.postulate.aa_band = 0.5;
    SAYS(world_judge(&w), "verdict", "survived");
    world_close(&w);
}

Test(rules, a_conjunction_has_the_figures_of_its_parts_alone)
{
    struct world w;
    second_open(&w, 20);
    world_pace(&w, 0, 1, 2, 0);
    world_pace(&w, 1, 1, 1.2, 0);
    snprintf(world_predict(&w, TB_CLAIM_GE, 1.5)->cell, 64, "*");
    world_judge(&w);
    const json_t *said = world_prediction(&w, 0);
    cr_expect_str_eq(verdict_of(&w, 0), "falsified");
    WHY_HAS(said, "1 survived, 1 falsified; burst-storm/full");
    cr_expect(json_is_null(json_object_get(said, "estimate")));
    cr_expect_eq(json_array_size(tb_member(said, "parts")), 2);
    CLOSE(number_at(json_array_get(tb_member(said, "parts"), 0), "estimate"), 2, 1e-9);
    world_close(&w);
}

Test(rules, each_look_has_its_share_of_the_confidence)
{
    struct world w;
    struct tb_ratio ratio;
    const uint64_t looks[] = {20, 40, 50};
    double a[40], b[40];
    second_open(&w, 40);
    world_pace(&w, 0, 1, 1.1, 0.03);
    world_predict(&w, TB_CLAIM_GE, 1);
    json_object_set_new(w.header, "design", json_pack("{s:[i, i, i]}", "looks", 20, 40, 50));
    for (uint32_t round = 0; round < 40; round++) {
        a[round] = world_time(&w, 0, 0, round);
        b[round] = world_time(&w, 0, 1, round);
    }
    world_judge(&w);
    double confidence = tb_look_confidence(0.95, looks, 3, 1);
    cr_assert_eq(tb_ratio(a, b, 40, confidence, &ratio), 0);
    CLOSE(number_at(world_prediction(&w, 0), "confidence"), confidence, 1e-12);
    CLOSE(number_at(world_prediction(&w, 0), "low"), ratio.low, 0);
    json_object_set_new(w.header, "design", json_pack("{s:[i, i]}", "looks", 20, 50));
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(world_prediction(&w, 0), "nobody was to look");
    world_close(&w);
}

Test(rules, arms_that_took_turns_are_compared_by_turns)
{
    struct world w;
    second_open(&w, 20);
    world_pace(&w, 0, 1, 1.5, 0.1);
    world_predict(&w, TB_CLAIM_GE, 1.2);
    for (uint32_t round = 0; round < 20; round++)
        for (uint32_t arm = 0; arm < 2; arm++) {
            json_object_set_new(world_sample(&w, 0, arm, round), "time_rel", json_real(arm ? 1.1 : 1));
            json_object_set_new(world_sample(&w, 0, arm, round), "process", json_integer(3));
        }
    world_judge(&w);
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 1.1, 1e-12);
    json_object_set_new(world_sample(&w, 0, 1, 7), "process", json_integer(2)); // not together in that round
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(world_prediction(&w, 0), "did not take turns in one process");
    for (uint32_t round = 0; round < 20; round++) // neither had company
        for (uint32_t arm = 0; arm < 2; arm++)
            json_object_set_new(world_sample(&w, 0, arm, round), "time_rel", json_null());
    world_judge(&w);
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 1.5, 0.05);
    world_close(&w);
}

Test(rules, more_rounds_help_only_what_is_open_and_can_be_decided)
{
    struct world w;
    second_open(&w, 20);
    world_pace(&w, 0, 1, 1.5, 0.1);
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_GE, 1.2);
    cr_expect_not(tb_verdict_open(world_judge(&w)));
    p->low = 1.5;
    cr_expect(tb_verdict_open(world_judge(&w)));
    p->zone = 1.2;
    cr_expect_not(tb_verdict_open(world_judge(&w)), "in between is decided: %s", verdict_of(&w, 0));
    p->zone = 0;
    world_gate(&w, "host_fit"); // this log's host is not known to have been fit
    cr_expect_str_eq((world_judge(&w), verdict_of(&w, 0)), "inconclusive (noise)");
    cr_expect_not(tb_verdict_open(w.summary));
    world_close(&w);
}

Test(rules, a_gate_among_the_predictions_is_not_counted_and_makes_a_run_invalid)
{
    struct world w;
    second_open(&w, 20);
    world_pace(&w, 0, 1, 1.1, 0);
    world_predict(&w, TB_CLAIM_GE, 1.5);
    struct tb_prediction *gate = world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_LE, 1);
    gate->gate = true;
    SAYS(world_judge(&w), "verdict", "falsified");
    cr_expect(json_is_true(json_object_get(world_prediction(&w, 1), "gate")));
    gate->low = 0.5;
    SAYS(world_judge(&w), "verdict", "invalid");
    WHY_HAS(w.summary, "cannot fail but by a bug");
    world_close(&w);
}

Test(rules, the_sign_interval_is_there_where_the_two_disagree)
{
    struct world w;
    second_open(&w, 60);
    for (uint32_t round = 0; round < 60;
         round++) // two rounds of three a little above 1, one far below: median and pseudo-median part
        world_slow(&w, 0, 1, round, round % 3 ? 1.1 : 0.2);
    world_predict(&w, TB_CLAIM_GE, 1);
    world_judge(&w);
    const json_t *sign = tb_member(world_prediction(&w, 0), "sign");
    cr_assert(json_is_object(sign));
    cr_expect(number_at(sign, "estimate") > 1 && number_at(world_prediction(&w, 0), "estimate") < number_at(sign, "low"));
    world_close(&w);
}

// --- two cells -----------------------------------------------------------------------------------------------------------------

static struct tb_prediction *predict_across(struct world *w, enum tb_relation op, double value)
{
    struct tb_prediction *p = world_predict(w, op, value);
    strcpy(p->over, "A");
    strcpy(p->cell, "burst-storm/full");
    strcpy(p->cell_under, "churn-touch/full");
    return p;
}

Test(rules, an_arm_is_held_against_itself_in_another_cell_round_by_round)
{
    struct world w;
    second_open(&w, 20);
    world_pace(&w, 0, 0, 1.0, 0.005);
    world_pace(&w, 1, 0, 1.5, 0.005);
    predict_across(&w, TB_CLAIM_GE, 1.4);
    predict_across(&w, TB_CLAIM_GE, 1.6);
    world_judge(&w);
    cr_expect_str_eq(verdict_of(&w, 0), "survived");
    cr_expect_str_eq(verdict_of(&w, 1), "falsified");
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 1.5, 0.005);
    cr_expect_str_eq(tb_member_text(world_prediction(&w, 0), "cell_under"), "churn-touch/full");
    world_close(&w);
}

Test(rules, a_cell_below_that_was_not_run_or_is_held_back_decides_nothing)
{
    struct world w;
    second_open(&w, 20);
    world_pace(&w, 1, 0, 1.5, 0.005);
    world_pace(&w, 1, 2, 1.5, 0.005);
    world_pace(&w, 0, 2, 1.2, 0.005); // the A/A pair of the lower cell alone differs
    world_gate(&w, "aa_equivalent");
    w.postulate.aa_band = 0.05;
    predict_across(&w, TB_CLAIM_GE, 1.4);
    strcpy(predict_across(&w, TB_CLAIM_GE, 1.4)->cell_under, "long-tail/full");
    world_judge(&w);
    cr_expect_str_eq(verdict_of(&w, 0), "inconclusive (noise)");
    cr_expect_str_eq(verdict_of(&w, 1), "inconclusive");
    WHY_HAS(world_prediction(&w, 1), "the cell long-tail/full was not run");
    world_close(&w);
}
