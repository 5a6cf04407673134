// SPDX-License-Identifier: Apache-2.0
//
// 0015: the LOCUS paper's 0353: what a producer sends is one whole request instead of its handles one by one.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment whole_chunks = {
    .id = "0015",
    .slug = "whole-chunks",
    .question = "What does it save to send a finished request as one chunk instead of handle by handle?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus-sharded-chunk+4w"},
                                               {"B", "locus-sharded+4w"},
                                               {"C", "locus-sharded-chunk+4w"},
                                               {"D", "locus-sharded-chunk+1w"},
                                               {"E", "locus-sharded+1w"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"cycle-256/none", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 200,
};
TB_EXPERIMENT(whole_chunks);
