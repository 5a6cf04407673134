// SPDX-License-Identifier: Apache-2.0
//
// 0010: the time that 0005 does not tell: the same work on blocks of the own node and of the next one. Hardware with two nodes
// only.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment cross_node_write_touch = {
    .id = "0010",
    .slug = "cross-node-write-touch",
    .question = "How much longer does a lap take when every block lies on another node than the scheduler that writes it?",
    .arms = (const struct tb_experiment_arm[]){{"A", "home-steered"}, {"B", "cross-node"}, {"C", "home-steered"}, {NULL, NULL}},
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
TB_EXPERIMENT(cross_node_write_touch);
