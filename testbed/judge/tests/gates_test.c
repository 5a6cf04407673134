// SPDX-License-Identifier: Apache-2.0
//
// gates: what overrules all predictions, in which order, and the tables of a summary.
#include "testbed/judge/tests/verdict_fixture.h"

#include "testbed/base/json.h"
#include "testbed/postulate/known.h"
#include "testbed/stats/stats.h"

static const json_t *gate_of(const struct world *w, const char *name)
{
    size_t i;
    json_t *gate;
    json_array_foreach (json_object_get(w->summary, "gates"), i, gate)
        if (strcmp(text_at(gate, "gate"), name) == 0)
            return gate;
    cr_assert_fail("there is no gate %s", name);
    return NULL;
}

static bool passed(const struct world *w, const char *name)
{
    return json_is_true(json_object_get(gate_of(w, name), "passed"));
}

// Glibc takes 1.5 times as long as locus; C is locus again.
static void open_pair(struct world *w, uint32_t rounds, uint32_t blocks)
{
    memset(w, 0, sizeof *w);
    world_arm(w, "locus");
    world_arm(w, "glibc");
    world_arm(w, "locus");
    world_cell(w, "churn-touch/full");
    world_run(w, rounds, blocks);
    world_pace(w, 0, 1, 1.5, 0.001);
    world_pace(w, 0, 2, 1, 0.001);
    world_predict(w, TB_CLAIM_GE, 1.2);
}

// --- proof ---------------------------------------------------------------------------------------------------------------------

Test(gates, each_proof_is_checked_in_every_sample_though_nobody_lists_it)
{
    static const struct {
        const char *gate, *member, *reason;
    } cases[] = {
        {"allocated == freed", "freed", "arm B, cell 0, round 11: allocated 2688, freed 7"},
        {"pushed == drained", "drained", "arm B, cell 0, round 11: pushed 168, drained 7"},
        {"touched == expected", "touched_bytes", "arm B, cell 0, round 11: touched_bytes 7, touched_bytes_expected 4096"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        open_pair(&w, 20, 2);
        SAYS(world_judge(&w), "verdict", "survived");
        cr_assert_eq(json_array_size(json_object_get(w.summary, "gates")), 4);
        cr_assert(passed(&w, cases[i].gate) && json_is_null(json_object_get(gate_of(&w, cases[i].gate), "reason")));
        json_object_set_new(world_sample(&w, 0, 1, 11), cases[i].member, json_integer(7));
        SAYS(world_judge(&w), "verdict", "invalid");
        SAYS(world_prediction(&w, 0), "verdict", "invalid");
        cr_assert(!passed(&w, cases[i].gate));
        cr_assert_str_eq(text_at(gate_of(&w, cases[i].gate), "reason"), cases[i].reason);
        cr_assert_str_eq(text_at(gate_of(&w, cases[i].gate), "kind"), "proof");
        WHY_HAS(w.summary, cases[i].reason);
        cr_assert(passed(&w, "handles home"), "one reason is enough");
        world_close(&w);
    }
}

Test(gates, what_else_made_a_sample_invalid_is_handles_home)
{
    struct world w;
    open_pair(&w, 20, 2);
    json_t *sample = world_sample(&w, 0, 2, 3);
    json_object_set_new(sample, "valid", json_false());
    json_object_set_new(sample, "invalid", json_string("4 blocks are not home"));
    SAYS(world_judge(&w), "verdict", "invalid");
    WHY_HAS(w.summary, "handles home: arm C, cell 0, round 3: 4 blocks are not home");
    json_object_set_new(world_sample(&w, 0, 0, 5), "ran", json_false());
    SAYS(world_judge(&w), "verdict", "invalid");
    WHY_HAS(w.summary, "(and 1 more)");
    world_close(&w);
}

Test(gates, a_gate_that_nobody_knows_has_not_passed)
{
    struct world w;
    open_pair(&w, 20, 2);
    world_gate(&w, "moon == full");
    SAYS(world_judge(&w), "verdict", "invalid");
    WHY_HAS(w.summary, "moon == full: there is no such gate");
    world_close(&w);
}

Test(gates, each_that_a_postulate_may_name_is_judged)
{
    for (unsigned i = 0; tb_gate_at(i); i++) {
        struct world w;
        open_pair(&w, 20, 2);
        world_gate(&w, tb_gate_at(i));
        world_judge(&w);
        cr_expect_null(strstr(tb_member_text(w.summary, "why"), "there is no such gate"), "%s", tb_gate_at(i));
        world_close(&w);
    }
}

// --- noise ---------------------------------------------------------------------------------------------------------------------

// Claimed is 1.2, so the band is a quarter of 0.2: 0.05 to either side.
Test(gates, aa_pair_may_be_apart_by_a_quarter_of_what_is_claimed)
{
    struct world w;
    open_pair(&w, 20, 2);
    world_gate(&w, "aa_ratio_ci contains 1");
    world_gate(&w, "aa_ratio_ci inside band");
    world_pace(&w, 0, 2, 1.045, 0);
    SAYS(world_judge(&w), "verdict", "survived");
    cr_assert(passed(&w, "aa_ratio_ci contains 1") && passed(&w, "aa_ratio_ci inside band"));
    world_pace(&w, 0, 2, 1.055 / 1.045, 0);
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    SAYS(world_prediction(&w, 0), "verdict", "inconclusive (noise)");
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 1.5, 0.01); // shown all the same
    cr_assert_str_eq(text_at(gate_of(&w, "aa_ratio_ci contains 1"), "kind"), "noise");
    WHY_HAS(w.summary, "aa_ratio_ci contains 1: C/A in churn-touch/full: [1.05");
    w.postulate.predictions[0].low = 1.4; // 0.1
    SAYS(world_judge(&w), "verdict", "survived");
    w.postulate.predictions[0].op = TB_CLAIM_GT;
    w.postulate.predictions[0].low = 1; // of mere order: 0.01
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    world_close(&w);
}

