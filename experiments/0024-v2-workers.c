// SPDX-License-Identifier: Apache-2.0
//
// 0024: LOCUS-EVAL v2, second part: 1, 2, 4 and 8 workers that sleep when they are idle, and no worker at all (inline).
#include "testbed/postulate/experiment.h"

static const struct tb_experiment v2_workers = {
    .id = "0024",
    .slug = "v2-workers",
    .question = "LOCUS-EVAL v2: how do the contenders stand with sleeping workers, 1 to 8 of them, and without any?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus"},
                                               {"C", "locus-published"},
                                               {"D", "locus-spsc"},
                                               {"E", "locus-backpressure"},
                                               {"F", "mimalloc"},
                                               {"G", "jemalloc"},
                                               {"H", "tcmalloc"},
                                               {"I", "glibc-tuned"},
                                               {"J", "oracle"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/full/1w", "steady-decode/full/2w",     "steady-decode/full/4w",
                                   "steady-decode/full/8w", "burst-storm/full/1w",       "burst-storm/full/2w",
                                   "burst-storm/full/4w",   "burst-storm/full/8w",       "long-tail/full/1w",
                                   "long-tail/full/2w",     "long-tail/full/4w",         "long-tail/full/8w",
                                   "churn-touch/full/1w",   "churn-touch/full/2w",       "churn-touch/full/4w",
                                   "churn-touch/full/8w",   "steady-decode/full/inline", "burst-storm/full/inline",
                                   "long-tail/full/inline", "churn-touch/full/inline",   NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 4,
    .rounds = 20,
    .laps = 20,
    .suite = 2,
};
TB_EXPERIMENT(v2_workers);
