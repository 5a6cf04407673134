// SPDX-License-Identifier: Apache-2.0
//
// 0026: LOCUS-EVAL v2, fourth part: block sizes from 4 to 128 KiB, among them what real models have in a layer's block of 16 or
// 32 tokens.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment v2_block_sizes = {
    .id = "0026",
    .slug = "v2-block-sizes",
    .question = "LOCUS-EVAL v2: up to which block size does it matter which allocator hands the block out?",
    .arms = (const struct tb_experiment_arm[]){{"A", "locus"},
                                               {"B", "locus"},
                                               {"C", "mimalloc"},
                                               {"D", "jemalloc"},
                                               {"E", "glibc-tuned"},
                                               {"F", "oracle"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/full/4KiB", "steady-decode/full/8KiB", "steady-decode/full/16KiB",
                                   "steady-decode/full/32KiB", "steady-decode/full/64KiB", "steady-decode/full/128KiB", NULL},
    .needs = (const char *const[]){"cpus >= 2", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 4,
    .suite = 2,
};
TB_EXPERIMENT(v2_block_sizes);
