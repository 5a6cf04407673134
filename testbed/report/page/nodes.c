// SPDX-License-Identifier: Apache-2.0
//
// nodes: what a run of many nodes counted. One table has a row for each arm: the shares that arms are compared by, and how often
// memory of another node was used. The other has a row for each arm and node: whether all blocks came home, and whether the kernel
// put the node's pages where they were asked for. A log without `nodes` in its samples has neither.
//
// A figure is the median of the valid rounds, with the least and the most where they differ: a count that is the same in every
// round says more than a median.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/page/page.h"

// An arm's samples in a cell or, with a list ("nodes.homes"), the row in each whose `key` is `node`.
struct rows {
    const struct tb_log_view *view;
    size_t cell;
    const char *arm, *list, *key;
    double node;
};

// The next row from sample `*i` on; NULL: there is none.
static const json_t *row_next(const struct rows *rows, bool valid, size_t *i)
{
    while (*i < rows->view->samples_count) {
        const struct tb_log_sample *own = &rows->view->samples[(*i)++];
        const json_t *sample = own->line, *row;
        size_t r;
        if (own->superseded || own->cell != rows->cell || strcmp(own->arm, rows->arm) ||
            !json_is_object(tb_member(sample, "nodes")) || json_is_true(tb_member(sample, "valid")) != valid)
            continue;
        if (!rows->list)
            return sample;
        json_array_foreach (tb_member(sample, rows->list), r, row)
            if (tb_member_number(row, rows->key) == rows->node)
                return row;
    }
    return NULL;
}

static size_t rows_count(const struct rows *rows, bool valid)
{
    size_t count = 0;
    for (size_t i = 0; row_next(rows, valid, &i);)
        count++;
    return count;
}

static struct tb_value figure(const struct rows *rows, const char *member)
{
    double *values = calloc(rows->view->samples_count + 1, sizeof *values), low = NAN, high = NAN;
    const json_t *row;
    size_t count = 0;
    for (size_t i = 0; values && (row = row_next(rows, true, &i));) {
        double value = tb_member_number(row, member);
        if (isnan(value))
            continue;
        low = fmin(low, value); // of NAN and a number: the number
        high = fmax(high, value);
        values[count++] = value;
    }
    double median = values ? tb_median(values, count) : NAN;
    free(values);
    return low < high ? tb_interval_of(median, low, high, 1) : tb_number(median);
}

static void put_arm(struct tb_table *table, const struct rows *rows, const char *words)
{
    static const char *const members[] = {"wandered_ratio",       "remote_touch_ratio",    "abroad_free_ratio",
                                          "nodes.touches.remote", "nodes.touches.unknown", "nodes.allocations.remote",
                                          "nodes.frees.remote",   "nodes.frees.abroad",    "nodes.pages_moved",
                                          "nodes.pages_repaired"};
    size_t invalid = rows_count(rows, false);
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value(rows->arm), tb_text_value(words));
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        tb_table_put(table, figure(rows, members[m]));
    tb_table_put(table, tb_count(rows_count(rows, true)));
    tb_table_put(table, tb_toned(tb_count(invalid), invalid ? TB_TONE_POOR : TB_TONE_PLAIN));
}

// --- by node -------------------------------------------------------------------------------------------------------------------

static bool is_balanced(const struct rows *homes)
{
    const json_t *home;
    for (size_t i = 0; (home = row_next(homes, true, &i));)
        if (tb_member_number(home, "allocated") != tb_member_number(home, "freed") ||
            tb_member_number(home, "pushed") != tb_member_number(home, "drained"))
            return false;
    return true;
}

// What the kernel did not do as it was asked, in whichever round; "": all of it was done.
static const char *placement_fault(const struct rows *places, char out[300])
{
    const json_t *place;
    out[0] = '\0';
    for (size_t i = 0; !out[0] && (place = row_next(places, true, &i));) {
        const char *granted = tb_member_text(place, "granted"), *why = tb_member_text(place, "why");
        if (!granted[0] || why[0])
            snprintf(out, 300, "%s: %.200s", granted[0] ? granted : "not granted", why[0] ? why : "no reason known");
        else if (json_is_false(tb_member(place, "numa_maps")))
            snprintf(out, 300, "numa_maps disagrees");
    }
    return out;
}

