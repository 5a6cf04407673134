// SPDX-License-Identifier: Apache-2.0
//
// 0022: what the first lap pays when nothing was faulted in before it: the cost that 0021 leaves out.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment first_faults = {
    .id = "0022",
    .slug = "first-faults",
    .question = "What does the first use of memory cost that was not faulted in beforehand, and who pays it?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus-unpopulated"},
                                               {"C", "locus"},
                                               {"D", "locus-4k"},
                                               {"E", "mimalloc"},
                                               {"F", "glibc-tuned"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/full", "churn-touch/full", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 1,
};
TB_EXPERIMENT(first_faults);
