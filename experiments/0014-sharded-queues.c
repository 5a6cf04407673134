// SPDX-License-Identifier: Apache-2.0
//
// 0014: the LOCUS paper's 0352: a bounded queue for each producer instead of one for all.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment sharded_queues = {
    .id = "0014",
    .slug = "sharded-queues",
    .question = "How much of a shared queue's time is its producers' contention, which a queue for each of them removes?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus-sharded+4w"},
                                               {"B", "locus-shared+4w"},
                                               {"C", "locus-sharded+2w"},
                                               {"D", "locus-shared+2w"},
                                               {"E", "locus-sharded+4w"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"cycle-256/none", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 200,
};
TB_EXPERIMENT(sharded_queues);
