// SPDX-License-Identifier: Apache-2.0
//
// compare: see compare.h. Everything is worked out into one JSON object, and the text is made from that: both say the same.

#include "testbed/report/hosts/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/arm_figures.h"
#include "testbed/record/store.h"
#include "testbed/report/board/board.h"

// --- arms ----------------------------------------------------------------------------------------------------------------------

static const char *arm_member(const struct tb_log_view *view, size_t arm, const char *member)
{
    return tb_member_text(json_array_get(tb_member(view->header, "arms"), arm), member);
}

// How many arms before this one have its name.
static size_t occurrence(const struct tb_log_view *view, size_t arm)
{
    size_t count = 0;
    for (size_t i = 0; i < arm; i++)
        count += strcmp(arm_member(view, i, "name"), arm_member(view, arm, "name")) == 0;
    return count;
}

// The arm of `in` that is `arm` of `view`, or -1.
static long counterpart(const struct tb_log_view *view, size_t arm, const struct tb_log_view *in)
{
    for (size_t i = 0; i < tb_arms_count(in); i++)
        if (strcmp(arm_member(in, i, "name"), arm_member(view, arm, "name")) == 0 && occurrence(in, i) == occurrence(view, arm))
            return (long)i;
    return -1;
}

static long cell_counterpart(const struct tb_log_view *view, size_t cell, const struct tb_log_view *in)
{
    char wanted[256], found[256];
    tb_cell_label(view, cell, wanted, sizeof wanted);
    for (size_t i = 0; i < tb_cells_count(in); i++)
        if (strcmp(tb_cell_label(in, i, found, sizeof found), wanted) == 0)
            return (long)i;
    return -1;
}

// Valid times only; what is not valid is said by n. An emulated machine has none.
static int times(const struct tb_log_view *view, size_t cell, size_t arm, double **values, size_t *count)
{
    size_t all = 0;
    int rc = tb_log_values(view, cell, arm_member(view, arm, "key"), "time_ns", values, &all);
    *count = 0;
    if (tb_log_emulated(view))
        all = 0;
    for (size_t i = 0; !rc && i < all; i++)
        if (!isnan((*values)[i]))
            (*values)[(*count)++] = (*values)[i];
    return rc;
}

// What runs of many nodes count: of each run the worst round.
static int counts_json(const struct tb_log_view *const views[2], const size_t cells[2], const size_t arms[2], json_t **out)
{
    struct tb_arm_figures figures[2];
    int rc = 0;
    for (int i = 0; !rc && i < 2; i++)
        rc = tb_arm_figures(views[i], cells[i], arms[i], &figures[i]);
    if (!rc)
        *out = json_pack("{s:[o,o], s:[o,o], s:[o,o]}", "remote_touch_ratio", tb_json_number(figures[0].remote_touch),
                         tb_json_number(figures[1].remote_touch), "wandered_ratio", tb_json_number(figures[0].wandered),
                         tb_json_number(figures[1].wandered), "abroad_free_ratio", tb_json_number(figures[0].abroad_free),
                         tb_json_number(figures[1].abroad_free));
    return rc ? rc : *out ? 0 : -ENOMEM;
}

