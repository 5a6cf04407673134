// SPDX-License-Identifier: Apache-2.0
//
// html_pairs: one arm in one cell, node by node: from which node's CPUs which node's pages were touched, what each home handed out
// and got back, and where the kernel put the pages, as asked for and as found. Figures are those of the first round; where other
// rounds have others, the least and the most stand beside them.
#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/page/html_nodes.h"
#include "testbed/report/page/html_page.h"

enum { NODES_ALL_SHOWN = 4 };   // up to here pairs without a touch are named as well: that nothing happened is the finding

static const struct {
    const char *member, *title;
} kinds[] = {{"touches", "touches"}, {"allocations", "blocks handed out"}, {"frees", "blocks freed"}};

enum { KINDS = sizeof kinds / sizeof *kinds, FREES = 2 };

// --- figures ---

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

static void put_figure(FILE *out, const char *what, const struct tb_reading *reading, bool share)
{
    tb_html(out, "<td data-figure=\"@\" data-n=\"@\" data-low=\"@\" data-high=\"@\">", what, TB_EXACT(reading->first),
            TB_EXACT(reading->low), TB_EXACT(reading->high));
    tb_html_reading(out, reading, reading->first, share);
    fputs("</td>", out);
}

// --- from CPU to page ---

static bool pair_happened(const struct tb_rounds *rounds, double from, double to)
{
    for (size_t k = 0; k < KINDS; k++)
        if (tb_read_rounds(rounds, read_pair, &(struct pair){kinds[k].member, from, to}).high > 0)
            return true;
    return false;
}

static void put_pair(FILE *out, const struct tb_rounds *rounds, double from, double to)
{
    tb_html(out, "<tr data-from=\"@\" data-to=\"@\"><th scope=\"row\">CPU on @ \u2192 page on @</th>", TB_EXACT(from), TB_EXACT(to),
            TB_EXACT(from), TB_EXACT(to));
    for (size_t k = 0; k < KINDS; k++) {
        struct tb_reading reading = tb_read_rounds(rounds, read_pair, &(struct pair){kinds[k].member, from, to});
        put_figure(out, kinds[k].member, &reading, false);
    }
    fputs("</tr>\n", out);
}

static void put_sum(FILE *out, const struct tb_rounds *rounds, const char *title, const char *member)
{
    tb_html(out, "<tr class=\"sum\" data-sum=\"@\"><th scope=\"row\">@</th>", member, title);
    for (size_t k = 0; k < KINDS; k++) {
        char path[64];
        snprintf(path, sizeof path, "nodes.%s.%s", kinds[k].member, member);
        bool share = strcmp(member, "share") == 0;
        struct tb_reading reading =
            share ? tb_read_rounds(rounds, read_remote_share, kinds[k].member) : tb_read_rounds(rounds, tb_read_member, path);
        put_figure(out, kinds[k].member, &reading, share);
    }
    fputs("</tr>\n", out);
}

static void put_pairs(FILE *out, const struct tb_rounds *rounds)
{
    const json_t *nodes = tb_member(rounds->samples[0], "nodes.os"), *from, *to;
    size_t i, j;
    fputs("<div class=\"wide\"><table class=\"pairs\"><thead><tr><th scope=\"col\">where</th>", out);
    for (size_t k = 0; k < KINDS; k++)
        tb_html(out, "<th scope=\"col\">@</th>", kinds[k].title);
    fputs("</tr></thead><tbody>\n", out);
    json_array_foreach (nodes, i, from)
        json_array_foreach (nodes, j, to)
            if (json_array_size(nodes) <= NODES_ALL_SHOWN || pair_happened(rounds, json_number_value(from), json_number_value(to)))
                put_pair(out, rounds, json_number_value(from), json_number_value(to));
    put_sum(out, rounds, "on its own node", "local");
    put_sum(out, rounds, "on another node", "remote");
    put_sum(out, rounds, "nobody knows where", "unknown");
    put_sum(out, rounds, "remote share, %", "share");
    put_sum(out, rounds, "kept abroad", "abroad");
    fputs("</tbody></table></div>\n", out);
}

// --- homes ---

