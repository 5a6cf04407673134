// SPDX-License-Identifier: Apache-2.0
//
// compare_doc: two runs side by side, as a document.
#include "testbed/report/hosts/compare.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"

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

static struct tb_value ratio_of(const json_t *arm, bool timed)
{
    double estimate = tb_member_number(arm, "ratio.estimate"), low = tb_member_number(arm, "ratio.low");
    double high = tb_member_number(arm, "ratio.high"), confidence = tb_member_number(arm, "ratio.confidence");
    if (!timed || isnan(estimate))
        return tb_none(timed ? "no valid sample" : "no times");
    return tb_interval_of(estimate, isnan(low) ? -INFINITY : low, isnan(high) ? INFINITY : high, confidence);
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
        for (size_t run = 0; run < 2; run++) {
            const json_t *value = json_array_get(pair, run);
            char text[32] = "-";
            if (json_is_number(value))
                snprintf(text, sizeof text, "%.4f", json_number_value(value));
            tb_table_put(table, tb_text_value(text));
        }
        tb_table_put(table, tb_none("worst round, counted"));
    }
}

static void add_cell(struct tb_doc *doc, const json_t *cell, bool timed)
{
    static const struct tb_column columns[] = {{NULL, "", TB_AS_IS, false},
                                               {NULL, "run 1", TB_AS_TIME, false},
                                               {NULL, "run 2", TB_AS_TIME, false},
                                               {NULL, "run 2 / run 1", TB_AS_RATIO, true},
                                               {NULL, NULL, TB_AS_IS, false}};
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
        tb_table_put(table, ratio_of(arm, timed));
        put_counts(table, arm);
    }
    if (i == 0)
        tb_table_note(table, "no contender is in both");
}

static struct tb_value figure_of(const json_t *figure)
{
    double estimate = tb_member_number(figure, "estimate"), low = tb_member_number(figure, "low");
    double high = tb_member_number(figure, "high");
    if (isnan(estimate))
        return tb_none(tb_member_text(figure, "verdict"));
    if (low == high) // it was counted
        return tb_detailed(tb_number(estimate), tb_member_text(figure, "verdict"));
    return tb_interval_of(estimate, isnan(low) ? -INFINITY : low, isnan(high) ? INFINITY : high, TB_CONFIDENCE);
}

// Of one experiment: is what the first run showed so in the second, too? A table for each prediction.
static void add_predictions(struct tb_doc *doc, const json_t *comparison)
{
    static const struct tb_column columns[] = {{NULL, "cell", TB_AS_IS, false},
                                               {NULL, "run 1", TB_AS_RATIO, true},
                                               {NULL, "run 2", TB_AS_RATIO, true},
                                               {NULL, "reproduced?", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
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
            tb_table_put(table, figure_of(json_array_get(tb_member(entry, "figures"), run)));
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
    char text[512];
    if (!value || json_is_null(value))
        snprintf(text, sizeof text, "-");
    else if (json_is_object(value))
        snprintf(text, sizeof text, "(%zu members)", json_object_size(value));
    else if (json_is_string(value) && json_string_length(value) > 500)
        snprintf(text, sizeof text, "(%zu bytes)", json_string_length(value)); // hwloc's XML
    else if (json_is_string(value))
        snprintf(text, sizeof text, "%s", json_string_value(value));
    else if (json_is_number(value))
        snprintf(text, sizeof text, "%.15g", json_number_value(value));
    else
        snprintf(text, sizeof text, "%s", json_is_true(value) ? "true" : "false");
    tb_table_put(table, tb_text_value(text));
}

static void add_differences(struct tb_doc *doc, const json_t *comparison)
{
    static const struct tb_column columns[] = {{NULL, "what else differs", TB_AS_IS, false},
                                               {NULL, "run 1", TB_AS_IS, false},
                                               {NULL, "run 2", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
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
    const char *key;
    json_t *value;
    size_t i;
    if (!doc)
        return NULL;
    json_object_foreach (comparison, key, value)
        tb_doc_json(doc, key, json_incref(value));
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
