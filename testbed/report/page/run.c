// SPDX-License-Identifier: Apache-2.0
//
// run: the page of one run. It shows why, in the order in which a doubter asks: the claims against their intervals, the samples,
// the arms, the gates, how it was run, the machine. The figures of the arms are those of the log's summary, not worked out again. A
// formula such as "hl_ratio(E/A) >= 1.75" is exact and read by few: a claim is said in words, and the formula stands beneath.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/postulate/metric.h"
#include "testbed/judge/board.h"
#include "testbed/judge/loaded.h"
#include "testbed/report/page/page.h"

// --- verdicts, arms and claims in words ----------------------------------------------------------------------------------------

static const struct tb_verdict_look looks[] = {
    {"survived", "the figures bear it out", TB_TONE_GOOD},
    {"falsified", "the figures refute it", TB_TONE_BAD},
    {"no-difference", "the two are the same within the margin that was named", TB_TONE_OPEN},
    {"in-between", "it lies in the zone that was named, in which the claim is neither made nor denied", TB_TONE_OPEN},
    {"inconclusive", "the interval holds the threshold: more rounds may tell", TB_TONE_OPEN},
    {"inconclusive (noise)", "the machine was not quiet enough: its controls failed", TB_TONE_OPEN},
    {"inconclusive (unstable)", "the figures drifted while they were taken", TB_TONE_OPEN},
    {"unmeasurable-on-host", "this machine cannot show it", TB_TONE_FAINT},
    {"none (smoke)", "too short to say anything", TB_TONE_FAINT},
    {"no verdict", "its log holds none", TB_TONE_FAINT},
    {"invalid", "a proof failed: blocks were lost, or not touched", TB_TONE_POOR},
    {"stopped", "ended before its end, by hand", TB_TONE_POOR},
    {"crashed", "its log has no seal", TB_TONE_POOR},
    {"log broken", "its log is not what was written", TB_TONE_POOR},
    {"log missing", "the ledger knows of it, and there is no log", TB_TONE_POOR},
    {"not in the ledger", "nothing shows that it was promised", TB_TONE_POOR},
    {"ledger broken", "its ledger cannot be read to the end, so nobody knows what it says of the run", TB_TONE_POOR},
};

const struct tb_verdict_look *tb_verdict_look_at(size_t i)
{
    return i < sizeof looks / sizeof *looks ? &looks[i] : NULL;
}

const struct tb_verdict_look *tb_verdict_look(const char *verdict)
{
    static const struct tb_verdict_look unknown = {"unknown verdict", "", TB_TONE_POOR};
    for (size_t i = 0; tb_verdict_look_at(i); i++)
        if (strcmp(looks[i].verdict, verdict) == 0)
            return &looks[i];
    return &unknown;
}

struct tb_value tb_verdict_value(const char *verdict)
{
    const struct tb_verdict_look *look = tb_verdict_look(verdict);
    return tb_toned(tb_text_value(look->verdict), look->tone);
}

// --- arms ----------------------------------------------------------------------------------------------------------------------

static const char *name_of(const json_t *header, const char *key)
{
    const json_t *arm;
    size_t i;
    json_array_foreach (tb_member(header, "arms"), i, arm)
        if (strcmp(tb_member_text(arm, "key"), key) == 0)
            return tb_member_text(arm, "name");
    return key;
}

// Does an arm before it have the same contender?
static bool is_control(const json_t *header, const char *key)
{
    const json_t *arm;
    size_t i;
    json_array_foreach (tb_member(header, "arms"), i, arm) {
        if (strcmp(tb_member_text(arm, "key"), key) == 0)
            return false;
        if (strcmp(tb_member_text(arm, "name"), name_of(header, key)) == 0)
            return true;
    }
    return false;
}

const char *tb_arm_words(const json_t *header, const char *key, char out[160])
{
    snprintf(out, 160, "%.16s %.100s%s", key, name_of(header, key), is_control(header, key) ? " (A/A control)" : "");
    return out;
}

// --- what is claimed -----------------------------------------------------------------------------------------------------------

