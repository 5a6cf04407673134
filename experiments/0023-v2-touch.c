// SPDX-License-Identifier: Apache-2.0
//
// 0023: LOCUS-EVAL v2, first part: every workload in every touch mode, one spinning worker.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment v2_touch = {
    .id = "0023",
    .slug = "v2-touch",
    .question = "LOCUS-EVAL v2: who is first on which workload when nothing, one byte or the whole of a block is written?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus"},
                                               {"C", "locus-backpressure"},
                                               {"D", "locus-spsc"},
                                               {"E", "locus-coloured"},
                                               {"F", "locus-published"},
                                               {"G", "locus-shared"},
                                               {"H", "mimalloc"},
                                               {"I", "jemalloc"},
                                               {"J", "jemalloc-tuned"},
                                               {"K", "tcmalloc"},
                                               {"L", "tbbmalloc"},
                                               {"M", "glibc-tuned"},
                                               {"N", "dpdk-stack"},
                                               {"O", "dpdk-ring"},
                                               {"P", "oracle"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/full", "steady-decode/byte", "steady-decode/none", "burst-storm/full",
                                   "burst-storm/byte", "burst-storm/none", "burst-queued/full", "burst-queued/byte",
                                   "burst-queued/none", "long-tail/full", "long-tail/byte", "long-tail/none",
                                   "long-tail-cancels/full", "long-tail-cancels/byte", "long-tail-cancels/none", "churn-touch/full",
                                   "churn-touch/byte", "churn-touch/none", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 20,
    .suite = 2,
};
TB_EXPERIMENT(v2_touch);
