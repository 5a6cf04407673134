// SPDX-License-Identifier: Apache-2.0
//
// serve: see serve.h.
//
// What a strategy decides is exact, so a figure of one sample is the figure, and a ratio of two needs no interval. Only the time of
// a call is measured: its median over the rounds. The two never meet in one figure.
//
// Tokens a second are of virtual time, so they are exact as well. They are no part of the ranking: under a load all decode what
// arrives, and where all wait at the start they follow from the steps, but for tokens that are moved.
//
// The ranking: who refuses the fewest requests; then who lets the slowest hundredth wait least for the first token, or, when all
// requests wait at the start, who needs the fewest steps; and where nobody waits, who refuses the fewest admissions.

#include "testbed/report/serve/serve.h"
#include "testbed/report/serve/serve_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/report/recommend.h"
#include "testbed/stats/stats.h"

#define LEVEL 1.01 // closer than this, two strategies are called level
#define HARDLY_USED 0.5 // of a pool, in the mean

static const char *rank_metric(const struct served_cell *cell)
{
    return cell->random ? "refusals" : cell->loaded ? "first_p99_ns" : "steps";
}

// --- rows ----------------------------------------------------------------------------------------------------------------------

static void row_load(const struct tb_log_view *view, size_t cell, const json_t *arm, struct served_row *row)
{
    double *ns = NULL;
    size_t count = 0;
    *row = (struct served_row){.name = tb_member_text(arm, "name"), .trap = strcmp(tb_member_text(arm, "role"), "harness") == 0};
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *line = view->samples[i].line;
        if (view->samples[i].cell != cell || strcmp(view->samples[i].arm, tb_member_text(arm, "key")))
            continue;
        if (!json_is_true(tb_member(line, "valid")) || *tb_member_text(line, "invalid"))
            row->invalid = tb_member_text(line, "invalid"); // of a trap, whose sample stands
        else if (!row->served)
            row->served = tb_member(line, "serving");
    }
    row->call_ns = NAN;
    if (tb_log_values(view, cell, tb_member_text(arm, "key"), "serving.call_ns", &ns, &count) == 0 && count)
        row->call_ns = tb_median(ns, count);
    free(ns);
}

static const struct served_cell *sorted; // qsort has no context

static int compare(const void *a, const void *b)
{
    const struct served_row *x = a, *y = b;
    const char *metric = rank_metric(sorted);
    bool x_ranked = x->served && !x->invalid && !x->trap, y_ranked = y->served && !y->invalid && !y->trap;
    if (x_ranked != y_ranked)
        return y_ranked - x_ranked;
    if (!x_ranked)
        return strcmp(x->name, y->name);
    double left = served_figure(x, "refused"), right = served_figure(y, "refused");
    if (left == right) {
        left = served_figure(x, metric);
        right = served_figure(y, metric);
    }
    return left < right ? -1 : left > right ? 1 : strcmp(x->name, y->name);
}

void served_cell_load(const struct tb_log_view *view, size_t index, const json_t *header, struct served_cell *cell)
{
    const json_t *arm;
    size_t i;
    *cell = (struct served_cell){.header = header,
                                 .loaded = isfinite(tb_member_number(header, "serving.speedup")),
                                 .random = json_is_true(tb_member(header, "serving.random"))};
    json_array_foreach (tb_member(view->header, "arms"), i, arm)
        if (cell->count < SERVED_ROWS_MAX)
            row_load(view, index, arm, &cell->row[cell->count++]);
    sorted = cell;
    qsort(cell->row, cell->count, sizeof *cell->row, compare);
    while (cell->ranked < cell->count && cell->row[cell->ranked].served && !cell->row[cell->ranked].invalid &&
           !cell->row[cell->ranked].trap)
        cell->ranked++;
}

// --- the table -----------------------------------------------------------------------------------------------------------------

static const struct tb_column loaded_columns[] = {
    {NULL, "strategy", TB_AS_IS, false},           {NULL, "in use\n", TB_AS_SHARE, false},
    {NULL, "held\n", TB_AS_SHARE, false},          {NULL, "blocked\n", TB_AS_IS, false},
    {NULL, "thrown\nout", TB_AS_IS, false},        {NULL, "hits\n", TB_AS_SHARE, false},
    {NULL, "first token\np50", TB_AS_TIME, false}, {NULL, "\np99", TB_AS_TIME, true},
    {NULL, "next token\np99", TB_AS_TIME, false},  {NULL, "tokens\na second", TB_AS_IS, false},
    {NULL, "ns per\ncall", TB_AS_IS, false},       {NULL, NULL, TB_AS_IS, false}};

