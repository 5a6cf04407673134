// SPDX-License-Identifier: Apache-2.0
//
// run: the page of one run. It shows why, in the order in which a doubter asks: the claims against their intervals, the samples,
// the arms, the gates, how it was run, the machine. The figures of the arms are those of the log's summary, not worked out again.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/postulate/metric.h"
#include "testbed/judge/arm_figures.h"
#include "testbed/report/page/page.h"

static const char *cell_name(const json_t *header, size_t cell, char out[160])
{
    return tb_member_cell(json_array_get(tb_member(header, "cells"), cell), out, 160);
}

// --- predictions ---------------------------------------------------------------------------------------------------------------

static void put_overview(struct tb_doc *doc, const json_t *header, const json_t *predictions)
{
    static const struct tb_column columns[] = {{"prediction", "prediction", TB_AS_IS, false},
                                               {NULL, "what was claimed", TB_AS_IS, false},
                                               {"estimate", "what was seen", TB_AS_IS, false},
                                               {"verdict", "verdict", TB_AS_IS, false},
                                               {"n", "rounds", TB_AS_IS, false},
                                               {"achieved", "confidence", TB_AS_SHARE, false},
                                               {"value", NULL, TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "predictions", NULL, columns);
    const json_t *prediction;
    size_t i;
    json_array_foreach (predictions, i, prediction) {
        char words[512], link[24];
        const char *id = tb_member_text(prediction, "id");
        bool measured = tb_prediction_measured(header, prediction);
        snprintf(link, sizeof link, "#%.16s", id);
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_linked(tb_text_value(id), link));
        tb_table_put(table, tb_detailed(tb_text_value(tb_claim_words(header, prediction, words, sizeof words)),
                                        tb_member_text(prediction, "text")));
        tb_table_put(table, tb_observed(header, prediction));
        tb_table_put(table, tb_verdict_value(tb_prediction_verdict(header, prediction)));
        tb_table_put(table, tb_number(measured ? tb_member_number(prediction, "n") : NAN));
        tb_table_put(table, tb_number(measured ? tb_member_number(prediction, "achieved") : NAN));
        tb_table_put(table, tb_number(tb_member_number(prediction, "value")));
    }
}

static void put_part(struct tb_table *table, const json_t *header, const json_t *prediction, const json_t *part)
{
    char arms[340], one[160];
    const char *over = tb_member_text(part, "over"), *under = tb_member_text(part, "under");
    snprintf(arms, sizeof arms, "%s", tb_arm_words(header, over[0] ? over : tb_member_text(part, "arm"), one));
    if (under[0])
        snprintf(arms + strlen(arms), sizeof arms - strlen(arms), " / %s", tb_arm_words(header, under, one));
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(tb_member_text(prediction, "id")));
    tb_table_put(table, tb_text_value(tb_member_text(part, "cell")));
    tb_table_put(table, tb_text_value(over));
    tb_table_put(table, tb_text_value(arms));
    tb_table_put(table, tb_observed(header, part));
    tb_table_put(table, tb_verdict_value(tb_prediction_verdict(header, part)));
}

