// SPDX-License-Identifier: Apache-2.0
//
// 0017: the LOCUS paper's 0355: the mallocs on the mixed-lifetime trace, freeing on the workers.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment mallocs_on_mixed_lifetimes = {
    .id = "0017",
    .slug = "mallocs-on-mixed-lifetimes",
    .question = "On requests of mixed lifetimes, where do general-purpose mallocs stand between a good and a bad way home?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus-sharded-chunk-8"},
                                               {"B", "locus-sharded-chunk-8"},
                                               {"C", "locus-shared"},
                                               {"D", "mimalloc"},
                                               {"E", "jemalloc"},
                                               {"F", "glibc"},
                                               {"G", "glibc-tuned"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/none", "steady-decode/byte", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 20,
};
TB_EXPERIMENT(mallocs_on_mixed_lifetimes);