static const char *op_words(const char *op)
{
    static const char *const words[][2] = {{">=", "at least "}, {"<=", "at most "}, {">", "more than "},
                                           {"<", "less than "}, {"==", "exactly "}, {"within", "between "}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], op) == 0)
            return words[i][1];
    return op;
}

static void say_value(struct tb_words *out, const json_t *prediction)
{
    const json_t *value = tb_member(prediction, "value");
    tb_say(out, "%s", op_words(tb_member_text(prediction, "op")));
    if (json_is_array(value))
        tb_say(out, "%g and %g", json_number_value(json_array_get(value, 0)), json_number_value(json_array_get(value, 1)));
    else
        tb_say(out, "%g", json_number_value(value));
}

// Less of it is faster. A rate is a time as well (metric.h), but the other way round.
static bool is_duration(const char *name)
{
    const struct tb_metric *metric = tb_metric_find(name);
    return metric && strcmp(metric->unit, "ns") == 0;
}

static void say_ratio(struct tb_words *out, const json_t *header, const json_t *prediction)
{
    const char *over = tb_member_text(prediction, "over"), *metric = tb_member_text(prediction, "metric");
    const char *under = name_of(header, tb_member_text(prediction, "under"));
    bool time = is_duration(metric), plain = strcmp(metric, "time_ns") == 0;
    tb_say(out, "%s %s ", strcmp(over, "*") ? name_of(header, over) : "every other contender", time ? "takes" : "has");
    say_value(out, prediction);
    tb_say(out, " times as %s", time ? "long as " : "much ");
    if (!time)
        tb_say(out, "%s as ", metric);
    tb_say(out, "%s%s%s%s", under, time && !plain ? " (" : "", time && !plain ? metric : "", time && !plain ? ")" : "");
    if (tb_member_text(prediction, "cell_under")[0])
        tb_say(out, " in %s", tb_member_text(prediction, "cell_under"));
}

static void say_order(struct tb_words *out, const json_t *header, const json_t *prediction)
{
    const json_t *key;
    size_t i, count = json_array_size(tb_member(prediction, "order"));
    bool time = is_duration(tb_member_text(prediction, "metric"));
    tb_say(out, "%s, ", time ? "From the fastest to the slowest" : "From the least");
    if (!time)
        tb_say(out, "%s to the most, ", tb_member_text(prediction, "metric"));
    json_array_foreach (tb_member(prediction, "order"), i, key)
        tb_say(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", name_of(header, json_string_value(key)));
    tb_say(out, ": each ");
    say_value(out, prediction);
    tb_say(out, " times the one before");
}

static void say_one(struct tb_words *out, const json_t *header, const json_t *prediction)
{
    const char *stat = tb_member_text(prediction, "stat"), *unit = tb_member_text(prediction, "unit");
    tb_say(out, "the %s %s of %s is ",
           strcmp(stat, "max") == 0   ? "largest"
           : strcmp(stat, "min") == 0 ? "least"
                                      : "median",
           tb_member_text(prediction, "metric"), name_of(header, tb_member_text(prediction, "arm")));
    say_value(out, prediction);
    tb_say(out, "%s%s", *unit && strcmp(unit, "ratio") && strcmp(unit, "x") ? " " : "",
           strcmp(unit, "ratio") && strcmp(unit, "x") ? unit : "");
}

const char *tb_claim_words(const json_t *header, const json_t *prediction, struct tb_words *out)
{
    const char *own = tb_member_text(prediction, "claim"), *cell = tb_member_text(prediction, "cell");
    *out = (struct tb_words){.used = 0};
    if (*own) {
        tb_say(out, "%s", own);
        return out->text;
    }
    if (tb_member_text(prediction, "under")[0])
        say_ratio(out, header, prediction);
    else if (json_is_array(tb_member(prediction, "order")))
        say_order(out, header, prediction);
    else if (strcmp(tb_member_text(prediction, "stat"), "sum") == 0)
        tb_say(out, "%s", tb_member_text(prediction, "text"));
    else
        say_one(out, header, prediction);
    if (strcmp(cell, "*") == 0)
        tb_say(out, ", in every cell");
    else if (strcmp(cell, "*/full") == 0)
        tb_say(out, ", in every cell that is written in full");
    else if (*cell)
        tb_say(out, ", in %s", cell);
    return out->text;
}

// --- what was seen -------------------------------------------------------------------------------------------------------------

// The log's own word on why there is no figure, unless that is about the figures.
struct tb_value tb_observed(const json_t *header, const json_t *prediction)
{
    double low = tb_member_number(prediction, "low"), high = tb_member_number(prediction, "high");
    double estimate = tb_member_number(prediction, "estimate");
    if (tb_prediction_measured(header, prediction)) {
        if (isnan(estimate))
            return tb_none(json_array_size(tb_member(prediction, "parts")) ? "see its parts" : "no figure");
        return low == high ? tb_number(estimate)
                           : tb_interval_of(estimate, isnan(low) ? -INFINITY : low, isnan(high) ? INFINITY : high,
                                            tb_member_number(prediction, "achieved"));
    }
    bool overruled = strcmp(tb_member_text(prediction, "verdict"), tb_prediction_verdict(header, prediction));
    const char *why = overruled ? "" : tb_member_text(prediction, "why");
    if (!*why && tb_emulated(header)[0])
        why = "in an emulated machine times mean nothing";
    return tb_detailed(tb_none("not measured"), *why ? why : NULL);
}

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
        struct tb_words words;
        char link[24];
        bool measured = tb_prediction_measured(header, prediction);
        snprintf(link, sizeof link, "#%.16s", tb_member_text(prediction, "id"));
        tb_table_add(table, TB_ROW_PLAIN, tb_linked(tb_member_value(prediction, "id"), link),
                     tb_detailed(tb_text_value(tb_claim_words(header, prediction, &words)), tb_member_text(prediction, "text")),
                     tb_observed(header, prediction), tb_verdict_value(tb_prediction_verdict(header, prediction)),
                     tb_member_value(measured ? prediction : NULL, "n"), tb_member_value(measured ? prediction : NULL, "achieved"),
                     tb_member_value(prediction, "value"));
    }
}

