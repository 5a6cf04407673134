// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_doc: the board as a document. One screen sums it up; whoever wants a cell in full asks for it.
#include "testbed/report/standing/scoreboard.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"

#define BEST 5u       // at most so many of a host, beside locus and the baseline
#define LINES 44u     // of a screen, for the hosts
#define HOST_LINES 6u // of each: title, head, locus, the baseline, an empty one, and its sentence in the answer

static struct tb_value number_of(const json_t *object, const char *path)
{
    return tb_number(tb_member_number(object, path));
}

static struct tb_value value_of(const json_t *value)
{
    if (json_is_object(value)) // a ratio; without ends where it is unbounded
        return tb_interval_of(tb_member_number(value, "estimate"), tb_member_number(value, "low"), tb_member_number(value, "high"),
                              tb_member_number(value, "confidence"));
    if (json_is_boolean(value))
        return tb_flag(json_is_true(value));
    return json_is_number(value) ? tb_number(json_number_value(value)) : tb_text_value(json_string_value(value));
}

// --- the standing --------------------------------------------------------------------------------------------------------------

static bool same_host(const json_t *a, const json_t *b)
{
    return json_equal(tb_member(a, "host"), tb_member(b, "host"));
}

// Full touch, where there is any: a host's groups stand together.
static bool is_first_of_host(const json_t *board, size_t at)
{
    const json_t *standing = tb_member(board, "standing");
    return at == 0 || !same_host(json_array_get(standing, at - 1), json_array_get(standing, at));
}

static const char *touch_words(const json_t *group)
{
    const char *touch = tb_member_text(group, "touch");
    return strcmp(touch, "full") == 0   ? "full touch"
           : strcmp(touch, "byte") == 0 ? "one byte"
           : strcmp(touch, "none") == 0 ? "untouched"
                                        : touch;
}

static void put_contender(struct tb_table *table, const json_t *row, const json_t *other)
{
    const char *name = tb_member_text(row, "name");
    bool ours = strcmp(name, TB_SCOREBOARD_FOCUS) == 0, baseline = strcmp(name, TB_SCOREBOARD_BASELINE) == 0;
    const json_t *there = tb_scoreboard_find(tb_member(other, "contenders"), name);
    char unbeaten[64];
    snprintf(unbeaten, sizeof unbeaten, "%.0f of %.0f", tb_member_number(row, "first"), tb_member_number(row, "ranked"));
    tb_table_row(table, ours ? TB_ROW_OURS : TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(name));
    tb_table_put(table, baseline ? tb_text_value("baseline") : number_of(row, "mean_times_faster"));
    tb_table_put(table, ours ? tb_none(NULL) : number_of(row, "locus_mean"));
    tb_table_put(table, number_of(row, "cells"));
    tb_table_put(table, tb_text_value(unbeaten));
    tb_table_put(table, baseline ? tb_text_value("baseline") : number_of(there, "mean_times_faster"));
    tb_table_put(table, number_of(there, "cells"));
}

// The best, and whom all are compared with. Of those on a quarter of its cells or fewer a mean says little.
static bool is_shown(const json_t *group, const json_t *row, uint32_t before, uint32_t best)
{
    const char *name = tb_member_text(row, "name");
    bool named = strcmp(name, TB_SCOREBOARD_FOCUS) == 0 || strcmp(name, TB_SCOREBOARD_BASELINE) == 0;
    return 4 * tb_member_number(row, "ranked") > tb_member_number(group, "cells") && (named || before < best);
}

// Was any contender of it measured beside the baseline?
static bool has_mean(const json_t *group)
{
    const json_t *row;
    size_t i;
    json_array_foreach (tb_member(group, "contenders"), i, row)
        if (tb_member_number(row, "cells") > 0)
            return true;
    return false;
}

// Beside a host's first group, at index `at`: the one without touch, or its second; or NULL.
static const json_t *group_beside(const json_t *standing, size_t at)
{
    const json_t *group = json_array_get(standing, at), *other = NULL;
    for (size_t i = at + 1; same_host(json_array_get(standing, i), group); i++)
        if (!other || strcmp(tb_member_text(json_array_get(standing, i), "touch"), "none") == 0)
            other = json_array_get(standing, i);
    return other;
}