Test(gates, a_wide_aa_interval_contains_1_and_is_not_inside_the_band)
{
    struct world w;
    open_pair(&w, 20, 2);
    world_pace(&w, 0, 2, 1, 0.2);
    world_gate(&w, "aa_ratio_ci contains 1");
    SAYS(world_judge(&w), "verdict", "survived");
    world_gate(&w, "aa_ratio_ci inside band");
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    WHY_HAS(w.summary, "is not inside 1 +/- 0.0500");
    world_close(&w);
}

Test(gates, aa_wants_a_twin_and_rounds_enough_for_99_percent)
{
    struct world w;
    open_pair(&w, 6, 2);
    world_gate(&w, "aa_ratio_ci contains 1");
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    WHY_HAS(w.summary, "too few rounds for a 99 % interval");
    const json_t *aa = json_array_get(json_object_get(w.summary, "aa"), 0);
    cr_assert(json_is_null(json_object_get(aa, "low")) && json_is_null(json_object_get(aa, "high")));
    snprintf(w.postulate.arms[2].name, sizeof w.postulate.arms[2].name, "mimalloc");
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    WHY_HAS(w.summary, "no contender is there twice");
    world_close(&w);
}

Test(gates, paired_spread_sees_sd_and_extremes_and_not_drift)
{
    struct world w;
    open_pair(&w, 20, 1);
    world_gate(&w, "paired_spread");
    for (uint32_t arm = 0; arm < 3; arm++) // the whole round suffers
        world_slow(&w, 0, arm, 9, 5);
    SAYS(world_judge(&w), "verdict", "survived");
    world_slow(&w, 0, 1, 9, 1.40);
    SAYS(world_judge(&w), "verdict", "survived");
    world_slow(&w, 0, 1, 9, 1.52 / 1.40);
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    WHY_HAS(w.summary, "the farthest round 52 % off");
    world_slow(&w, 0, 1, 9, 1 / 1.52 / 1.52);
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)"); // off to the other side
    world_slow(&w, 0, 1, 9, 1.52);
    SAYS(world_judge(&w), "verdict", "survived");
    world_pace(&w, 0, 1, 1, 0.158); // sd 9.9 %
    SAYS(world_judge(&w), "verdict", "survived");
    world_pace(&w, 0, 1, 1, 0.003);
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    WHY_HAS(w.summary, "paired_spread: B/A in churn-touch/full: sd 10.1 %");
    world_close(&w);
}

