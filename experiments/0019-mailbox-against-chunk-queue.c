// SPDX-License-Identifier: Apache-2.0
//
// 0019: the LOCUS paper's 0357: the lock-free chunk mailbox in place of the bounded queue of chunks, by mean and by tail.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment mailbox_against_chunk_queue = {
    .id = "0019",
    .slug = "mailbox-against-chunk-queue",
    .question = "Is a mailbox without a capacity faster than a bounded queue of chunks, and steadier?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus-published"},
                                               {"B", "locus-sharded-chunk-8"},
                                               {"C", "locus-published"},
                                               {"D", "locus-sharded-chunk"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/none", "burst-storm/none", "long-tail/none", "steady-decode/none/spin/1w", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 50,
};
TB_EXPERIMENT(mailbox_against_chunk_queue);
