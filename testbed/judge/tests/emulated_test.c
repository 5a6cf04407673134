// SPDX-License-Identifier: Apache-2.0
//
// Runs of an emulated machine: its counts are judged as any, its times never, and their noise stands in nobody's way. And the
// metrics of many nodes, which are counts.
#include "testbed/judge/tests/verdict_fixture.h"

#include "testbed/judge/figure.h"

#define CLOCK "the clock of an emulated machine (n2) says nothing about hardware"

static void emulate(struct world *w)
{
    json_object_set_new(w->header, "emulated", json_string("n2"));
}

// A, B and A again: one time and one count are claimed, and both would survive on hardware.
static void open_both(struct world *w)
{
    memset(w, 0, sizeof *w);
    world_arm(w, "locus");
    world_arm(w, "glibc");
    world_arm(w, "locus");
    world_cell(w, "churn-touch/full");
    world_run(w, 20, 2);
    world_pace(w, 0, 1, 1.5, 0.01);
    world_predict(w, TB_CLAIM_GE, 1.25);
    world_predict_arm(w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_EQ, 1);
}

static void expect_no_figure(const json_t *prediction)
{
    for (size_t i = 0; i < 3; i++)
        cr_expect(json_is_null(json_object_get(prediction, (const char *const[]){"estimate", "low", "high"}[i])));
    CLOSE(number_at(prediction, "n"), 0, 0);
}

Test(emulated, a_time_is_unmeasurable_and_a_count_is_judged)
{
    struct world w;
    open_both(&w);
    SAYS(world_judge(&w), "verdict", "survived");
    emulate(&w);
    SAYS(world_judge(&w), "verdict", "unmeasurable-on-host");
    SAYS(world_prediction(&w, 0), "verdict", "unmeasurable-on-host");
    cr_expect_str_eq(text_at(world_prediction(&w, 0), "why"), CLOCK);
    expect_no_figure(world_prediction(&w, 0));
    SAYS(world_prediction(&w, 1), "verdict", "survived");
    CLOSE(number_at(world_prediction(&w, 1), "estimate"), 1, 0);
    cr_expect_str_eq(text_at(w.summary, "why"), "P1: " CLOCK "; the rest survived (P2)");
    world_close(&w);
}

Test(emulated, of_counts_alone_the_verdict_is_theirs)
{
    struct world w;
    open_both(&w);
    emulate(&w);
    w.postulate.predictions_count = 0;
    world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_EQ, 1);
    SAYS(world_judge(&w), "verdict", "survived");
    world_predict_arm(&w, "distinct_ratio", TB_STAT_MIN, TB_CLAIM_GT, 1);
    SAYS(world_judge(&w), "verdict", "falsified");
    WHY_HAS(w.summary, "P2 falsified");
    world_close(&w);
}

Test(emulated, of_times_alone_nothing_is_known)
{
    struct world w;
    open_both(&w);
    emulate(&w);
    w.postulate.predictions_count = 0;
    world_predict(&w, TB_CLAIM_GE, 1.25);
    world_predict_arm(&w, "time_ns", TB_STAT_MAX, TB_CLAIM_LE, 1e9);
    world_predict_arm(&w, "time_ns", TB_STAT_MEDIAN, TB_CLAIM_LE, 1);
    SAYS(world_judge(&w), "verdict", "unmeasurable-on-host");
    cr_expect_str_eq(text_at(w.summary, "why"), "P1, P2, P3: " CLOCK);
    for (size_t i = 0; i < 3; i++)
        SAYS(world_prediction(&w, i), "verdict", "unmeasurable-on-host");
    world_close(&w);
}

Test(emulated, one_falsified_count_falsifies)
{
    struct world w;
    open_both(&w);
    emulate(&w);
    world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_LT, 1);
    SAYS(world_judge(&w), "verdict", "falsified");
    WHY_HAS(w.summary, "P3 falsified: 1");
    SAYS(world_prediction(&w, 0), "verdict", "unmeasurable-on-host");
    world_close(&w);
}

Test(emulated, what_is_inconclusive_is_named_before_what_is_unmeasurable)
{
    struct world w;
    open_both(&w);
    emulate(&w);
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_WITHIN, 0.9); // at a confidence that twenty rounds cannot reach
    snprintf(p->metric, sizeof p->metric, "outstanding_ratio");
    p->high = 1.1;
    p->confidence = 0.9999999;
    SAYS(world_judge(&w), "verdict", "inconclusive");
    WHY_HAS(w.summary, "P3 inconclusive");
    world_close(&w);
}

