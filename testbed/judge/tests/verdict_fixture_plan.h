// SPDX-License-Identifier: Apache-2.0
//
// The world of verdict_fixture.h before its run: arms, cells, gates and predictions of a postulate that is made up as a test
// wants it.
#ifndef TB_VERDICT_FIXTURE_PLAN_H
#define TB_VERDICT_FIXTURE_PLAN_H

#include <stdio.h>

#include "testbed/judge/verdict.h"

struct world {
    struct tb_postulate postulate;
    struct tb_log_view view;
    json_t *header, *after, *summary;
    uint32_t rounds;
};

static inline void world_arm(struct world *w, const char *name)
{
    struct tb_postulate_arm *arm = &w->postulate.arms[w->postulate.arms_count++];
    snprintf(arm->key, sizeof arm->key, "%c", (char)('A' + w->postulate.arms_count - 1));
    snprintf(arm->name, sizeof arm->name, "%s", name);
}

static inline void world_cell(struct world *w, const char *cell)
{
    snprintf(w->postulate.cells[w->postulate.cells_count++], sizeof w->postulate.cells[0], "%s", cell);
}

static inline void world_gate(struct world *w, const char *gate)
{
    snprintf(w->postulate.gates[w->postulate.gates_count++], sizeof w->postulate.gates[0], "%s", gate);
}

// A ratio of arms in the first cell at 95 %; the test changes what it wants otherwise.
static inline struct tb_prediction *world_predict(struct world *w, enum tb_relation op, double value)
{
    struct tb_prediction *p = &w->postulate.predictions[w->postulate.predictions_count++];
    *p = (struct tb_prediction){.metric = "time_ns",
                                .cell = "churn-touch/full",
                                .stat = TB_STAT_HL_RATIO,
                                .over = "B",
                                .under = "A",
                                .op = op,
                                .low = value,
                                .unit = "x",
                                .confidence = 0.95};
    snprintf(p->id, sizeof p->id, "P%u", w->postulate.predictions_count);
    return p;
}

// The same of one arm: no ratio.
static inline struct tb_prediction *world_predict_arm(struct world *w, const char *metric, enum tb_stat stat, enum tb_relation op,
                                                      double value)
{
    struct tb_prediction *p = world_predict(w, op, value);
    p->stat = stat;
    snprintf(p->metric, sizeof p->metric, "%s", metric);
    snprintf(p->arm, sizeof p->arm, "A");
    p->over[0] = p->under[0] = '\0';
    return p;
}

#endif
