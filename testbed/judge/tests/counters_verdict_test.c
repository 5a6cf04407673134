// SPDX-License-Identifier: Apache-2.0
//
// Predictions about counters: judged per lap, unmeasurable where the host has them not, and inconclusive where they had to share
// the hardware.
#include "testbed/judge/tests/verdict_fixture.h"

#include "testbed/judge/figure.h"

#define LAPS 20

static void put_counter(json_t *sample, const char *name, double value, double running)
{
    json_t *counters = json_object_get(sample, "counters");
    if (!counters)
        json_object_set_new(sample, "counters", counters = json_object());
    json_object_set_new(counters, name, json_pack("{s:f, s:i, s:f}", "value", value, "enabled_ns", 1000, "running_ns", running));
}

// All samples of an arm: `per_lap` in each of the laps.
static void count(const struct world *w, uint32_t arm, const char *name, double per_lap)
{
    for (uint32_t round = 0; round < w->rounds; round++)
        put_counter(world_sample(w, 0, arm, round), name, per_lap * LAPS * (1 + 0.001 * (round % 5)), 1000);
}

// The smallest world, on a host that has all counters but cycles.
static void open_counted(struct world *w)
{
    static const char *const names[] = {"instructions", "dram_remote", "page_faults", "context_switches"};
    world_open(w, 20, 2);
    json_object_set_new(json_array_get(json_object_get(w->header, "cells"), 0), "laps_metered", json_integer(LAPS));
    json_t *list = json_array();
    for (size_t i = 0; i < 4; i++)
        json_array_append_new(list, json_pack("{s:s, s:n}", "name", names[i], "why"));
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", "cycles", "why", "not supported: this virtual machine has no PMU"));
    json_object_set_new(w->header, "counters", json_pack("{s:o}", "counters", list));
    for (uint32_t arm = 0; arm < 2; arm++) {
        count(w, arm, "instructions", arm ? 3000 : 1000);
        count(w, arm, "dram_remote", arm ? 50 : 10);
        count(w, arm, "page_faults", arm ? 200 : 0);
    }
}

// The same, with a prediction about arm A.
static void open_predicting(struct world *w, const char *metric, enum tb_stat stat, enum tb_relation op, double value)
{
    open_counted(w);
    world_predict_arm(w, metric, stat, op, value);
}

static void name_metric(struct tb_prediction *prediction, const char *name)
{
    snprintf(prediction->metric, sizeof prediction->metric, "%s", name);
}

static const json_t *judge_one(struct world *w)
{
    world_judge(w);
    return world_prediction(w, 0);
}

Test(record_counters, are_judged_per_lap)
{
    struct world w;
    open_predicting(&w, "page_faults", TB_STAT_MIN, TB_CLAIM_GE, 200);
    snprintf(w.postulate.predictions[0].arm, sizeof w.postulate.predictions[0].arm, "B");
    SAYS(judge_one(&w), "verdict", "survived");
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 200, 1e-9);
    w.postulate.predictions[0].low = 201;
    SAYS(judge_one(&w), "verdict", "falsified");
    world_close(&w);
}

Test(record_counters, that_are_0_are_a_figure)
{
    struct world w;
    open_predicting(&w, "page_faults", TB_STAT_MAX, TB_CLAIM_EQ, 0);
    SAYS(judge_one(&w), "verdict", "survived");
    world_close(&w);
}

Test(record_counters, of_hardware_have_ratios_and_medians_with_intervals)
{
    struct world w;
    open_counted(&w);
    struct tb_prediction *ratio = world_predict(&w, TB_CLAIM_GE, 2.9);
    name_metric(ratio, "instructions");
    cr_expect_not(tb_prediction_exact(ratio));
    SAYS(judge_one(&w), "verdict", "survived");
    CLOSE(number_at(world_prediction(&w, 0), "estimate"), 3, 0.01);
    w.postulate.predictions_count = 0;
    struct tb_prediction *median = world_predict_arm(&w, "instructions", TB_STAT_MEDIAN, TB_CLAIM_LE, 1010);
    cr_expect_not(tb_prediction_exact(median), "a median of what differs from process to process is an estimate");
    SAYS(judge_one(&w), "verdict", "survived");
    cr_expect_lt(number_at(world_prediction(&w, 0), "achieved"), 1);
    name_metric(median, "page_faults");
    cr_expect(tb_prediction_exact(median));
    world_close(&w);
}