// On one scale the parts of a prediction, and shaded what was claimed.
static void put_parts(struct tb_doc *doc, const json_t *header, const json_t *prediction)
{
    const json_t *parts = tb_member(prediction, "parts"), *value = tb_member(prediction, "value"), *part;
    const char *op = tb_member_text(prediction, "op");
    bool ratio = tb_member_text(prediction, "under")[0] || json_is_array(tb_member(prediction, "order"));
    const struct tb_column columns[] = {{"prediction", NULL, TB_AS_IS, false},
                                        {"cell", "cell", TB_AS_IS, false},
                                        {"over", NULL, TB_AS_IS, false},
                                        {NULL, "arms", TB_AS_IS, false},
                                        {"estimate", "seen", ratio ? TB_AS_RATIO : TB_AS_IS, true},
                                        {"verdict", "verdict", TB_AS_IS, false},
                                        {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "parts", NULL, columns);
    double bound = json_number_value(json_is_array(value) ? json_array_get(value, 0) : value);
    size_t i;
    tb_table_claim(table, *op == '<' ? -INFINITY : bound,
                   json_is_array(value) ? json_number_value(json_array_get(value, 1))
                   : *op == '>'         ? INFINITY
                                        : bound);
    json_array_foreach (parts, i, part)
        put_part(table, header, prediction, part);
    if (json_array_size(parts) == 0)
        put_part(table, header, prediction, prediction);
    tb_table_note(table, "Shaded: what was claimed.%s", ratio ? " Dotted: 1, no difference." : "");
}

static void put_predictions(struct tb_doc *doc, const struct tb_log_view *view)
{
    const json_t *predictions = tb_member(view->summary, "predictions"), *prediction;
    size_t i;
    if (json_array_size(predictions) == 0)
        return;
    tb_doc_heading(doc, 2, NULL, "Predictions");
    put_overview(doc, view->header, predictions);
    json_array_foreach (predictions, i, prediction) {
        const char *id = tb_member_text(prediction, "id"), *why = tb_member_text(prediction, "why");
        const struct tb_verdict_look *look = tb_verdict_look(tb_prediction_verdict(view->header, prediction));
        char title[300];
        if (!tb_prediction_measured(view->header, prediction))
            continue;
        const char *claim = tb_member_text(prediction, "claim"), *text = tb_member_text(prediction, "text");
        snprintf(title, sizeof title, "%s %s: %s", id, *claim ? claim : text, look->verdict);
        tb_doc_folded(doc, 3, NULL, title);
        tb_doc_tone(doc, look->tone);
        tb_doc_anchor(doc, id);
        if (*claim)
            tb_doc_say(doc, NULL, "%s on %s", text, tb_member_text(prediction, "cell"));
        if (why[strcspn(why, "abcdefghijklmnopqrstuvwxyz")]) // not only the figures again
            tb_doc_say(doc, NULL, "%s", why);
        put_parts(doc, view->header, prediction);
    }
}

// --- samples -------------------------------------------------------------------------------------------------------------------

static bool is_predicted(const json_t *summary, const char *metric)
{
    const json_t *prediction;
    size_t i;
    json_array_foreach (tb_member(summary, "predictions"), i, prediction)
        if (strcmp(tb_member_text(prediction, "metric"), metric) == 0)
            return true;
    return false;
}

// The median times always, unless they are none; what else there is where something was said about it.
static bool is_shown(const struct tb_log_view *view, const char *metric)
{
    if (tb_metric_is_time(metric) && tb_log_emulated(view))
        return false;
    return strcmp(metric, "time_ns") == 0 || is_predicted(view->summary, metric);
}

static double median_of(double *values, size_t count)
{
    size_t valid = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            values[valid++] = values[i];
    return tb_median(values, valid);
}

static void put_strip(struct tb_table *table, const struct tb_log_view *view, size_t cell, const struct tb_metric *metric,
                      double divisor, const char *key)
{
    double *values = NULL;
    size_t count = 0;
    char words[160];
    if (tb_log_values(view, cell, key, metric->member, &values, &count) || !values)
        return;
    for (size_t i = 0; i < count; i++)
        values[i] /= divisor;
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(tb_member_cell(json_array_get(tb_member(view->header, "cells"), cell), words, sizeof words)));
    tb_table_put(table, tb_text_value(metric->name));
    tb_table_put(table, tb_text_value(key));
    tb_table_put(table, tb_text_value(tb_arm_words(view->header, key, words)));
    double *copy = malloc((count + 1) * sizeof *copy);
    memcpy(copy, values, copy ? count * sizeof *copy : 0);
    struct tb_value samples = tb_samples(values, count);
    samples.number = copy ? median_of(copy, count) : NAN;
    tb_table_put(table, samples);
    tb_table_put(table, tb_number(samples.number));
    free(copy);
    free(values);
}

static void put_strips(struct tb_doc *doc, const struct tb_log_view *view, size_t cell, const struct tb_metric *metric)
{
    const json_t *object = json_array_get(tb_member(view->header, "cells"), cell), *arm;
    enum tb_unit_kind unit = tb_metric_is_time(metric->name) ? TB_AS_TIME : metric->many_nodes ? TB_AS_SHARE : TB_AS_IS;
    const struct tb_column columns[] = {{"cell", NULL, TB_AS_IS, false},       {"metric", NULL, TB_AS_IS, false},
                                        {"arm", NULL, TB_AS_IS, false},        {NULL, "arm", TB_AS_IS, false},
                                        {"samples", metric->name, unit, true}, {"median", "median", unit, false},
                                        {NULL, NULL, TB_AS_IS, false}};
    double divisor = metric->many_nodes ? 1 : tb_metric_divisor(metric, object);
    char name[160], group[160];
    size_t i;
    if (!(divisor > 0))
        return;
    struct tb_table *table = tb_doc_table(doc, "strips", cell_name(view->header, cell, name), columns);
    snprintf(group, sizeof group, "%s at %s touch", metric->name, tb_member_text(object, "touch"));
    tb_table_scale(table, group);
    json_array_foreach (tb_member(view->header, "arms"), i, arm)
        put_strip(table, view, cell, metric, divisor, tb_member_text(arm, "key"));
}

