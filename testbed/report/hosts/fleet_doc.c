// SPDX-License-Identifier: Apache-2.0
//
// fleet_doc: what all hosts say, as a document: a row for each postulate, and a column for each host.
#include "testbed/report/hosts/fleet.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"

static enum tb_tone tone_of(const char *verdict)
{
    switch (tb_fleet_word(verdict)->says) {
    case TB_FLEET_SURVIVED: return TB_TONE_GOOD;
    case TB_FLEET_FALSIFIED: return TB_TONE_BAD;
    case TB_FLEET_NOT_RUN: return TB_TONE_FAINT;
    default: return TB_TONE_OPEN;
    }
}

static size_t more_of(const json_t *result)
{
    return json_array_size(tb_member(result, "older")) + json_array_size(tb_member(result, "unfit"));
}

// "falsified +2": how many more runs there are of it.
static void put_word(struct tb_table *table, const json_t *result)
{
    const char *verdict = tb_member_text(result, "verdict");
    char text[64];
    size_t more = more_of(result);
    snprintf(text, sizeof text, more > 0 ? "%s +%zu" : "%s", tb_fleet_word(verdict)->word, more);
    tb_table_put(table, tb_toned(tb_text_value(text), tone_of(verdict)));
}

// --- machines ------------------------------------------------------------------------------------------------------------------

// Machines that are alike have one letter.
static void add_machines(struct tb_doc *doc, const json_t *fleet)
{
    static const struct tb_column columns[] = {{NULL, "", TB_AS_IS, false},     {NULL, "machine", TB_AS_IS, false},
                                               {NULL, "runs", TB_AS_IS, false}, {NULL, "kind", TB_AS_IS, false},
                                               {NULL, "CPU", TB_AS_IS, false},  {NULL, "topology", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, columns);
    const json_t *host;
    size_t i;
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        const char *cpu = tb_member_text(host, "cpu"), *topology = tb_member_text(host, "topology");
        size_t group = (size_t)tb_member_number(host, "group");
        char tag[32];
        snprintf(tag, sizeof tag, group < 26 ? "%c" : "%c%zu", (char)('A' + (int)(group % 26)), group / 26);
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(tag));
        tb_table_put(table, tb_text_value(tb_member_text(host, "host")));
        tb_table_put(table, tb_count((uint64_t)tb_member_number(host, "runs")));
        tb_table_put(table, tb_text_value(tb_member_text(host, "kind")));
        tb_table_put(table, tb_text_value(*cpu ? cpu : "not named by its logs"));
        tb_table_put(table, tb_text_value(*topology ? topology : "not told"));
        if (*tb_member_text(host, "broken"))
            tb_table_note(table, "%s: its ledger is broken, %s", tb_member_text(host, "host"), tb_member_text(host, "broken"));
        if (strcmp(tb_member_text(host, "kind"), "emulated") == 0)
            tb_table_note(table, "%s is emulated: counts, no times", tb_member_text(host, "host"));
    }
}

static void add_warnings(struct tb_doc *doc, const json_t *fleet)
{
    const json_t *warning;
    size_t i;
    json_array_foreach (tb_member(fleet, "warnings"), i, warning)
        tb_doc_say(doc, NULL, "%s", json_string_value(warning));
}

// --- all postulates ------------------------------------------------------------------------------------------------------------

static void label(struct tb_table *table, const json_t *postulate)
{
    char text[256];
    snprintf(text, sizeof text, "%s %.200s", tb_member_text(postulate, "id"), tb_member_text(postulate, "slug"));
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(text));
}

static const struct tb_column label_columns[] = {{NULL, "", TB_AS_IS, false}, {NULL, NULL, TB_AS_IS, false}};

static void add_words(struct tb_doc *doc, const json_t *fleet)
{
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, label_columns);
    const json_t *host, *postulate, *result;
    size_t i, j, more = 0;
    json_array_foreach (tb_member(fleet, "hosts"), i, host)
        tb_table_column(table, (struct tb_column){NULL, tb_member_text(host, "host"), TB_AS_IS, false});
    json_array_foreach (tb_member(fleet, "postulates"), i, postulate) {
        label(table, postulate);
        json_array_foreach (tb_member(postulate, "results"), j, result) {
            put_word(table, result);
            more += more_of(result);
        }
    }
    tb_table_note(table, "%s",
                  more ? ". not run there; +2: two more official runs, older or without a verdict" : ". not run there");
}

static void add_overview(struct tb_doc *doc, const json_t *fleet)
{
    const json_t *entry;
    size_t i;
    add_machines(doc, fleet);
    add_words(doc, fleet);
    tb_doc_say(doc, NULL, "Its predictions and what was observed: locus compare NNNN, locus compare NNNN/P2");
    add_warnings(doc, fleet);
    json_array_foreach (tb_member(fleet, "answer"), i, entry)
        tb_doc_answer(doc, NULL, "%s", json_string_value(entry));
    json_array_foreach (tb_member(fleet, "disagree"), i, entry)
        tb_doc_say(doc, NULL, "%s", tb_member_text(entry, "sentence"));
}

// --- one postulate -------------------------------------------------------------------------------------------------------------

