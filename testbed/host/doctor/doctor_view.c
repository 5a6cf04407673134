// SPDX-License-Identifier: Apache-2.0
//
// doctor_view: the findings as a document, as scripts, and in short for a log's header and the head of a JSON.
//
// The document has the bad ones first, what is fit in a line, and the answer in the last one. Commands are kept as they are: they
// are there to be copied.
#include <errno.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/doc/doc.h"
#include "testbed/host/doctor/exam.h"

// --- for programs --------------------------------------------------------------------------------------------------------------

static json_t *text_or_null(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

// Those that are not as wanted, and those that are only restored.
static json_t *knobs_json(const struct tb_finding *finding)
{
    json_t *knobs = json_array();
    char path[160];
    for (size_t i = 0; i < finding->knobs_count && finding->change[0]; i++) {
        const struct tb_knob *knob = &finding->knobs[i];
        tb_knob_path(knob, path, sizeof path);
        if (strcmp(knob->now, knob->wanted)) // not of what is fit
            knobs = tb_json_appended(knobs, json_pack("{s:s, s:s, s:o}", "path", path, "now", knob->now, "wanted",
                                                      text_or_null(knob->wanted)));
    }
    return knobs;
}

static json_t *finding_json(const struct tb_finding *finding)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "id", finding->id, "state",
                     tb_finding_state_name(finding->state), "decides", finding->decides, "now", finding->now, "wanted",
                     text_or_null(finding->wanted), "why", finding->why, "change", text_or_null(finding->change), "restore",
                     text_or_null(finding->restore), "remedy", text_or_null(finding->remedy), "knobs", knobs_json(finding));
}

static void put_programs(struct tb_doc *doc, const struct tb_doctor *doctor)
{
    json_t *findings = json_array();
    for (unsigned i = 0; i < doctor->count; i++)
        findings = tb_json_appended(findings, finding_json(&doctor->finding[i]));
    tb_doc_fact(doc, "fit", NULL, TB_AS_IS, tb_flag(doctor->fit));
    tb_doc_fact(doc, "unfit", NULL, TB_AS_IS, tb_count(doctor->states[TB_FINDING_UNFIT]));
    tb_doc_fact(doc, "unknown", NULL, TB_AS_IS, tb_count(doctor->states[TB_FINDING_UNKNOWN]));
    tb_doc_fact(doc, "notes", NULL, TB_AS_IS, tb_count(doctor->states[TB_FINDING_NOTE]));
    tb_doc_fact(doc, "fits", NULL, TB_AS_IS, tb_count(doctor->states[TB_FINDING_FIT]));
    tb_doc_json(doc, "findings", findings);
}

// --- for people ----------------------------------------------------------------------------------------------------------------

static const char *state_text(enum tb_finding_state state)
{
    return state == TB_FINDING_UNFIT ? "UNFIT" : tb_finding_state_name(state);
}

static struct tb_value wanted_value(const struct tb_finding *finding)
{
    bool wanting = finding->state != TB_FINDING_FIT && finding->wanted[0] && strncmp(finding->now, "ABSENT", strlen("ABSENT"));
    return tb_text_value(wanting ? finding->wanted : "");
}

// Scripts of batch systems read the first two words of the heading.
static void put_in_full(struct tb_doc *doc, const struct tb_finding *finding)
{
    char title[256];
    snprintf(title, sizeof title, "%s %s %s", state_text(finding->state), finding->id, finding->now);
    tb_doc_heading(doc, 2, NULL, title);
    if (finding->state != TB_FINDING_FIT && finding->wanted[0])
        tb_doc_fact(doc, NULL, "wanted", TB_AS_IS, wanted_value(finding));
    tb_doc_fact(doc, NULL, "why", TB_AS_IS, tb_text_value(finding->why));
    if (finding->remedy[0])
        tb_doc_fact(doc, NULL, "remedy", TB_AS_IS, tb_text_value(finding->remedy));
    if (finding->change[0]) {
        tb_doc_fact(doc, NULL, "change", TB_AS_IS, tb_text_value("as root"));
        tb_doc_code(doc, NULL, finding->change);
        tb_doc_fact(doc, NULL, "restore", TB_AS_IS, tb_text_value("as root"));
        tb_doc_code(doc, NULL, finding->restore);
    }
}

// "a, b, c": the ids of those in a state; how many there are.
static unsigned ids_say(const struct tb_doctor *doctor, enum tb_finding_state state, bool deciding, struct tb_words *words)
{
    unsigned count = 0;
    for (unsigned i = 0; i < doctor->count; i++) {
        const struct tb_finding *finding = &doctor->finding[i];
        if (finding->state == state && (!deciding || finding->decides))
            tb_say(words, "%s%s", count++ ? ", " : "", finding->id);
    }
    return count;
}

