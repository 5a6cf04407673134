// SPDX-License-Identifier: Apache-2.0
//
// 0006: 0005 on an hour of a recorded service, every node serving the whole of it, and the mallocs beside it: how far do their
// blocks wander from the node that writes them, when half of the requests finish on the other one?
#include "testbed/postulate/experiment.h"

static const struct tb_experiment an_hour_of_a_service = {
    .id = "0006",
    .slug = "an-hour-of-a-service",
    .question = "Over an hour of a recorded service, whose blocks stay on the node that writes them?",
    .arms = (const struct tb_experiment_arm[]){{"A", "home-steered%50"},
                                               {"B", "cross-node%50"},
                                               {"C", "glibc%50"},
                                               {"D", "jemalloc%50"},
                                               {"E", "mimalloc%50"},
                                               {"F", "tcmalloc%50"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"azure-conv/line", NULL},
    .needs = (const char *const[]){"cpu_nodes >= 2", "mbind_ok", "move_pages_ok", "libraries", "traces", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", NULL},
    .dispatch = TB_DISPATCH_INLINE,
    .workers = 1,
    .rounds = 2,
    .laps = 1,
    .many_nodes = true,
    .laps_counted = 1,
};
TB_EXPERIMENT(an_hour_of_a_service);