// Does a host's first group stand at `at`, and has the host a mean? Without one there is no table.
static bool has_table(const json_t *board, size_t at)
{
    const json_t *standing = tb_member(board, "standing");
    return is_first_of_host(board, at) && (has_mean(json_array_get(standing, at)) || has_mean(group_beside(standing, at)));
}

static void put_host(struct tb_doc *doc, const json_t *board, size_t at, uint32_t best, bool all)
{
    const json_t *standing = tb_member(board, "standing"), *group = json_array_get(standing, at), *row;
    const json_t *other = group_beside(standing, at);
    const char *host = tb_member_text(group, "host");
    uint32_t shown = 0;
    size_t i;
    const struct tb_column columns[] = {{"contender", "contender", TB_AS_IS, false},
                                        {"mean", touch_words(group), TB_AS_RATIO, true},
                                        {"locus", "locus there", TB_AS_RATIO, false},
                                        {"cells", "cells", TB_AS_IS, false},
                                        {.title = "unbeaten"},
                                        {"other", other ? touch_words(other) : NULL, TB_AS_RATIO, false},
                                        {.title = other ? "cells" : NULL},
                                        {0}};
    struct tb_table *table = tb_doc_table(doc, NULL, host, columns);
    tb_table_scale(table, tb_member_text(group, "touch"));
    json_array_foreach (tb_member(group, "contenders"), i, row)
        if (all || is_shown(group, row, shown, best)) {
            put_contender(table, row, other);
            shown++;
        }
}

// How many of each host, so that all hosts fit a screen.
static uint32_t best_of_hosts(const json_t *board)
{
    uint32_t hosts = 0;
    for (size_t i = 0; i < json_array_size(tb_member(board, "standing")); i++)
        hosts += has_table(board, i);
    uint32_t room = hosts && hosts * HOST_LINES < LINES ? LINES / hosts - HOST_LINES : 0;
    return room < BEST ? room : BEST;
}

void tb_scoreboard_put_standing(struct tb_doc *doc, const json_t *board, bool all)
{
    uint32_t best = best_of_hosts(board);
    tb_doc_say(doc, NULL,
               "Times as fast as " TB_SCOREBOARD_BASELINE
               ": the geometric mean over the cells on which both were measured; beside it "
               "locus on the same cells. Unbeaten: cells on which nobody was measurably faster. Means have no interval; each cell "
               "has one.");
    for (size_t i = 0; i < json_array_size(tb_member(board, "standing")); i++)
        if (all ? is_first_of_host(board, i) : has_table(board, i))
            put_host(doc, board, i, best, all);
}

// --- a cell --------------------------------------------------------------------------------------------------------------------

// The baseline has no interval.
static struct tb_value faster_value(const json_t *row)
{
    struct tb_value value = value_of(tb_member(row, "times_faster"));
    return value.kind == TB_VALUE_INTERVAL && value.low == value.high ? tb_number(value.number) : value;
}

// "1=", "2", or why it has none.
static struct tb_value rank_value(const json_t *row, char text[16])
{
    const char *kind = tb_member_text(row, "kind");
    if (*tb_member_text(row, "invalid"))
        return tb_toned(tb_none("INVALID"), TB_TONE_POOR);
    if (!json_is_number(tb_member(row, "rank")))
        return tb_none(strcmp(kind, "ranked") ? kind : NULL);
    snprintf(text, 16, "%.0f%s", tb_member_number(row, "rank"), json_is_true(tb_member(row, "shared")) ? "=" : "");
    return tb_text_value(text);
}

