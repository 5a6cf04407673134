// SPDX-License-Identifier: Apache-2.0
//
// fleet_doc: what all hosts say, as a document: a row for each postulate, and a column for each host.
#include "testbed/report/hosts/fleet.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"

static size_t more_of(const json_t *result)
{
    return json_array_size(tb_member(result, "older")) + json_array_size(tb_member(result, "unfit"));
}

// "falsified +2": how many more runs there are of it.
static void put_word(struct tb_table *table, const json_t *result)
{
    static const enum tb_tone tones[TB_FLEET_SAYS] = {TB_TONE_GOOD, TB_TONE_BAD,  TB_TONE_OPEN, TB_TONE_OPEN,
                                                      TB_TONE_OPEN, TB_TONE_OPEN, TB_TONE_FAINT};
    const struct tb_fleet_word *word = tb_fleet_word(tb_member_text(result, "verdict"));
    char text[64];
    size_t more = more_of(result);
    snprintf(text, sizeof text, more > 0 ? "%s +%zu" : "%s", word->word, more);
    tb_table_put(table, tb_toned(tb_text_value(text), tones[word->says]));
}

static void say_all(struct tb_doc *doc, const json_t *texts)
{
    const json_t *text;
    size_t i;
    json_array_foreach (texts, i, text)
        tb_doc_say(doc, NULL, "%s", json_string_value(text));
}

// --- all postulates ------------------------------------------------------------------------------------------------------------

// Machines that are alike have one letter.
static void add_machines(struct tb_doc *doc, const json_t *fleet)
{
    static const struct tb_column columns[] = {
        {.title = ""}, {.title = "machine"}, {.title = "runs"}, {.title = "kind"}, {.title = "CPU"}, {.title = "topology"}, {0}};
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, columns);
    const json_t *host;
    size_t i;
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        const char *name = tb_member_text(host, "host"), *kind = tb_member_text(host, "kind");
        const char *cpu = tb_member_text(host, "cpu"), *topology = tb_member_text(host, "topology");
        const char tag[] = {(char)('A' + (int)tb_member_number(host, "group") % 26), '\0'};
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(tag));
        tb_table_put(table, tb_text_value(name));
        tb_table_put(table, tb_count((uint64_t)tb_member_number(host, "runs")));
        tb_table_put(table, tb_text_value(kind));
        tb_table_put(table, tb_text_value(*cpu ? cpu : "not named by its logs"));
        tb_table_put(table, tb_text_value(*topology ? topology : "unknown"));
        if (*tb_member_text(host, "broken"))
            tb_table_note(table, "%s: its ledger is broken, %s", name, tb_member_text(host, "broken"));
        if (strcmp(kind, "emulated") == 0)
            tb_table_note(table, "%s is emulated: counts, no times", name);
    }
}

static void add_overview(struct tb_doc *doc, const json_t *fleet)
{
    static const struct tb_column first[] = {{.title = ""}, {0}};
    const json_t *entry, *result;
    size_t i, j;
    add_machines(doc, fleet);
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, first);
    json_array_foreach (tb_member(fleet, "hosts"), i, entry)
        tb_table_column(table, (struct tb_column){.title = tb_member_text(entry, "host")});
    json_array_foreach (tb_member(fleet, "postulates"), i, entry) {
        char label[256];
        snprintf(label, sizeof label, "%s %.200s", tb_member_text(entry, "id"), tb_member_text(entry, "slug"));
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(label));
        json_array_foreach (tb_member(entry, "results"), j, result)
            put_word(table, result);
    }
    tb_table_note(table, ". not run there; +2: two more official runs, older or without a verdict");
    tb_doc_say(doc, NULL, "Its predictions and what was observed: locus report compare NNNN, locus report compare NNNN/P2");
    say_all(doc, tb_member(fleet, "warnings"));
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
    return low == high ? tb_number(estimate) : tb_interval_of(estimate, low, high, NAN);
}