static void put_invalid(struct tb_doc *doc, const struct tb_log_view *view)
{
    static const struct tb_column columns[] = {{"cell", "cell", TB_AS_IS, false},
                                               {"arm", "arm", TB_AS_IS, false},
                                               {"round", "round", TB_AS_IS, false},
                                               {"invalid", "why it counts for nothing", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = NULL;
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *sample = view->samples[i].line;
        char name[160];
        if (json_is_true(tb_member(sample, "valid")))
            continue;
        if (!table)
            table = tb_doc_table(doc, "invalid", "Samples that are not valid", columns);
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(cell_name(view->header, (size_t)tb_member_number(sample, "cell"), name)));
        tb_table_put(table, tb_text_value(tb_member_text(sample, "arm")));
        tb_table_put(table, tb_number(tb_member_number(sample, "round")));
        tb_table_put(table, tb_toned(tb_text_value(tb_member_text(sample, "invalid")), TB_TONE_POOR));
    }
}

static void put_samples(struct tb_doc *doc, const struct tb_log_view *view)
{
    size_t cells = json_array_size(tb_member(view->header, "cells"));
    tb_doc_heading(doc, 2, NULL, "Every sample");
    tb_doc_say(doc, NULL,
               "A dot is one round, a fresh process, the first at the strip's upper edge. The line is the median. The "
               "cells of one touch have one scale.");
    for (unsigned m = 0; tb_metric_at(m); m++) {
        const struct tb_metric *metric = tb_metric_at(m);
        char title[200];
        if (!is_shown(view, metric->name))
            continue;
        snprintf(title, sizeof title, "%s: %s", metric->name, metric->what);
        tb_doc_folded(doc, 3, NULL, title);
        for (size_t cell = 0; cell < cells; cell++)
            put_strips(doc, view, cell, metric);
    }
    tb_doc_heading(doc, 3, NULL, NULL);
    put_invalid(doc, view);
}

// --- arms and gates ------------------------------------------------------------------------------------------------------------

static void put_arm(struct tb_table *table, const struct tb_log_view *view, const char *cell, const struct tb_arm_figures *arm)
{
    double median = tb_member_number(arm->summary, "median"), low = tb_member_number(arm->summary, "low");
    double high = tb_member_number(arm->summary, "high");
    char words[160];
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(cell));
    tb_table_put(table, tb_text_value(arm->key));
    tb_table_put(table, tb_text_value(tb_arm_words(view->header, arm->key, words)));
    tb_table_put(table, isfinite(low) && isfinite(high) ? tb_interval_of(median, low, high, TB_CONFIDENCE) : tb_number(median));
    tb_table_put(table, arm->invalid[0] ? tb_none("INVALID") : arm->has_ratio ? tb_interval(&arm->ratio) : tb_none(NULL));
    tb_table_put(table, tb_number(tb_member_number(arm->summary, "mad")));
    tb_table_put(table, tb_number(tb_member_number(arm->summary, "min")));
    tb_table_put(table, tb_number(tb_member_number(arm->summary, "n")));
    tb_table_put(table, tb_number(arm->outstanding));
    tb_table_put(table, tb_number(arm->distinct));
    tb_table_put(table, arm->version[0] ? tb_text_value(arm->version) : tb_none(NULL));
}

