// SPDX-License-Identifier: Apache-2.0
//
// compare: see compare.h. Everything is worked out into one JSON object, and the document is made from that: both say the same.
//
// Predictions: is a run's figure also the other one's? Overlap of the intervals is the criterion, and not that the new estimate
// lies inside the log's interval: of two equal runs the second estimate misses the first 95 % interval in one case of six, while
// intervals that do not touch are rarer than one in a hundred.
#include "testbed/report/hosts/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/judge/shown.h"
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
    for (size_t i = 0; !rc && i < all && !tb_log_emulated(view); i++)
        if (!isnan((*values)[i]))
            (*values)[(*count)++] = (*values)[i];
    return rc;
}

static json_t *pair(double first, double second)
{
    return json_pack("[o, o]", tb_json_number(first), tb_json_number(second));
}

// The worst round of each.
static json_t *counts_json(const struct tb_log_view *const views[2], const size_t cells[2], const size_t arms[2])
{
    static const char *const metrics[] = {"remote_touch_ratio", "wandered_ratio", "abroad_free_ratio"};
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        double worst[2] = {NAN, NAN};
        for (int side = 0; side < 2; side++)
            tb_log_largest(views[side], cells[side], arm_member(views[side], arms[side], "key"), metrics[i], &worst[side]);
        json_object_set_new(out, metrics[i], pair(worst[0], worst[1]));
    }
    return out;
}

