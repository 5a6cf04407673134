// SPDX-License-Identifier: Apache-2.0
//
// adapters: see adapters.h.
//
// All is counted in virtual time, so one sample is the figure. The rankings: of batchers, who lets the fewest requests starve in
// the worst cell, then whose rare adapters wait least there; of policies of residency, and of scores, whose worst cell is the least
// worse than the best of that cell, because an engine has one policy and many rates. What knows the future stands below the others.

#include "testbed/report/serve/adapters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/report/recommend.h"
#include "testbed/report/serve/serve_internal.h"
#include "testbed/serving/adapters/batches.h"
#include "testbed/serving/adapters/residency.h"
#include "testbed/serving/arena/arena.h"

#define CELLS_MAX 32u
#define ROWS_MAX 64u
#define LEVEL 0.00005 // half of the last digit of 0.01 points

struct shown {
    const char *name, *title;
    enum tb_unit_kind unit;
};

struct kind {
    const char *touch, *key, *arm, *title; // of the table
    const char *axis, *axis_key, *axis_title; // of a cell's `serving`: what the cells of one log differ in
    bool axis_log;
    const struct tb_slot *slots;
    const struct shown *shown;  // to people, in this order
    const char *drawn, *drawn_title;
    enum tb_unit_kind drawn_unit;
    const char *x_title;        // of that drawing
    const char *won, *lost;     // of the ranking: more is better, and then less; NULL: of batchers
};

static const struct shown shown_batchers[] = {
    {"starved_ratio", "\nstarved", TB_AS_SHARE},
    {"passed_over_max", "passed\nover", TB_AS_IS},
    {"adapters_per_batch", "adapters\na batch", TB_AS_IS},
    {"wait_top10_p99", "top 10\np99", TB_AS_IS},
    {"wait_top100_p99", "to 100\np99", TB_AS_IS},
    {"wait_rest_p50", "rest\np50", TB_AS_IS},
    {"wait_rest_p99", "rest\np99", TB_AS_IS},
    {"wait_rest_max", "rest\nmax", TB_AS_IS},
    {NULL, NULL, TB_AS_IS},
};
static const struct shown shown_residents[] = {
    {"hot_ratio", "\nhot", TB_AS_SHARE},
    {"warm_ratio", "\nwarm", TB_AS_SHARE},
    {"cold_ratio", "\ncold", TB_AS_SHARE},
    {"back_mean_ns", "brought back in\nmean", TB_AS_TIME},
    {"back_p99_ns", "\np99", TB_AS_TIME},
    {"reloaded_bytes", "bytes\nreloaded", TB_AS_BYTES},
    {"cold_bytes", "bytes\nof the file", TB_AS_BYTES},
    {"thrash", "\nthrash", TB_AS_IS},
    {NULL, NULL, TB_AS_IS},
};

static const struct shown shown_scores[] = {
    {"byte_hit_ratio", "bytes\nfound", TB_AS_SHARE},
    {"kv_hit_ratio", "\nKV", TB_AS_SHARE},
    {"adapter_hit_ratio", "\nadapters", TB_AS_SHARE},
    {"both_reloaded_bytes", "bytes\nreloaded", TB_AS_BYTES},
    {"both_thrash", "\nthrash", TB_AS_IS},
    {"used_full_mean", "pages in use\nmean", TB_AS_SHARE},
    {"used_peak", "\npeak", TB_AS_SHARE},
    {"stretch_mean", "longest hole\nof all free", TB_AS_SHARE},
    {NULL, NULL, TB_AS_IS},
};

