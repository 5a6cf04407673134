// SPDX-License-Identifier: Apache-2.0
//
// 0005: the experiment that the LOCUS paper specified and could not run, as counts. Two pools bound to two nodes, an owner pinned
// to each, mailboxes that steer frees home; and beside it the same with the pools on the wrong nodes, and without the steering.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment writes_stay_local = {
    .id = "0005",
    .slug = "writes-stay-local",
    .question = "Does steering every free home keep every write on its own node, however many requests finish on another one?",
    .arms = (const struct tb_experiment_arm[]){{"A", "home-steered"},
                                               {"B", "home-steered%50"},
                                               {"C", "home-steered%100"},
                                               {"D", "cross-node"},
                                               {"E", "cross-node%50"},
                                               {"F", "unsteered%50"},
                                               {NULL, NULL}},
    .cells =
        (const char *const[]){"steady-decode/line", "burst-storm/line", "long-tail/line", "churn-touch/line", "sample/line", NULL},
    .needs = (const char *const[]){"cpu_nodes >= 2", "mbind_ok", "move_pages_ok", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 1,
    .rounds = 4,
    .laps = 1,
    .many_nodes = true,
    .laps_counted = 2,
};
TB_EXPERIMENT(writes_stay_local);
