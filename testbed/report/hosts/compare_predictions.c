// SPDX-License-Identifier: Apache-2.0
//
// compare_predictions: is a run's figure also the other one's? The criterion of reproducing a run (testbed/reproduce.sh).
//
// Overlap is the criterion, and not that the new estimate lies inside the log's interval: of two equal runs the second estimate
// misses the first 95 % interval in one case of six, while intervals that do not touch are rarer than one in a hundred.

#include <errno.h>
#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/arm_figures.h"
#include "testbed/report/hosts/compare.h"

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

static bool agrees(const struct figure *first, const struct figure *second, const char **how)
{
    bool same_verdict = strcmp(first->verdict, second->verdict) == 0;
    if (isnan(first->estimate) || isnan(second->estimate)) {
        *how = isnan(second->estimate) ? "the second run has no figure" : "the first run has no figure";
        return isnan(first->estimate) && isnan(second->estimate) && same_verdict;
    }
    if (first->exact) {
        *how = first->estimate == second->estimate ? "the same figure" : same_verdict ? "the same verdict" : "another verdict";
        return first->estimate == second->estimate || same_verdict;
    }
    if (bounded(first) && bounded(second)) {
        bool overlap = first->low <= second->high && second->low <= first->high;
        *how = !overlap                          ? "the intervals do not meet"
               : inside(second->estimate, first) ? "inside the first run's interval"
                                                 : "the intervals overlap";
        return overlap;
    }
    if (!bounded(first) && !bounded(second)) {
        *how = "too few rounds in both for an interval";
        return false;
    }
    bool within = bounded(first) ? inside(second->estimate, first) : inside(first->estimate, second);
    *how = within ? "inside the one interval there is" : "outside the one interval there is";
    return within;
}

static json_t *figure_json(const struct figure *figure)
{
    return json_pack("{s:o, s:o, s:o, s:s}", "estimate", tb_json_number(figure->estimate), "low", tb_json_number(figure->low),
                     "high", tb_json_number(figure->high), "verdict", figure->verdict);
}

// One figure: a prediction's own, or that of a part of it.
static json_t *figures_json(const json_t *prediction, const json_t *first, const json_t *second, bool *reproduced)
{
    struct figure figures[] = {figure_of(first), figure_of(second)};
    const char *how = "", *over = tb_member_text(first, "over");
    bool good = agrees(&figures[0], &figures[1], &how);
    *reproduced &= good;
    return json_pack("{s:s, s:s, s:s, s:s?, s:[o,o], s:b, s:s}", "id", tb_member_text(prediction, "id"), "text",
                     tb_member_text(prediction, "text"), "cell", tb_member_text(first, "cell"), "over", *over ? over : NULL,
                     "figures", figure_json(&figures[0]), figure_json(&figures[1]), "agrees", good, "how", how);
}

// The entry that has the same text in both members as `wanted`, or NULL.
static const json_t *match(const json_t *list, const json_t *wanted, const char *key, const char *other)
{
    const json_t *entry;
    size_t i;
    json_array_foreach (list, i, entry)
        if (strcmp(tb_member_text(entry, key), tb_member_text(wanted, key)) == 0 &&
            strcmp(tb_member_text(entry, other), tb_member_text(wanted, other)) == 0)
            return entry;
    return NULL;
}

static json_t *add(json_t *out, const json_t *first, const json_t *second, bool *reproduced)
{
    const json_t *parts = tb_member(first, "parts"), *part;
    size_t i;
    if (json_array_size(parts) == 0)
        return tb_json_appended(out, figures_json(first, first, second, reproduced));
    json_array_foreach (parts, i, part)
        out = tb_json_appended(out, figures_json(first, part, match(tb_member(second, "parts"), part, "cell", "over"), reproduced));
    return out;
}

static bool same_experiment(const struct tb_log_view *first, const struct tb_log_view *second)
{
    bool same = strcmp(tb_member_text(first->header, "experiment.id"), tb_member_text(second->header, "experiment.id")) == 0 &&
                tb_arms_count(first) == tb_arms_count(second) && tb_cells_count(first) == tb_cells_count(second);
    for (size_t i = 0; same && i < tb_arms_count(first); i++) {
        const json_t *one = json_array_get(tb_member(first->header, "arms"), i);
        const json_t *other = json_array_get(tb_member(second->header, "arms"), i);
        same = strcmp(tb_member_text(one, "key"), tb_member_text(other, "key")) == 0 &&
               strcmp(tb_member_text(one, "name"), tb_member_text(other, "name")) == 0;
    }
    for (size_t i = 0; same && i < tb_cells_count(first); i++) {
        char one[256], other[256];
        same = strcmp(tb_cell_label(first, i, one, sizeof one), tb_cell_label(second, i, other, sizeof other)) == 0;
    }
    return same;
}

json_t *tb_compare_predictions(const struct tb_log_view *first, const struct tb_log_view *second, json_t **reproduced)
{
    const json_t *theirs = tb_member(second->summary, "predictions"), *prediction;
    const char *verdicts[] = {tb_member_text(first->summary, "verdict"), tb_member_text(second->summary, "verdict")};
    bool all = (strcmp(verdicts[0], "invalid") == 0) == (strcmp(verdicts[1], "invalid") == 0);
    json_t *out = json_array();
    size_t i;
    *reproduced = json_null();
    if (!same_experiment(first, second))
        return out;
    json_array_foreach (tb_member(first->summary, "predictions"), i, prediction)
        out = add(out, prediction, match(theirs, prediction, "id", "id"), &all);
    if (json_array_size(out) > 0)
        *reproduced = json_boolean(all);
    return out;
}