static const struct kind kinds[] = {
    {"adapters", "batchers", "batcher", "batches until a request is in one, by how popular its adapter is", "load_percent", "load",
     "load\n%", false, tb_batched_fields, shown_batchers, "wait_rest_max", "batches that the rest waits at most", TB_AS_IS,
     "load, in percent", NULL, NULL},
    {"residency", "residents", "policy", "where uses find their adapter", "rate_per_s", "rate_per_s", "uses\na second", true,
     tb_resided_fields, shown_residents, "hot_ratio", "uses that find it hot", TB_AS_SHARE, "uses a second", "hot_ratio",
     "back_mean_ns"},
    {"pages", "scores", "score", "what is found again, and how full the pages are", "high_permille", "high", "evicts\nat %", false,
     tb_arena_fields, shown_scores, "byte_hit_ratio", "bytes found", TB_AS_SHARE, "eviction begins, in percent of the pages",
     "byte_hit_ratio", "both_reloaded_bytes"},
};

#define BATCHERS (&kinds[0])
#define SCORES (&kinds[2])

struct row {
    const char *name, *invalid;
    bool ranked;
    const json_t *served[CELLS_MAX]; // NULL: invalid, or not run
    double first, second;       // of the ranking: less is better
};

struct board {
    const struct kind *kind;
    const json_t *cells;
    struct row row[ROWS_MAX];   // the best first
    uint32_t cells_count, count, ranked;
};

static const struct kind *kind_of(const struct tb_log_view *view)
{
    const char *touch = tb_member_text(json_array_get(tb_member(view->header, "cells"), 0), "touch");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].touch, touch) == 0)
            return &kinds[i];
    return NULL;
}

bool tb_adapters_is(const struct tb_log_view *view)
{
    return kind_of(view) != NULL;
}

// --- rows ----------------------------------------------------------------------------------------------------------------------

static double figure(const struct row *row, uint32_t cell, const char *name)
{
    return row->served[cell] ? tb_member_number(row->served[cell], name) : NAN;
}

static double axis(const struct board *board, uint32_t cell)
{
    char member[48];
    snprintf(member, sizeof member, "serving.%s", board->kind->axis);
    double number = tb_member_number(json_array_get(board->cells, cell), member);
    if (board->kind != SCORES)
        return number;
    return isnan(number) ? 100 : number / 10; // in percent; without a watermark all pages may be in use
}

static void row_load(const struct tb_log_view *view, const json_t *arm, uint32_t cells_count, struct row *row)
{
    *row = (struct row){.name = tb_member_text(arm, "name"), .ranked = strcmp(tb_member_text(arm, "role"), "harness") != 0};
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *line = view->samples[i].line;
        if (view->samples[i].cell >= cells_count || strcmp(view->samples[i].arm, tb_member_text(arm, "key")))
            continue;
        if (json_is_true(tb_member(line, "valid")))
            row->served[view->samples[i].cell] = tb_member(line, "serving");
        else
            row->invalid = tb_member_text(line, "invalid");
    }
    row->ranked = row->ranked && !row->invalid;
}

// The most of a figure in a cell, of all ranked rows but one (NULL: of all).
static double most(const struct board *board, uint32_t cell, const char *name, const struct row *but)
{
    double best = -INFINITY;
    for (uint32_t i = 0; i < board->count; i++)
        if (board->row[i].ranked && &board->row[i] != but)
            best = fmax(best, figure(&board->row[i], cell, name));
    return best;
}

static void rate(const struct board *board, struct row *row)
{
    for (uint32_t cell = 0; row->ranked && cell < board->cells_count; cell++) {
        if (board->kind == BATCHERS) {
            row->first = fmax(row->first, figure(row, cell, "starved"));
            row->second = fmax(row->second, figure(row, cell, "wait_rest_max"));
        } else {
            row->first = fmax(row->first, most(board, cell, board->kind->won, NULL) - figure(row, cell, board->kind->won));
            row->second = fmax(row->second, figure(row, cell, board->kind->lost));
        }
    }
}

static int compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->ranked != y->ranked)
        return y->ranked - x->ranked;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->second < y->second ? -1 : x->second > y->second ? 1 : strcmp(x->name, y->name);
}