// One arm that both have in a cell. NULL: it could not be worked out.
static json_t *arm_json(const struct tb_log_view *const views[2], const size_t cells[2], const size_t arms[2])
{
    double *values[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    struct tb_ratio ratio = {0};
    json_t *entry = NULL;
    int rc = times(views[0], cells[0], arms[0], &values[0], &n[0]);
    rc = rc ? rc : times(views[1], cells[1], arms[1], &values[1], &n[1]);
    if (!rc) {
        int known = tb_ratio_unpaired(values[0], n[0], values[1], n[1], TB_CONFIDENCE, &ratio); // -EINVAL: one has no valid sample
        entry = json_pack("{s:s, s:[s,s], s:o, s:[I,I], s:o, s:o}", "name", arm_member(views[0], arms[0], "name"), "keys",
                          arm_member(views[0], arms[0], "key"), arm_member(views[1], arms[1], "key"), "medians_ns",
                          pair(tb_median(values[0], n[0]), tb_median(values[1], n[1])), "n", (json_int_t)n[0], (json_int_t)n[1],
                          "ratio", tb_json_ratio(known ? NULL : &ratio), "counts", counts_json(views, cells, arms));
    }
    free(values[0]);
    free(values[1]);
    return entry;
}

static json_t *cells_json(const struct tb_log_view *const views[2])
{
    json_t *out = json_array();
    char name[256];
    for (size_t cell = 0; cell < tb_cells_count(views[0]); cell++) {
        long other_cell = cell_counterpart(views[0], cell, views[1]);
        json_t *arms = json_array();
        for (size_t arm = 0; other_cell >= 0 && arm < tb_arms_count(views[0]); arm++) {
            long other = counterpart(views[0], arm, views[1]);
            if (other >= 0)
                arms = tb_json_appended(arms, arm_json(views, (const size_t[]){cell, (size_t)other_cell},
                                                       (const size_t[]){arm, (size_t)other}));
        }
        if (other_cell >= 0)
            out = tb_json_appended(out,
                                   json_pack("{s:s, s:o}", "cell", tb_cell_label(views[0], cell, name, sizeof name), "arms", arms));
        else
            json_decref(arms);
    }
    return out;
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

// Walks both objects together: members of the first, then those that the second alone has.
static json_t *differences(const char *what, const json_t *first, const json_t *second, json_t *out)
{
    char below[512];
    const char *key;
    json_t *value;
    bool objects = json_is_object(first) && json_is_object(second);
    if (!objects && first != second && !json_equal((json_t *)first, (json_t *)second))
        return tb_json_appended(out, json_pack("{s:s, s:[O?,O?]}", "what", what, "values", (json_t *)first, (json_t *)second));
    json_object_foreach (objects ? (json_t *)first : NULL, key, value) {
        snprintf(below, sizeof below, "%s%s%s", what, *what ? "." : "", key);
        out = differences(below, value, json_object_get(second, key), out);
    }
    json_object_foreach (objects ? (json_t *)second : NULL, key, value) {
        snprintf(below, sizeof below, "%s%s%s", what, *what ? "." : "", key);
        if (!json_object_get(first, key))
            out = differences(below, NULL, value, out);
    }
    return out;
}

// Of design and environment; and of an allocator that both have, whether its library is the same file.
static json_t *differences_json(const struct tb_log_view *first, const struct tb_log_view *second)
{
    json_t *out = differences("design", tb_member(first->header, "design"), tb_member(second->header, "design"), json_array());
    out = differences("", tb_member(first->header, "env"), tb_member(second->header, "env"), out);
    for (size_t arm = 0; arm < tb_arms_count(first); arm++) {
        long other = counterpart(first, arm, second);
        char what[160];
        snprintf(what, sizeof what, "library of %s", arm_member(first, arm, "name"));
        if (other >= 0)
            out = differences(what, tb_member(json_array_get(tb_member(first->header, "arms"), arm), "library_sha256"),
                              tb_member(json_array_get(tb_member(second->header, "arms"), (size_t)other), "library_sha256"), out);
    }
    return out;
}

// --- predictions ---------------------------------------------------------------------------------------------------------------

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

static bool inside(double value, const struct figure *interval)
{
    return interval->low <= value && value <= interval->high;
}

static bool agrees(const struct figure *first, const struct figure *second, const char **how)
{
    bool same_verdict = strcmp(first->verdict, second->verdict) == 0;
    bool bounded[] = {!isnan(first->low) && !isnan(first->high), !isnan(second->low) && !isnan(second->high)};
    if (isnan(first->estimate) || isnan(second->estimate)) {
        *how = isnan(second->estimate) ? "the second run has no figure" : "the first run has no figure";
        return isnan(first->estimate) && isnan(second->estimate) && same_verdict;
    }
    if (first->exact) {
        *how = first->estimate == second->estimate ? "the same figure" : same_verdict ? "the same verdict" : "another verdict";
        return first->estimate == second->estimate || same_verdict;
    }
    if (!bounded[0] && !bounded[1]) {
        *how = "too few rounds in both for an interval";
        return false;
    }
    if (bounded[0] != bounded[1]) {
        bool within = bounded[0] ? inside(second->estimate, first) : inside(first->estimate, second);
        *how = within ? "inside the one interval there is" : "outside the one interval there is";
        return within;
    }
    bool overlap = first->low <= second->high && second->low <= first->high;
    *how = !overlap                          ? "the intervals do not meet"
           : inside(second->estimate, first) ? "inside the first run's interval"
                                             : "the intervals overlap";
    return overlap;
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
    for (size_t i = 0; same && i < tb_arms_count(first); i++)
        same = strcmp(arm_member(first, i, "key"), arm_member(second, i, "key")) == 0 &&
               strcmp(arm_member(first, i, "name"), arm_member(second, i, "name")) == 0;
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

// --- the comparison ------------------------------------------------------------------------------------------------------------

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
    json_t *reproduced = NULL, *predictions = tb_compare_predictions(first, second, &reproduced);
    *out = json_pack("{s:[o,o], s:s, s:f, s:o, s:[o,o], s:o, s:o, s:o}", "runs", run_json(first), run_json(second), "method",
                     TB_COMPARE_METHOD, "confidence", TB_CONFIDENCE, "cells", cells_json(views), "only", only_in(first, second),
                     only_in(second, first), "predictions", predictions, "reproduced", reproduced, "differences",
                     differences_json(first, second));
    return *out ? 0 : -ENOMEM;
}

// --- for people ----------------------------------------------------------------------------------------------------------------

static bool add_runs(struct tb_doc *doc, const json_t *comparison)
{
    const json_t *run;
    bool timed = true;
    size_t i;
    json_array_foreach (tb_member(comparison, "runs"), i, run) {
        const char *guest = tb_member_text(run, "emulated");
        char title[32], text[512];
        snprintf(title, sizeof title, "run %zu", i + 1);
        snprintf(text, sizeof text, "%.60s on %.100s, %.30s: %.60s%s%.40s%s", tb_member_text(run, "run"),
                 tb_member_text(run, "host"), tb_member_text(run, "kind"), tb_member_text(run, "verdict"),
                 *guest ? "; made in an emulated guest (" : "", guest, *guest ? "): counts, no times" : "");
        tb_doc_fact(doc, NULL, title, TB_AS_IS, tb_text_value(text));
        timed &= !*guest;
    }
    return timed;
}

static struct tb_value interval_value(const json_t *figure, double confidence)
{
    return tb_interval_of(tb_member_number(figure, "estimate"), tb_member_number(figure, "low"), tb_member_number(figure, "high"),
                          confidence);
}

// What runs of many nodes count, the worst round of each run.
static void put_counts(struct tb_table *table, const json_t *arm)
{
    static const char *const counts[][2] = {{"remote_touch_ratio", "  remote touches"},
                                            {"wandered_ratio", "  wandered"},
                                            {"abroad_free_ratio", "  freed abroad"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const json_t *pair = json_object_get(tb_member(arm, "counts"), counts[i][0]);
        const json_t *first = json_array_get(pair, 0), *second = json_array_get(pair, 1);
        if (!json_is_number(first) && !json_is_number(second))
            continue;
        tb_table_row(table, TB_ROW_ASIDE);
        tb_table_put(table, tb_text_value(counts[i][1]));
        const json_t *values[] = {first, second};
        for (size_t run = 0; run < 2; run++) {
            char text[32];
            snprintf(text, sizeof text, "%.4f", json_number_value(values[run]));
            tb_table_put(table, tb_text_value(json_is_number(values[run]) ? text : "-"));
        }
        tb_table_put(table, tb_none("worst round, counted"));
    }
}

static void add_cell(struct tb_doc *doc, const json_t *cell, bool timed)
{
    static const struct tb_column columns[] = {{.title = ""},
                                               {.title = "run 1", .unit = TB_AS_TIME},
                                               {.title = "run 2", .unit = TB_AS_TIME},
                                               {.title = "run 2 / run 1", .unit = TB_AS_RATIO, .draw = true},
                                               {0}};
    struct tb_table *table = tb_doc_table(doc, NULL, tb_member_text(cell, "cell"), columns);
    const json_t *arm;
    size_t i;
    json_array_foreach (tb_member(cell, "arms"), i, arm) {
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(tb_member_text(arm, "name")));
        for (size_t run = 0; run < 2; run++) {
            const json_t *median = json_array_get(tb_member(arm, "medians_ns"), run);
            tb_table_put(table, json_is_number(median) ? tb_number(json_number_value(median)) : tb_none(NULL));
        }
        const json_t *ratio = tb_member(arm, "ratio");
        tb_table_put(table, json_is_object(ratio) && timed ? interval_value(ratio, tb_member_number(ratio, "confidence"))
                                                           : tb_none(timed ? "no valid sample" : "no times"));
        put_counts(table, arm);
    }
    if (i == 0)
        tb_table_note(table, "no contender is in both");
}

static struct tb_value figure_value(const json_t *figure)
{
    double estimate = tb_member_number(figure, "estimate");
    if (isnan(estimate))
        return tb_none(tb_member_text(figure, "verdict"));
    if (tb_member_number(figure, "low") == tb_member_number(figure, "high")) // it was counted
        return tb_detailed(tb_number(estimate), tb_member_text(figure, "verdict"));
    return interval_value(figure, TB_CONFIDENCE);
}

// Of one experiment: is what the first run showed so in the second, too? A table for each prediction.
static void add_predictions(struct tb_doc *doc, const json_t *comparison)
{
    static const struct tb_column columns[] = {{.title = "cell"},
                                               {.title = "run 1", .unit = TB_AS_RATIO, .draw = true},
                                               {.title = "run 2", .unit = TB_AS_RATIO, .draw = true},
                                               {.title = "reproduced?"},
                                               {0}};
    const json_t *reproduced = tb_member(comparison, "reproduced"), *entry;
    struct tb_table *table = NULL;
    char claim[512] = "", text[512];
    size_t i;
    json_array_foreach (tb_member(comparison, "predictions"), i, entry) {
        bool agrees = json_is_true(tb_member(entry, "agrees"));
        snprintf(text, sizeof text, "%s: %s", tb_member_text(entry, "id"), tb_member_text(entry, "text"));
        if (strcmp(text, claim) != 0)
            table = tb_doc_table(doc, NULL, strcpy(claim, text), columns);
        tb_table_row(table, TB_ROW_PLAIN);
        snprintf(text, sizeof text, "%s  %s", tb_member_text(entry, "cell"), tb_member_text(entry, "over"));
        tb_table_put(table, tb_text_value(text));
        for (size_t run = 0; run < 2; run++)
            tb_table_put(table, figure_value(json_array_get(tb_member(entry, "figures"), run)));
        snprintf(text, sizeof text, "NO: %s", tb_member_text(entry, "how"));
        tb_table_put(table, agrees ? tb_toned(tb_text_value("yes"), TB_TONE_GOOD) : tb_toned(tb_text_value(text), TB_TONE_BAD));
    }
    if (json_is_boolean(reproduced))
        tb_doc_say(doc, NULL, "%s",
                   json_is_true(reproduced)
                       ? "Reproduced: each predicted figure of run 1 is that of run 2."
                       : "Not reproduced: a predicted figure of run 1 is not that of run 2, or one run is invalid.");
}

static void put_value(struct tb_table *table, const json_t *value)
{
    char *text = json_is_string(value) || json_is_null(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY), bytes[32];
    const char *shown = text ? text : json_is_string(value) ? json_string_value(value) : "-";
    snprintf(bytes, sizeof bytes, "(%zu bytes)", strlen(shown));
    tb_table_put(table, tb_text_value(strlen(shown) > 500 ? bytes : shown)); // hwloc's XML
    free(text);
}

static void add_differences(struct tb_doc *doc, const json_t *comparison)
{
    static const struct tb_column columns[] = {{.title = "what else differs"}, {.title = "run 1"}, {.title = "run 2"}, {0}};
    const json_t *differences = tb_member(comparison, "differences"), *entry;
    size_t i;
    if (json_array_size(differences) == 0) {
        tb_doc_say(doc, NULL, "Nothing else differs.");
        return;
    }
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, columns);
    json_array_foreach (differences, i, entry) {
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(tb_member_text(entry, "what")));
        for (size_t run = 0; run < 2; run++)
            put_value(table, json_array_get(tb_member(entry, "values"), run));
    }
}

