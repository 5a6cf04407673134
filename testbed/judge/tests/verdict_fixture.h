// SPDX-License-Identifier: Apache-2.0
//
// verdict_fixture: a postulate and a finished log in memory, with made-up samples, for the tests of verdicts and gates.
//
// Every arm begins with the same time: 1000 ns, rising by one percent a round for all alike, which pairing cancels. A wavering arm
// swings by a given share to either side of its own time, in an order that is mixed and whose two halves are alike.
#ifndef TB_VERDICT_FIXTURE_H
#define TB_VERDICT_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "testbed/base/tests/json_says.h"
#include "testbed/judge/tests/verdict_fixture_plan.h"

static inline json_t *world_sample(const struct world *w, uint32_t cell, uint32_t arm, uint32_t round)
{
    size_t place = ((size_t)round * w->postulate.cells_count + cell) * w->postulate.arms_count + arm;
    return w->view.samples[place].line;
}

static inline double world_time(const struct world *w, uint32_t cell, uint32_t arm, uint32_t round)
{
    return json_real_value(json_object_get(world_sample(w, cell, arm, round), "time_ns"));
}

static inline void world_slow(const struct world *w, uint32_t cell, uint32_t arm, uint32_t round, double factor)
{
    json_object_set_new(world_sample(w, cell, arm, round), "time_ns", json_real(world_time(w, cell, arm, round) * factor));
}

// All rounds of an arm: `factor` times as long, and swinging by `swing` (0.02: within two percent).
static inline void world_pace(const struct world *w, uint32_t cell, uint32_t arm, double factor, double swing)
{
    for (uint32_t round = 0; round < w->rounds; round++) {
        double position = (double)((round * 7) % w->rounds) / (w->rounds > 1 ? w->rounds - 1 : 1); // 7 and even round counts
        world_slow(w, cell, arm, round, factor * exp(swing * (2 * position - 1)));
    }
}

static inline json_t *world_line(const struct world *w, uint32_t cell, uint32_t arm, uint32_t round, uint32_t blocks)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:s, s:b, s:b, s:n, s:f, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "t", "s",
                     "block", (int)(round * blocks / w->rounds), "round", (int)round, "cell", (int)cell, "pos", (int)arm, "arm",
                     w->postulate.arms[arm].key, "ran", 1, "valid", 1, "invalid", "time_ns", 1000 * (1 + 0.01 * round), "allocated",
                     2688, "freed", 2688, "pushed", 168, "drained", 168, "touched_bytes", 4096, "touched_bytes_expected", 4096,
                     "outstanding_high", 100, "distinct", 100);
}

// After arms and cells are there: the log, its rounds in `blocks` equal blocks.
static inline void world_run(struct world *w, uint32_t rounds, uint32_t blocks)
{
    size_t lines = (size_t)rounds * w->postulate.cells_count * w->postulate.arms_count;
    json_t *cells = json_array();
    w->rounds = rounds;
    for (uint32_t i = 0; i < w->postulate.cells_count; i++) {
        const char *cell = w->postulate.cells[i], *slash = strchr(cell, '/');
        json_array_append_new(cells, json_pack("{s:s%, s:s, s:i}", "workload", cell, (size_t)(slash - cell), "touch", slash + 1,
                                               "blocks_peak", 100));
    }
    w->header = json_pack("{s:s, s:s, s:n, s:o, s:{}}", "t", "hdr", "kind", "trial", "unmet", "cells", cells, "before");
    w->after = json_pack("{s:s, s:{}}", "t", "after", "counters");
    w->view.header = w->header;
    w->view.after = w->after;
    w->view.samples_count = lines;
    w->view.samples = calloc(lines, sizeof *w->view.samples);
    cr_assert(w->header && w->after && w->view.samples);
    struct tb_log_sample *sample = w->view.samples;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t cell = 0; cell < w->postulate.cells_count; cell++)
            for (uint32_t arm = 0; arm < w->postulate.arms_count; arm++, sample++) {
                *sample = (struct tb_log_sample){.cell = cell,
                                                 .arm = w->postulate.arms[arm].key,
                                                 .line = world_line(w, cell, arm, round, blocks)};
                cr_assert(sample->line);
            }
}

// "A: locus, B: glibc" on churn-touch/full: the smallest one.
static inline void world_open(struct world *w, uint32_t rounds, uint32_t blocks)
{
    memset(w, 0, sizeof *w);
    world_arm(w, "locus");
    world_arm(w, "glibc");
    world_cell(w, "churn-touch/full");
    world_run(w, rounds, blocks);
}

// Works out the summary anew.
static inline const json_t *world_judge(struct world *w)
{
    json_decref(w->summary);
    w->summary = NULL;
    cr_assert_eq(tb_verdict_summary(&w->view, &w->postulate, &w->summary), 0);
    return w->summary;
}

static inline const json_t *world_prediction(const struct world *w, size_t index)
{
    return json_array_get(json_object_get(w->summary, "predictions"), index);
}

static inline void world_close(struct world *w)
{
    for (size_t i = 0; i < w->view.samples_count; i++)
        json_decref(w->view.samples[i].line);
    free(w->view.samples);
    json_decref(w->header);
    json_decref(w->after);
    json_decref(w->summary);
}

#endif
