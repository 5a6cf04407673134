// SPDX-License-Identifier: Apache-2.0
//
// 0020: the LOCUS paper's 0358: LIFO against FIFO reuse, 16 MiB live in a pool of 64 MiB, with full writes and without.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment last_home_first_out = {
    .id = "0020",
    .slug = "last-home-first-out",
    .question = "What is it worth to reuse the block first that came home last?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"}, {"B", "locus-fifo"}, {"C", "locus"}, {NULL, NULL}},
    .cells = (const char *const[]){"churn-touch/full", "churn-touch/none", "steady-decode/full", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 40,
};
TB_EXPERIMENT(last_home_first_out);
