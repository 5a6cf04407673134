// SPDX-License-Identifier: Apache-2.0
//
// 0018: the LOCUS paper's 0356, which was falsified there: chunks that keep their identity inside the pool.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment chunks_inside_the_pool = {
    .id = "0018",
    .slug = "chunks-inside-the-pool",
    .question = "Does it pay to keep finished requests whole inside the pool, for the next one that wants as many blocks?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus-sharded-chunk"},
                                               {"B", "locus-chunk-pool"},
                                               {"C", "locus-sharded-chunk"},
                                               {"D", "locus-chunk-pool-idle"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/none/spin/1w", "steady-decode/full/spin/1w", "churn-touch/none/spin/1w",
                                   "churn-touch/full/spin/1w", "steady-decode/none", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 20,
};
TB_EXPERIMENT(chunks_inside_the_pool);
