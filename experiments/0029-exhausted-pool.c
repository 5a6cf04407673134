// SPDX-License-Identifier: Apache-2.0
//
// 0029: a pool that is too small for the burst: who waits, drains and ends, with exact counts. What the paper's own harness
// could not run.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment exhausted_pool = {
    .id = "0029",
    .slug = "exhausted-pool",
    .question = "When a pool is too small for a burst, does every contender wait, drain and end with exact counts?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus"},
                                               {"C", "locus-published"},
                                               {"D", "locus-shared"},
                                               {"E", "locus-spsc"},
                                               {"F", "locus-lazy"},
                                               {"G", "dpdk-stack"},
                                               {"H", "mimalloc"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"burst-queued/full", "burst-queued/none", "burst-queued/full/spin/1w", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 20,
    .suite = 2,
};
TB_EXPERIMENT(exhausted_pool);