static void put_part(struct tb_table *table, const json_t *header, const json_t *prediction, const json_t *part)
{
    struct tb_words arms = {.used = 0};
    char one[160];
    const char *over = tb_member_text(part, "over"), *under = tb_member_text(part, "under");
    tb_say(&arms, "%s", tb_arm_words(header, over[0] ? over : tb_member_text(part, "arm"), one));
    if (under[0])
        tb_say(&arms, " / %s", tb_arm_words(header, under, one));
    if (tb_member_text(prediction, "cell_under")[0])
        tb_say(&arms, " in %s", tb_member_text(prediction, "cell_under"));
    tb_table_add(table, TB_ROW_PLAIN, tb_member_value(prediction, "id"), tb_member_value(part, "cell"), tb_text_value(over),
                 tb_text_value(arms.text), tb_observed(header, part), tb_verdict_value(tb_prediction_verdict(header, part)));
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
        const char *cell = tb_member_text(prediction, "cell");
        snprintf(title, sizeof title, "%s %s: %s", id, *claim ? claim : text, look->verdict);
        tb_doc_folded(doc, 3, NULL, title);
        tb_doc_tone(doc, look->tone);
        tb_doc_anchor(doc, id);
        if (*claim)
            tb_doc_say(doc, NULL, "%s%s%s", text, *cell ? " on " : "", cell);
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

static double median_of(const double values[], size_t count)
{
    double *valid = calloc(count + 1, sizeof *valid), median = NAN;
    size_t valid_count = 0;
    for (size_t i = 0; valid && i < count; i++)
        if (isfinite(values[i]))
            valid[valid_count++] = values[i];
    if (valid)
        median = tb_median(valid, valid_count);
    free(valid);
    return median;
}

static void put_strip(struct tb_table *table, const struct tb_log_view *view, size_t cell, const struct tb_metric *metric,
                      double divisor, const char *key)
{
    double *values = NULL;
    size_t count = 0;
    char arm[160], name[160];
    if (tb_log_values(view, cell, key, metric->member, &values, &count) || !values)
        return;
    for (size_t i = 0; i < count; i++)
        values[i] /= divisor;
    struct tb_value samples = tb_samples(values, count);
    samples.number = median_of(values, count);
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value(cell_name(view->header, cell, name)), tb_text_value(metric->name),
                 tb_text_value(key), tb_text_value(tb_arm_words(view->header, key, arm)), samples, tb_number(samples.number));
    free(values);
}

