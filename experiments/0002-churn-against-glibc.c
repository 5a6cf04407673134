// SPDX-License-Identifier: Apache-2.0
//
// 0002: the system's malloc on the one workload where the LOCUS paper saw it nearly level, 1.15 times, on macOS.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment churn_against_glibc = {
    .id = "0002",
    .slug = "churn-against-glibc",
    .question = "On Linux, how much does glibc's malloc lose to locus on churn when every block is written in full?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"}, {"B", "glibc"}, {"C", "locus"}, {NULL, NULL}},
    .cells = (const char *const[]){"churn-touch/full", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates =
        (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", "aa_ratio_ci inside band", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 20,
};
TB_EXPERIMENT(churn_against_glibc);
