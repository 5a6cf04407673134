// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_answer: what the board says in a few sentences, and the short texts that all its views share.
#include "testbed/report/standing/scoreboard.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/board/board.h"

#define FOCUS "locus" // whose board this is

// --- short texts ---------------------------------------------------------------------------------------------------------------

const char *tb_scoreboard_bytes(double bytes, const char *space, char *out, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && bytes >= 1024 && fmod(bytes, 1024) == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, size, "%.0f%s%s", bytes, space, units[unit]);
    return out;
}

const char *tb_scoreboard_settings(const json_t *table, char *out, size_t size)
{
    double workers = tb_member_number(table, "workers");
    char bytes[32];
    snprintf(out, size, "%s dispatch, %.0f worker%s%s, %s blocks", tb_member_text(table, "dispatch"), workers,
             workers == 1 ? "" : "s", json_is_true(tb_member(table, "many_nodes")) ? " on each node" : "",
             tb_scoreboard_bytes(tb_member_number(table, "block_bytes"), " ", bytes, sizeof bytes));
    return out;
}

const char *tb_scoreboard_rank(const json_t *row, char out[16])
{
    double rank = tb_member_number(row, "rank");
    if (isnan(rank))
        snprintf(out, 16, "-");
    else
        snprintf(out, 16, "%.0f%s", rank, json_is_true(tb_member(row, "shared")) ? "=" : "");
    return out;
}

const char *tb_scoreboard_predicted(const json_t *row, char out[24])
{
    double rank = tb_member_number(row, "predicted_rank");
    if (isnan(rank))
        snprintf(out, 24, "-");
    else
        snprintf(out, 24, "%.0f of %.0f", rank, tb_member_number(row, "predicted_of"));
    return out;
}

struct tb_unit tb_scoreboard_unit(const json_t *table)
{
    double smallest = INFINITY, largest = 0;
    const json_t *row;
    size_t i;
    json_array_foreach (tb_member(table, "contenders"), i, row) {
        smallest = fmin(smallest, tb_member_number(row, "median_ns"));
        largest = fmax(largest, tb_member_number(row, "median_ns"));
    }
    return largest > 0 ? tb_text_unit(smallest, largest) : tb_text_unit(1, 1);
}

size_t tb_scoreboard_tables(const json_t *board)
{
    const json_t *table;
    size_t i, count = 0;
    json_array_foreach (tb_member(board, "tables"), i, table)
        count += json_is_true(tb_member(table, "figures"));
    return count;
}

// --- the answer ----------------------------------------------------------------------------------------------------------------

// Tables of one host and touch: `first` is the first of them.
struct group {
    const json_t *tables, *first;
    size_t speak;               // how many of them the answer is about
    bool repeats;               // a workload is there in several settings
};

static bool belongs(const json_t *table, const json_t *first)
{
    return strcmp(tb_member_text(table, "host"), tb_member_text(first, "host")) == 0 &&
           strcmp(tb_member_text(table, "touch"), tb_member_text(first, "touch")) == 0;
}

// One that has figures, and is not shown "once more".
static bool speaks(const json_t *table, const json_t *first)
{
    return belongs(table, first) && json_is_true(tb_member(table, "figures")) && json_is_true(tb_member(table, "main"));
}

// False: the table at that place is not the first of its group.
static bool group_at(const json_t *tables, size_t at, struct group *out)
{
    const json_t *table, *before = NULL;
    size_t i;
    *out = (struct group){.tables = tables, .first = json_array_get(tables, at)};
    for (i = 0; i < at; i++)
        if (belongs(json_array_get(tables, i), out->first))
            return false;
    json_array_foreach (tables, i, table) {
        if (!speaks(table, out->first))
            continue;
        out->repeats |= before && strcmp(tb_member_text(table, "workload"), tb_member_text(before, "workload")) == 0;
        before = table;
        out->speak++;
    }
    return true;
}

// Who is first in a table: the names, and whether `name` is among them. Returns how many there are.
static size_t first_in(const json_t *table, const char *name, bool *among, struct tb_words *names)
{
    const json_t *row;
    size_t i, count = 0;
    *among = false;
    json_array_foreach (tb_member(table, "contenders"), i, row) {
        if (tb_member_number(row, "rank") != 1)
            continue;
        *among |= strcmp(tb_member_text(row, "name"), name) == 0;
        tb_say(names, "%s%s", count > 0 ? " and " : "", tb_member_text(row, "name"));
        count++;
    }
    return count;
}