static void board_load(const struct tb_log_view *view, struct board *board)
{
    const json_t *item;
    size_t i;
    *board = (struct board){.kind = kind_of(view), .cells = tb_member(view->header, "cells")};
    board->cells_count = (uint32_t)json_array_size(board->cells);
    if (board->cells_count > CELLS_MAX)
        board->cells_count = CELLS_MAX;
    json_array_foreach (tb_member(view->header, "arms"), i, item)
        if (board->count < ROWS_MAX)
            row_load(view, item, board->cells_count, &board->row[board->count++]);
    for (uint32_t r = 0; r < board->count; r++)
        rate(board, &board->row[r]);
    qsort(board->row, board->count, sizeof *board->row, compare);
    while (board->ranked < board->count && board->row[board->ranked].ranked)
        board->ranked++;
}

// --- the document --------------------------------------------------------------------------------------------------------------

static const struct shown *shown_as(const struct kind *kind, const char *name)
{
    const struct shown *shown = kind->shown;
    while (shown->name && strcmp(shown->name, name))
        shown++;
    return shown->name ? shown : NULL;
}

static void put_row(struct tb_table *table, const struct board *board, uint32_t cell, uint32_t at)
{
    const struct row *row = &board->row[at];
    tb_table_row(table, !row->ranked ? TB_ROW_ASIDE : at == 0 ? TB_ROW_OURS : TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(row->name));
    tb_table_put(table, tb_number(axis(board, cell)));
    for (const struct shown *shown = board->kind->shown; shown->name; shown++)
        tb_table_put(table,
                     row->served[cell] ? tb_number(figure(row, cell, shown->name)) : tb_toned(tb_none("INVALID"), TB_TONE_POOR));
    for (const struct tb_slot *slot = board->kind->slots; slot->name; slot++)
        if (!shown_as(board->kind, slot->name))
            tb_table_put(table, tb_number(figure(row, cell, slot->name)));
}

static void put_score_notes(struct tb_table *table, const json_t *serving)
{
    tb_table_note(table,
                  "%.0f requests of %s; %.0f pages of 2 MiB. Found: bytes of KV and adapters that were there once and are again or "
                  "still. Reloaded: the others. Thrash: within a second after they left.",
                  tb_member_number(serving, "requests"), tb_member_text(serving, "shape"), tb_member_number(serving, "pages"));
    tb_table_note(table, "Pages in use, in the mean, and the longest hole: since the first range had to leave.");
    served_note_ids(table, serving);
}

static void put_notes(struct tb_table *table, const struct board *board)
{
    const json_t *serving = tb_member(json_array_get(board->cells, 0), "serving");
    for (uint32_t r = 0; r < board->count; r++)
        if (board->row[r].invalid)
            tb_table_note(table, "%s is INVALID: %s.", board->row[r].name, board->row[r].invalid);
    if (board->kind == SCORES) {
        put_score_notes(table, serving);
        return;
    }
    double again = tb_member_number(serving, "again_percent");
    char repeats[96] = "";
    if (again > 0)
        snprintf(repeats, sizeof repeats, "; in %.0f %% of them one of the last 64 adapters once more", again);
    tb_table_note(table, "%.0f uses of %.0f adapters, of which the first 10 have 28 %% and the first 100 have 68.8 %%%s.",
                  tb_member_number(serving, "requests") * tb_member_number(serving, "times"), tb_member_number(serving, "adapters"),
                  repeats);
    if (board->kind == BATCHERS)
        tb_table_note(table,
                      "Batches of at most %.0f. Starved: its adapter got nothing in more than %.0f batches in succession while it "
                      "waited; passed over: the most of them. All batchers serve equally many.",
                      tb_member_number(serving, "batch"), figure(&board->row[0], 0, "starved_beyond"));
    else
        tb_table_note(table,
                      "Places: %.0f hot, %.0f warm. Rank %.0f of Llama-3-8B at q, k, v and o; int8 to f16 at 20 GB/s, the file at "
                      "3 GB/s: stated, not measured. fixed knows the popularity; thrash: hot again within a second.",
                      tb_member_number(serving, "hot"), tb_member_number(serving, "warm"), tb_member_number(serving, "rank"));
}

