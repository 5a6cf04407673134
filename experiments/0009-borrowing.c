// SPDX-License-Identifier: Apache-2.0
//
// 0009: a node that is too small for its scheduler. The first home has three quarters of the blocks that its requests need at their
// peak, and borrows the rest; the others have plenty.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment borrowing = {
    .id = "0009",
    .slug = "borrowing",
    .question = "When one node runs out of blocks, does borrowing keep it going, and do all borrowed blocks go home?",
    .arms =
        (const struct tb_experiment_arm[]){{"A", "home-steered%50"}, {"B", "home-borrow%50"}, {"C", "home-borrow"}, {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/line", "burst-storm/line", "long-tail/line", "churn-touch/line", NULL},
    .needs = (const char *const[]){"cpu_nodes >= 2", "mbind_ok", "move_pages_ok", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", "handles home", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 1,
    .rounds = 4,
    .laps = 1,
    .many_nodes = true,
    .laps_counted = 2,
};
TB_EXPERIMENT(borrowing);