// "2 older: survived, falsified"
static void note_others(struct tb_table *table, const json_t *result, const char *id, const char *member, const char *what)
{
    const json_t *run;
    struct tb_words text = {0};
    size_t i;
    json_array_foreach (tb_member(result, member), i, run)
        tb_say(&text, "%s%s", i ? ", " : "", tb_member_text(run, "verdict"));
    if (i > 0)
        tb_table_note(table, "%s on %s: %zu %s: %s", id, tb_member_text(result, "host"), i, what, text.text);
}

static struct tb_value observed(const json_t *result)
{
    double estimate = tb_member_number(result, "estimate"), low = tb_member_number(result, "low");
    double high = tb_member_number(result, "high");
    if (isnan(estimate))
        return tb_none("");
    return low == high ? tb_number(estimate)
                       : tb_interval_of(estimate, isnan(low) ? -INFINITY : low, isnan(high) ? INFINITY : high, NAN);
}

// A row for each host that ran it. `id`: "P1", or "all" for the postulate as a whole.
static void put_results(struct tb_table *table, const json_t *entry, const char *id)
{
    const json_t *result;
    size_t i;
    json_array_foreach (tb_member(entry, "results"), i, result) {
        const char *verdict = tb_member_text(result, "verdict"), *run = tb_member_text(result, "run"), *tail = strrchr(run, '-');
        if (strcmp(verdict, "not run") == 0)
            continue;
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(id));
        tb_table_put(table, tb_text_value(tb_member_text(result, "host")));
        put_word(table, result);
        tb_table_put(table, observed(result));
        tb_table_put(table, tb_text_value(tail ? tail + 1 : run));
        if (!tb_fleet_measured(verdict) && *tb_member_text(result, "why"))
            tb_table_note(table, "%s on %s: %s", id, tb_member_text(result, "host"), tb_member_text(result, "why"));
        note_others(table, result, id, "older", "older");
        note_others(table, result, id, "unfit", "without a verdict");
    }
    tb_table_gap(table);
}

static void add_claim(struct tb_doc *doc, const json_t *prediction)
{
    const char *arms = tb_member_text(prediction, "arms");
    char text[768];
    snprintf(text, sizeof text, "%.300s; %.200s%s%.150s", tb_member_text(prediction, "text"), tb_member_text(prediction, "about"),
             *arms ? "; " : "", arms);
    tb_doc_fact(doc, NULL, tb_member_text(prediction, "id"), TB_AS_IS, tb_text_value(text));
}

// `wanted`: the one prediction, or NULL for all.
static void add_postulate(struct tb_doc *doc, const json_t *fleet, const json_t *postulate, const char *wanted)
{
    static const struct tb_column columns[] = {{NULL, "", TB_AS_IS, false},        {NULL, "machine", TB_AS_IS, false},
                                               {NULL, "verdict", TB_AS_IS, false}, {NULL, "observed", TB_AS_IS, true},
                                               {NULL, "run", TB_AS_IS, false},     {NULL, NULL, TB_AS_IS, false}};
    const json_t *prediction, *entry;
    char title[256];
    size_t i;
    snprintf(title, sizeof title, "%s %.200s", tb_member_text(postulate, "id"), tb_member_text(postulate, "slug"));
    tb_doc_heading(doc, 2, NULL, title);
    tb_doc_say(doc, NULL, "%s", tb_member_text(postulate, "question"));
    json_array_foreach (tb_member(postulate, "predictions"), i, prediction)
        if (!wanted || strcmp(wanted, tb_member_text(prediction, "id")) == 0)
            add_claim(doc, prediction);
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, columns);
    json_array_foreach (tb_member(postulate, "predictions"), i, prediction)
        if (!wanted || strcmp(wanted, tb_member_text(prediction, "id")) == 0)
            put_results(table, prediction, tb_member_text(prediction, "id"));
    if (!wanted)
        put_results(table, postulate, "all");
    add_warnings(doc, fleet);
    json_array_foreach (tb_member(postulate, "predictions"), i, prediction)
        if (wanted && strcmp(wanted, tb_member_text(prediction, "id")) == 0)
            tb_doc_answer(doc, NULL, "%s", tb_member_text(prediction, "sentence"));
    if (wanted)
        return;
    tb_doc_answer(doc, NULL, "%s", tb_member_text(postulate, "sentence"));
    json_array_foreach (tb_member(fleet, "disagree"), i, entry)
        if (strcmp(tb_member_text(entry, "postulate"), tb_member_text(postulate, "id")) == 0)
            tb_doc_say(doc, NULL, "%s", tb_member_text(entry, "sentence"));
}

// --- the document --------------------------------------------------------------------------------------------------------------

struct tb_doc *tb_fleet_doc(json_t *head, json_t *fleet, const char *const wanted[])
{
    struct tb_doc *doc = tb_doc_open(head);
    const char *key;
    json_t *value;
    if (!doc)
        return NULL;
    json_object_foreach (fleet, key, value)
        tb_doc_json(doc, key, json_incref(value));
    if (!wanted || !*wanted)
        add_overview(doc, fleet);
    for (; wanted && *wanted; wanted++) {
        char id[5];
        snprintf(id, sizeof id, "%.4s", *wanted);
        add_postulate(doc, fleet, tb_fleet_find(tb_member(fleet, "postulates"), id), (*wanted)[4] ? *wanted + 5 : NULL);
    }
    return doc;
}