Test(record_counters, that_a_host_lacks_are_unmeasurable_with_its_reason)
{
    struct world w;
    open_predicting(&w, "cycles", TB_STAT_MAX, TB_CLAIM_LE, 1);
    SAYS(judge_one(&w), "verdict", "unmeasurable-on-host");
    SAYS(world_prediction(&w, 0), "why", "cycles: not supported: this virtual machine has no PMU");
    name_metric(&w.postulate.predictions[0], "dram_local");
    SAYS(judge_one(&w), "verdict", "unmeasurable-on-host");
    cr_expect(strstr(text_at(world_prediction(&w, 0), "why"), "no such counter"));
    world_close(&w);
}

Test(record_counters, of_a_log_from_before_them_are_unmeasurable)
{
    struct world w;
    world_open(&w, 20, 2);
    world_predict_arm(&w, "page_faults", TB_STAT_MAX, TB_CLAIM_EQ, 0);
    SAYS(judge_one(&w), "verdict", "unmeasurable-on-host");
    SAYS(world_prediction(&w, 0), "why", "page_faults: this log has no counters");
    world_close(&w);
}

Test(record_counters, that_shared_the_hardware_are_inconclusive_and_not_scaled)
{
    struct world w;
    open_predicting(&w, "dram_remote", TB_STAT_MAX, TB_CLAIM_LE, 100);
    SAYS(judge_one(&w), "verdict", "survived");
    put_counter(world_sample(&w, 0, 0, 7), "dram_remote", 100, 400);
    SAYS(judge_one(&w), "verdict", "inconclusive");
    SAYS(world_prediction(&w, 0), "why",
         "multiplexed: in round 7 of A in churn-touch/full the hardware counted dram_remote for 40 % of the time");
    w.postulate.predictions_count = 0;
    struct tb_prediction *ratio = world_predict(&w, TB_CLAIM_GE, 2);
    name_metric(ratio, "dram_remote");
    SAYS(judge_one(&w), "verdict", "inconclusive");
    cr_expect(strstr(text_at(world_prediction(&w, 0), "why"), "multiplexed"));
    world_close(&w);
}

Test(record_counters, that_failed_in_a_round_say_so)
{
    struct world w;
    open_predicting(&w, "instructions", TB_STAT_MAX, TB_CLAIM_LE, 2000);
    json_object_set_new(json_object_get(world_sample(&w, 0, 0, 3), "counters"), "instructions",
                        json_pack("{s:n, s:s}", "value", "why", "EMFILE"));
    SAYS(judge_one(&w), "verdict", "inconclusive");
    SAYS(world_prediction(&w, 0), "why", "round 3 of A in churn-touch/full has no instructions (EMFILE)");
    world_close(&w);
}

Test(record_counters, of_hardware_are_unmeasurable_in_an_emulated_machine_and_of_the_kernel_are_not)
{
    struct world w;
    open_counted(&w);
    json_object_set_new(w.header, "emulated", json_string("n2"));
    world_predict_arm(&w, "page_faults", TB_STAT_MAX, TB_CLAIM_EQ, 0);
    world_predict_arm(&w, "instructions", TB_STAT_MAX, TB_CLAIM_LE, 2000);
    world_judge(&w);
    SAYS(world_prediction(&w, 0), "verdict", "survived");
    SAYS(world_prediction(&w, 1), "verdict", "unmeasurable-on-host");
    SAYS(world_prediction(&w, 1), "why", "the hardware of an emulated machine (n2) says nothing about any other");
    world_close(&w);
}
