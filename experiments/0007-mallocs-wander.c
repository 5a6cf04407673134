// SPDX-License-Identifier: Apache-2.0
//
// 0007: cross-frees and mallocs. Whoever finishes a request frees its blocks in its own thread, and that thread also allocates: an
// engine with one core thread per node. In a malloc with caches per thread the block may then stay where it was freed.
#include "testbed/postulate/experiment.h"

static const struct tb_experiment mallocs_wander = {
    .id = "0007",
    .slug = "mallocs-wander",
    .question =
        "When half of the requests finish on another node, which mallocs hand blocks of one node to the scheduler of another?",
    .arms = (const struct tb_experiment_arm[]){{"A", "home-steered%50"},
                                               {"B", "unsteered%50"},
                                               {"C", "glibc%50"},
                                               {"D", "jemalloc%50"},
                                               {"E", "mimalloc%50"},
                                               {"F", "tcmalloc%50"},
                                               {NULL, NULL}},
    .cells = (const char *const[]){"steady-decode/line", "long-tail/line", "churn-touch/line", NULL},
    .needs = (const char *const[]){"cpu_nodes >= 2", "mbind_ok", "move_pages_ok", "libraries", NULL},
    .gates = (const char *const[]){"allocated == freed", "pushed == drained", NULL},
    .dispatch = TB_DISPATCH_INLINE,
    .workers = 1,
    .rounds = 4,
    .laps = 1,
    .many_nodes = true,
    .laps_counted = 10,
};
TB_EXPERIMENT(mallocs_wander);
