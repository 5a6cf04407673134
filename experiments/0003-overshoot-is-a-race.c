// SPDX-License-Identifier: Apache-2.0
//
// 0003: what causes the burst overshoot. The LOCUS paper names the drain cadence, once a step. So: drain whenever the pool is about
// to grow (locus-growth), and wait for what is in flight (locus-backpressure).
#include "testbed/postulate/experiment.h"

static const struct tb_experiment overshoot_is_a_race = {
    .id = "0003",
    .slug = "overshoot-is-a-race",
    .question = "Is the burst overshoot a race with the workers' wake-up, and not a matter of how often the owner drains?",
    .arms =
        (const struct tb_experiment_arm[]){
            {"A", "locus"}, {"B", "locus-growth"}, {"C", "locus-backpressure"}, {"D", "locus"}, {NULL, NULL}},
    .cells = (const char *const[]){"burst-storm/full", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 20,
};
TB_EXPERIMENT(overshoot_is_a_race);
