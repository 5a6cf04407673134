// SPDX-License-Identifier: Apache-2.0
//
// 0008: what each policy of the kernel makes of the same pools, page by page. Everything else is alike: owners, mailboxes, the same
// stream, half of the requests finishing on another node.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment policies_by_page = {
    .id = "0008",
    .slug = "policies-by-page",
    .question = "Which policies keep the writes local, and what share of them is remote under the others?",
    .arms = (const struct tb_experiment_arm[]){{"A", "home-steered%50"},
                                               {"B", "first-touch%50"},
                                               {"C", "preferred%50"},
                                               {"D", "preferred-many%50"},
                                               {"E", "interleave%50"},
                                               {"F", "weighted-interleave%50"},
                                               {"G", "one-node%50"},
                                               {"H", "repair%50"},
                                               {"I", "bind-balancing%50"},
                                               {NULL, NULL}},
    .cells =
        (const char *const[]){"steady-decode/line", "burst-storm/line", "long-tail/line", "churn-touch/line", "sample/line", NULL},
    .needs = (const char *const[]){"cpu_nodes >= 2", "mbind_ok", "move_pages_ok", "policies", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 1,
    .rounds = 2,
    .laps = 1,
    .many_nodes = true,
    .laps_counted = 2,
};
TB_EXPERIMENT(policies_by_page);