Test(gates, throttling_is_noise_and_missing_counters_are_no_proof_of_calm)
{
    struct world w;
    open_pair(&w, 20, 2);
    world_gate(&w, "throttle == 0");
    json_t *before = json_pack("{s:{s:s, s:{s:i}}}", "throttle", "thermal", "ABSENT", "cgroup", "nr_throttled", 4);
    json_t *same = json_deep_copy(before);
    json_object_set_new(w.header, "before", before);
    json_object_set_new(w.after, "counters", same);
    SAYS(world_judge(&w), "verdict", "survived");
    json_object_set_new(json_object_get(json_object_get(same, "throttle"), "cgroup"), "nr_throttled", json_integer(5));
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    WHY_HAS(w.summary, "throttle == 0: the host throttled");
    json_object_del(w.after, "counters");
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    WHY_HAS(w.summary, "are missing");
    world_close(&w);
}

Test(gates, an_unfit_host_is_noise_and_so_is_one_of_which_nothing_is_known)
{
    static const char *const findings[] = {"fit", "note", "unfit", "unknown"};
    struct world w;
    open_pair(&w, 20, 2);
    world_gate(&w, "host_fit");
    cr_assert(tb_gate_known("host_fit"));
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)"); // a log older than the doctor
    WHY_HAS(w.summary, "host_fit: the log does not say");
    for (int i = 0; i < 4; i++) {
        json_object_set_new(w.header, "doctor",
                            json_pack("{s:b, s:{s:{s:s, s:b, s:s}}}", "fit", i < 2, "findings", "thp", "state", findings[i],
                                      "decides", 1, "now", "always"));
        SAYS(world_judge(&w), "verdict", i < 2 ? "survived" : "inconclusive (noise)");
        cr_expect_eq(passed(&w, "host_fit"), i < 2);
    }
    WHY_HAS(w.summary, "host_fit: not known to be fit: thp");
    json_object_set_new(json_object_get(w.header, "doctor"), "findings",
                        json_pack("{s:{s:s, s:b}, s:{s:s, s:b}}", "thp", "state", "unfit", "decides", 1, "load", "state", "unfit",
                                  "decides", 1));
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    WHY_HAS(w.summary, "host_fit: 2 findings: thp, load");
    world_close(&w);
}

// --- blocks --------------------------------------------------------------------------------------------------------------------

static void slow_block(const struct world *w, uint32_t first, uint32_t count, double factor)
{
    for (uint32_t round = first; round < first + count; round++)
        world_slow(w, 0, 1, round, factor);
}

Test(gates, two_blocks_more_than_five_percent_apart_are_unstable)
{
    struct world w;
    open_pair(&w, 20, 2);
    slow_block(&w, 10, 10, 1.045);
    cr_assert(!tb_verdict_unstable(&w.view, &w.postulate));
    SAYS(world_judge(&w), "verdict", "survived");
    slow_block(&w, 10, 10, 1.055 / 1.045);
    cr_assert(tb_verdict_unstable(&w.view, &w.postulate));
    SAYS(world_judge(&w), "verdict", "inconclusive (unstable)");
    WHY_HAS(w.summary, "churn-touch/full: B/A is 1.58");
    slow_block(&w, 10, 10, 1 / 1.055 / 1.055); // the other way round
    cr_assert(tb_verdict_unstable(&w.view, &w.postulate));
    world_close(&w);
}

Test(gates, an_unstable_prediction_leaves_the_others_alone)
{
    struct world w;
    open_pair(&w, 20, 2);
    slow_block(&w, 10, 10, 1.10);
    world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_EQ, 1);
    SAYS(world_judge(&w), "verdict", "inconclusive");
    SAYS(world_prediction(&w, 0), "verdict", "inconclusive (unstable)");
    SAYS(world_prediction(&w, 1), "verdict", "survived");
    world_close(&w);
}

