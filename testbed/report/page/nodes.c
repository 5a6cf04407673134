// SPDX-License-Identifier: Apache-2.0
//
// nodes: what a run of many nodes counted, by cell and arm: how far blocks wandered off their node while the trace went on, the
// shares that arms are compared by, and for each arm who touched what where, the homes, and where the kernel put the pages. A log
// without `nodes` in its samples has none of it, and nothing is written.
//
// Of several rounds the median is drawn, and the least and the most where they differ: a count that is the same in every round is
// a stronger word than a median. An arm's tables have the figures of the first round, with the least and the most of all.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/page/page.h"

enum { NODES_ALL_SHOWN = 4 };   // up to here pairs without a touch are named as well: that nothing happened is the finding

// The valid samples of an arm in a cell that know of nodes, in the order of the log.
struct rounds {
    const json_t *header;
    const char *arm, *cell;
    const json_t **samples;     // [count], they belong to the view
    double *scratch;            // [count]
    size_t count, left_out;     // left_out: not valid
};

static bool rounds_open(const struct tb_log_view *view, size_t cell, const char *cell_name, const char *arm, struct rounds *out)
{
    *out = (struct rounds){.header = view->header, .arm = arm, .cell = cell_name};
    out->samples = calloc(view->samples_count + 1, sizeof(const json_t *));
    out->scratch = calloc(view->samples_count + 1, sizeof *out->scratch);
    for (size_t i = 0; out->samples && out->scratch && i < view->samples_count; i++) {
        const json_t *sample = view->samples[i].line;
        if (!json_is_object(tb_member(sample, "nodes")) || tb_member_number(sample, "cell") != (double)cell ||
            strcmp(tb_member_text(sample, "arm"), arm))
            continue;
        if (json_is_true(tb_member(sample, "valid")))
            out->samples[out->count++] = sample;
        else
            out->left_out++;
    }
    return out->count + out->left_out > 0;
}

static void rounds_close(struct rounds *rounds)
{
    free(rounds->samples);
    free(rounds->scratch);
}

// --- one figure over all rounds ------------------------------------------------------------------------------------------------

typedef double reader(const json_t *sample, const void *what); // NAN: it has none

static double read_member(const json_t *sample, const void *path)
{
    return tb_member_number(sample, path);
}

// The median or, with `first`, the first round's; with the least and the most where they differ.
static struct tb_value read_all(const struct rounds *rounds, bool first, reader *read, const void *what)
{
    double low = NAN, high = NAN, shown = NAN;
    size_t count = 0;
    for (size_t i = 0; i < rounds->count; i++) {
        double value = read(rounds->samples[i], what);
        if (isnan(value))
            continue;
        shown = count == 0 ? value : shown;
        low = fmin(low, value); // of NAN and a number: the number
        high = fmax(high, value);
        rounds->scratch[count++] = value;
    }
    if (!first)
        shown = tb_median(rounds->scratch, count);
    if (low < high)
        return tb_interval_of(shown, low, high, 1);
    return shown >= 1 && shown == floor(shown) ? tb_count((uint64_t)shown) : tb_number(shown);
}

struct pair {
    const char *kind;
    double from, to;
};

static double read_pair(const json_t *sample, const void *what)
{
    const struct pair *pair = what;
    char path[64];
    const json_t *row;
    size_t i;
    snprintf(path, sizeof path, "nodes.%s.pairs", pair->kind);
    json_array_foreach (tb_member(sample, path), i, row)
        if (json_number_value(json_array_get(row, 0)) == pair->from && json_number_value(json_array_get(row, 1)) == pair->to)
            return json_number_value(json_array_get(row, 2));
    return tb_member(sample, path) ? 0 : NAN;
}

// The row of a list whose `key` is `number`: nodes.homes, .before, .after.
struct row {
    const char *list, *key, *member;
    double number;
};

