// SPDX-License-Identifier: Apache-2.0
//
// 0025: LOCUS-EVAL v2, third part: how often the owner drains, and how much it may hold, against velocity and footprint.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment v2_drain_cadence = {
    .id = "0025",
    .slug = "v2-drain-cadence",
    .question = "LOCUS-EVAL v2: what do draining less, draining on growth and waiting do to velocity and to the footprint?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus"},
                                               {"C", "locus-lazy"},
                                               {"D", "locus-growth"},
                                               {"E", "locus-backpressure"},
                                               {"F", "locus-cap-100"},
                                               {"G", "locus-cap-105"},
                                               {"H", "locus-cap-125"},
                                               {"I", "mimalloc"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/full", "burst-storm/full", "long-tail/full", "churn-touch/full",
                                   "steady-decode/full/spin/1w", "burst-storm/full/spin/1w", "long-tail/full/spin/1w",
                                   "churn-touch/full/spin/1w", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 20,
    .suite = 2,
};
TB_EXPERIMENT(v2_drain_cadence);