Test(gates, a_third_block_decides_between_two_that_disagree)
{
    struct world w;
    open_pair(&w, 30, 3);
    slow_block(&w, 10, 10, 1.10);
    SAYS(world_judge(&w), "verdict", "survived"); // it sides with the first
    CLOSE(number_at(world_prediction(&w, 0), "n"), 30, 0);
    CLOSE(number_at(w.summary, "blocks"), 3, 0);
    slow_block(&w, 20, 10, 1.10);
    SAYS(world_judge(&w), "verdict", "survived"); // with the second
    slow_block(&w, 20, 10, 1.10);
    SAYS(world_judge(&w), "verdict", "inconclusive (unstable)"); // with neither
    world_close(&w);
}

Test(gates, exact_predictions_and_single_blocks_have_no_stability)
{
    struct world w;
    open_pair(&w, 20, 2);
    slow_block(&w, 10, 10, 1.5);
    w.postulate.predictions_count = 0;
    world_predict_arm(&w, "outstanding_ratio", TB_STAT_MAX, TB_CLAIM_EQ, 1);
    cr_assert(!tb_verdict_unstable(&w.view, &w.postulate));
    SAYS(world_judge(&w), "verdict", "survived");
    world_close(&w);
    open_pair(&w, 20, 1);
    slow_block(&w, 10, 10, 1.5);
    cr_assert(!tb_verdict_unstable(&w.view, &w.postulate));
    world_close(&w);
}

// --- which comes first ---------------------------------------------------------------------------------------------------------

Test(gates, the_stronger_reason_overrules_the_weaker)
{
    struct world w;
    open_pair(&w, 20, 2);
    slow_block(&w, 10, 10, 1.2);
    SAYS(world_judge(&w), "verdict", "inconclusive (unstable)");
    world_pace(&w, 0, 2, 1.2, 0);
    world_gate(&w, "aa_ratio_ci contains 1");
    SAYS(world_judge(&w), "verdict", "inconclusive (noise)");
    json_object_set_new(w.header, "kind", json_string("smoke"));
    SAYS(world_judge(&w), "verdict", "none (smoke)");
    SAYS(world_prediction(&w, 0), "verdict", "none (smoke)");
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 1.65, 0.05);
    json_object_set_new(world_sample(&w, 0, 0, 0), "freed", json_integer(7));
    SAYS(world_judge(&w), "verdict", "invalid");
    json_object_set_new(w.header, "unmet", json_string("needs numa_nodes >= 2, and here is 1 node"));
    SAYS(world_judge(&w), "verdict", "unmeasurable-on-host");
    WHY_HAS(w.summary, "needs numa_nodes >= 2, and here is 1 node");
    world_close(&w);
}

Test(gates, a_log_without_samples_has_an_honest_summary)
{
    struct world w;
    open_pair(&w, 20, 2);
    world_gate(&w, "aa_ratio_ci contains 1");
    size_t count = w.view.samples_count;
    w.view.samples_count = 0;
    json_object_set_new(w.header, "unmet", json_string("needs mbind_ok"));
    SAYS(world_judge(&w), "verdict", "unmeasurable-on-host");
    SAYS(world_prediction(&w, 0), "verdict", "unmeasurable-on-host");
    cr_assert(json_is_null(json_object_get(world_prediction(&w, 0), "estimate")));
    CLOSE(number_at(w.summary, "rounds"), 0, 0);
    json_object_set_new(w.header, "unmet", json_null());
    SAYS(world_judge(&w), "verdict", "inconclusive"); // it was stopped before its first round
    w.view.samples_count = count;
    world_close(&w);
}

Test(gates, parts_of_a_conjunction_are_overruled_with_it)
{
    struct world w;
    open_pair(&w, 20, 2);
    snprintf(w.postulate.predictions[0].over, sizeof w.postulate.predictions[0].over, "*");
    json_object_set_new(w.header, "kind", json_string("smoke"));
    world_judge(&w);
    const json_t *parts = json_object_get(world_prediction(&w, 0), "parts");
    cr_assert_eq(json_array_size(parts), 1);
    SAYS(json_array_get(parts, 0), "verdict", "none (smoke)");
    world_close(&w);
}