static bool balanced(const struct tb_rounds *rounds, double node)
{
    for (size_t r = 0; r < rounds->count; r++) {
        const json_t *home = find_row(rounds->samples[r], &(struct row){"homes", "node", NULL, node});
        if (tb_member_number(home, "allocated") != tb_member_number(home, "freed") ||
            tb_member_number(home, "pushed") != tb_member_number(home, "drained"))
            return false;
    }
    return true;
}

static void put_homes(FILE *out, const struct tb_rounds *rounds)
{
    static const char *const members[] = {"allocated", "freed", "pushed", "drained"};
    const json_t *home;
    size_t i;
    fputs("<div class=\"wide\"><table class=\"homes\"><thead><tr><th scope=\"col\">home</th><th scope=\"col\">blocks allocated</th>"
          "<th scope=\"col\">freed</th><th scope=\"col\">requests pushed</th><th scope=\"col\">drained</th>"
          "<th scope=\"col\">all home</th></tr></thead><tbody>\n",
          out);
    json_array_foreach (tb_member(rounds->samples[0], "nodes.homes"), i, home) {
        double node = tb_member_number(home, "node");
        bool all = balanced(rounds, node);
        tb_html(out, "<tr data-home=\"@\"><th scope=\"row\">node @</th>", TB_EXACT(node), TB_EXACT(node));
        for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
            struct tb_reading reading = tb_read_rounds(rounds, read_row, &(struct row){"homes", "node", members[m], node});
            put_figure(out, members[m], &reading, false);
        }
        tb_html(out, "<td class=\"@\" data-balanced=\"@\">@</td></tr>\n", all ? "" : "bad", all ? "yes" : "no",
                all ? "\u2713" : "\u2717 no");
    }
    fputs("</tbody></table></div>\n", out);
}

// --- placement ---

// "0: 512, 1: 3"
static void put_on(FILE *out, const json_t *place)
{
    const json_t *pair;
    size_t i;
    fputs("<td class=\"text\">", out);
    json_array_foreach (tb_member(place, "on"), i, pair)
        tb_html(out, "@@: @", i > 0 ? ", " : "", TB_WHOLE(json_number_value(json_array_get(pair, 0))),
                TB_WHOLE(json_number_value(json_array_get(pair, 1))));
    fputs("</td>", out);
}

static void put_witness(FILE *out, const json_t *place)
{
    const json_t *maps = tb_member(place, "numa_maps");
    if (json_is_boolean(maps))
        tb_html(out, "<td class=\"text@\" data-maps=\"@\">@</td>", json_is_true(maps) ? "" : " bad",
                json_is_true(maps) ? "yes" : "no", json_is_true(maps) ? "agrees" : "disagrees");
    else
        fputs("<td class=\"text\" data-maps=\"unread\">could not be read</td>", out);
}

// Is what is not a number the same in every round?
static bool same_words(const struct tb_rounds *rounds, const struct row *row)
{
    static const char *const words[] = {"requested", "granted", "why", "on", "numa_maps"};
    const json_t *first = find_row(rounds->samples[0], row);
    for (size_t r = 1; r < rounds->count; r++)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            if (!json_equal(tb_member(first, words[w]), tb_member(find_row(rounds->samples[r], row), words[w])))
                return false;
    return true;
}

static void put_place(FILE *out, const struct tb_rounds *rounds, const char *phase, double station)
{
    struct row row = {phase, "station", "present", station};
    const json_t *place = find_row(rounds->samples[0], &row);
    const char *granted = tb_member_text(place, "granted"), *why = tb_member_text(place, "why");
    if (!place)
        return;
    tb_html(out, "<tr data-phase=\"@\" data-station=\"@\" data-requested=\"@\" data-granted=\"@\"><th scope=\"row\">node @</th>",
            phase, TB_EXACT(station), tb_member_text(place, "requested"), granted, TB_EXACT(station));
    tb_html(out, "<td class=\"text\">@</td><td class=\"text\">@</td>", phase, tb_member_text(place, "requested"));
    if (granted[0] && !why[0])
        tb_html(out, "<td class=\"text\">@</td>", granted);
    else
        tb_html(out, "<td class=\"text bad\">@: @</td>", granted[0] ? granted : "not granted", why[0] ? why : "no reason known");
    struct tb_reading present = tb_read_rounds(rounds, read_row, &row);
    row.member = "elsewhere";
    struct tb_reading elsewhere = tb_read_rounds(rounds, read_row, &row);
    put_figure(out, "present", &present, false);
    put_figure(out, "elsewhere", &elsewhere, false);
    put_on(out, place);
    put_witness(out, place);
    tb_html(out, "<td class=\"text\">@</td></tr>\n", same_words(rounds, &row) ? "" : "otherwise in other rounds");
}

