// SPDX-License-Identifier: Apache-2.0
//
// 0027: LOCUS-EVAL v2, fifth part: 512 KiB and 2 MiB, blocks of Llama-3-8B: 128 tokens of one layer, and 16 tokens of all
// layers.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment v2_large_blocks = {
    .id = "0027",
    .slug = "v2-large-blocks",
    .question = "LOCUS-EVAL v2: what do mallocs do with blocks of half a megabyte and more?",
    .arms =
        (const struct tb_experiment_arm[]){{"A", "locus"}, {"B", "locus"}, {"C", "mimalloc"}, {"D", "glibc-tuned"}, {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/full/512KiB", "steady-decode/full/2MiB", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 2,
    .suite = 2,
};
TB_EXPERIMENT(v2_large_blocks);
