// SPDX-License-Identifier: Apache-2.0
//
// 0028: LOCUS-EVAL v2, sixth part: recorded production traces, replayed.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment v2_recorded_traces = {
    .id = "0028",
    .slug = "v2-recorded-traces",
    .question = "LOCUS-EVAL v2: how much of the suite's margins is left on traces of real services?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus"},
                                               {"C", "locus-published"},
                                               {"D", "mimalloc"},
                                               {"E", "jemalloc"},
                                               {"F", "oracle"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"sample/full", "azure-code/full", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", "traces", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 2,
    .suite = 2,
};
TB_EXPERIMENT(v2_recorded_traces);