void tb_doctor_answer(const struct tb_doctor *doctor, char *out, size_t bytes)
{
    struct tb_words bad = {0}, open = {0};
    unsigned unfit = ids_say(doctor, TB_FINDING_UNFIT, true, &bad), unknown = ids_say(doctor, TB_FINDING_UNKNOWN, true, &open);
    char first[40] = "Fit to measure", second[40] = "";
    if (unfit)
        snprintf(first, sizeof first, "%u thing%s can spoil a figure: ", unfit, unfit == 1 ? "" : "s");
    else if (unknown)
        snprintf(first, sizeof first, "Not known to be fit");
    if (unknown)
        snprintf(second, sizeof second, "; %u cannot be seen: ", unknown);
    snprintf(out, bytes, "%s%s%s%s.", first, bad.text, second, open.text);
}

static enum tb_tone tone_of(enum tb_finding_state state)
{
    return state == TB_FINDING_UNFIT ? TB_TONE_BAD : state == TB_FINDING_FIT ? TB_TONE_PLAIN : TB_TONE_OPEN;
}

// A line each; below them the commands, and the remedies of those that have none.
static void put_short(struct tb_doc *doc, const struct tb_doctor *doctor, const enum tb_finding_state order[], size_t count)
{
    static const struct tb_column columns[] = {{NULL, "state", TB_AS_IS, false},
                                               {NULL, "finding", TB_AS_IS, false},
                                               {NULL, "now", TB_AS_IS, false},
                                               {NULL, "wanted", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_words fit = {0};
    struct tb_table *table = doctor->states[TB_FINDING_FIT] < doctor->count ? tb_doc_table(doc, NULL, NULL, columns) : NULL;
    for (size_t s = 0; s < count; s++) {
        for (unsigned i = 0; i < doctor->count; i++) {
            const struct tb_finding *finding = &doctor->finding[i];
            if (finding->state != order[s] || finding->state == TB_FINDING_FIT)
                continue;
            tb_table_row(table, TB_ROW_PLAIN);
            tb_table_put(table, tb_toned(tb_text_value(state_text(finding->state)), tone_of(finding->state)));
            tb_table_put(table, tb_text_value(finding->id));
            tb_table_put(table, tb_text_value(finding->now));
            tb_table_put(table, wanted_value(finding));
            bool spoils = finding->state == TB_FINDING_UNFIT || (finding->state == TB_FINDING_UNKNOWN && finding->decides);
            if (spoils && !finding->change[0] && finding->remedy[0])
                tb_table_note(table, "%s: %s", finding->id, finding->remedy);
        }
    }
    ids_say(doctor, TB_FINDING_FIT, false, &fit);
    if (fit.used)
        tb_doc_say(doc, NULL, "fit: %s", fit.text);
    tb_doc_heading(doc, 1, NULL, NULL);
    const char *title = "Commands against it, as root:";
    for (unsigned i = 0; i < doctor->count; i++)
        if (doctor->finding[i].state == TB_FINDING_UNFIT && doctor->finding[i].change[0]) {
            if (title)
                tb_doc_say(doc, NULL, "%s", title);
            title = NULL;
            tb_doc_code(doc, NULL, doctor->finding[i].change);
        }
}

struct tb_doc *tb_doctor_doc(json_t *head, const struct tb_doctor *doctor, bool full)
{
    static const enum tb_finding_state order[] = {TB_FINDING_UNFIT, TB_FINDING_UNKNOWN, TB_FINDING_NOTE, TB_FINDING_FIT};
    const size_t count = sizeof order / sizeof *order;
    struct tb_doc *doc = tb_doc_open(head);
    char answer[TB_DOCTOR_ANSWER];
    bool changes = false;
    if (!doc)
        return NULL;
    put_programs(doc, doctor);
    if (!full)
        put_short(doc, doctor, order, count);
    for (size_t s = 0; s < count && full; s++)
        for (unsigned i = 0; i < doctor->count; i++)
            if (doctor->finding[i].state == order[s])
                put_in_full(doc, &doctor->finding[i]);
    for (unsigned i = 0; i < doctor->count; i++)
        changes |= doctor->finding[i].state != TB_FINDING_FIT && doctor->finding[i].change[0];
    tb_doc_heading(doc, 1, NULL, NULL);
    if (changes) {
        tb_doc_say(doc, NULL, "Change what can be changed, and go back, as root; look into the scripts first:");
        tb_doc_code(doc, NULL, "locus doctor --restore >back.sh; locus doctor --change | sh; ...; sh back.sh");
    }
    tb_doctor_answer(doctor, answer, sizeof answer);
    tb_doc_answer(doc, NULL, "%s", answer);
    return doc;
}

// --- scripts -------------------------------------------------------------------------------------------------------------------

// Each finding is a subshell of its own under `set -e`, so that its first failing line ends it and nothing else. The subshell must
// stand alone: in a condition (`||`, `if`) the shell would ignore `set -e` inside.
static void put_part(FILE *out, const struct tb_finding *finding, const char *commands)
{
    fprintf(out, "\n(set -e # %s: %s\n%s\n)\nended %s\n", finding->id, finding->now, commands, finding->id);
}

int tb_doctor_script(FILE *stream, const struct tb_doctor *doctor, bool restore)
{
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc)
        return rc;
    fprintf(text.stream,
            "#!/bin/sh\n# %s Made by locus doctor %s; for root.\nfailed=\n"
            "ended() { [ $? -eq 0 ] || failed=\"$failed $1\"; }\n",
            restore ? "Brings back what was there when this was made." : "Makes this host fit to measure, as far as commands can.",
            restore ? "--restore" : "--change");
    for (unsigned i = 0; i < doctor->count; i++) {
        const struct tb_finding *finding = &doctor->finding[restore ? doctor->count - 1 - i : i];
        const char *commands = restore ? finding->restore : finding->change;
        if (commands[0] && (restore || finding->state != TB_FINDING_FIT))
            put_part(text.stream, finding, commands);
    }
    fputs("\n[ -z \"$failed\" ] || { echo \"failed:$failed\" >&2; exit 1; }\n", text.stream);
    return tb_text_close(&text, stream, 0);
}

// --- headers -------------------------------------------------------------------------------------------------------------------

json_t *tb_doctor_header(const struct tb_doctor *doctor)
{
    json_t *findings = json_object();
    bool failed = !findings;
    for (unsigned i = 0; i < doctor->count; i++) {
        const struct tb_finding *finding = &doctor->finding[i];
        failed |= json_object_set_new(findings, finding->id,
                                      json_pack("{s:s, s:b, s:s}", "state", tb_finding_state_name(finding->state), "decides",
                                                finding->decides, "now", finding->now)) != 0;
    }
    if (!failed)
        return json_pack("{s:b, s:o}", "fit", doctor->fit, "findings", findings);
    json_decref(findings);
    return NULL;
}

static json_t *deciding_json(const struct tb_doctor *doctor, enum tb_finding_state state)
{
    json_t *ids = json_array();
    for (unsigned i = 0; i < doctor->count; i++)
        if (doctor->finding[i].decides && doctor->finding[i].state == state)
            ids = tb_json_appended(ids, json_string(doctor->finding[i].id));
    return ids;
}

json_t *tb_doctor_brief(const struct tb_doctor *doctor)
{
    const struct tb_json_member members[] = {
        {"fit", json_boolean(doctor->fit)},
        {"unfit", deciding_json(doctor, TB_FINDING_UNFIT)},
        {"unknown", deciding_json(doctor, TB_FINDING_UNKNOWN)},
    };
    return TB_JSON_OBJECT(members);
}

// Appends the ids in this state that decide; how many there are.
static unsigned header_ids_say(const json_t *findings, const char *state, char *out, size_t bytes)
{
    unsigned count = 0;
    size_t used = strlen(out);
    const char *id;
    json_t *finding;
    json_object_foreach ((json_t *)(uintptr_t)findings, id, finding) {
        if (strcmp(tb_member_text(finding, "state"), state) || !json_is_true(json_object_get(finding, "decides")))
            continue;
        if (used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s%s", count ? ", " : "", id);
        count++;
    }
    return count;
}

bool tb_doctor_header_says(const json_t *header, char *out, size_t bytes)
{
    const json_t *doctor = tb_member(header, "doctor"), *findings = tb_member(doctor, "findings");
    char unfit[256] = "", unknown[256] = "";
    out[0] = '\0';
    if (!json_is_object(doctor))
        return false;
    unsigned unfit_count = header_ids_say(findings, "unfit", unfit, sizeof unfit);
    unsigned unknown_count = header_ids_say(findings, "unknown", unknown, sizeof unknown);
    bool fit = json_is_true(tb_member(doctor, "fit"));
    if (unfit_count)
        snprintf(out, bytes, "%u finding%s: %s%s%s", unfit_count, unfit_count == 1 ? "" : "s", unfit,
                 unknown_count ? "; not to be seen: " : "", unknown);
    else
        snprintf(out, bytes, fit ? "fit" : "not known to be fit: %s", unknown);
    return fit;
}