static void put_table(struct tb_doc *doc, const struct board *board)
{
    const struct kind *kind = board->kind;
    const struct tb_column first[] = {{kind->arm, kind->arm, TB_AS_IS, false},
                                      {kind->axis_key, kind->axis_title, TB_AS_IS, false},
                                      {NULL, NULL, TB_AS_IS, false}};
    char title[160];
    snprintf(title, sizeof title, "%.60s: %s", tb_member_text(json_array_get(board->cells, 0), "workload"), kind->title);
    struct tb_table *table = tb_doc_table(doc, kind->key, title, first);
    for (const struct shown *shown = kind->shown; shown->name; shown++)
        tb_table_column(table, (struct tb_column){shown->name, shown->title, shown->unit, false});
    for (const struct tb_slot *slot = kind->slots; slot->name; slot++)
        if (!shown_as(kind, slot->name))
            tb_table_column(table, (struct tb_column){slot->name, NULL, TB_AS_IS, false});
    for (uint32_t cell = 0; cell < board->cells_count; cell++) {
        if (cell)
            tb_table_gap(table);
        for (uint32_t r = 0; r < board->count; r++)
            put_row(table, board, cell, r);
    }
    put_notes(table, board);
}

static void put_curves(struct tb_doc *doc, const struct board *board)
{
    const struct kind *kind = board->kind;
    const struct tb_curve_axis x = {kind->x_title, TB_AS_IS, kind->axis_log}, y = {kind->drawn_title, kind->drawn_unit, false};
    if (board->cells_count < 2)
        return;
    struct tb_curves *curves = tb_doc_curves(doc, kind->drawn, kind->drawn_title, x, y);
    for (uint32_t r = 0; r < board->count; r++) {
        tb_curves_line(curves, board->row[r].name);
        for (uint32_t cell = 0; cell < board->cells_count; cell++)
            if (board->row[r].served[cell])
                tb_curves_point(curves, axis(board, cell), tb_number(figure(&board->row[r], cell, kind->drawn)));
    }
}

// Those whose figures of the ranking are the best one's.
static void level_add(const struct board *board, struct tb_recommend *recommend)
{
    for (uint32_t r = 0; r < board->ranked; r++)
        if (board->row[r].first == board->row[0].first && board->row[r].second == board->row[0].second)
            tb_recommend_add(recommend, board->row[r].name);
}

static void recommend_put(struct tb_doc *doc, const struct tb_recommend *recommend, const char *behind)
{
    struct tb_words words = {0};
    tb_say_recommend(&words, recommend);
    tb_doc_answer(doc, "answer", "%s%s", words.text, behind);
}

// Where nobody starves, who waits less is no reason to prefer anybody.
static void batchers_answer(struct tb_doc *doc, const struct board *board)
{
    const struct row *best = &board->row[0], *worst = &board->row[board->ranked - 1];
    struct tb_words because = {0};
    struct tb_recommend recommend = {.because = because.text,
                                     .why = "as many requests starve under each",
                                     .separates = "More load (--load)"};
    if (worst->first == 0) {
        recommend.why = "nobody starves";
        for (uint32_t r = 0; r < board->ranked; r++)
            tb_recommend_add(&recommend, board->row[r].name);
        tb_say(&because, "Under %s an adapter beyond the first 100 waits least, at most %.0f batches", best->name, best->second);
    } else {
        level_add(board, &recommend);
        if (recommend.count == 1 && best->first == 0)
            tb_say(&because,
                   "nobody starves, and an adapter beyond the first 100 waits for at most %.0f batches. Under %s %.0f requests "
                   "starve",
                   best->second, worst->name, worst->first);
        else if (recommend.count == 1)
            tb_say(&because, "%.0f requests starve, under %s %.0f", best->first, worst->name, worst->first);
    }
    recommend_put(doc, &recommend, "");
}