static const struct tb_column line_columns[] = {{NULL, "strategy", TB_AS_IS, false},    {NULL, "in use\n", TB_AS_SHARE, false},
                                                {NULL, "held\n", TB_AS_SHARE, false},   {NULL, "blocked\n", TB_AS_IS, false},
                                                {NULL, "thrown\nout", TB_AS_IS, false}, {NULL, "hits\n", TB_AS_SHARE, false},
                                                {NULL, "steps\n", TB_AS_IS, true},      {NULL, "tokens\na second", TB_AS_IS, false},
                                                {NULL, "live\n", TB_AS_IS, false},      {NULL, "ns per\ncall", TB_AS_IS, false},
                                                {NULL, NULL, TB_AS_IS, false}};

static const struct tb_column random_columns[] = {
    {NULL, "strategy", TB_AS_IS, false},      {NULL, "in use\n", TB_AS_SHARE, false},
    {NULL, "held\n", TB_AS_SHARE, false},     {NULL, "dropped\n", TB_AS_IS, true},
    {NULL, "blocked\n", TB_AS_IS, false},     {NULL, "scattered\nat most", TB_AS_SHARE, false},
    {NULL, "in holes\n", TB_AS_SHARE, false}, {NULL, "live\n", TB_AS_IS, false},
    {NULL, "ns per\ncall", TB_AS_IS, false},  {NULL, NULL, TB_AS_IS, false}};

static struct tb_value count_of(const struct served_row *row, const char *name)
{
    double value = served_figure(row, name);
    return isfinite(value) ? tb_count((uint64_t)value) : tb_none(NULL);
}

// 0: it served nobody. A log may be older than the figure.
static struct tb_value tokens_value(const struct served_row *row)
{
    double tokens_per_s = served_figure(row, "tokens_per_s");
    return tokens_per_s > 0 ? tb_number(tokens_per_s) : tb_none(NULL);
}

static void put_random(struct tb_table *table, const struct served_row *row)
{
    tb_table_put(table, count_of(row, "refusals"));
    tb_table_put(table, count_of(row, "blocked"));
    tb_table_put(table, tb_number(served_figure(row, "scattered_max")));
    tb_table_put(table, tb_number(served_figure(row, "holes")));
    tb_table_put(table, tb_number(served_figure(row, "live")));
}

static void put_scheduled(struct tb_table *table, const struct served_cell *cell, const struct served_row *row)
{
    tb_table_put(table, count_of(row, "blocked"));
    tb_table_put(table, count_of(row, "preempted"));
    tb_table_put(table, tb_number(served_figure(row, "hit_ratio")));
    if (cell->loaded) {
        tb_table_put(table, tb_number(served_figure(row, "first_p50_ns")));
        tb_table_put(table, tb_number(served_figure(row, "first_p99_ns")));
        tb_table_put(table, tb_number(served_figure(row, "between_p99_ns")));
        tb_table_put(table, tokens_value(row));
    } else {
        tb_table_put(table, count_of(row, "steps"));
        tb_table_put(table, tokens_value(row));
        tb_table_put(table, tb_number(served_figure(row, "live")));
    }
}

static void put_row(struct tb_table *table, const struct served_cell *cell, const struct served_row *row, bool ranked)
{
    tb_table_row(table, row == &cell->row[0] && ranked ? TB_ROW_OURS : ranked ? TB_ROW_PLAIN : TB_ROW_ASIDE);
    tb_table_put(table, tb_text_value(row->name));
    if (row->invalid) {
        tb_table_put(table, tb_toned(tb_none("INVALID"), TB_TONE_POOR));
        return;
    }
    tb_table_put(table, tb_number(served_figure(row, "live_use")));
    tb_table_put(table, tb_number(served_figure(row, "reserved_use")));
    if (cell->random)
        put_random(table, row);
    else
        put_scheduled(table, cell, row);
    tb_table_put(table, row->call_ns > 0 ? tb_number(row->call_ns) : tb_none(NULL)); // 0: it refused everybody
}

static void put_notes(struct tb_table *table, const struct served_cell *cell)
{
    for (uint32_t i = 0; i < cell->count; i++) {
        const struct served_row *row = &cell->row[i];
        if (row->invalid)
            tb_table_note(table, "%s is INVALID: %s.", row->name, row->invalid);
        else if (served_figure(row, "refused") > 0)
            tb_table_note(table, "%s refuses %.0f request%s that could never fit.", row->name, served_figure(row, "refused"),
                          served_figure(row, "refused") > 1 ? "s" : "");
    }
}