// --- tables --------------------------------------------------------------------------------------------------------------------

Test(gates, every_arm_has_a_row_and_keeps_its_outliers)
{
    struct world w;
    open_pair(&w, 20, 2);
    world_slow(&w, 0, 0, 7, 1.25);
    world_slow(&w, 0, 0, 8, 9);
    world_judge(&w);
    const json_t *rows = json_object_get(w.summary, "arms"), *row = json_array_get(rows, 0);
    cr_assert_eq(json_array_size(rows), 3);
    cr_assert_str_eq(text_at(row, "cell"), "churn-touch/full");
    cr_assert_str_eq(text_at(row, "arm"), "A");
    double times[20];
    for (uint32_t round = 0; round < 20; round++)
        times[round] = world_time(&w, 0, 0, round);
    CLOSE(number_at(row, "n"), 20, 0);
    CLOSE(number_at(row, "median"), tb_median(times, 20), 0);
    CLOSE(number_at(row, "mad"), tb_mad(times, 20), 0);
    CLOSE(number_at(row, "min"), 1000, 0);
    CLOSE(number_at(row, "outliers_mild"), 1, 0);
    CLOSE(number_at(row, "outliers_severe"), 1, 0);
    double low = number_at(row, "low");
    cr_assert(low < number_at(row, "median") && number_at(row, "high") > number_at(row, "median"));
    world_judge(&w);
    CLOSE(number_at(json_array_get(json_object_get(w.summary, "arms"), 0), "low"), low, 0); // the same log, the same summary
    world_close(&w);
}

Test(gates, aa_lists_each_pair_of_equal_names_in_each_cell)
{
    struct world w;
    memset(&w, 0, sizeof w);
    for (int i = 0; i < 3; i++)
        world_arm(&w, "locus");
    world_arm(&w, "glibc");
    world_cell(&w, "churn-touch/full");
    world_cell(&w, "long-tail/byte");
    world_run(&w, 20, 2);
    world_pace(&w, 1, 2, 1.07, 0);
    world_judge(&w);
    const json_t *aa = json_object_get(w.summary, "aa"), *last = json_array_get(aa, 5);
    cr_assert_eq(json_array_size(aa), 6);
    cr_assert_str_eq(text_at(last, "cell"), "long-tail/byte");
    cr_assert_str_eq(text_at(last, "arms"), "C/B");
    CLOSE(number_at(last, "estimate"), 1.07, 1e-9);
    cr_assert(number_at(last, "confidence") >= 0.99);
    world_close(&w);
}

Test(gates, positive_control_is_found_when_it_shows_in_every_cell)
{
    struct world w;
    memset(&w, 0, sizeof w);
    world_arm(&w, "locus");
    world_arm(&w, "glibc");
    world_arm(&w, "locus@delay:3");
    world_cell(&w, "churn-touch/full");
    world_cell(&w, "long-tail/byte");
    world_run(&w, 20, 2);
    world_pace(&w, 0, 2, 1.03, 0.01);
    world_pace(&w, 1, 2, 1.02, 0.01);
    world_judge(&w);
    const json_t *control = json_object_get(w.summary, "positive_control");
    cr_assert(json_is_true(json_object_get(control, "found")));
    CLOSE(number_at(control, "percent"), 3, 0);
    CLOSE(number_at(control, "estimate"), 1.02, 0.003);
    cr_assert_str_eq(text_at(control, "cell"), "long-tail/byte");
    cr_assert_str_eq(text_at(control, "arms"), "C/A");
    world_pace(&w, 1, 2, 1, 0.1); // drowned
    world_judge(&w);
    control = json_object_get(w.summary, "positive_control");
    cr_assert(json_is_false(json_object_get(control, "found")));
    cr_assert(number_at(control, "estimate") > 1 && number_at(control, "low") < 1);
    snprintf(w.postulate.arms[2].name, sizeof w.postulate.arms[2].name, "mimalloc@delay:3"); // of an arm that is not there
    world_judge(&w);
    cr_assert(json_is_null(json_object_get(w.summary, "positive_control")));
    world_close(&w);
}