static const json_t *find_row(const json_t *sample, const struct row *row)
{
    const json_t *found;
    char path[64];
    size_t i;
    snprintf(path, sizeof path, "nodes.%s", row->list);
    json_array_foreach (tb_member(sample, path), i, found)
        if (tb_member_number(found, row->key) == row->number)
            return found;
    return NULL;
}

static double read_row(const json_t *sample, const void *what)
{
    return tb_member_number(find_row(sample, what), ((const struct row *)what)->member);
}

static double read_remote_share(const json_t *sample, const void *kind)
{
    char path[64];
    snprintf(path, sizeof path, "nodes.%s.local", (const char *)kind);
    double local = tb_member_number(sample, path);
    snprintf(path, sizeof path, "nodes.%s.remote", (const char *)kind);
    double remote = tb_member_number(sample, path);
    return local + remote > 0 ? remote / (local + remote) : NAN;
}

static double read_stretch(const json_t *sample, const void *what)
{
    const json_t *point = json_array_get(tb_member(sample, "nodes.drift"), *(const size_t *)what);
    double allocated = json_number_value(json_array_get(point, 0)), wandered = json_number_value(json_array_get(point, 1));
    return allocated > 0 ? wandered / allocated : NAN; // nothing was handed out, or there is no such stretch
}

// --- the arms, side by side ----------------------------------------------------------------------------------------------------

static void put_drift(struct tb_curves *curves, const struct rounds *rounds)
{
    size_t stretches = 0;
    char words[160];
    for (size_t r = 0; r < rounds->count; r++) {
        size_t count = json_array_size(tb_member(rounds->samples[r], "nodes.drift"));
        stretches = count > stretches ? count : stretches;
    }
    tb_curves_line(curves, tb_arm_words(rounds->header, rounds->arm, words));
    for (size_t i = 0; i < stretches; i++)
        tb_curves_point(curves, ((double)i + 0.5) / (double)stretches, read_all(rounds, false, read_stretch, &i));
}

static void put_shares(struct tb_table *table, const struct rounds *rounds)
{
    static const char *const members[] = {"wandered_ratio", "remote_touch_ratio", "abroad_free_ratio", "nodes.pages_moved",
                                          "nodes.pages_repaired"};
    char words[160];
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(rounds->arm));
    tb_table_put(table, tb_text_value(tb_arm_words(rounds->header, rounds->arm, words)));
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        tb_table_put(table, read_all(rounds, false, read_member, members[m]));
    tb_table_put(table, tb_count(rounds->count));
    tb_table_put(table, rounds->left_out ? tb_toned(tb_count(rounds->left_out), TB_TONE_POOR) : tb_count(0));
}

// --- one arm -------------------------------------------------------------------------------------------------------------------

static const char *const kinds[] = {"touches", "allocations", "frees"};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool pair_happened(const struct rounds *rounds, double from, double to)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct tb_value value = read_all(rounds, true, read_pair, &(struct pair){kinds[k], from, to});
        if (value.number > 0 || value.high > 0)
            return true;
    }
    return false;
}