static void put_strips(struct tb_doc *doc, const struct tb_log_view *view, size_t cell, const struct tb_metric *metric)
{
    const json_t *object = json_array_get(tb_member(view->header, "cells"), cell), *arm;
    enum tb_unit_kind unit = is_duration(metric->name) ? TB_AS_TIME : metric->many_nodes ? TB_AS_SHARE : TB_AS_IS;
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
    struct tb_table *table = NULL;
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *sample = view->samples[i].line;
        char name[160];
        if (json_is_true(tb_member(sample, "valid")) && !*tb_member_text(sample, "invalid"))
            continue;
        if (!table)
            table = tb_doc_grid(doc, "invalid", "Samples that are not valid, and faults of traps",
                                "cell=cell|arm=arm|round=round|invalid=why");
        tb_table_add(table, TB_ROW_PLAIN, tb_text_value(cell_name(view->header, (size_t)tb_member_number(sample, "cell"), name)),
                     tb_member_value(sample, "arm"), tb_member_value(sample, "round"),
                     tb_toned(tb_member_value(sample, "invalid"), TB_TONE_POOR));
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

static void put_arm(struct tb_table *table, const struct tb_log_view *view, const struct tb_rounds *rounds, uint32_t cell,
                    uint32_t arm)
{
    const char *key = rounds->arms[arm].key;
    const json_t *summary = tb_summary_arm(view, cell, key);
    double low = tb_member_number(summary, "low"), high = tb_member_number(summary, "high");
    struct tb_value median = tb_member_value(summary, "median");
    char words[160], name[160];
    struct tb_row row;
    struct tb_ratio ratio;
    tb_row_alone(rounds, cell, arm, &row);
    if (isfinite(low) && isfinite(high))
        median = tb_interval_of(median.number, low, high, TB_CONFIDENCE);
    struct tb_value against =
        arm > 0 && tb_pair_ratio(rounds, cell, (int)arm, TB_LAP, 0, TB_LAP, &ratio) ? tb_interval(&ratio) : tb_none(NULL);
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value(cell_name(view->header, cell, name)), tb_text_value(key),
                 tb_text_value(tb_arm_words(view->header, key, words)), median, row.valid ? against : tb_none("INVALID"),
                 tb_member_value(summary, "mad"), tb_member_value(summary, "min"), tb_member_value(summary, "n"),
                 row.valid ? tb_number(row.outstanding_ratio) : tb_none(NULL),
                 row.valid ? tb_number(row.distinct_ratio) : tb_none(NULL), tb_text_value(row.version[0] ? row.version : NULL));
}

