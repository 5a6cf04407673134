// SPDX-License-Identifier: Apache-2.0
//
// 0021: the LOCUS paper's 0359: one mapped region against a heap block each, and what page size does to either.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment mapped_against_heap = {
    .id = "0021",
    .slug = "mapped-against-heap",
    .question = "What do one mapped region and its page size gain over a heap block for each block?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus-heap"},
                                               {"C", "locus"},
                                               {"D", "locus-4k"},
                                               {"E", "locus-2m"},
                                               {"F", "locus-unpopulated"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"churn-touch/none", "churn-touch/full", "steady-decode/full", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 40,
};
TB_EXPERIMENT(mapped_against_heap);