static void put_pairs(struct tb_doc *doc, const struct rounds *rounds)
{
    static const struct tb_column columns[] = {{"where", "where", TB_AS_IS, false},
                                               {"touches", "touches", TB_AS_IS, false},
                                               {"allocations", "blocks handed out", TB_AS_IS, false},
                                               {"frees", "blocks freed", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    static const char *const sums[][2] = {{"local", "on its own node"},
                                          {"remote", "on another node"},
                                          {"unknown", "nobody knows where"},
                                          {"abroad", "kept abroad"}};
    const json_t *nodes = tb_member(rounds->samples[0], "nodes.os"), *from, *to;
    struct tb_table *table = tb_doc_table(doc, "pairs", NULL, columns);
    size_t i, j;
    json_array_foreach (nodes, i, from)
        json_array_foreach (nodes, j, to) {
            struct pair pair = {NULL, json_number_value(from), json_number_value(to)};
            char where[64];
            if (json_array_size(nodes) > NODES_ALL_SHOWN && !pair_happened(rounds, pair.from, pair.to))
                continue;
            snprintf(where, sizeof where, "CPU on %g, page on %g", pair.from, pair.to);
            tb_table_row(table, TB_ROW_PLAIN);
            tb_table_put(table, tb_text_value(where));
            for (size_t k = 0; k < KINDS; k++) {
                pair.kind = kinds[k];
                tb_table_put(table, read_all(rounds, true, read_pair, &pair));
            }
        }
    tb_table_gap(table);
    for (size_t s = 0; s < sizeof sums / sizeof *sums; s++) {
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(sums[s][1]));
        for (size_t k = 0; k < KINDS; k++) {
            char path[64];
            snprintf(path, sizeof path, "nodes.%s.%s", kinds[k], sums[s][0]);
            tb_table_put(table, read_all(rounds, true, read_member, path));
        }
    }
    static const struct tb_column shares[] = {{"touches", "remote touches", TB_AS_SHARE, false},
                                              {"allocations", "handed out remotely", TB_AS_SHARE, false},
                                              {"frees", "freed remotely", TB_AS_SHARE, false},
                                              {NULL, NULL, TB_AS_IS, false}};
    table = tb_doc_table(doc, "remote", NULL, shares);
    tb_table_row(table, TB_ROW_PLAIN);
    for (size_t k = 0; k < KINDS; k++)
        tb_table_put(table, read_all(rounds, true, read_remote_share, kinds[k]));
}

static bool balanced(const struct rounds *rounds, double node)
{
    for (size_t r = 0; r < rounds->count; r++) {
        const json_t *home = find_row(rounds->samples[r], &(struct row){"homes", "node", NULL, node});
        if (tb_member_number(home, "allocated") != tb_member_number(home, "freed") ||
            tb_member_number(home, "pushed") != tb_member_number(home, "drained"))
            return false;
    }
    return true;
}

static void put_homes(struct tb_doc *doc, const struct rounds *rounds)
{
    static const struct tb_column columns[] = {{"home", "home node", TB_AS_IS, false},
                                               {"allocated", "blocks allocated", TB_AS_IS, false},
                                               {"freed", "freed", TB_AS_IS, false},
                                               {"pushed", "requests pushed", TB_AS_IS, false},
                                               {"drained", "drained", TB_AS_IS, false},
                                               {"balanced", "all home", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "homes", NULL, columns);
    const json_t *home;
    size_t i;
    json_array_foreach (tb_member(rounds->samples[0], "nodes.homes"), i, home) {
        double node = tb_member_number(home, "node");
        bool all = balanced(rounds, node);
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_number(node));
        for (size_t m = 1; m <= 4; m++)
            tb_table_put(table, read_all(rounds, true, read_row, &(struct row){"homes", "node", columns[m].key, node}));
        tb_table_put(table, tb_toned(tb_flag(all), all ? TB_TONE_GOOD : TB_TONE_BAD));
    }
}

// --- where the kernel put the pages --------------------------------------------------------------------------------------------

// Is what is not a number the same in every round?
static bool same_words(const struct rounds *rounds, const struct row *row)
{
    static const char *const words[] = {"requested", "granted", "why", "on", "numa_maps"};
    const json_t *first = find_row(rounds->samples[0], row);
    for (size_t r = 1; r < rounds->count; r++)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            if (!json_equal(tb_member(first, words[w]), tb_member(find_row(rounds->samples[r], row), words[w])))
                return false;
    return true;
}

// "0: 512, 1: 3"
static void put_on(struct tb_table *table, const json_t *place)
{
    struct tb_words words = {.used = 0};
    const json_t *pair;
    size_t i;
    json_array_foreach (tb_member(place, "on"), i, pair)
        tb_say(&words, "%s%.0f: %.0f", i > 0 ? ", " : "", json_number_value(json_array_get(pair, 0)),
               json_number_value(json_array_get(pair, 1)));
    tb_table_put(table, tb_text_value(words.text));
}

static void put_place(struct tb_table *table, const struct rounds *rounds, const char *phase, double station)
{
    struct row row = {phase, "station", "present", station};
    const json_t *place = find_row(rounds->samples[0], &row), *maps = tb_member(place, "numa_maps");
    const char *granted = tb_member_text(place, "granted"), *why = tb_member_text(place, "why");
    char said[300];
    if (!place)
        return;
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_number(station));
    tb_table_put(table, tb_text_value(phase));
    tb_table_put(table, tb_text_value(tb_member_text(place, "requested")));
    snprintf(said, sizeof said, "%s: %.200s", granted[0] ? granted : "not granted", why[0] ? why : "no reason known");
    tb_table_put(table, granted[0] && !why[0] ? tb_text_value(granted) : tb_toned(tb_text_value(said), TB_TONE_BAD));
    tb_table_put(table, read_all(rounds, true, read_row, &row));
    row.member = "elsewhere";
    tb_table_put(table, read_all(rounds, true, read_row, &row));
    put_on(table, place);
    tb_table_put(table, json_is_true(maps)      ? tb_text_value("agrees")
                        : json_is_boolean(maps) ? tb_toned(tb_text_value("disagrees"), TB_TONE_BAD)
                                                : tb_text_value("could not be read"));
    tb_table_put(table, tb_text_value(same_words(rounds, &row) ? "" : "otherwise in other rounds"));
}