static void put_arms_of(struct tb_doc *doc, const struct tb_log_view *view, size_t cell)
{
    char name[160], touch[96], title[96];
    const char *first = tb_member_text(json_array_get(tb_member(view->header, "arms"), 0), "key");
    snprintf(title, sizeof title, "times as long as %.40s", first);
    const struct tb_column columns[] = {{"cell", NULL, TB_AS_IS, false},     {"arm", NULL, TB_AS_IS, false},
                                        {NULL, "arm", TB_AS_IS, false},      {"median", "median", TB_AS_TIME, false},
                                        {"ratio", title, TB_AS_RATIO, true}, {"mad", "MAD", TB_AS_TIME, false},
                                        {"min", "least", TB_AS_TIME, false}, {"n", "rounds", TB_AS_IS, false},
                                        {"held", "held", TB_AS_IS, false},   {"ever", "ever", TB_AS_IS, false},
                                        {NULL, "version", TB_AS_IS, false},  {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "arms", cell_name(view->header, cell, name), columns);
    struct tb_arm_figures arm;
    snprintf(touch, sizeof touch, "%.90s", tb_member_text(json_array_get(tb_member(view->header, "cells"), cell), "touch"));
    tb_table_scale(table, touch);
    for (size_t i = 0; i < tb_arms_count(view); i++)
        if (tb_arm_figures(view, cell, i, &arm) == 0)
            put_arm(table, view, name, &arm);
}

static void put_arms(struct tb_doc *doc, const struct tb_log_view *view)
{
    size_t cells = json_array_size(tb_member(view->header, "cells"));
    if (json_array_size(tb_member(view->summary, "arms")) == 0)
        return;
    tb_doc_folded(doc, 2, NULL, "The arms: medians, and each against the first");
    for (size_t cell = 0; cell < cells; cell++)
        put_arms_of(doc, view, cell);
}

static void put_controls(struct tb_doc *doc, const json_t *summary)
{
    static const struct tb_column columns[] = {{"cell", "cell", TB_AS_IS, false},
                                               {"arms", "A/A control", TB_AS_IS, false},
                                               {"estimate", "seen", TB_AS_RATIO, true},
                                               {NULL, NULL, TB_AS_IS, false}};
    const json_t *control = tb_member(summary, "positive_control"), *pair;
    struct tb_table *table = json_array_size(tb_member(summary, "aa")) ? tb_doc_table(doc, "aa", NULL, columns) : NULL;
    size_t i;
    json_array_foreach (tb_member(summary, "aa"), i, pair) {
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(tb_member_text(pair, "cell")));
        tb_table_put(table, tb_text_value(tb_member_text(pair, "arms")));
        tb_table_put(table, tb_interval_of(tb_member_number(pair, "estimate"), tb_member_number(pair, "low"),
                                           tb_member_number(pair, "high"), tb_member_number(pair, "confidence")));
    }
    if (!json_is_object(control))
        return;
    bool found = json_is_true(tb_member(control, "found"));
    tb_doc_say(doc, "positive_control", "A slowdown of %g %% put in on purpose (%s) was %s: %.3g [%.3g, %.3g].",
               tb_member_number(control, "percent"), tb_member_text(control, "arms"), found ? "found" : "not found",
               tb_member_number(control, "estimate"), tb_member_number(control, "low"), tb_member_number(control, "high"));
    tb_doc_tone(doc, found ? TB_TONE_GOOD : TB_TONE_BAD);
}

static void put_gates(struct tb_doc *doc, const struct tb_log_view *view)
{
    static const struct tb_column columns[] = {{"gate", "gate", TB_AS_IS, false},
                                               {"kind", "kind", TB_AS_IS, false},
                                               {"passed", "passed", TB_AS_IS, false},
                                               {"reason", "why", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    const json_t *gate;
    size_t i;
    if (!view->summary)
        return;
    tb_doc_heading(doc, 2, NULL, "Gates");
    struct tb_table *table = tb_doc_table(doc, "gates", NULL, columns);
    json_array_foreach (tb_member(view->summary, "gates"), i, gate) {
        bool passed = json_is_true(tb_member(gate, "passed"));
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(tb_member_text(gate, "gate")));
        tb_table_put(table, tb_text_value(tb_member_text(gate, "kind")));
        tb_table_put(table, tb_toned(tb_flag(passed), passed ? TB_TONE_GOOD : TB_TONE_BAD));
        tb_table_put(table, tb_text_value(tb_member_text(gate, "reason")));
    }
    if (!tb_emulated(view->header)[0]) // they are about time
        put_controls(doc, view->summary);
}

// --- where it comes from -------------------------------------------------------------------------------------------------------

// Any JSON, a line for each of its leaves: "cpu.model  AMD EPYC".
static void put_leaves(struct tb_doc *doc, const char *path, const json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;
    char below[256];
    if (json_is_object(value)) {
        json_object_foreach ((json_t *)value, key, member) {
            snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", key);
            put_leaves(doc, below, member);
        }
    } else if (json_is_array(value) && json_is_object(json_array_get(value, 0))) {
        json_array_foreach (value, i, member) {
            const char *name = tb_member_text(member, "name");
            if (*name)
                snprintf(below, sizeof below, "%s.%s", path, name);
            else
                snprintf(below, sizeof below, "%s.%zu", path, i);
            put_leaves(doc, below, member);
        }
    } else {
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        const char *shown = json_string_length(value) > 1000 ? "in the log" : json_string_value(value); // hwloc's XML
        tb_doc_fact(doc, NULL, path, TB_AS_IS, tb_text_value(text ? text : shown));
        free(text);
    }
}

static void put_fold(struct tb_doc *doc, const char *title, const json_t *value)
{
    if (!value)
        return;
    tb_doc_folded(doc, 2, NULL, title);
    put_leaves(doc, "", value);
}

// Before the first sample was taken: the answer is the fold's title, what was found is inside.
static void put_doctor(struct tb_doc *doc, const json_t *header)
{
    char said[512], title[600];
    bool fit = tb_doctor_header_says(header, said, sizeof said);
    snprintf(title, sizeof title, fit ? "Host: %s to measure" : "Host: %s", said);
    if (said[0])
        put_fold(doc, title, tb_member(header, "doctor.findings"));
}

static void put_source(struct tb_doc *doc, const struct tb_store_run *run)
{
    const json_t *header = run->view.header;
    const struct tb_chain *chain = &run->view.chain;
    char head[TB_HASH_TEXT] = "none";
    if (chain->count > 0)
        tb_hash_text(&chain->entries[chain->count - 1].head, head);
    const char *const facts[][3] = {
        {"run", "run", run->run},
        {"host", "host", run->host->name},
        {"kind", "kind", tb_member_text(header, "kind")},
        {"verdict", "verdict", tb_run_verdict(run)},
        {"emulated", tb_emulated(header)[0] ? "emulated machine" : NULL, tb_emulated(header)},
        {"time", "time", tb_member_text(header, "time")},
        {"log", "log", run->path},
        {"head", "last hash", head},
        {NULL, "ledger", run->opened ? "opened before the first sample" : "does not know this log"},
        {NULL, "postulate", tb_member_text(header, "postulate.path")},
        {NULL, "its SHA-256", tb_member_text(header, "postulate.sha256")},
    };
    tb_doc_heading(doc, 2, NULL, "Where it comes from");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i][1])
            tb_doc_fact(doc, facts[i][0], facts[i][1], TB_AS_IS, tb_text_value(facts[i][2]));
}

