// SPDX-License-Identifier: Apache-2.0
//
// 0001: the scoreboard as one claim. Every contender that recycles blocks, on all four workloads, at one byte and at full touch.
// locus-backpressure is left out: it is the same pool, and would be compared with itself.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment first_on_every_workload = {
    .id = "0001",
    .slug = "first-on-every-workload",
    .question = "Is locus first of all contenders on each workload, at one byte and at full touch?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus"},
                                               {"C", "locus-published"},
                                               {"D", "locus-shared"},
                                               {"E", "mimalloc"},
                                               {"F", "jemalloc"},
                                               {"G", "tcmalloc"},
                                               {"H", "glibc-tuned"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/byte", "steady-decode/full", "burst-storm/byte", "burst-storm/full",
                                   "long-tail/byte", "long-tail/full", "churn-touch/byte", "churn-touch/full", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 20,
};
TB_EXPERIMENT(first_on_every_workload);
