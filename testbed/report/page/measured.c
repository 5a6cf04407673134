// SPDX-License-Identifier: Apache-2.0
//
// measured: what `make run` left in its folder: the logs of eval, replay and bench as they show them, and the other answers as they
// were given. What a step did not leave is not missed.
#include <stdlib.h>
#include <string.h>

#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/judge/loaded.h"
#include "testbed/report/board/board.h"
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

// The log that a step kept. false: there is none, or it cannot be shown.
static bool load(const char *folder, const char *step, struct tb_log_view *view, struct tb_loaded *loaded)
{
    char path[4200], why[512];
    snprintf(path, sizeof path, "%s/%s.jsonl", folder, step);
    if (tb_log_load(path, view, why, sizeof why))
        return false;
    if (tb_loaded(view, loaded, why, sizeof why) == 0)
        return true;
    tb_log_view_close(view);
    return false;
}

static void unload(struct tb_log_view *view, struct tb_loaded *loaded)
{
    tb_loaded_close(loaded);
    tb_log_view_close(view);
}

static void put_board(struct tb_doc *doc, const char *folder, const char *step, const char *title, bool folded)
{
    struct tb_log_view view;
    struct tb_loaded loaded;
    if (!load(folder, step, &view, &loaded))
        return;
    if (folded)
        tb_doc_folded(doc, 3, NULL, title);
    else
        tb_doc_heading(doc, 3, NULL, title);
    tb_board_put_answer(doc, &loaded.campaign);
    tb_doc_folded(doc, 4, NULL, "Every contender");
    tb_board_put_cells(doc, &loaded.campaign);
    unload(&view, &loaded);
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

bool tb_measured_finding(const char *folder, char *out, size_t bytes)
{
    struct tb_log_view view;
    struct tb_loaded loaded;
    struct tb_words words;
    if (!folder || !load(folder, "eval", &view, &loaded))
        return false;
    const char *cpu = tb_member_text(view.header, "measured.head.cpu"), *host = tb_member_text(view.header, "measured.head.host");
    bool found = tb_board_finding(&loaded.campaign, &words);
    snprintf(out, bytes, "On %s%s%s%s: %s", *host ? host : "this machine", *cpu ? " (" : "", cpu, *cpu ? ")" : "", words.text);
    unload(&view, &loaded);
    return found;
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
    put_board(doc, folder, "bench", "Single operations", true);
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
    free(doctor);
    free(advise);
    json_decref(matrix);
    json_decref(eval);
}
