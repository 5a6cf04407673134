// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_standing: the board summed up: on each host at each touch, how many times as fast as mimalloc every rival is.
//
// A geometric mean, as twice and half as fast are to cancel. A contender's is over the cells that it shares with mimalloc, and
// contenders were not all measured on the same ones: so beside each mean stands that of locus on just these cells. Intervals of
// several cells cannot be combined, as the cells are no sample of anything: a mean has none.
#include "testbed/report/standing/scoreboard.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"

const json_t *tb_scoreboard_find(const json_t *contenders, const char *name)
{
    const json_t *row;
    size_t i;
    json_array_foreach (contenders, i, row)
        if (strcmp(tb_member_text(row, "name"), name) == 0)
            return row;
    return NULL;
}

// Is it a main table of the same host at the same touch?
static bool belongs(const json_t *table, const json_t *like)
{
    return json_is_true(tb_member(table, "main")) && json_is_true(tb_member(table, "figures")) &&
           json_equal(tb_member(table, "host"), tb_member(like, "host")) &&
           json_equal(tb_member(table, "touch"), tb_member(like, "touch"));
}

// One contender, over all tables that belong to `like`. Rows with a place come first, so that a twin is not taken for it.
static json_t *sum_up(const json_t *tables, const json_t *like, const char *name)
{
    double logs = 0, locus_logs = 0, least = INFINITY, most = -INFINITY;
    json_int_t cells = 0, ranked = 0, first = 0, shared = 0;
    const json_t *table;
    size_t i;
    json_array_foreach (tables, i, table) {
        const json_t *contenders = tb_member(table, "contenders"), *row = tb_scoreboard_find(contenders, name);
        double rank = tb_member_number(row, "rank"), times = tb_member_number(row, "times_faster.estimate");
        if (!belongs(table, like) || isnan(rank))
            continue;
        ranked++;
        first += rank == 1;
        shared += rank == 1 && json_is_true(tb_member(row, "shared"));
        if (strcmp(tb_member_text(table, "baseline"), TB_SCOREBOARD_BASELINE))
            continue;
        cells++;
        logs += log(times);
        locus_logs += log(tb_member_number(tb_scoreboard_find(contenders, TB_SCOREBOARD_FOCUS), "times_faster.estimate"));
        least = fmin(least, times);
        most = fmax(most, times);
    }
    const struct tb_json_member members[] = {
        {"name", json_string(name)},
        {"cells", json_integer(cells)},
        {"mean_times_faster", tb_json_number(exp(logs / (double)cells))}, // null: no cell
        {"least", tb_json_number(least)},
        {"most", tb_json_number(most)},
        {"locus_mean", tb_json_number(exp(locus_logs / (double)cells))},
        {"ranked", json_integer(ranked)},
        {"first", json_integer(first)},
        {"shared", json_integer(shared)},
    };
    return TB_JSON_OBJECT(members);
}

static double mean_of(const json_t *contender)
{
    double mean = tb_member_number(contender, "mean_times_faster");
    return isnan(mean) ? 0 : mean;
}

// By their means. 0, or -1: out of memory.
static int insert(json_t *contenders, json_t *contender)
{
    size_t at = 0;
    while (at < json_array_size(contenders) && mean_of(json_array_get(contenders, at)) >= mean_of(contender))
        at++;
    return json_array_insert_new(contenders, at, contender);
}

// "On bm1 locus is 1.53 times as fast as mimalloc, unbeaten on 23 of 36 cells."
static void say_sentence(struct tb_words *words, const json_t *like, const json_t *contenders)
{
    const json_t *locus = tb_scoreboard_find(contenders, TB_SCOREBOARD_FOCUS);
    const char *touch = tb_member_text(like, "touch");
    char number[16];
    tb_say(words, "On %s%s " TB_SCOREBOARD_FOCUS, tb_member_text(like, "host"),
           strcmp(touch, "full") == 0   ? ""
           : strcmp(touch, "none") == 0 ? ", untouched,"
                                        : ", one byte touched,");
    if (mean_of(locus) > 0)
        tb_say(words, " is %s times as fast as " TB_SCOREBOARD_BASELINE ", unbeaten on %.0f of %.0f cells.",
               tb_text_number(number, mean_of(locus)), tb_member_number(locus, "first"), tb_member_number(locus, "ranked"));
    else
        tb_say(words, " was not measured beside " TB_SCOREBOARD_BASELINE ".");
}

static json_t *group_json(const json_t *tables, const json_t *like)
{
    struct tb_words sentence = {0};
    json_t *contenders = json_array();
    json_int_t cells = 0;
    const json_t *table, *row;
    size_t t, r;
    int failed = 0;
    json_array_foreach (tables, t, table) {
        if (!belongs(table, like))
            continue;
        cells++;
        json_array_foreach (tb_member(table, "contenders"), r, row) {
            const char *name = tb_member_text(row, "name");
            if (json_is_number(tb_member(row, "rank")) && !tb_scoreboard_find(contenders, name))
                failed |= insert(contenders, sum_up(tables, like, name));
        }
    }
    say_sentence(&sentence, like, contenders);
    json_t *group = json_pack("{s:O, s:O, s:I, s:s, s:o}", "host", tb_member(like, "host"), "touch", tb_member(like, "touch"),
                              "cells", cells, "sentence", sentence.text, "contenders", contenders);
    if (!failed)
        return group;
    json_decref(group);
    return NULL;
}

json_t *tb_scoreboard_standing(const json_t *tables)
{
    json_t *out = json_array();
    const json_t *table;
    size_t i;
    json_array_foreach (tables, i, table) {
        size_t before = 0;
        while (before < i && !belongs(json_array_get(tables, before), table))
            before++;
        if (before == i && belongs(table, table))
            out = tb_json_appended(out, group_json(tables, table));
    }
    return out;
}