static void add_only(struct tb_doc *doc, const json_t *comparison)
{
    for (size_t run = 0; run < 2; run++) {
        const json_t *names = json_array_get(tb_member(comparison, "only"), run), *name;
        struct tb_words text = {0};
        size_t i;
        json_array_foreach (names, i, name)
            tb_say(&text, " %s", json_string_value(name));
        if (i > 0)
            tb_doc_say(doc, NULL, "Only in run %zu:%s", run + 1, text.text);
    }
}

struct tb_doc *tb_compare_doc(json_t *head, json_t *comparison)
{
    struct tb_doc *doc = tb_doc_open(head);
    const json_t *cell;
    size_t i;
    if (!doc)
        return NULL;
    tb_doc_members(doc, comparison);
    bool timed = add_runs(doc, comparison);
    json_array_foreach (tb_member(comparison, "cells"), i, cell)
        add_cell(doc, cell, timed);
    if (i == 0)
        tb_doc_say(doc, NULL, "The runs have no cell in common.");
    add_predictions(doc, comparison);
    add_only(doc, comparison);
    add_differences(doc, comparison);
    tb_doc_say(doc, NULL,
               "Medians; ratio: %s. Its interval says how the samples of both runs scatter, not what changed between the runs. "
               "To compare contenders, measure them in one run.",
               tb_member_text(comparison, "method"));
    return doc;
}
