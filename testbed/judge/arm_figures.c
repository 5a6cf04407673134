// SPDX-License-Identifier: Apache-2.0
//
// arm_figures: see arm_figures.h.

#include "testbed/judge/arm_figures.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/postulate/metric.h"

size_t tb_cells_count(const struct tb_log_view *view)
{
    return json_array_size(tb_member(view->header, "cells"));
}

size_t tb_arms_count(const struct tb_log_view *view)
{
    return json_array_size(tb_member(view->header, "arms"));
}

const char *tb_cell_label(const struct tb_log_view *view, size_t cell, char *out, size_t bytes)
{
    const json_t *object = json_array_get(tb_member(view->header, "cells"), cell);
    return tb_member_cell(object, out, bytes);
}

static const char *arm_key(const struct tb_log_view *view, size_t arm)
{
    return tb_member_text(json_array_get(tb_member(view->header, "arms"), arm), "key");
}

// What is said once for all samples: the version, and the first that is not valid.
static void describe(const struct tb_log_view *view, size_t cell, struct tb_arm_figures *out)
{
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *sample = view->samples[i].line;
        if ((size_t)tb_member_number(sample, "cell") != cell || strcmp(tb_member_text(sample, "arm"), out->key))
            continue;
        if (!out->version[0])
            snprintf(out->version, sizeof out->version, "%s", tb_member_text(sample, "version"));
        if (!json_is_true(tb_member(sample, "valid")) && !out->invalid[0])
            snprintf(out->invalid, sizeof out->invalid, "%.200s (round %.0f)", tb_member_text(sample, "invalid"),
                     tb_member_number(sample, "round"));
    }
}

const json_t *tb_summary_arm(const struct tb_log_view *view, size_t cell, const char *arm)
{
    char label[256];
    const json_t *entry;
    size_t i;
    tb_cell_label(view, cell, label, sizeof label);
    json_array_foreach (tb_member(view->summary, "arms"), i, entry)
        if (strcmp(tb_member_text(entry, "cell"), label) == 0 && strcmp(tb_member_text(entry, "arm"), arm) == 0)
            return entry;
    return NULL;
}

// The largest figure of a metric over all valid samples. NAN without any.
static int largest(const struct tb_log_view *view, size_t cell, const char *arm, const char *name, double *out)
{
    const struct tb_metric *metric = tb_metric_find(name);
    double *values = NULL, peak = tb_member_number(json_array_get(tb_member(view->header, "cells"), cell), "blocks_peak");
    size_t count = 0;
    int rc = tb_log_values(view, cell, arm, metric->member, &values, &count);
    *out = NAN;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        *out = fmax(*out, metric->of_peak ? values[i] / peak : values[i]); // passes over NAN
    free(values);
    return rc;
}

static int ratio_to_first(const struct tb_log_view *view, size_t cell, struct tb_arm_figures *out)
{
    double *first = NULL, *own = NULL;
    size_t first_count = 0, count = 0;
    int rc = tb_log_values(view, cell, arm_key(view, 0), "time_ns", &first, &first_count);
    if (rc >= 0)
        rc = tb_log_values(view, cell, out->key, "time_ns", &own, &count);
    int ratio = rc >= 0 && first_count == count ? tb_ratio(first, own, count, TB_CONFIDENCE, &out->ratio) : -EINVAL;
    out->has_ratio = ratio == 0; // -EINVAL: no sample, or one without a time
    free(first);
    free(own);
    return ratio == -ENOMEM ? ratio : rc;
}

int tb_arm_figures(const struct tb_log_view *view, size_t cell, size_t arm, struct tb_arm_figures *out)
{
    *out = (struct tb_arm_figures){.key = arm_key(view, arm)};
    out->name = tb_member_text(json_array_get(tb_member(view->header, "arms"), arm), "name");
    out->summary = tb_summary_arm(view, cell, out->key);
    describe(view, cell, out);
    struct {
        const char *metric;
        double *figure;
    } figures[] = {{"outstanding_ratio", &out->outstanding},
                   {"distinct_ratio", &out->distinct},
                   {"remote_touch_ratio", &out->remote_touch},
                   {"wandered_ratio", &out->wandered},
                   {"abroad_free_ratio", &out->abroad_free}};
    int rc = arm > 0 && !tb_log_emulated(view) ? ratio_to_first(view, cell, out) : 0;
    for (size_t i = 0; rc >= 0 && i < sizeof figures / sizeof *figures; i++)
        rc = largest(view, cell, out->key, figures[i].metric, figures[i].figure);
    return rc < 0 ? rc : 0;
}