// What `fixed` finds, nobody can have who does not know how popular each adapter is and will be.
static void residents_answer(struct tb_doc *doc, const struct board *board)
{
    const struct row *best = &board->row[0], *next = &board->row[1];
    bool known = strcmp(best->name, tb_resident_fixed.name) == 0;
    double ahead = -INFINITY;
    uint32_t at = 0, worst = 0;
    struct tb_words because = {0};
    struct tb_recommend recommend = {.because = because.text,
                                     .why = "they find the same hot at every rate",
                                     .separates = "Fewer places in memory"};
    level_add(board, &recommend);
    for (uint32_t cell = 0; cell < board->cells_count; cell++) {
        double lead = figure(best, cell, "hot_ratio") - most(board, cell, "hot_ratio", best);
        at = lead > ahead ? cell : at;
        ahead = fmax(ahead, lead);
        worst = -lead > best->first - LEVEL ? cell : worst;
    }
    double hot = 100 * figure(best, at, "hot_ratio");
    if (recommend.count == 1 && known) {
        tb_doc_answer(
            doc, "answer",
            "Use fixed if you know how popular each adapter is: at %.3g uses a second it finds %.1f %% hot. Otherwise %s: "
            "nowhere is it more than %.2f points behind the best.",
            axis(board, at), hot, next->name, 100 * next->first);
        return;
    }
    if (recommend.count == 1 && best->first < LEVEL)
        tb_say(&because, "nobody finds more hot, and at %.3g uses a second it finds %.1f %%, %.2f points more than any other",
               axis(board, at), hot, 100 * fmax(ahead, 0));
    else if (recommend.count == 1)
        tb_say(&because, "at %.3g uses a second it finds %.1f %% hot, and nowhere is it more than %.2f points behind (%.3g)",
               axis(board, at), hot, 100 * best->first, axis(board, worst));
    recommend_put(doc, &recommend, "");
}

// Where the best finds most, and how full the pages are where eviction begins as the seed has it, at 90 %.
static void scores_answer(struct tb_doc *doc, const struct board *board)
{
    const struct row *best = &board->row[0];
    uint32_t at = 0;
    char behind[96] = "and nobody finds more anywhere", full[128] = "";
    struct tb_words because = {0};
    struct tb_recommend recommend = {.because = because.text,
                                     .why = "they find the same again from every watermark on",
                                     .separates = "Fewer pages (--pool)"};
    for (uint32_t cell = 0; cell < board->cells_count; cell++) {
        at = figure(best, cell, board->kind->won) > figure(best, at, board->kind->won) ? cell : at;
        double mean = figure(best, cell, "used_full_mean");
        if (axis(board, cell) == 90 && !isnan(mean))
            snprintf(full, sizeof full, " From 90 %% on %.1f %% of the pages are in use in the mean, and %.1f %% at most.",
                     100 * mean, 100 * figure(best, cell, "used_peak"));
    }
    if (best->first >= LEVEL)
        snprintf(behind, sizeof behind, "and nowhere is it more than %.2f points behind", 100 * best->first);
    if (isnan(figure(best, at, board->kind->won))) {
        tb_doc_answer(doc, "answer", "Nothing is asked for again, so scores have nothing to differ in.");
        return;
    }
    level_add(board, &recommend);
    if (recommend.count == 1)
        tb_say(&because, "with eviction from %.3g %% on it finds %.1f %% of the bytes again, %s", axis(board, at),
               100 * figure(best, at, board->kind->won), behind);
    recommend_put(doc, &recommend, full);
}

struct tb_doc *tb_adapters_doc(json_t *head, const struct tb_log_view *view)
{
    struct tb_doc *doc = tb_doc_open(head);
    static struct board board;
    board_load(view, &board);
    put_table(doc, &board);
    put_curves(doc, &board);
    if (board.ranked < 2)
        tb_doc_answer(doc, "answer", board.ranked ? "%s has nobody to be compared with." : "Nobody passed.", board.row[0].name);
    else
        (board.kind == BATCHERS ? batchers_answer : board.kind == SCORES ? scores_answer : residents_answer)(doc, &board);
    served_about(doc, view);
    tb_doc_json(doc, "cells", served_cells_json(board.cells));
    return doc;
}