static void put_row(struct tb_table *table, const json_t *row)
{
    const char *name = tb_member_text(row, "name"), *invalid = tb_member_text(row, "invalid");
    bool ranked = strcmp(tb_member_text(row, "kind"), "ranked") == 0;
    char rank[16], claim[32];
    snprintf(claim, sizeof claim, "%.0f of %.0f", tb_member_number(row, "predicted_rank"), tb_member_number(row, "predicted_of"));
    tb_table_row(table, !ranked ? TB_ROW_ASIDE : strcmp(name, TB_SCOREBOARD_FOCUS) ? TB_ROW_PLAIN : TB_ROW_OURS);
    tb_table_put(table, tb_text_value(name));
    tb_table_put(table, rank_value(row, rank));
    tb_table_put(table, json_is_number(tb_member(row, "predicted_rank")) ? tb_text_value(claim) : tb_none(NULL));
    tb_table_put(table, number_of(row, "median_ns"));
    tb_table_put(table, faster_value(row));
    tb_table_put(table, number_of(row, "mad_percent"));
    tb_table_put(table, number_of(row, "footprint.worst"));
    if (*invalid)
        tb_table_note(table, "%s is INVALID: %s", name, invalid);
}

const char *tb_scoreboard_title(const json_t *table, char out[256])
{
    snprintf(out, 256, "%.60s %.160s%s", tb_member_text(table, "host"), tb_member_text(table, "cell"),
             json_is_true(tb_member(table, "main")) ? "" : ", with other contenders");
    return out;
}

void tb_scoreboard_put_table(struct tb_doc *doc, const json_t *table, const char *title, const char *link)
{
    const char *baseline = tb_member_text(table, "baseline");
    char faster[96], run[300];
    const json_t *row;
    size_t i;
    snprintf(faster, sizeof faster, "times faster than\n%.60s", *baseline ? baseline : "(nobody)");
    const struct tb_column columns[] = {{"contender", "contender", TB_AS_IS, false},
                                        {"rank", "\nrank", TB_AS_IS, false},
                                        {.title = "rank\nclaimed"},
                                        {.title = "\nmedian", .unit = TB_AS_TIME},
                                        {"times_faster", faster, TB_AS_RATIO, true},
                                        {.title = "MAD\n%"},
                                        {.title = "held\n/peak", .unit = TB_AS_RATIO},
                                        {0}};
    struct tb_table *out = tb_doc_table(doc, NULL, title, columns);
    tb_table_scale(out, tb_member_text(table, "touch"));
    json_array_foreach (tb_member(table, "contenders"), i, row)
        put_row(out, row);
    if (!json_is_true(tb_member(table, "figures")))
        tb_table_note(out, "The run is invalid: no figure counts, and nobody has a place.");
    snprintf(run, sizeof run, "%.80s: %.40s, %.0f rounds, ledger line %.0f", tb_member_text(table, "run"),
             tb_member_text(table, "verdict"), tb_member_number(table, "rounds"), tb_member_number(table, "ledger.line"));
    tb_doc_fact(doc, NULL, "run", TB_AS_IS, tb_linked(tb_text_value(run), link));
}

static void put_tables(struct tb_doc *doc, const json_t *board)
{
    const json_t *table;
    char title[256];
    size_t i;
    json_array_foreach (tb_member(board, "tables"), i, table)
        tb_scoreboard_put_table(doc, table, tb_scoreboard_title(table, title), NULL);
    if (i > 0)
        tb_doc_say(
            doc, NULL,
            "Times faster: the baseline's time over the contender's, paired by rounds, with its 95 %% interval. MAD: how far "
            "rounds lie from the median. Held: most blocks out at once, over the theoretical peak. A rank with = is shared: "
            "the interval of the ratio to the first of the place holds 1.");
}

// --- what is not there ---------------------------------------------------------------------------------------------------------

void tb_scoreboard_put_missing(struct tb_doc *doc, const json_t *board)
{
    static const struct tb_column columns[] = {{"missing", "no figure yet", TB_AS_IS, false}, {.title = "how to make one"}, {0}};
    static const char *const lists[][2] = {{"not_measured.cells", "cell"}, {"not_measured.contenders", "name"}};
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, columns);
    const json_t *entry;
    size_t i;
    for (size_t l = 0; l < 2; l++)
        json_array_foreach (tb_member(board, lists[l][0]), i, entry) {
            tb_table_row(table, TB_ROW_PLAIN);
            tb_table_put(table, tb_text_value(tb_member_text(entry, lists[l][1])));
            tb_table_put(table, tb_text_value(tb_member_text(entry, "command")));
        }
}