static void put_placement(FILE *out, const struct tb_rounds *rounds)
{
    const json_t *before = tb_member(rounds->samples[0], "nodes.before"), *place;
    size_t i;
    if (json_array_size(before) == 0) {
        fputs("<p class=\"note\">It asks the kernel for no placement.</p>\n", out);
        return;
    }
    fputs("<div class=\"wide\"><table class=\"placement\"><thead><tr><th scope=\"col\">blocks of</th>"
          "<th scope=\"col\" class=\"text\">verified</th><th scope=\"col\" class=\"text\">requested</th>"
          "<th scope=\"col\" class=\"text\">granted</th><th scope=\"col\">pages present</th><th scope=\"col\">elsewhere</th>"
          "<th scope=\"col\" class=\"text\">node: pages</th><th scope=\"col\" class=\"text\">numa_maps</th><th></th></tr></thead>\n"
          "<tbody>\n",
          out);
    json_array_foreach (before, i, place) {
        put_place(out, rounds, "before", tb_member_number(place, "station"));
        put_place(out, rounds, "after", tb_member_number(place, "station"));
    }
    fputs("</tbody></table></div>\n", out);
}

// --- all of it ---

// The kernel's balancing is that of the whole system, and so no part of this.
static bool rounds_equal(const struct tb_rounds *rounds)
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

static void put_title(FILE *out, const struct tb_rounds *rounds, bool equal)
{
    struct tb_reading share = tb_read_rounds(rounds, read_remote_share, "touches");
    fputs("<summary>", out);
    tb_html_arm(out, &rounds->arm);
    tb_html(out, " <small class=\"meta\">remote touches @@, @ round@@</small></summary>\n", TB_SHARE(share.first),
            isnan(share.first) ? "" : "\u202f%", TB_COUNT(rounds->count), rounds->count == 1 ? "" : "s",
            rounds->count == 1 ? ""
            : equal            ? ", all equal"
                               : ", not all equal");
}

static void put_pages(FILE *out, const struct tb_rounds *rounds)
{
    struct tb_reading faults = tb_read_rounds(rounds, tb_read_member, "nodes.balancing.hint_faults");
    struct tb_reading migrated = tb_read_rounds(rounds, tb_read_member, "nodes.balancing.pages_migrated");
    if (faults.count == 0) {
        fputs("<p class=\"note\">This kernel does not count NUMA balancing.</p>\n", out);
    } else {
        tb_html(out,
                "<p class=\"note\" data-migrated=\"@\">NUMA balancing of the whole system meanwhile: ", TB_EXACT(migrated.high));
        tb_html_reading(out, &faults, faults.first, false);
        fputs(" hint faults, ", out);
        tb_html_reading(out, &migrated, migrated.first, false);
        fputs(" pages migrated.</p>\n", out);
    }
}

void tb_html_pairs(FILE *out, const struct tb_node_cell *cell, const struct tb_rounds *rounds)
{
    bool equal = rounds_equal(rounds);
    char name[160];
    tb_html_cell_name(cell->view->header, cell->cell, name, sizeof name);
    tb_html(out, "<details class=\"fold raw pairs-of\" data-node-arm=\"@\" data-cell=\"@\" data-rounds=\"@\" data-equal=\"@\">",
            rounds->arm.key, name, TB_COUNT(rounds->count), equal ? "yes" : "no");
    put_title(out, rounds, equal);
    if (!equal)
        fputs("<p class=\"note\">These are the figures of the first round; in brackets the least and the most of all rounds.</p>\n",
              out);
    put_pairs(out, rounds);
    put_homes(out, rounds);
    put_placement(out, rounds);
    put_pages(out, rounds);
    fputs("</details>\n", out);
}
