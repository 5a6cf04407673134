// SPDX-License-Identifier: Apache-2.0
//
// 0012: 0008 on a recorded service: each node serves the whole of a trace of code completions, long prompts and short answers.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment policies_on_a_service = {
    .id = "0012",
    .slug = "policies-on-a-service",
    .question = "On a recorded service, which policies keep the writes local, and what share is remote under the others?",
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
    .cells = (const char *const[]){"azure-code/line", NULL},
    .needs = (const char *const[]){"cpu_nodes >= 2", "mbind_ok", "move_pages_ok", "policies", "traces", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", NULL},
    .dispatch = TB_DISPATCH_FUTEX,
    .workers = 1,
    .rounds = 2,
    .laps = 1,
    .many_nodes = true,
    .laps_counted = 1,
};
TB_EXPERIMENT(policies_on_a_service);
