// SPDX-License-Identifier: Apache-2.0
//
// measured: what `make run` left in its folder: its answers as it gave them, and the scoreboard of eval and replay as a table. What
// a step did not leave is not missed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/report/page/page.h"

// malloc'd, or NULL.
static char *read_text(const char *folder, const char *name)
{
    char path[4200], *text = NULL;
    size_t bytes;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (tb_file_read(path, &text, &bytes))
        return NULL;
    char *whole = bytes > 0 ? realloc(text, bytes + 1) : NULL;
    if (!whole)
        free(text);
    else
        whole[bytes] = '\0';
    return whole;
}

static json_t *read_json(const char *folder, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return json_load_file(path, 0, NULL);
}

static void put_text(struct tb_doc *doc, const char *folder, const char *name)
{
    char *text = read_text(folder, name);
    if (text)
        tb_doc_code(doc, NULL, text);
    free(text);
}

static const json_t *find_arm(const json_t *cell, const char *name)
{
    const json_t *arm;
    size_t i;
    json_array_foreach (tb_member(cell, "arms"), i, arm)
        if (strcmp(tb_member_text(arm, "name"), name) == 0)
            return arm;
    return NULL;
}

static struct tb_value figure_of(const json_t *arm)
{
    const json_t *ratio = tb_member(arm, "vs_mimalloc");
    if (tb_member_text(arm, "noisy")[0])
        return tb_toned(tb_none("noisy"), TB_TONE_FAINT);
    if (arm && !json_is_true(tb_member(arm, "valid")))
        return tb_toned(tb_none("invalid"), TB_TONE_POOR);
    return tb_interval_of(tb_member_number(ratio, "estimate"), tb_member_number(ratio, "low"), tb_member_number(ratio, "high"),
                          tb_member_number(ratio, "confidence"));
}

static void put_contenders(struct tb_doc *doc, const json_t *json, const char *key)
{
    const json_t *cells = tb_member(json, "cells"), *first = json_array_get(cells, 0), *cell, *arm;
    struct tb_table *table = first ? tb_doc_table(doc, key, "Times as fast as mimalloc", NULL) : NULL;
    size_t c, a;
    tb_table_column(table, (struct tb_column){"contender", "contender", TB_AS_IS, false});
    json_array_foreach (cells, c, cell) {
        const char *workload = tb_member_text(cell, "workload");
        tb_table_column(table, (struct tb_column){workload, workload, TB_AS_RATIO, false});
    }
    json_array_foreach (tb_member(first, "arms"), a, arm) {
        const char *name = tb_member_text(arm, "name");
        if (tb_member_text(arm, "fault")[0] || strchr(name, '#'))
            continue; // what measures the testbed
        bool harness = json_is_true(tb_member(arm, "harness"));
        tb_table_row(table, strcmp(name, "locus") == 0 ? TB_ROW_OURS : harness ? TB_ROW_ASIDE : TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(name));
        json_array_foreach (cells, c, cell)
            tb_table_put(table, figure_of(find_arm(cell, name)));
    }
}

static void put_board(struct tb_doc *doc, const char *folder, const char *step, const char *title, bool folded)
{
    char name[64];
    snprintf(name, sizeof name, "%s.json", step);
    json_t *json = read_json(folder, name);
    if (!json)
        return;
    if (folded)
        tb_doc_folded(doc, 3, NULL, title);
    else
        tb_doc_heading(doc, 3, NULL, title);
    put_contenders(doc, json, step);
    snprintf(name, sizeof name, "%s.summary", step);
    put_text(doc, folder, name);
    json_decref(json);
}

static void put_fold(struct tb_doc *doc, const char *folder, const char *name, const char *title)
{
    char *text = read_text(folder, name);
    if (!text)
        return;
    tb_doc_folded(doc, 3, NULL, title);
    tb_doc_code(doc, NULL, text);
    free(text);
}

// The last line that says something.
static void last_line(char *text)
{
    char *end = text + strlen(text), *line;
    while (end > text && end[-1] == '\n')
        *--end = '\0';
    line = strrchr(text, '\n');
    if (line)
        memmove(text, line + 1, strlen(line + 1) + 1);
}

// The summary's first sentence that is no warning of the machine, its lines joined.
bool tb_measured_finding(const char *folder, char *out, size_t bytes)
{
    char *text = folder ? read_text(folder, "eval.summary") : NULL;
    json_t *json = text ? read_json(folder, "eval.json") : NULL;
    const char *at = text, *cpu = tb_member_text(json, "head.cpu"), *host = tb_member_text(json, "head.host");
    if (!json) {
        free(text);
        return false;
    }
    while (strncmp(at, "UNFIT", 5) == 0 && strchr(at, '\n'))
        at = strchr(at, '\n') + 1;
    size_t used =
        (size_t)snprintf(out, bytes, "On %s%s%s%s: ", *host ? host : "this machine", *cpu ? " (" : "", cpu, *cpu ? ")" : "");
    for (; *at && used + 1 < bytes; at++) {
        if (*at == '\n' && at[1] != ' ')
            break;
        if (*at == ' ' && (used == 0 || out[used - 1] == ' '))
            continue;
        out[used++] = *at == '\n' ? ' ' : *at;
    }
    out[used < bytes ? used : bytes - 1] = '\0';
    free(text);
    json_decref(json);
    return true;
}

void tb_page_measured(struct tb_doc *doc, const char *folder)
{
    char *doctor = read_text(folder, "doctor.txt"), *advise = read_text(folder, "advise.txt");
    json_t *matrix = read_json(folder, "matrix.json"), *eval = read_json(folder, "eval.json");
    if (eval || matrix || doctor || advise) {
        tb_doc_heading(doc, 2, "measured", "Measured here");
        tb_doc_say(doc, NULL,
                   "What `make run` left, %.10s. These are no official runs: nobody had to say beforehand what they would show.",
                   tb_member_text(eval ? eval : matrix, "head.time"));
    }
    if (doctor) {
        last_line(doctor);
        tb_doc_say(doc, "doctor", "Fit to measure? %s", doctor);
        tb_doc_tone(doc, json_is_true(tb_member(eval ? eval : matrix, "head.doctor.fit")) ? TB_TONE_GOOD : TB_TONE_POOR);
    }
    put_board(doc, folder, "eval", "Scoreboard, blocks written in full", false);
    put_board(doc, folder, "eval-byte", "Scoreboard, one byte of each block", true);
    put_board(doc, folder, "replay", "Replay of a recorded trace", true);
    if (advise) { // its first paragraph is the answer
        char *end = strstr(advise, "\n\n");
        if (end)
            *end = '\0';
        tb_doc_heading(doc, 3, NULL, "Placement");
        tb_doc_say(doc, "placement", "%s", advise);
    }
    put_fold(doc, folder, "advise.txt", "What to use, and how it was found");
    if (matrix) {
        char title[300];
        snprintf(title, sizeof title, "Memory: %.200s", tb_member_text(matrix, "verdict.sentence"));
        put_fold(doc, folder, "matrix.txt", title);
    }
    put_fold(doc, folder, "topo.txt", "Topology");
    put_fold(doc, folder, "doctor.txt", "What the doctor found");
    put_fold(doc, folder, "bench.txt", "Single operations");
    free(doctor);
    free(advise);
    json_decref(matrix);
    json_decref(eval);
}