static void put_left_out(struct tb_doc *doc, const json_t *board)
{
    const json_t *run;
    size_t i;
    tb_doc_heading(doc, 2, NULL, json_array_size(tb_member(board, "left_out")) > 0 ? "Left out" : NULL);
    json_array_foreach (tb_member(board, "left_out"), i, run) {
        const char *why = tb_member_text(run, "why");
        char text[600];
        snprintf(text, sizeof text, "%.60s, %.60s%s%.400s", tb_member_text(run, "host"), tb_member_text(run, "what"),
                 *why ? ": " : "", why);
        tb_doc_fact(doc, NULL, tb_member_text(run, "run"), TB_AS_IS, tb_text_value(text));
    }
}

// --- the documents -------------------------------------------------------------------------------------------------------------

// A sentence a host, on the touch that its standing is sorted by.
static void put_answer(struct tb_doc *doc, const json_t *board, bool more)
{
    const json_t *group, *warning;
    size_t i;
    json_array_foreach (tb_member(board, "warnings"), i, warning)
        tb_doc_say(doc, NULL, "%s", json_string_value(warning));
    json_array_foreach (tb_member(board, "standing"), i, group)
        if (is_first_of_host(board, i))
            tb_doc_answer(doc, NULL, "%s", tb_member_text(group, "sentence"));
    if (i == 0)
        tb_doc_answer(doc, NULL, TB_SCOREBOARD_NOTHING);
    if (more)
        tb_doc_say(
            doc, NULL,
            "Cells in full, with intervals: --cell 'churn-touch/full/*'. With --all: every cell and contender, what was left out, "
            "and what has no figure yet.");
}

struct tb_doc *tb_scoreboard_doc(json_t *head, json_t *board, bool standing, bool cells)
{
    struct tb_doc *doc = tb_doc_open(head);
    bool nothing = json_array_size(tb_member(board, "tables")) == 0, all = (standing && cells) || nothing;
    if (!doc)
        return NULL;
    tb_doc_members(doc, board);
    tb_doc_heading(doc, 1, NULL, "Standings: all contenders on record");
    if (standing && !nothing)
        tb_scoreboard_put_standing(doc, board, all);
    if (cells)
        put_tables(doc, board);
    if (all)
        tb_scoreboard_put_missing(doc, board);
    if (all)
        put_left_out(doc, board);
    put_answer(doc, board, !cells && !nothing);
    return doc;
}

// --- for spreadsheets ----------------------------------------------------------------------------------------------------------

// Each member that is no list, as a column or its value. Those of an object within are OUTER_INNER; a ratio is one value.
static void flatten(struct tb_table *out, json_t *object, const char *outer, bool columns)
{
    const char *key;
    json_t *value;
    json_object_foreach (object, key, value) {
        char name[64];
        snprintf(name, sizeof name, "%.30s%s%.30s", outer, *outer ? "_" : "", key);
        if (json_is_object(value) && !json_object_get(value, "estimate"))
            flatten(out, value, name, columns);
        else if (columns && !json_is_array(value))
            tb_table_column(out, (struct tb_column){name, NULL, TB_AS_IS, false});
        else if (!json_is_array(value))
            tb_table_put(out, value_of(value));
    }
}

struct tb_doc *tb_scoreboard_rows_doc(const json_t *board)
{
    struct tb_doc *doc = tb_doc_open(NULL);
    struct tb_table *out = doc ? tb_doc_table(doc, "rows", NULL, NULL) : NULL;
    json_t *table, *row;
    size_t t, r;
    json_array_foreach (tb_member(board, "tables"), t, table)
        json_array_foreach (tb_member(table, "contenders"), r, row) {
            if (t + r == 0) { // all have the same members
                flatten(out, table, "", true);
                flatten(out, row, "", true);
            }
            tb_table_row(out, TB_ROW_PLAIN);
            flatten(out, table, "", false);
            flatten(out, row, "", false);
        }
    return doc;
}