static int arm_compare(const struct tb_log_view *const views[2], const size_t cells[2], const size_t arms[2], json_t *out)
{
    double *values[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    struct tb_ratio ratio = {0};
    json_t *counts = NULL;
    int rc = counts_json(views, cells, arms, &counts);
    for (int i = 0; !rc && i < 2; i++)
        rc = times(views[i], cells[i], arms[i], &values[i], &n[i]);
    if (!rc) {
        int known = tb_ratio_unpaired(values[0], n[0], values[1], n[1], TB_CONFIDENCE, &ratio); // -EINVAL: one has no valid sample
        json_t *entry =
            json_pack("{s:s, s:[s,s], s:[o,o], s:[I,I], s:o, s:O}", "name", arm_member(views[0], arms[0], "name"), "keys",
                      arm_member(views[0], arms[0], "key"), arm_member(views[1], arms[1], "key"), "medians_ns",
                      tb_json_number(tb_median(values[0], n[0])), tb_json_number(tb_median(values[1], n[1])), "n", (json_int_t)n[0],
                      (json_int_t)n[1], "ratio", tb_json_ratio(known ? NULL : &ratio), "counts", counts);
        rc = known == -ENOMEM || json_array_append_new(out, entry) ? -ENOMEM : 0;
    }
    json_decref(counts);
    free(values[0]);
    free(values[1]);
    return rc;
}

static int cell_compare(const struct tb_log_view *const views[2], const size_t cells[2], json_t *out)
{
    char name[256];
    json_t *arms = json_array();
    int rc = 0;
    for (size_t arm = 0; !rc && arm < tb_arms_count(views[0]); arm++) {
        long other = counterpart(views[0], arm, views[1]);
        if (other >= 0)
            rc = arm_compare(views, cells, (const size_t[]){arm, (size_t)other}, arms);
    }
    json_t *cell = json_pack("{s:s, s:o}", "cell", tb_cell_label(views[0], cells[0], name, sizeof name), "arms", arms);
    return rc ? (json_decref(cell), rc) : json_array_append_new(out, cell) ? -ENOMEM : 0;
}

static int cells_compare(const struct tb_log_view *const views[2], json_t *out)
{
    int rc = 0;
    for (size_t cell = 0; !rc && cell < tb_cells_count(views[0]); cell++) {
        long other = cell_counterpart(views[0], cell, views[1]);
        if (other >= 0)
            rc = cell_compare(views, (const size_t[]){cell, (size_t)other}, out);
    }
    return rc;
}

static json_t *only_in(const struct tb_log_view *view, const struct tb_log_view *other)
{
    char name[256];
    json_t *names = json_array();
    for (size_t cell = 0; cell < tb_cells_count(view); cell++)
        if (cell_counterpart(view, cell, other) < 0)
            json_array_append_new(names, json_string(tb_cell_label(view, cell, name, sizeof name)));
    for (size_t arm = 0; arm < tb_arms_count(view); arm++)
        if (counterpart(view, arm, other) < 0)
            json_array_append_new(names, json_string(arm_member(view, arm, "name")));
    return names;
}

// --- everything else -----------------------------------------------------------------------------------------------------------

static int difference(const char *what, const json_t *first, const json_t *second, json_t *out)
{
    json_t *entry = json_pack("{s:s, s:[O?,O?]}", "what", what, "values", (json_t *)first, (json_t *)second);
    return json_array_append_new(out, entry) ? -ENOMEM : 0;
}

// Walks both objects together: members of the first, then those that the second alone has.
static int differences(const char *what, const json_t *first, const json_t *second, json_t *out)
{
    char below[512];
    const char *key;
    json_t *value;
    int rc = 0;
    if (!json_is_object(first) || !json_is_object(second))
        return json_equal((json_t *)first, (json_t *)second) || (!first && !second) ? 0 : difference(what, first, second, out);
    json_object_foreach ((json_t *)first, key, value) {
        snprintf(below, sizeof below, "%s%s%s", what, *what ? "." : "", key);
        if (!rc)
            rc = differences(below, value, json_object_get(second, key), out);
    }
    json_object_foreach ((json_t *)second, key, value) {
        snprintf(below, sizeof below, "%s%s%s", what, *what ? "." : "", key);
        if (!rc && !json_object_get(first, key))
            rc = differences(below, NULL, value, out);
    }
    return rc;
}

// Of an allocator that both have, whether its library is the same file.
static int libraries(const struct tb_log_view *const views[2], json_t *out)
{
    int rc = 0;
    for (size_t arm = 0; !rc && arm < tb_arms_count(views[0]); arm++) {
        long other = counterpart(views[0], arm, views[1]);
        char what[160];
        snprintf(what, sizeof what, "library of %s", arm_member(views[0], arm, "name"));
        if (other >= 0)
            rc = differences(what, tb_member(json_array_get(tb_member(views[0]->header, "arms"), arm), "library_sha256"),
                             tb_member(json_array_get(tb_member(views[1]->header, "arms"), (size_t)other), "library_sha256"), out);
    }
    return rc;
}

static json_t *run_json(const struct tb_log_view *view)
{
    char host[128];
    tb_store_host_of(view->path, host, sizeof host);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?}", "run", tb_member_text(view->header, "run"), "host", host, "path",
                     view->path, "kind", tb_member_text(view->header, "kind"), "verdict", tb_member_text(view->summary, "verdict"),
                     "emulated", tb_log_emulated(view));
}

int tb_compare(const struct tb_log_view *first, const struct tb_log_view *second, json_t **out)
{
    const struct tb_log_view *const views[2] = {first, second};
    json_t *cells = json_array(), *changes = json_array(), *reproduced = NULL;
    json_t *predictions = tb_compare_predictions(first, second, &reproduced);
    int rc = cells && changes ? cells_compare(views, cells) : -ENOMEM;
    if (!rc)
        rc = differences("design", tb_member(first->header, "design"), tb_member(second->header, "design"), changes);
    if (!rc)
        rc = differences("", tb_member(first->header, "env"), tb_member(second->header, "env"), changes);
    if (!rc)
        rc = libraries(views, changes);
    *out = json_pack("{s:[o,o], s:s, s:f, s:o, s:[o,o], s:o, s:o, s:o}", "runs", run_json(first), run_json(second), "method",
                     TB_COMPARE_METHOD, "confidence", TB_CONFIDENCE, "cells", cells, "only", only_in(first, second),
                     only_in(second, first), "predictions", predictions, "reproduced", reproduced, "differences", changes);
    if (!rc && !*out)
        rc = -ENOMEM;
    if (rc) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}
