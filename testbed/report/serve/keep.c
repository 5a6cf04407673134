// SPDX-License-Identifier: Apache-2.0
//
// keep: see keep.h.
//
// Hits are counts, so one sample is the figure. The ranking: whose worst size is the least worse than the best policy of that size,
// because an engine has one policy and many sizes. What knows the future stands below the others, as the most that is possible.

#include "testbed/report/serve/keep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/recommend.h"
#include "testbed/report/serve/serve_internal.h"
#include "testbed/report/serve/tiers.h"

#define CELLS_MAX 32u
#define ROWS_MAX 64u
#define LEVEL 0.00005 // half of the last digit of 0.01 points

struct row {
    const char *name, *invalid;
    bool ranked;
    double hits[CELLS_MAX];     // over all blocks of the prompts
    double behind;              // of the best one, in the size where this is most
};

struct board {
    const json_t *cells;
    double blocks[CELLS_MAX];
    struct row row[ROWS_MAX];   // the best first
    uint32_t cells_count, count, ranked;
};

bool tb_keep_is(const struct tb_log_view *view)
{
    return strcmp(tb_member_text(json_array_get(tb_member(view->header, "cells"), 0), "touch"), "keep") == 0;
}

// --- rows ----------------------------------------------------------------------------------------------------------------------

static void row_load(const struct tb_log_view *view, const json_t *arm, uint32_t cells_count, struct row *row)
{
    *row = (struct row){.name = tb_member_text(arm, "name"), .ranked = strcmp(tb_member_text(arm, "role"), "harness") != 0};
    for (uint32_t i = 0; i < cells_count; i++)
        row->hits[i] = NAN;
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *line = view->samples[i].line;
        if (view->samples[i].cell >= cells_count || strcmp(view->samples[i].arm, tb_member_text(arm, "key")))
            continue;
        if (!json_is_true(tb_member(line, "valid")))
            row->invalid = tb_member_text(line, "invalid");
        else
            row->hits[view->samples[i].cell] = tb_member_number(line, "serving.hit_ratio");
    }
    row->ranked = row->ranked && !row->invalid;
}

// The most hits in a size, of all ranked policies but one (NULL: of all).
static double most(const struct board *board, uint32_t cell, const struct row *but)
{
    double best = -INFINITY;
    for (uint32_t i = 0; i < board->count; i++)
        if (board->row[i].ranked && &board->row[i] != but)
            best = fmax(best, board->row[i].hits[cell]);
    return best;
}

static int compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->ranked != y->ranked)
        return y->ranked - x->ranked;
    return x->behind < y->behind ? -1 : x->behind > y->behind ? 1 : strcmp(x->name, y->name);
}

static void board_load(const struct tb_log_view *view, struct board *board)
{
    const json_t *item;
    size_t i;
    *board = (struct board){.cells = tb_member(view->header, "cells")};
    json_array_foreach (board->cells, i, item)
        if (board->cells_count < CELLS_MAX)
            board->blocks[board->cells_count++] = tb_member_number(item, "serving.blocks");
    json_array_foreach (tb_member(view->header, "arms"), i, item)
        if (board->count < ROWS_MAX)
            row_load(view, item, board->cells_count, &board->row[board->count++]);
    for (uint32_t r = 0; r < board->count; r++)
        for (uint32_t cell = 0; board->row[r].ranked && cell < board->cells_count; cell++)
            board->row[r].behind = fmax(board->row[r].behind, most(board, cell, NULL) - board->row[r].hits[cell]);
    qsort(board->row, board->count, sizeof *board->row, compare);
    while (board->ranked < board->count && board->row[board->ranked].ranked)
        board->ranked++;
}

// --- the document --------------------------------------------------------------------------------------------------------------

