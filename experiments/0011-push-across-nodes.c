// SPDX-License-Identifier: Apache-2.0
//
// 0011: what it costs to send blocks home over the interconnect: one push a request, and the lines that the owner then reads. The
// blocks themselves are written on their own node in both arms.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment push_across_nodes = {
    .id = "0011",
    .slug = "push-across-nodes",
    .question = "How much longer does a lap take when every request finishes on another node, and is pushed home from there?",
    .arms =
        (const struct tb_experiment_arm[]){{"A", "home-steered"}, {"B", "home-steered%100"}, {"C", "home-steered"}, {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/full", "burst-storm/full", "long-tail/full", "churn-touch/full", NULL},
    .needs = (const char *const[]){"hardware", "cpu_nodes >= 2", "mbind_ok", "move_pages_ok", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "aa_ratio_ci contains 1", NULL},
    .dispatch = TB_DISPATCH_SPIN,
    .workers = 1,
    .rounds = 20,
    .laps = 20,
    .many_nodes = true,
    .laps_counted = 1,
};
TB_EXPERIMENT(push_across_nodes);
