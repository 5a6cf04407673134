// SPDX-License-Identifier: Apache-2.0
//
// fleet_doc: what all hosts say, as a document. Up to four hosts are columns with words. More of them are columns with one letter
// each, numbered as in the list of machines.
#include "testbed/report/hosts/fleet.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"

#define WORD_HOSTS 4
#define SIGN_HOSTS 18 // in one table of 80 columns

static size_t hosts_count(const json_t *fleet)
{
    return json_array_size(tb_member(fleet, "hosts"));
}

static enum tb_tone tone_of(const char *verdict)
{
    return strcmp(verdict, "survived") == 0    ? TB_TONE_GOOD
           : strcmp(verdict, "falsified") == 0 ? TB_TONE_BAD
           : strcmp(verdict, "not run") == 0   ? TB_TONE_FAINT
                                               : TB_TONE_OPEN;
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

// Machines that are alike have one letter. Many hosts are numbered, as columns of signs are.
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
        char more[24] = "", tag[64];
        if (group >= 26) // the letters are used up: A1, B1, ...
            snprintf(more, sizeof more, "%zu", group / 26);
        snprintf(tag, sizeof tag, "%c%s %zu", (char)('A' + (int)(group % 26)), more, i + 1);
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

// Of the signs that occur.
static void add_legend(struct tb_table *table, const char *used)
{
    static const char *const signs[] = {"S survived",
                                        "F falsified",
                                        "= no difference",
                                        "? inconclusive",
                                        "! invalid or noise",
                                        "u unmeasurable there",
                                        "x crashed, stopped, damaged or not in the ledger",
                                        "- no verdict",
                                        ". not run there"};
    struct tb_words text = {0};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strchr(used, *signs[i]))
            tb_say(&text, "%s%s", text.used ? ", " : "", signs[i]);
    tb_table_note(table, "%s", text.text);
}

static void put_sign(struct tb_table *table, const json_t *result, char used[64])
{
    const char *verdict = tb_member_text(result, "verdict");
    char sign[2] = {tb_fleet_word(verdict)->sign, '\0'};
    if (!strchr(used, *sign))
        strncat(used, sign, 63 - strlen(used));
    tb_table_put(table, tb_toned(tb_text_value(sign), tone_of(verdict)));
}

static void add_signs(struct tb_doc *doc, const json_t *fleet)
{
    size_t count = hosts_count(fleet);
    for (size_t first = 0; first < count; first += SIGN_HOSTS) {
        struct tb_table *table = tb_doc_table(doc, NULL, NULL, label_columns);
        size_t end = first + SIGN_HOSTS < count ? first + SIGN_HOSTS : count, i;
        char used[64] = "", number[24];
        const json_t *postulate;
        for (size_t h = first; h < end; h++) {
            snprintf(number, sizeof number, "%zu", h + 1);
            tb_table_column(table, (struct tb_column){NULL, number, TB_AS_IS, false});
        }
        json_array_foreach (tb_member(fleet, "postulates"), i, postulate) {
            label(table, postulate);
            for (size_t h = first; h < end; h++)
                put_sign(table, json_array_get(tb_member(postulate, "results"), h), used);
        }
        add_legend(table, used);
    }
}

static void add_overview(struct tb_doc *doc, const json_t *fleet)
{
    const json_t *entry;
    size_t i;
    add_machines(doc, fleet);
    if (hosts_count(fleet) <= WORD_HOSTS)
        add_words(doc, fleet);
    else
        add_signs(doc, fleet);
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
