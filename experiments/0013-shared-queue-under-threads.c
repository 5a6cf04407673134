// SPDX-License-Identifier: Apache-2.0
//
// 0013: the LOCUS paper's 0351: 256 blocks a cycle go home through one bounded queue, from 1, 2, 4 and 8 producers, drained in
// batches of 8, 64 and 256.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment shared_queue_under_threads = {
    .id = "0013",
    .slug = "shared-queue-under-threads",
    .question = "What makes a shared bounded queue slow, the batch in which it is drained or the number of its producers?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus-shared-8+1w"},
                                               {"B", "locus-shared-8+2w"},
                                               {"C", "locus-shared-8+4w"},
                                               {"D", "locus-shared-8+8w"},
                                               {"E", "locus-shared-64+1w"},
                                               {"F", "locus-shared-64+2w"},
                                               {"G", "locus-shared-64+4w"},
                                               {"H", "locus-shared-64+8w"},
                                               {"I", "locus-shared-256+1w"},
                                               {"J", "locus-shared-256+2w"},
                                               {"K", "locus-shared-256+4w"},
                                               {"L", "locus-shared-256+8w"},
                                               {"M", "locus-shared-64+4w"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"cycle-256/none", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 200,
};
TB_EXPERIMENT(shared_queue_under_threads);