static void put_home(struct tb_table *table, struct rows rows, const char *words, double node)
{
    static const char *const members[] = {"allocated", "freed", "pushed", "drained"};
    char before[300], after[300];
    rows = (struct rows){rows.view, rows.cell, rows.arm, "nodes.homes", "node", node};
    bool balanced = is_balanced(&rows);
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value(rows.arm), tb_text_value(words), tb_number(node));
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        tb_table_put(table, figure(&rows, members[m]));
    tb_table_put(table, tb_toned(tb_flag(balanced), balanced ? TB_TONE_GOOD : TB_TONE_BAD));
    rows.key = "station";
    rows.list = "nodes.before";
    placement_fault(&rows, before);
    size_t i = 0;
    const json_t *place = row_next(&rows, true, &i);
    rows.list = "nodes.after";
    placement_fault(&rows, after);
    tb_table_put(table, !place                  ? tb_none("not asked for")
                        : before[0] || after[0] ? tb_toned(tb_text_value(before[0] ? before : after), TB_TONE_BAD)
                                                : tb_text_value(tb_member_text(place, "granted")));
    tb_table_put(table, figure(&rows, "present"));
    tb_table_put(table, figure(&rows, "elsewhere"));
}

// --- all of it -----------------------------------------------------------------------------------------------------------------

static void put_cell(struct tb_doc *doc, const struct tb_log_view *view, size_t cell, const char *name)
{
    static const struct tb_column columns[] = {{"arm", NULL, TB_AS_IS, false},
                                               {NULL, "arm", TB_AS_IS, false},
                                               {"wandered_ratio", "blocks wandered", TB_AS_SHARE, false},
                                               {"remote_touch_ratio", "remote touches", TB_AS_SHARE, false},
                                               {"abroad_free_ratio", "frees kept abroad", TB_AS_SHARE, false},
                                               {"touches", "touches of another node", TB_AS_IS, false},
                                               {"unknown", "of an unknown one", TB_AS_IS, false},
                                               {"allocations", "blocks handed out there", TB_AS_IS, false},
                                               {"frees", "freed there", TB_AS_IS, false},
                                               {"abroad", "kept there", TB_AS_IS, false},
                                               {"pages_moved", "pages moved", TB_AS_IS, false},
                                               {"pages_repaired", "moved back", TB_AS_IS, false},
                                               {"rounds", "rounds", TB_AS_IS, false},
                                               {"left_out", "not valid", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    const json_t *arms = tb_member(view->header, "arms"), *arm, *home;
    struct tb_table *counts = tb_doc_table(doc, "shares", name, columns);
    struct tb_table *nodes = tb_doc_grid(doc, "homes", NULL,
                                         "arm|=arm|home=home node|allocated=blocks allocated|freed=freed|pushed=requests pushed|"
                                         "drained=drained|balanced=all home|granted=placement|present=pages present|"
                                         "elsewhere=elsewhere");
    size_t a, h;
    json_array_foreach (arms, a, arm) {
        const struct rows rows = {.view = view, .cell = cell, .arm = tb_member_text(arm, "key")};
        char words[160];
        if (rows_count(&rows, true) + rows_count(&rows, false) == 0)
            continue;
        put_arm(counts, &rows, tb_arm_words(view->header, rows.arm, words));
        const json_t *first = row_next(&rows, true, &(size_t){0});
        json_array_foreach (tb_member(first, "nodes.homes"), h, home)
            put_home(nodes, rows, words, tb_member_number(home, "node"));
    }
}

void tb_page_nodes(struct tb_doc *doc, const struct tb_log_view *view)
{
    const json_t *cell;
    size_t c;
    bool any = false;
    for (size_t i = 0; i < view->samples_count; i++)
        any |= json_is_object(tb_member(view->samples[i].line, "nodes"));
    if (!any)
        return;
    tb_doc_heading(doc, 2, NULL, "Node by node");
    tb_doc_say(
        doc, NULL,
        "Counted in laps of their own, before the timed ones: for every touch the CPU's node is compared with the node where "
        "the kernel has the page, and no handle is believed. A figure is the median of the rounds, in brackets the least and "
        "the most where they differ.");
    json_array_foreach (tb_member(view->header, "cells"), c, cell) {
        char name[160];
        put_cell(doc, view, c, tb_member_cell(cell, name, sizeof name));
    }
}