static void put_table(struct tb_doc *doc, const struct board *board)
{
    static const struct tb_column first[] = {{"policy", "policy\nblocks", TB_AS_IS, false}, {NULL, NULL, TB_AS_IS, false}};
    const json_t *cell = json_array_get(board->cells, 0), *serving = tb_member(cell, "serving");
    char title[96], key[64], blocks[32];
    snprintf(title, sizeof title, "%.60s: blocks of prompts found", tb_member_text(cell, "workload"));
    struct tb_table *table = tb_doc_table(doc, "policies", title, first);
    for (uint32_t i = 0; i < board->cells_count; i++) {
        snprintf(key, sizeof key, "hit_ratio.%.0f", board->blocks[i]);
        snprintf(blocks, sizeof blocks, "\n%.0f", board->blocks[i]);
        tb_table_column(table, (struct tb_column){key, blocks, TB_AS_SHARE, false});
    }
    for (uint32_t r = 0; r < board->count; r++) {
        const struct row *row = &board->row[r];
        tb_table_row(table, !row->ranked ? TB_ROW_ASIDE : r == 0 ? TB_ROW_OURS : TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(row->name));
        for (uint32_t i = 0; i < board->cells_count; i++)
            tb_table_put(table, row->invalid ? tb_toned(tb_none("INVALID"), TB_TONE_POOR) : tb_number(row->hits[i]));
    }
    tb_table_note(table, "%.0f requests with %.0f blocks of %.0f tokens%s.", tb_member_number(serving, "requests"),
                  tb_member_number(serving, "ids"), tb_member_number(serving, "id_tokens"),
                  json_is_true(tb_member(serving, "tree")) ? "; those of a request are in use while it runs" : "");
    served_note_ids(table, serving);
    for (uint32_t r = 0; r < board->count; r++)
        if (board->row[r].invalid)
            tb_table_note(table, "%s is INVALID: %s.", board->row[r].name, board->row[r].invalid);
}

// Is another one level with the best in every size?
static bool level(const struct board *board, const struct row *row)
{
    for (uint32_t i = 0; i < board->cells_count; i++)
        if (!(fabs(row->hits[i] - board->row[0].hits[i]) < LEVEL))
            return false;
    return true;
}

// `ahead`: of all others, in the size `at`; in the size `worst` it is most behind.
static void recommend_say(struct tb_doc *doc, const struct board *board, double ahead, uint32_t at, uint32_t worst)
{
    const struct row *best = &board->row[0];
    struct tb_words words = {0}, because = {0};
    struct tb_recommend recommend = {.because = because.text, .why = "they find the same blocks in every size"};
    double found = 0;
    for (uint32_t i = 0; i < board->cells_count; i++)
        found = fmax(found, best->hits[i]);
    for (uint32_t r = 0; r < board->ranked; r++)
        if (level(board, &board->row[r]))
            tb_recommend_add(&recommend, board->row[r].name);
    if (found <= 0)
        recommend.why = "no block of a prompt is found again", recommend.separates = "A trace whose prompts share blocks";
    else
        recommend.separates = "A smaller cache (--pool)";
    if (recommend.count > 1)
        ;
    else if (best->behind < LEVEL && ahead >= LEVEL)
        tb_say(&because, "nobody finds more, and with %.0f blocks it is %.2f points ahead of all others", board->blocks[at],
               100 * ahead);
    else if (best->behind < LEVEL)
        tb_say(&because, "nobody finds more in any size");
    else
        tb_say(&because, "%.2f points ahead of all others with %.0f blocks, and at most %.2f behind (%.0f)", 100 * ahead,
               board->blocks[at], 100 * best->behind, board->blocks[worst]);
    tb_say_recommend(&words, &recommend);
    tb_doc_answer(doc, "answer", "%s", words.text);
}

static void put_answer(struct tb_doc *doc, const struct board *board)
{
    const struct row *best = &board->row[0];
    double ahead = 0;
    uint32_t at = 0, worst = 0;
    if (board->ranked < 2) {
        tb_doc_answer(doc, "answer", board->ranked ? "%s has nobody to be compared with." : "No policy passed.", best->name);
        return;
    }
    for (uint32_t i = 0; i < board->cells_count; i++) {
        double lead = best->hits[i] - most(board, i, best);
        at = lead > ahead ? i : at;
        ahead = fmax(ahead, lead);
        worst = -lead > best->behind - LEVEL ? i : worst;
    }
    recommend_say(doc, board, ahead, at, worst);
}

struct tb_doc *tb_keep_doc(json_t *head, const struct tb_log_view *view)
{
    struct tb_doc *doc = tb_doc_open(head);
    static struct board board;
    board_load(view, &board);
    put_table(doc, &board);
    if (tb_tiers_are(view))
        tb_tiers_put(doc, view);
    if (!tb_tiers_are(view) || board.cells_count > 1)
        put_answer(doc, &board);
    served_about(doc, view);
    tb_doc_json(doc, "cells", served_cells_json(board.cells));
    return doc;
}
