// SPDX-License-Identifier: Apache-2.0
//
// 0030: the same with a CPU for each of 1 to 15 workers. Needs a machine with 16 CPUs.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment scaling = {
    .id = "0030",
    .slug = "scaling",
    .question = "How do the contenders scale when every worker has a CPU of its own, up to 15 of them?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus"},
                                               {"C", "mimalloc"},
                                               {"D", "jemalloc"},
                                               {"E", "tcmalloc"},
                                               {"F", "glibc-tuned"},
                                               {"G", "oracle"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"burst-storm/full/1w", "burst-storm/full/2w", "burst-storm/full/4w", "burst-storm/full/8w",
                                   "burst-storm/full/15w", "churn-touch/full/1w", "churn-touch/full/2w", "churn-touch/full/4w",
                                   "churn-touch/full/8w", "churn-touch/full/15w", NULL},
    .needs = (const char *const[]){"cpus >= 16", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 20,
    .suite = 2,
};
TB_EXPERIMENT(scaling);