static void put_placement(struct tb_doc *doc, const struct rounds *rounds)
{
    static const struct tb_column columns[] = {{"station", "blocks of node", TB_AS_IS, false},
                                               {"phase", "verified", TB_AS_IS, false},
                                               {"requested", "requested", TB_AS_IS, false},
                                               {"granted", "granted", TB_AS_IS, false},
                                               {"present", "pages present", TB_AS_IS, false},
                                               {"elsewhere", "elsewhere", TB_AS_IS, false},
                                               {NULL, "node: pages", TB_AS_IS, false},
                                               {"maps", "numa_maps", TB_AS_IS, false},
                                               {NULL, "rounds", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    const json_t *before = tb_member(rounds->samples[0], "nodes.before"), *place;
    size_t i;
    if (json_array_size(before) == 0) {
        tb_doc_say(doc, NULL, "It asks the kernel for no placement.");
        return;
    }
    struct tb_table *table = tb_doc_table(doc, "placement", NULL, columns);
    json_array_foreach (before, i, place) {
        put_place(table, rounds, "before", tb_member_number(place, "station"));
        put_place(table, rounds, "after", tb_member_number(place, "station"));
    }
}

static void put_balancing(struct tb_doc *doc, const struct rounds *rounds)
{
    tb_doc_fact(doc, "hint_faults", "NUMA balancing of the whole system meanwhile: hint faults", TB_AS_IS,
                read_all(rounds, true, read_member, "nodes.balancing.hint_faults"));
    tb_doc_fact(doc, "pages_migrated", "pages migrated", TB_AS_IS,
                read_all(rounds, true, read_member, "nodes.balancing.pages_migrated"));
}

// --- all of it -----------------------------------------------------------------------------------------------------------------

// The kernel's balancing is that of the whole system, and so no part of this.
static bool rounds_equal(const struct rounds *rounds)
{
    static const char *const parts[] = {"os",    "homes",  "touches", "allocations", "frees",
                                        "drift", "before", "after",   "pages_moved", "pages_repaired"};
    for (size_t r = 1; r < rounds->count; r++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            if (!json_equal(tb_member(tb_member(rounds->samples[0], "nodes"), parts[p]),
                            tb_member(tb_member(rounds->samples[r], "nodes"), parts[p])))
                return false;
    return true;
}

static void put_arm(struct tb_doc *doc, const struct rounds *rounds)
{
    bool equal = rounds_equal(rounds);
    char title[300], words[160];
    if (rounds->count == 0)
        return;
    snprintf(title, sizeof title, "%s in %.80s: %zu round%s%s", tb_arm_words(rounds->header, rounds->arm, words), rounds->cell,
             rounds->count, rounds->count == 1 ? "" : "s",
             rounds->count == 1 ? ""
             : equal            ? ", all equal"
                                : ", not all equal");
    tb_doc_folded(doc, 4, "arm", title);
    tb_doc_fact(doc, "arm", NULL, TB_AS_IS, tb_text_value(rounds->arm));
    tb_doc_fact(doc, "equal", NULL, TB_AS_IS, tb_flag(equal));
    put_pairs(doc, rounds);
    put_homes(doc, rounds);
    put_placement(doc, rounds);
    put_balancing(doc, rounds);
}

static void put_cell(struct tb_doc *doc, const struct tb_log_view *view, size_t cell, bool *begun)
{
    static const struct tb_column columns[] = {
        {"arm", NULL, TB_AS_IS, false},
        {NULL, "arm", TB_AS_IS, false},
        {"wandered_ratio", "blocks wandered", TB_AS_SHARE, false},
        {"remote_touch_ratio", "remote touches", TB_AS_SHARE, false},
        {"abroad_free_ratio", "frees kept abroad", TB_AS_SHARE, false},
        {"pages_moved", "pages moved", TB_AS_IS, false},
        {"pages_repaired", "moved back", TB_AS_IS, false},
        {"rounds", "rounds", TB_AS_IS, false},
        {"left_out", "not valid", TB_AS_IS, false},
        {NULL, NULL, TB_AS_IS, false},
    };
    const json_t *arms = tb_member(view->header, "arms");
    size_t count = json_array_size(arms), known = 0;
    struct rounds *rounds = calloc(count + 1, sizeof *rounds);
    char name[160];
    tb_member_cell(json_array_get(tb_member(view->header, "cells"), cell), name, sizeof name);
    for (size_t i = 0; rounds && i < count; i++) {
        bool any = rounds_open(view, cell, name, tb_member_text(json_array_get(arms, i), "key"), &rounds[known]);
        if (any)
            known++;
        else
            rounds_close(&rounds[known]);
    }
    if (known > 0 && !*begun) {
        tb_doc_heading(doc, 2, NULL, "Node by node");
        tb_doc_say(doc, NULL,
                   "Counted in laps of their own, before the timed ones: for every touch the CPU's node is held against "
                   "the node where the kernel has the page, and no handle is believed. A line is the median of the "
                   "rounds, the bars about it go from the least to the most.");
        *begun = true;
    }
    if (known > 0) {
        tb_doc_heading(doc, 3, "nodes", name);
        struct tb_curves *curves = tb_doc_curves(doc, "drift", "Blocks on another node than their scheduler, of those handed out",
                                                 (struct tb_curve_axis){"of the counted laps", TB_AS_SHARE, false},
                                                 (struct tb_curve_axis){"wandered", TB_AS_SHARE, false});
        for (size_t i = 0; i < known; i++)
            put_drift(curves, &rounds[i]);
        struct tb_table *table = tb_doc_table(doc, "shares", NULL, columns);
        for (size_t i = 0; i < known; i++)
            put_shares(table, &rounds[i]);
    }
    for (size_t i = 0; i < known; i++) {
        put_arm(doc, &rounds[i]);
        rounds_close(&rounds[i]);
    }
    free(rounds);
}

void tb_page_nodes(struct tb_doc *doc, const struct tb_log_view *view)
{
    size_t cells = json_array_size(tb_member(view->header, "cells"));
    bool begun = false;
    for (size_t cell = 0; cell < cells; cell++)
        put_cell(doc, view, cell, &begun);
}
