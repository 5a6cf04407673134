// SPDX-License-Identifier: Apache-2.0
//
// experiment: one question, in one file: experiments/NNNN-slug.c with one descriptor. Adding experiment 0042 is adding that file
// and its postulate.
//
// The postulate says what is predicted and how it is judged; the descriptor says what is run. Where both say the same thing (arms,
// cells, dispatch, rounds) they must agree: `locus postulate check` and `locus run` refuse otherwise, so that neither can be bent
// to the other afterwards.
#ifndef TB_EXPERIMENT_H
#define TB_EXPERIMENT_H

#include "testbed/measure/campaign.h"

struct tb_experiment_arm {
    const char *key;            // "A"
    const char *name;           // contender as `locus eval -c` takes it
};

struct tb_experiment {
    const char *id;             // "0001"
    const char *slug;           // with the id, the name of the postulate, the log's folder and the record
    const char *question;       // one sentence with a question mark
    const struct tb_experiment_arm *arms; // ended by a NULL key
    const char *const *cells;   // "churn-touch/full", NULL-terminated
    const char *const *needs;   // "cpus >= 2", NULL-terminated; needs.h
    const char *const *gates;   // NULL-terminated; verdict.h
    enum tb_dispatch dispatch;
    uint32_t workers;
    uint32_t rounds;
    uint32_t laps;
    bool many_nodes;            // on every node at once: arms such as home-steered%50; cells touch "line" or "full"
    unsigned suite;             // version of LOCUS-EVAL that its cells are of (suite.h): they may be no others; 0: of none
    uint32_t laps_counted;      // many nodes: laps in which every touch is accounted for, before all others
};

// As TB_CONTENDER: the linker keeps the list, and a test counts it.
#define TB_EXPERIMENT(variable)                                                                                                    \
    static const struct tb_experiment *const variable##_entry __attribute__((used, retain, section("tb_experiments"))) = &(variable)

extern const struct tb_experiment *const __start_tb_experiments[] __attribute__((weak));
extern const struct tb_experiment *const __stop_tb_experiments[] __attribute__((weak));

// By number ("0002", "2"), or NULL.
const struct tb_experiment *tb_experiment_find(const char *id);

#endif
