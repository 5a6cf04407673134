// SPDX-License-Identifier: Apache-2.0
//
// 0031: the project's own goals, as predictions. What is missed is named with its cause in the record.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment goals = {
    .id = "0031",
    .slug = "goals",
    .question = "Does this library reach the goals that were set from what is physically possible?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus"},
                                               {"C", "locus-coloured"},
                                               {"D", "locus-spsc"},
                                               {"E", "mimalloc"},
                                               {"F", "jemalloc"},
                                               {"G", "tcmalloc"},
                                               {"H", "tbbmalloc"},
                                               {"I", "glibc-tuned"},
                                               {"J", "dpdk-stack"},
                                               {"K", "oracle"},
                                               {"L", "oracle-coloured"},
                                               {"M", "locus-backpressure"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/full", "burst-storm/full", "long-tail/full", "churn-touch/full",
                                   "steady-decode/byte", "burst-storm/byte", "long-tail/byte", "churn-touch/byte",
                                   "steady-decode/full/futex/4w", "burst-storm/full/futex/4w", "long-tail/full/futex/4w",
                                   "churn-touch/full/futex/4w", "steady-decode/none/inline", "burst-storm/none/inline",
                                   "long-tail/none/inline", "churn-touch/none/inline", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 20,
    .suite = 2,
};
TB_EXPERIMENT(goals);