static void put_clock(struct tb_table *table, const struct served_cell *cell, const json_t *serving)
{
    char prompts[96] = "; prompts cost no step and no time";
    if (cell->loaded)
        snprintf(prompts, sizeof prompts, ", a prompt's token %.2f ms", tb_member_number(serving, "prompt_ns") / 1e6);
    if (cell->loaded)
        tb_table_note(
            table,
            "The pool can finish %.3f requests a second. Tokens a second are bound by what arrives; --load all shows what "
            "a strategy can do.",
            tb_member_number(serving, "capacity_per_s"));
    tb_table_note(table, "A step takes %.1f ms and %.6g ps for each byte of KV cache that it reads%s. All of this time is virtual.",
                  tb_member_number(serving, "step_ns") / 1e6, tb_member_number(serving, "read_ps"), prompts);
}

void served_note_ids(struct tb_table *table, const json_t *serving)
{
    double tokens = tb_member_number(serving, "id_tokens"), least = tb_member_number(serving, "id_tokens_least"),
           most = tb_member_number(serving, "id_tokens_most");
    if (!(tokens > 0 && least > 0))
        return;
    if (least == most)
        tb_table_note(table, "An id of a prompt stands for %.0f tokens: no other size fits all requests.", tokens);
    else if (most == UINT32_MAX)
        tb_table_note(table, "An id of a prompt stands for %.0f tokens; all sizes from %.0f on fit the requests (--id-tokens).",
                      tokens, least);
    else
        tb_table_note(table, "An id of a prompt stands for %.0f tokens; sizes from %.0f to %.0f fit the requests (--id-tokens).",
                      tokens, least, most);
}

void served_about(struct tb_doc *doc, const struct tb_log_view *view)
{
    const char *about = tb_member_text(view->header, "measured.about");
    if (*about)
        tb_doc_say(doc, "about", "%s.", about);
}

void served_put_cell(struct tb_doc *doc, const struct served_cell *cell)
{
    const json_t *serving = tb_member(cell->header, "serving");
    double pool_tokens = tb_member_number(serving, "pool_tokens"), bytes = tb_member_number(serving, "token_bytes");
    struct tb_table *table = tb_doc_table(doc, NULL, tb_member_text(cell->header, "name"),
                                          cell->random   ? random_columns
                                          : cell->loaded ? loaded_columns
                                                         : line_columns);
    for (uint32_t i = 0; i < cell->count; i++)
        put_row(table, cell, &cell->row[i], i < cell->ranked);
    tb_table_note(table, "%.0f requests, a pool of %.0f tokens (%.2f GiB as %s)%s.", tb_member_number(serving, "requests"),
                  pool_tokens, pool_tokens * bytes / (1 << 30), tb_member_text(serving, "shape"),
                  cell->random   ? ", which come and go at random"
                  : cell->loaded ? ""
                                 : ", all waiting at the start");
    served_note_ids(table, serving);
    if (!cell->random)
        put_clock(table, cell, serving);
    put_notes(table, cell);
}

// --- the answer ----------------------------------------------------------------------------------------------------------------

// How many times what the best one has; where that is none at all, any is infinitely more.
static double times_worse(const struct served_cell *cell, uint32_t i)
{
    if (served_figure(&cell->row[i], rank_metric(cell)) == served_figure(&cell->row[0], rank_metric(cell)))
        return 1;
    return served_figure(&cell->row[i], rank_metric(cell)) / served_figure(&cell->row[0], rank_metric(cell));
}

// The first that is not level with the best, among those that serve as many.
static uint32_t runner_up(const struct served_cell *cell)
{
    uint32_t i = 1;
    while (i < cell->ranked && times_worse(cell, i) < LEVEL &&
           served_figure(&cell->row[i], "refused") == served_figure(&cell->row[0], "refused"))
        i++;
    return i;
}

// How fast the best one is and the next, in a sentence; or nothing, if the best has no figure.
static void say_tokens(const struct served_cell *cell, uint32_t next, char *out, size_t bytes)
{
    double best = served_figure(&cell->row[0], "tokens_per_s"),
           other = next < cell->ranked ? served_figure(&cell->row[next], "tokens_per_s") : 0;
    char number[16], others[96] = "";
    out[0] = '\0';
    if (cell->random || !(best > 0))
        return;
    if (other > 0)
        snprintf(others, sizeof others, ", %.64s %s", cell->row[next].name, tb_text_number(number, other));
    snprintf(out, bytes, " %.64s decodes %s tokens a second%s.", cell->row[0].name, tb_text_number(number, best), others);
}