// A row for each host that ran it. `id`: "P1", or "all" for the postulate as a whole. What kept the whole run from a verdict is
// said there, once: `whole` is the postulate, or NULL if it is not shown.
static void put_results(struct tb_table *table, const json_t *entry, const char *id, const json_t *whole)
{
    const json_t *result;
    size_t i;
    json_array_foreach (tb_member(entry, "results"), i, result) {
        const char *host = tb_member_text(result, "host"), *run = tb_member_text(result, "run"), *tail = strrchr(run, '-');
        const struct tb_fleet_word *word = tb_fleet_word(tb_member_text(result, "verdict"));
        if (word->says == TB_FLEET_NOT_RUN)
            continue;
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(id));
        tb_table_put(table, tb_text_value(host));
        put_word(table, result);
        tb_table_put(table, observed(result));
        tb_table_put(table, tb_text_value(tail ? tail + 1 : run));
        const char *why = tb_member_text(result, "why");
        const json_t *all = json_array_get(tb_member(whole, "results"), i);
        if (word->says > TB_FLEET_OPEN && *why && strcmp(tb_member_text(all, "why"), why))
            tb_table_note(table, "%s on %s: %s", id, host, why);
        note_others(table, result, id, "older", "older");
        note_others(table, result, id, "unfit", "without a verdict");
    }
    tb_table_gap(table);
}

// `wanted`: the one prediction, or "" for all.
static void add_postulate(struct tb_doc *doc, const json_t *fleet, const json_t *postulate, const char *wanted)
{
    static const struct tb_column columns[] = {{.title = ""},        {.title = "machine"},
                                               {.title = "verdict"}, {.title = "observed", .draw = true},
                                               {.title = "run"},     {0}};
    const json_t *prediction, *answer = postulate;
    char text[768];
    size_t i;
    snprintf(text, sizeof text, "%s %.200s", tb_member_text(postulate, "id"), tb_member_text(postulate, "slug"));
    tb_doc_heading(doc, 2, NULL, text);
    tb_doc_say(doc, NULL, "%s", tb_member_text(postulate, "question"));
    json_array_foreach (tb_member(postulate, "predictions"), i, prediction) {
        const char *arms = tb_member_text(prediction, "arms"), *id = tb_member_text(prediction, "id");
        if (*wanted && strcmp(wanted, id))
            continue;
        snprintf(text, sizeof text, "%.300s; %.200s%s%.150s%s", tb_member_text(prediction, "text"),
                 tb_member_text(prediction, "about"), *arms ? "; " : "", arms,
                 json_is_true(tb_member(prediction, "gate")) ? "; a gate, which cannot fail but by a bug" : "");
        tb_doc_fact(doc, NULL, id, TB_AS_IS, tb_text_value(text));
        answer = *wanted ? prediction : answer;
    }
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, columns);
    json_array_foreach (tb_member(postulate, "predictions"), i, prediction)
        if (!*wanted || prediction == answer)
            put_results(table, prediction, tb_member_text(prediction, "id"), *wanted ? NULL : postulate);
    if (!*wanted)
        put_results(table, postulate, "all", NULL);
    say_all(doc, tb_member(fleet, "warnings"));
    tb_doc_answer(doc, NULL, "%s", tb_member_text(answer, "sentence"));
}

struct tb_doc *tb_fleet_doc(json_t *head, json_t *fleet, const char *const wanted[])
{
    struct tb_doc *doc = tb_doc_open(head);
    if (!doc)
        return NULL;
    tb_doc_members(doc, fleet);
    if (!wanted || !*wanted)
        add_overview(doc, fleet);
    for (; wanted && *wanted; wanted++) {
        char id[5];
        snprintf(id, sizeof id, "%.4s", *wanted);
        add_postulate(doc, fleet, tb_fleet_find(tb_member(fleet, "postulates"), id), (*wanted)[4] ? *wanted + 5 : "");
    }
    return doc;
}