static void put_arms_of(struct tb_doc *doc, const struct tb_log_view *view, const struct tb_rounds *rounds, uint32_t cell)
{
    char name[160], touch[96], title[96];
    snprintf(title, sizeof title, "times as long as %.40s", rounds->arms[0].key);
    const struct tb_column columns[] = {{"cell", NULL, TB_AS_IS, false},     {"arm", NULL, TB_AS_IS, false},
                                        {NULL, "arm", TB_AS_IS, false},      {"median", "median", TB_AS_TIME, false},
                                        {"ratio", title, TB_AS_RATIO, true}, {"mad", "MAD", TB_AS_TIME, false},
                                        {"min", "least", TB_AS_TIME, false}, {"n", "rounds", TB_AS_IS, false},
                                        {"held", "held", TB_AS_IS, false},   {"ever", "ever", TB_AS_IS, false},
                                        {NULL, "version", TB_AS_IS, false},  {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "arms", cell_name(view->header, cell, name), columns);
    snprintf(touch, sizeof touch, "%.90s", tb_member_text(json_array_get(tb_member(view->header, "cells"), cell), "touch"));
    tb_table_scale(table, touch);
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        put_arm(table, view, rounds, cell, arm);
}

static void put_arms(struct tb_doc *doc, const struct tb_log_view *view)
{
    static struct tb_loaded loaded;
    char why[256];
    if (json_array_size(tb_member(view->summary, "arms")) == 0)
        return;
    tb_doc_folded(doc, 2, NULL, "The arms: medians, and each against the first");
    if (tb_loaded(view, &loaded, why, sizeof why)) {
        tb_doc_say(doc, NULL, "%s", why);
        return;
    }
    for (uint32_t cell = 0; cell < loaded.rounds.cells_count; cell++)
        put_arms_of(doc, view, &loaded.rounds, cell);
    tb_loaded_close(&loaded);
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
        tb_table_add(table, TB_ROW_PLAIN, tb_member_value(pair, "cell"), tb_member_value(pair, "arms"),
                     tb_interval_of(tb_member_number(pair, "estimate"), tb_member_number(pair, "low"),
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
    const json_t *gate;
    size_t i;
    if (!view->summary)
        return;
    tb_doc_heading(doc, 2, NULL, "Gates");
    struct tb_table *table = tb_doc_grid(doc, "gates", NULL, "gate=gate|kind=kind|passed=passed|reason=why");
    json_array_foreach (tb_member(view->summary, "gates"), i, gate) {
        bool passed = json_is_true(tb_member(gate, "passed"));
        tb_table_add(table, TB_ROW_PLAIN, tb_member_value(gate, "gate"), tb_member_value(gate, "kind"),
                     tb_toned(tb_flag(passed), passed ? TB_TONE_GOOD : TB_TONE_BAD), tb_text_value(tb_member_text(gate, "reason")));
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
    json_object_foreach ((json_t *)value, key, member) {
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", key);
        put_leaves(doc, below, member);
    }
    bool list = json_is_object(json_array_get(value, 0));
    for (i = 0; list && i < json_array_size(value); i++) {
        const char *name = tb_member_text(json_array_get(value, i), "name");
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        snprintf(below, sizeof below, "%s.%s", path, *name ? name : number);
        put_leaves(doc, below, json_array_get(value, i));
    }
    if (list || json_is_object(value))
        return;
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
    const char *shown = json_string_length(value) > 1000 ? "in the log" : json_string_value(value); // hwloc's XML
    tb_doc_fact(doc, NULL, path, TB_AS_IS, tb_text_value(text ? text : shown));
    free(text);
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
        {"log_head", "last hash", head},
        {NULL, "ledger",
         run->opened                     ? "opened before the first sample"
         : run->host->ledger.broken_line ? "is broken, so nobody can tell"
                                         : "does not know this log"},
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
    struct tb_words replicated;
    char title[300];
    snprintf(title, sizeof title, "%.16s %.200s (%.64s)", tb_member_text(view->header, "experiment.id"),
             question[0] ? question : run->run, run->host->name);
    tb_doc_heading(doc, 1, NULL, title);
    tb_doc_answer(doc, NULL, "%s: %s", tb_verdict_look(verdict)->verdict, tb_verdict_look(verdict)->means);
    tb_doc_tone(doc, tb_verdict_look(verdict)->tone);
    if (kind[0] && strcmp(kind, "official"))
        tb_doc_say(doc, NULL, "This is a %s run. It proves nothing and cannot be filed.", kind);
    if (tb_replicated_words(tb_member(view->header, "replicates"), &run->host->ledger, &replicated)[0])
        tb_doc_say(doc, "replication", "This is a replication of %s.", replicated.text);
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

struct tb_doc *tb_run_doc(json_t *head, const struct tb_store_run *run, bool samples)
{
    struct tb_doc *doc = tb_doc_open(head);
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

int tb_page_run(FILE *out, const void *run)
{
    struct tb_doc *doc = tb_run_doc(NULL, run, true);
    int rc = doc ? tb_emit_html(out, doc, tb_page_frame, tb_page_style) : -ENOMEM;
    tb_doc_close(doc);
    return rc;
}