// Why those at the top are level. A pool of which little is used has room for whatever a strategy wastes.
static void tie_explain(const struct served_cell *cell, struct tb_recommend *tie, char *why, size_t why_bytes)
{
    double used = INFINITY;
    char number[16];
    for (uint32_t i = 0; i < tie->count; i++)
        used = fmin(used, served_figure(&cell->row[i], "live_use"));
    tie->why = why;
    tie->separates = cell->loaded ? "A smaller pool (--pool), or more requests at once (--load)," : "A smaller pool (--pool)";
    if (used < HARDLY_USED)
        snprintf(why, why_bytes, "none is more than 1 %% ahead, as the pool has room for all: %s %% of it is in use in the mean",
                 tb_text_number(number, 100 * used));
    else
        snprintf(why, why_bytes, "none is more than 1 %% ahead");
}

// How far behind the next one is.
static void next_say(const struct served_cell *cell, uint32_t next, char *out, size_t bytes)
{
    const char *name = next < cell->ranked ? cell->row[next].name : "";
    out[0] = '\0';
    if (next == cell->ranked)
        return;
    if (served_figure(&cell->row[next], "refused") > served_figure(&cell->row[0], "refused"))
        snprintf(out, bytes, "%s others refuse requests", next > 1 ? "The" : "all");
    else if (cell->random)
        snprintf(out, bytes, "%.0f requests found no room. With %s, the next, %.0f did", served_figure(&cell->row[0], "refusals"),
                 name, served_figure(&cell->row[next], "refusals"));
    else
        snprintf(out, bytes, "%s, the next, takes %.2f times %s", name, times_worse(cell, next),
                 cell->loaded ? "as long for the first token, at the 99th percentile" : "as many steps");
}

static void put_answer(struct tb_doc *doc, const struct served_cell *cell)
{
    uint32_t next = runner_up(cell);
    char tokens[256], why[128], because[256];
    struct tb_recommend recommend = {.because = because};
    struct tb_words words = {0};
    if (cell->ranked == 0) {
        tb_doc_answer(doc, "answer", "No strategy served these requests.");
        return;
    }
    say_tokens(cell, next, tokens, sizeof tokens);
    if (cell->ranked == 1) {
        tb_doc_answer(doc, "answer", "%s has nobody to be compared with.%s", cell->row[0].name, tokens);
        return;
    }
    for (uint32_t i = 0; i < next; i++)
        tb_recommend_add(&recommend, cell->row[i].name);
    tie_explain(cell, &recommend, why, sizeof why);
    next_say(cell, next, because, sizeof because);
    tb_say_recommend(&words, &recommend);
    tb_doc_answer(doc, "answer", "%s%s", words.text, cell->random ? "" : tokens);
}

// --- for programs --------------------------------------------------------------------------------------------------------------

static json_t *strategies_json(const struct served_cell *cell)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < cell->count; i++) {
        const struct served_row *row = &cell->row[i];
        const struct tb_json_member members[] = {
            {"name", json_string(row->name)},
            {"ranked", json_boolean(i < cell->ranked)},
            {"invalid", row->invalid ? json_string(row->invalid) : json_null()},
            {"served", row->served ? json_deep_copy(row->served) : json_null()},
            {"call_ns", tb_json_number(row->call_ns)},
        };
        all = tb_json_appended(all, TB_JSON_OBJECT(members));
    }
    return all;
}

json_t *served_cells_json(const json_t *headers)
{
    json_t *cells = json_array();
    for (size_t i = 0; i < json_array_size(headers); i++) {
        const json_t *header = json_array_get(headers, i);
        const struct tb_json_member members[] = {
            {"name", json_string(tb_member_text(header, "name"))},
            {"serving", json_deep_copy(tb_member(header, "serving"))},
        };
        cells = tb_json_appended(cells, TB_JSON_OBJECT(members));
    }
    return cells;
}

json_t *served_cell_json(const struct served_cell *cell)
{
    const struct tb_json_member members[] = {
        {"name", json_string(tb_member_text(cell->header, "name"))},
        {"serving", json_deep_copy(tb_member(cell->header, "serving"))},
        {"strategies", strategies_json(cell)},
    };
    return TB_JSON_OBJECT(members);
}

struct tb_doc *tb_serve_doc(json_t *head, const struct tb_log_view *view)
{
    struct tb_doc *doc = tb_doc_open(head);
    json_t *cells = json_array();
    static struct served_cell cell;
    const json_t *header;
    size_t i;
    json_array_foreach (tb_member(view->header, "cells"), i, header) {
        served_cell_load(view, i, header, &cell);
        cells = tb_json_appended(cells, served_cell_json(&cell));
        served_put_cell(doc, &cell);
        put_answer(doc, &cell);
    }
    served_about(doc, view);
    tb_doc_json(doc, "cells", cells);
    return doc;
}
