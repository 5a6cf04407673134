// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_standing: the board summed up: on each host at each touch, how many times as fast as mimalloc every rival is.
//
// A geometric mean, as twice and half as fast are to cancel. A contender's is over the cells that it shares with mimalloc, and
// contenders were not all measured on the same ones: so beside each mean stands that of locus on just these cells. Intervals of
// several cells cannot be combined, as the cells are no sample of anything: a mean has none.
#include "testbed/report/standing/scoreboard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"

struct entry {
    const char *name;
    double logs, locus_logs, least, most; // locus_logs: NAN where locus was not on each of the cells
    size_t cells, ranked, first, shared;
};

// The main tables of a host at a touch.
struct group {
    const char *host, *touch;
    struct entry *entries;
    size_t count, cells;
};

static bool belongs(const struct group *group, const json_t *table)
{
    return json_is_true(tb_member(table, "main")) && json_is_true(tb_member(table, "figures")) &&
           strcmp(tb_member_text(table, "host"), group->host) == 0 && strcmp(tb_member_text(table, "touch"), group->touch) == 0;
}

// NULL: there is none.
static struct entry *find(const struct group *group, const char *name)
{
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->entries[i].name, name) == 0)
            return &group->entries[i];
    return NULL;
}

static double locus_of(const json_t *table)
{
    const json_t *row;
    size_t i;
    json_array_foreach (tb_member(table, "contenders"), i, row)
        if (strcmp(tb_member_text(row, "name"), TB_SCOREBOARD_FOCUS) == 0 && json_is_number(tb_member(row, "rank")))
            return tb_member_number(row, "times_faster.estimate");
    return NAN;
}

// Room for all of a table is made by the caller.
static void add_table(struct group *group, const json_t *table)
{
    bool against_mimalloc = strcmp(tb_member_text(table, "baseline"), TB_SCOREBOARD_BASELINE) == 0;
    double locus = locus_of(table);
    const json_t *row;
    size_t i;
    group->cells++;
    json_array_foreach (tb_member(table, "contenders"), i, row) {
        double rank = tb_member_number(row, "rank"), times = tb_member_number(row, "times_faster.estimate");
        const char *name = tb_member_text(row, "name");
        struct entry *entry = find(group, name);
        if (isnan(rank))
            continue;
        if (!entry) {
            entry = &group->entries[group->count++];
            *entry = (struct entry){.name = name, .least = INFINITY, .most = -INFINITY};
        }
        entry->ranked++;
        entry->first += rank == 1;
        entry->shared += rank == 1 && json_is_true(tb_member(row, "shared"));
        if (!against_mimalloc)
            continue;
        entry->cells++;
        entry->logs += log(times);
        entry->locus_logs += log(locus);
        entry->least = fmin(entry->least, times);
        entry->most = fmax(entry->most, times);
    }
}

// -INFINITY: it shares no cell with mimalloc.
static double mean_of(const struct entry *entry, double logs)
{
    return entry->cells > 0 ? exp(logs / (double)entry->cells) : -INFINITY;
}

static int by_mean(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    double means[] = {mean_of(a, a->logs), mean_of(b, b->logs)};
    return means[0] != means[1] ? means[0] < means[1] ? 1 : -1 : strcmp(a->name, b->name);
}

static json_t *entry_json(const struct entry *entry)
{
    const struct tb_json_member members[] = {
        {"name", json_string(entry->name)},
        {"cells", json_integer((json_int_t)entry->cells)},
        {"mean_times_faster", tb_json_number(mean_of(entry, entry->logs))},
        {"least", tb_json_number(entry->least)},
        {"most", tb_json_number(entry->most)},
        {"locus_mean", tb_json_number(mean_of(entry, entry->locus_logs))},
        {"ranked", json_integer((json_int_t)entry->ranked)},
        {"first", json_integer((json_int_t)entry->first)},
        {"shared", json_integer((json_int_t)entry->shared)},
    };
    return TB_JSON_OBJECT(members);
}

// "On bm1 locus is 1.53 times as fast as mimalloc, unbeaten on 23 of 36 cells."
static void say_sentence(struct tb_words *words, const struct group *group)
{
    const struct entry *locus = find(group, TB_SCOREBOARD_FOCUS);
    const char *touch = strcmp(group->touch, "none") == 0 ? ", untouched," : ", one byte touched,";
    char number[16];
    tb_say(words, "On %s%s " TB_SCOREBOARD_FOCUS, group->host, strcmp(group->touch, "full") ? touch : "");
    if (locus && locus->cells > 0)
        tb_say(words, " is %s times as fast as " TB_SCOREBOARD_BASELINE ", unbeaten on %zu of %zu cells.",
               tb_text_number(number, mean_of(locus, locus->logs)), locus->first, locus->ranked);
    else
        tb_say(words, " was not measured beside " TB_SCOREBOARD_BASELINE ".");
}

static json_t *group_json(struct group *group)
{
    struct tb_words sentence = {0};
    json_t *contenders = json_array();
    qsort(group->entries, group->count, sizeof *group->entries, by_mean);
    say_sentence(&sentence, group);
    for (size_t i = 0; i < group->count; i++)
        contenders = tb_json_appended(contenders, entry_json(&group->entries[i]));
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "host", group->host, "touch", group->touch, "cells", (json_int_t)group->cells,
                     "sentence", sentence.text, "contenders", contenders);
}

// The first table is of the group.
static json_t *sum_up(const json_t *tables, size_t first, struct group *group)
{
    size_t room = 0;
    for (size_t i = first; i < json_array_size(tables); i++)
        room += json_array_size(tb_member(json_array_get(tables, i), "contenders"));
    group->entries = calloc(room + 1, sizeof *group->entries);
    for (size_t i = first; group->entries && i < json_array_size(tables); i++)
        if (belongs(group, json_array_get(tables, i)))
            add_table(group, json_array_get(tables, i));
    json_t *out = group->entries ? group_json(group) : NULL;
    free(group->entries);
    return out;
}

json_t *tb_scoreboard_standing(const json_t *tables)
{
    json_t *out = json_array();
    const json_t *table;
    size_t i;
    json_array_foreach (tables, i, table) {
        struct group group = {tb_member_text(table, "host"), tb_member_text(table, "touch"), NULL, 0, 0};
        size_t before = 0;
        while (before < i && !belongs(&group, json_array_get(tables, before)))
            before++;
        if (before == i && belongs(&group, table))
            out = tb_json_appended(out, sum_up(tables, i, &group));
    }
    return out;
}