static const char *touch_words(const char *touch)
{
    static const char *const words[][2] = {{"full", "at full touch"}, {"byte", "at one byte a block"}, {"none", "untouched"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(touch, words[i][0]) == 0)
            return words[i][1];
    return touch;
}

#define LISTED_MAX 4u // cells by name; of more, how many

// Who is first where FOCUS is not, and where.
struct elsewhere {
    struct tb_words names, cells;
    size_t count;
};

static void elsewhere_add(struct elsewhere list[], size_t *used, size_t room, const char *names, const char *cell)
{
    size_t at = 0;
    while (at < *used && strcmp(list[at].names.text, names))
        at++;
    if (at == room)
        return;
    if (at == *used)
        tb_say(&list[(*used)++].names, "%s", names);
    tb_say(&list[at].cells, "%s%s", list[at].count++ ? ", " : "", cell);
}

static void say_elsewhere(struct tb_words *words, const struct elsewhere list[], size_t used)
{
    size_t all = 0;
    for (size_t i = 0; i < used; i++)
        all += list[i].count;
    for (size_t i = 0; i < used; i++) {
        tb_say(words, "%s%s on ", i ? ", " : "; first elsewhere: ", list[i].names.text);
        if (all > LISTED_MAX)
            tb_say(words, "%zu", list[i].count);
        else
            tb_say(words, "%s", list[i].cells.text);
    }
}

// "On zen5-vm, at full touch, locus is first on 3 of 4 workloads (shared on 1); first elsewhere: mimalloc on churn-touch."
static void say_group(struct tb_words *words, const struct group *group)
{
    static struct elsewhere others[24];
    size_t alone = 0, shared = 0, all = 0, used = 0, i;
    const json_t *table;
    memset(others, 0, sizeof others);
    json_array_foreach (group->tables, i, table) {
        struct tb_words names = {0};
        bool among = false;
        if (!speaks(table, group->first))
            continue;
        all++;
        size_t count = first_in(table, FOCUS, &among, &names);
        alone += among && count == 1;
        shared += among && count > 1;
        if (!among && count > 0)
            elsewhere_add(others, &used, sizeof others / sizeof *others, names.text,
                          tb_member_text(table, group->repeats ? "cell" : "workload"));
    }
    tb_say(words, "On %s, %s, " FOCUS " is first on %zu of %zu %s%s", tb_member_text(group->first, "host"),
           touch_words(tb_member_text(group->first, "touch")), alone + shared, all, group->repeats ? "cell" : "workload",
           all == 1 ? "" : "s");
    if (shared > 0)
        tb_say(words, " (shared on %zu)", shared);
    say_elsewhere(words, others, used);
    tb_say(words, ". ");
}

static size_t count_what(const json_t *left_out, const char *what)
{
    const json_t *run;
    size_t i, count = 0;
    json_array_foreach (left_out, i, run)
        count += strcmp(tb_member_text(run, "what"), what) == 0;
    return count;
}

// "9 runs gave no figure: 8 emulated, 1 noise."
static void say_left_out(struct tb_words *words, const json_t *left_out)
{
    size_t all = json_array_size(left_out), i;
    const json_t *run;
    struct tb_words reasons = {0};
    if (all == 0)
        return;
    json_array_foreach (left_out, i, run) {
        const char *what = tb_member_text(run, "what");
        size_t earlier = 0;
        while (strcmp(tb_member_text(json_array_get(left_out, earlier), "what"), what))
            earlier++;
        if (earlier == i)
            tb_say(&reasons, "%s%zu %s", reasons.used ? ", " : "", count_what(left_out, what), what);
    }
    tb_say(words, "%zu run%s left out: %s. ", all, all == 1 ? " was" : "s were", reasons.text);
}

json_t *tb_scoreboard_answer(const json_t *tables, const json_t *missing, const json_t *left_out)
{
    struct tb_words words = {0};
    size_t figures = 0, cells = json_array_size(tb_member(missing, "cells"));
    size_t contenders = json_array_size(tb_member(missing, "contenders"));
    for (size_t i = 0; i < json_array_size(tables); i++) {
        struct group group;
        if (!group_at(tables, i, &group))
            continue;
        figures += group.speak;
        if (group.speak > 0)
            say_group(&words, &group);
    }
    if (figures == 0)
        tb_say(&words, "Nothing to show: no official run has a figure here. ");
    say_left_out(&words, left_out);
    if (cells > 0)
        tb_say(&words, "%zu cell%s of this program ha%s no figure yet. ", cells, cells == 1 ? "" : "s", cells == 1 ? "s" : "ve");
    if (contenders > 0)
        tb_say(&words, "%zu contender%s of this program ha%s no figure yet. ", contenders, contenders == 1 ? "" : "s",
               contenders == 1 ? "s" : "ve");
    if (words.used > 0)
        words.text[words.used - 1] = '\0'; // the last blank
    return json_string(words.text);
}
