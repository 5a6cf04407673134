// SPDX-License-Identifier: Apache-2.0
//
// 0016: the LOCUS paper's 0354: the mixed-lifetime trace, sharded whole chunks against the shared queue of handles.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment mixed_lifetimes = {
    .id = "0016",
    .slug = "mixed-lifetimes",
    .question = "On requests of mixed lifetimes, how much faster are sharded chunks than one shared queue of handles?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus-sharded-chunk-8"},
                                               {"B", "locus-shared"},
                                               {"C", "locus-sharded-chunk-8"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/none", "steady-decode/full", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 20,
};
TB_EXPERIMENT(mixed_lifetimes);