Test(emulated, gates_of_time_are_not_asked)
{
    static const char *const gates[] = {"aa_ratio_ci contains 1", "aa_ratio_ci inside band", "paired_spread", "host_fit"};
    enum { GATES = sizeof gates / sizeof *gates };
    struct world w;
    open_both(&w);
    world_pace(&w, 0, 2, 1.3, 0);   // the twin differs
    world_slow(&w, 0, 1, 3, 5);     // and a round is far off
    for (size_t i = 0; i < GATES; i++)
        world_gate(&w, gates[i]);
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    emulate(&w);
    SAYS(world_judge(&w), "verdict", "unmeasurable-on-host");
    SAYS(world_prediction(&w, 0), "verdict", "unmeasurable-on-host");
    SAYS(world_prediction(&w, 1), "verdict", "survived");
    const json_t *list = json_object_get(w.summary, "gates");
    for (size_t i = 0; i < GATES; i++) {
        const json_t *gate = json_array_get(list, json_array_size(list) - GATES + i);
        cr_expect_str_eq(text_at(gate, "gate"), gates[i]);
        cr_expect(json_is_true(json_object_get(gate, "passed")));
        cr_expect(strstr(text_at(gate, "reason"), "not asked") && strstr(text_at(gate, "reason"), "(n2)"), "%s",
                  text_at(gate, "reason"));
    }
    world_close(&w);
}

Test(emulated, another_noise_gate_leaves_the_times_unmeasurable)
{
    struct world w;
    open_both(&w);
    emulate(&w);
    world_gate(&w, "throttle == 0");
    json_object_del(w.after, "counters");
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    SAYS(world_prediction(&w, 0), "verdict", "unmeasurable-on-host");
    SAYS(world_prediction(&w, 1), "verdict", "inconclusive (noise)");
    world_close(&w);
}

Test(emulated, stronger_reasons_overrule_it)
{
    struct world w;
    open_both(&w);
    emulate(&w);
    json_object_set_new(w.header, "kind", json_string("smoke"));
    SAYS(world_judge(&w), "verdict", "none (smoke)");
    SAYS(world_prediction(&w, 0), "verdict", "none (smoke)");
    json_object_set_new(world_sample(&w, 0, 0, 0), "freed", json_integer(7));
    SAYS(world_judge(&w), "verdict", "invalid");
    SAYS(world_prediction(&w, 0), "verdict", "invalid");
    json_object_set_new(w.header, "unmet", json_string("needs hardware, and this is an emulated guest (n2)"));
    SAYS(world_judge(&w), "verdict", "unmeasurable-on-host");
    cr_expect_str_eq(text_at(world_prediction(&w, 0), "why"), "needs hardware, and this is an emulated guest (n2)");
    world_close(&w);
}

Test(emulated, times_want_no_third_block)
{
    struct world w;
    open_both(&w);
    for (uint32_t round = 10; round < 20; round++)
        world_slow(&w, 0, 1, round, 1.2);
    cr_assert(tb_verdict_unstable(&w.view, &w.postulate));
    emulate(&w);
    cr_assert_not(tb_verdict_unstable(&w.view, &w.postulate));
    SAYS(world_judge(&w), "verdict", "unmeasurable-on-host");
    struct tb_prediction *p = world_predict(&w, TB_CLAIM_GE, 0.5); // a count may still want one
    snprintf(p->metric, sizeof p->metric, "outstanding_ratio");
    for (uint32_t round = 10; round < 20; round++)
        json_object_set_new(world_sample(&w, 0, 1, round), "outstanding_high", json_integer(130));
    cr_assert(tb_verdict_unstable(&w.view, &w.postulate));
    SAYS(world_judge(&w), "verdict", "inconclusive");
    SAYS(world_prediction(&w, 2), "verdict", "inconclusive (unstable)");
    WHY_HAS(w.summary, "P3 inconclusive (unstable)");
    world_close(&w);
}