// --- the page ------------------------------------------------------------------------------------------------------------------

static void put_answer(struct tb_doc *doc, const struct tb_store_run *run)
{
    const struct tb_log_view *view = &run->view;
    const char *verdict = tb_run_verdict(run), *question = tb_member_text(view->header, "experiment.question");
    const char *why = tb_member_text(view->summary, "why"), *emulated = tb_emulated(view->header);
    const char *kind = tb_member_text(view->header, "kind");
    char title[300];
    snprintf(title, sizeof title, "%.16s %.200s (%.64s)", tb_member_text(view->header, "experiment.id"),
             question[0] ? question : run->run, run->host->name);
    tb_doc_heading(doc, 1, NULL, title);
    tb_doc_answer(doc, NULL, "%s: %s", tb_verdict_look(verdict)->verdict, tb_verdict_look(verdict)->means);
    tb_doc_tone(doc, tb_verdict_look(verdict)->tone);
    if (kind[0] && strcmp(kind, "official"))
        tb_doc_say(doc, NULL, "This is a %s run. It proves nothing and cannot be filed.", kind);
    if (emulated[0]) {
        tb_doc_say(doc, "emulation",
                   "Made in an emulated machine (%s). What is counted here is evidence; times are not, and are "
                   "not shown as results.",
                   emulated);
        tb_doc_tone(doc, TB_TONE_POOR);
    }
    if (run->why[0])
        tb_doc_say(doc, NULL, "%s", run->why);
    if (why[0] && !(emulated[0] && strcmp(verdict, tb_member_text(view->summary, "verdict"))))
        tb_doc_say(doc, NULL, "%s", why);
}

struct tb_doc *tb_run_doc(const struct tb_store_run *run, bool samples)
{
    struct tb_doc *doc = tb_doc_open(NULL);
    const struct tb_log_view *view = &run->view;
    if (!doc)
        return NULL;
    put_answer(doc, run);
    put_predictions(doc, view);
    tb_page_nodes(doc, view);
    if (view->samples_count > 0 && samples)
        put_samples(doc, view);
    if (view->samples_count > 0 && !tb_emulated(view->header)[0])
        put_arms(doc, view);
    put_gates(doc, view);
    put_source(doc, run);
    put_fold(doc, "Design", tb_member(view->header, "design"));
    put_doctor(doc, view->header);
    put_fold(doc, "Environment", tb_member(view->header, "env"));
    if (!samples)
        return doc;
    put_fold(doc, "What could be counted", tb_member(view->header, "counters"));
    put_fold(doc, "Counters before", tb_member(view->header, "before"));
    put_fold(doc, "Counters after", tb_member(view->after, "counters"));
    return doc;
}

int tb_page_run(FILE *out, const struct tb_store_run *run)
{
    struct tb_doc *doc = tb_run_doc(run, true);
    int rc = doc ? tb_emit_html(out, doc, tb_page_frame, tb_page_style) : -ENOMEM;
    tb_doc_close(doc);
    return rc;
}
