// SPDX-License-Identifier: Apache-2.0
//
// 0004: one cache line between blocks, a stride of 4,160 bytes: first bytes then fall into different cache sets, and blocks are no
// longer whole pages.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment colour_for_bytes = {
    .id = "0004",
    .slug = "colour-for-bytes",
    .question = "What does a cache line between blocks gain at one byte, and what does it cost at full touch?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"}, {"B", "locus-coloured"}, {"C", "locus"}, {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/byte", "steady-decode/full", "burst-storm/byte", "burst-storm/full",
                                   "long-tail/byte", "long-tail/full", "churn-touch/byte", "churn-touch/full", NULL},
    .needs = (const char *const[]){"cpus >= 2", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 20,
};
TB_EXPERIMENT(colour_for_bytes);
