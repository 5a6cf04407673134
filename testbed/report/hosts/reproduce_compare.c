// SPDX-License-Identifier: Apache-2.0
//
// reproduce_compare: the figures of two runs of one experiment, see reproduce.h.
//
// Overlap is the criterion, and not that the new estimate lies inside the log's interval: of two equal runs the second estimate
// misses the first 95 % interval in one case of six, while intervals that do not touch are rarer than one in a hundred.

#include <errno.h>
#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/arm_figures.h"
#include "testbed/report/hosts/reproduce.h"

struct figure {
    double estimate, low, high; // NAN: unknown, or unbounded
    bool exact;
    const char *verdict;
};

static struct figure figure_of(const json_t *object)
{
    struct figure figure = {
        .estimate = tb_member_number(object, "estimate"),
        .low = tb_member_number(object, "low"),
        .high = tb_member_number(object, "high"),
        .verdict = tb_member_text(object, "verdict"),
    };
    figure.exact = tb_member_number(object, "achieved") == 1 && figure.low == figure.high;
    return figure;
}

static bool bounded(const struct figure *figure)
{
    return !isnan(figure->low) && !isnan(figure->high);
}

static bool inside(double value, const struct figure *interval)
{
    return interval->low <= value && value <= interval->high;
}

static bool agrees(const struct figure *log, const struct figure *again, const char **how)
{
    bool same_verdict = strcmp(log->verdict, again->verdict) == 0;
    if (isnan(log->estimate) || isnan(again->estimate)) {
        *how = isnan(again->estimate) ? "no figure this time" : "the log has no figure";
        return isnan(log->estimate) && isnan(again->estimate) && same_verdict;
    }
    if (log->exact) {
        *how = log->estimate == again->estimate ? "the same figure" : same_verdict ? "the same verdict" : "another verdict";
        return log->estimate == again->estimate || same_verdict;
    }
    if (bounded(log) && bounded(again)) {
        bool overlap = log->low <= again->high && again->low <= log->high;
        *how = !overlap                       ? "the intervals do not meet"
               : inside(again->estimate, log) ? "inside the log's interval"
                                              : "the intervals overlap";
        return overlap;
    }
    if (!bounded(log) && !bounded(again)) {
        *how = "too few rounds in both for an interval";
        return false;
    }
    bool within = bounded(log) ? inside(again->estimate, log) : inside(log->estimate, again);
    *how = within ? "inside the one interval there is" : "outside the one interval there is";
    return within;
}

static json_t *figure_json(const struct figure *figure)
{
    json_t *numbers[3];
    const double values[] = {figure->estimate, figure->low, figure->high};
    for (int i = 0; i < 3; i++)
        numbers[i] = isfinite(values[i]) ? json_real(values[i]) : json_null();
    return json_pack("{s:o, s:o, s:o, s:s}", "estimate", numbers[0], "low", numbers[1], "high", numbers[2], "verdict",
                     figure->verdict);
}

// One figure: a prediction's own, or that of a part of it.
static int add(const json_t *prediction, const json_t *log, const json_t *again, json_t *out, size_t *agreed)
{
    struct figure figures[] = {figure_of(log), figure_of(again)};
    const char *how = "";
    bool good = agrees(&figures[0], &figures[1], &how);
    const char *over = tb_member_text(log, "over");
    json_t *entry = json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o, s:b, s:s}", "id", tb_member_text(prediction, "id"), "text",
                              tb_member_text(prediction, "text"), "cell", tb_member_text(log, "cell"), "over", *over ? over : NULL,
                              "log", figure_json(&figures[0]), "again", figure_json(&figures[1]), "agrees", good, "how", how);
    *agreed += good;
    return json_array_append_new(out, entry) ? -ENOMEM : 0;
}

// The entry with the same members `keys` as `wanted`, or NULL.
static const json_t *match(const json_t *list, const json_t *wanted, const char *const keys[])
{
    const json_t *entry;
    size_t i;
    json_array_foreach (list, i, entry) {
        bool same = true;
        for (const char *const *key = keys; *key; key++)
            same &= strcmp(tb_member_text(entry, *key), tb_member_text(wanted, *key)) == 0;
        if (same)
            return entry;
    }
    return NULL;
}

static int add_prediction(const json_t *log, const json_t *again, json_t *out, size_t *agreed)
{
    static const char *const keys[] = {"cell", "over", NULL};
    const json_t *parts = tb_member(log, "parts"), *part;
    size_t i;
    int rc = 0;
    if (json_array_size(parts) == 0)
        return add(log, log, again, out, agreed);
    json_array_foreach (parts, i, part)
        if (!rc)
            rc = add(log, part, match(tb_member(again, "parts"), part, keys), out, agreed);
    return rc;
}

static bool same_experiment(const struct tb_log_view *log, const struct tb_log_view *again)
{
    bool same = tb_arms_count(log) == tb_arms_count(again) && tb_cells_count(log) == tb_cells_count(again);
    for (size_t i = 0; same && i < tb_arms_count(log); i++) {
        const json_t *one = json_array_get(tb_member(log->header, "arms"), i);
        const json_t *other = json_array_get(tb_member(again->header, "arms"), i);
        same = strcmp(tb_member_text(one, "key"), tb_member_text(other, "key")) == 0 &&
               strcmp(tb_member_text(one, "name"), tb_member_text(other, "name")) == 0;
    }
    for (size_t i = 0; same && i < tb_cells_count(log); i++) {
        char one[256], other[256];
        same = strcmp(tb_cell_label(log, i, one, sizeof one), tb_cell_label(again, i, other, sizeof other)) == 0;
    }
    return same;
}

int tb_reproduce_compare(const struct tb_log_view *log, const struct tb_log_view *again, json_t **out, size_t *agreed)
{
    static const char *const keys[] = {"id", NULL};
    const json_t *predictions = tb_member(again->summary, "predictions"), *prediction;
    size_t i;
    int rc = 0;
    *agreed = 0;
    *out = NULL;
    if (!same_experiment(log, again))
        return -EINVAL;
    *out = json_array();
    json_array_foreach (tb_member(log->summary, "predictions"), i, prediction)
        if (!rc)
            rc = add_prediction(prediction, match(predictions, prediction, keys), *out, agreed);
    if (rc) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}
