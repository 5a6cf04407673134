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

// --- boards --------------------------------------------------------------------------------------------------------------------

static const struct {
    const char *step, *title;
} boards[] = {{"eval", "Scoreboard, blocks written in full"},
              {"eval-byte", "Scoreboard, one byte of each block"},
              {"replay", "Replay of a recorded trace"},
              {"bench", "Single operations"}};
enum { BOARDS = sizeof boards / sizeof *boards };

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

static void put_board(struct tb_doc *doc, const char *folder, size_t at)
{
    struct tb_log_view view;
    struct tb_loaded loaded;
    if (!load(folder, boards[at].step, &view, &loaded))
        return;
    (at > 0 ? tb_doc_folded : tb_doc_heading)(doc, 3, NULL, boards[at].title);
    tb_doc_say(doc, NULL, "Measured %.10s.", tb_member_text(view.header, "measured.head.time"));
    tb_board_put_answer(doc, &loaded.rounds);
    tb_doc_folded(doc, 4, NULL, "Every contender");
    tb_board_put_cells(doc, &loaded.rounds);
    unload(&view, &loaded);
}

bool tb_measured_finding(const char *folder, char *out, size_t bytes)
{
    struct tb_log_view view;
    struct tb_loaded loaded;
    struct tb_words words;
    if (!folder || !load(folder, boards[0].step, &view, &loaded))
        return false;
    const char *cpu = tb_member_text(view.header, "measured.head.cpu"), *host = tb_member_text(view.header, "measured.head.host");
    bool found = tb_board_finding(&loaded.rounds, &words);
    snprintf(out, bytes, "On %s%s%s%s: %s", *host ? host : "this machine", *cpu ? " (" : "", cpu, *cpu ? ")" : "", words.text);
    unload(&view, &loaded);
    return found;
}

// --- texts ---------------------------------------------------------------------------------------------------------------------

// The answer of a text, its first or its last paragraph, is one of the page's own; the whole text is a fold.
static const struct {
    const char *file, *key, *answer, *title;
    bool last;
} texts[] = {{"doctor.txt", "doctor", "Fit to measure?", "What the doctor found", true},
             {"advise.txt", "placement", "Placement:", "What to use, and how it was found", false},
             {"matrix.txt", "matrix", "Memory:", "Memory", true},
             {"topo.txt", NULL, NULL, "Topology", false}};
enum { TEXTS = sizeof texts / sizeof *texts };

static void put_answer(struct tb_doc *doc, size_t at, const char *text)
{
    struct tb_words answer = {.used = 0};
    const char *from = text, *next;
    while (texts[at].last && (next = strstr(from, "\n\n")) && next[2])
        from = next + 2;
    const char *end = strstr(from, "\n\n") ? strstr(from, "\n\n") : from + strlen(from);
    for (size_t length; (from += strspn(from, " \n")) < end; from += length) { // the text was broken into lines
        length = strcspn(from, " \n");
        tb_say(&answer, " %.*s", (int)length, from);
    }
    tb_doc_say(doc, texts[at].key, "%s%s", texts[at].answer, answer.text);
}

void tb_page_measured(struct tb_doc *doc, const char *folder)
{
    char *text[TEXTS] = {NULL}, path[4200];
    size_t bytes, read = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, texts[i].file);
        read += tb_file_read(path, &text[i], &bytes) == 0;
    }
    if (read == 0)
        return;
    tb_doc_heading(doc, 2, "measured", "Measured here");
    tb_doc_say(doc, NULL, "What `make run` left. These are no official runs: nobody had to predict what they would show.");
    for (size_t i = 0; i < TEXTS; i++)
        if (text[i] && texts[i].answer)
            put_answer(doc, i, text[i]);
    for (size_t i = 0; i < BOARDS; i++)
        put_board(doc, folder, i);
    for (size_t i = 0; i < TEXTS; free(text[i++]))
        if (text[i]) {
            tb_doc_folded(doc, 3, NULL, texts[i].title);
            tb_doc_code(doc, NULL, text[i]);
        }
}