Test(emulated, the_tables_of_times_are_empty)
{
    struct world w;
    open_both(&w);
    snprintf(w.postulate.arms[1].name, sizeof w.postulate.arms[1].name, "locus@delay:50");
    world_judge(&w);
    cr_assert(json_is_object(json_object_get(w.summary, "positive_control")));
    cr_assert_eq(json_array_size(json_object_get(w.summary, "arms")), 3);
    cr_assert_eq(json_array_size(json_object_get(w.summary, "aa")), 1);
    emulate(&w);
    world_judge(&w);
    cr_assert(json_is_null(json_object_get(w.summary, "positive_control")));
    cr_assert(json_is_array(json_object_get(w.summary, "arms")) && json_array_size(json_object_get(w.summary, "arms")) == 0);
    cr_assert(json_is_array(json_object_get(w.summary, "aa")) && json_array_size(json_object_get(w.summary, "aa")) == 0);
    world_close(&w);
}

Test(emulated, parts_of_a_conjunction_are_unmeasurable_with_it)
{
    struct world w;
    open_both(&w);
    emulate(&w);
    snprintf(w.postulate.predictions[0].over, sizeof w.postulate.predictions[0].over, "*");
    world_judge(&w);
    const json_t *parts = json_object_get(world_prediction(&w, 0), "parts");
    cr_assert_eq(json_array_size(parts), 1);
    SAYS(json_array_get(parts, 0), "verdict", "unmeasurable-on-host");
    cr_expect(json_is_null(json_object_get(json_array_get(parts, 0), "estimate")));
    cr_expect_str_eq(text_at(world_prediction(&w, 0), "why"), CLOCK);
    world_close(&w);
}

// --- the metrics of many nodes -------------------------------------------------------------------------------------------------

// Round r of arm A has the ratio values[r % count]; NAN is null.
static void set_ratio(const struct world *w, uint32_t arm, const char *member, const double values[], size_t count)
{
    for (uint32_t round = 0; round < w->rounds; round++) {
        double value = values[round % count];
        json_object_set_new(world_sample(w, 0, arm, round), member, isnan(value) ? json_null() : json_real(value));
    }
}

Test(many_nodes, ratios_are_exact_in_every_round)
{
    struct world w;
    open_both(&w);
    emulate(&w);
    w.postulate.predictions_count = 0;
    set_ratio(&w, 0, "remote_touch_ratio", (const double[]){0}, 1);
    set_ratio(&w, 0, "wandered_ratio", (const double[]){0.4, 0.1, 0.2, 0.3, 0.2}, 5);
    world_predict_arm(&w, "remote_touch_ratio", TB_STAT_MAX, TB_CLAIM_EQ, 0);
    world_predict_arm(&w, "wandered_ratio", TB_STAT_MIN, TB_CLAIM_EQ, 0.1);
    world_predict_arm(&w, "wandered_ratio", TB_STAT_MEDIAN, TB_CLAIM_EQ, 0.2);
    SAYS(world_judge(&w), "verdict", "survived");
    for (size_t i = 0; i < 3; i++) {
        CLOSE(number_at(world_prediction(&w, i), "confidence"), 1, 0);
        CLOSE(number_at(world_prediction(&w, i), "n"), 20, 0);
    }
    json_object_set_new(world_sample(&w, 0, 0, 7), "remote_touch_ratio", json_real(1e-9)); // one touch of a billion
    SAYS(world_judge(&w), "verdict", "falsified");
    world_close(&w);
}

Test(many_nodes, a_round_without_the_ratio_leaves_it_unknown)
{
    struct world w;
    open_both(&w);
    w.postulate.predictions_count = 0;
    world_predict_arm(&w, "abroad_free_ratio", TB_STAT_MAX, TB_CLAIM_LE, 0.5);
    SAYS(world_judge(&w), "verdict", "inconclusive"); // a log that is older than the metric
    WHY_HAS(world_prediction(&w, 0), "a round in churn-touch/full has no abroad_free_ratio to compare");
    static const enum tb_stat stats[] = {TB_STAT_MAX, TB_STAT_MIN, TB_STAT_MEDIAN};
    for (size_t i = 0; i < 3; i++) {
        w.postulate.predictions[0].stat = stats[i];
        set_ratio(&w, 0, "abroad_free_ratio", (const double[]){0.25, NAN, 0.25, 0.25}, 4);
        SAYS(world_judge(&w), "verdict", "inconclusive");
        cr_expect(json_is_null(json_object_get(world_prediction(&w, 0), "estimate")));
        set_ratio(&w, 0, "abroad_free_ratio", (const double[]){0.25}, 1);
        SAYS(world_judge(&w), "verdict", "survived");
    }
    world_close(&w);
}
