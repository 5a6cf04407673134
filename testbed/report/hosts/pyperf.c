// SPDX-License-Identifier: Apache-2.0
//
// pyperf: see pyperf.h. In pyperf a value is the time of one loop, and "loops" says how many one measurement took: our laps.

#include "testbed/report/hosts/pyperf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/arm_figures.h"

static json_t *benchmark_metadata(const struct tb_log_view *view, size_t cell, size_t arm)
{
    char name[512], label[256];
    const json_t *object = json_array_get(tb_member(view->header, "cells"), cell);
    const json_t *arm_object = json_array_get(tb_member(view->header, "arms"), arm);
    json_int_t laps = json_integer_value(tb_member(object, "laps"));
    snprintf(name, sizeof name, "%s %s %s", tb_cell_label(view, cell, label, sizeof label), tb_member_text(arm_object, "key"),
             tb_member_text(arm_object, "name"));
    return json_pack("{s:s, s:s, s:I}", "name", name, "unit", "second", "loops", laps > 0 ? laps : 1);
}

static json_t *runs_of(const struct tb_log_view *view, size_t cell, const char *key, size_t *left_out)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *sample = view->chain.entries[view->samples_begin + i].object;
        const json_t *time = tb_member(sample, "time_ns");
        if ((size_t)json_integer_value(tb_member(sample, "cell")) != cell || strcmp(tb_member_text(sample, "arm"), key))
            continue;
        if (!json_is_true(tb_member(sample, "valid")) || !(json_number_value(time) > 0)) {
            ++*left_out;
            continue;
        }
        json_array_append_new(runs, json_pack("{s:[f], s:{s:O}}", "values", json_number_value(time) / 1e9, "metadata",
                                              "locus_round", tb_member(sample, "round")));
    }
    return runs;
}

static int add(const struct tb_log_view *view, size_t cell, size_t arm, json_t *benchmarks, size_t *left_out)
{
    const char *key = tb_member_text(json_array_get(tb_member(view->header, "arms"), arm), "key");
    json_t *runs = runs_of(view, cell, key, left_out);
    if (runs && json_array_size(runs) == 0) {
        json_decref(runs);
        return 0;
    }
    json_t *benchmark = json_pack("{s:o, s:o}", "metadata", benchmark_metadata(view, cell, arm), "runs", runs);
    return json_array_append_new(benchmarks, benchmark) ? -ENOMEM : 0;
}

int tb_pyperf(const struct tb_log_view *view, json_t **out, size_t *left_out)
{
    char head[TB_HASH_TEXT];
    json_t *benchmarks = json_array();
    int rc = benchmarks ? 0 : -ENOMEM;
    *left_out = 0;
    *out = NULL;
    if (tb_log_emulated(view))
        rc = -ENOTSUP;
    for (size_t cell = 0; !rc && cell < tb_cells_count(view); cell++)
        for (size_t arm = 0; !rc && arm < tb_arms_count(view); arm++)
            rc = add(view, cell, arm, benchmarks, left_out);
    if (!rc && json_array_size(benchmarks) == 0)
        rc = -ENODATA;
    if (rc) {
        json_decref(benchmarks);
        return rc;
    }
    tb_hash_text(&view->chain.entries[view->chain.count - 1].head, head);
    *out = json_pack("{s:s, s:{s:s, s:s}, s:o}", "version", "1.0", "metadata", "locus_run", tb_member_text(view->header, "run"),
                     "locus_log_hash", head, "benchmarks", benchmarks);
    return *out ? 0 : -ENOMEM;
}
