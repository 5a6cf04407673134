// SPDX-License-Identifier: Apache-2.0
//
// standing: the scoreboard's model (standing/scoreboard.h) and the hosts' (hosts/fleet.h) as parts of the page. A figure leads to
// the run behind it.
#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/hosts/fleet.h"
#include "testbed/report/page/page.h"
#include "testbed/report/standing/scoreboard.h"

static struct tb_value times_faster(const json_t *row)
{
    double estimate = tb_member_number(row, "times_faster.estimate");
    double low = tb_member_number(row, "times_faster.low"), high = tb_member_number(row, "times_faster.high");
    return isfinite(low) && low < high ? tb_interval_of(estimate, low, high, tb_member_number(row, "times_faster.confidence"))
                                       : tb_number(estimate);
}

static const char *run_link(const char *folder, const char *run, char out[256])
{
    char name[80];
    snprintf(out, 256, "%s%s%s.html", folder, *folder ? "/" : "", tb_page_name(run, name));
    return out;
}

// The row of locus itself, and who is first.
static const json_t *row_of(const json_t *table, const char *name)
{
    const json_t *row;
    size_t i;
    json_array_foreach (tb_member(table, "contenders"), i, row)
        if (name ? strcmp(tb_member_text(row, "name"), name) == 0 : tb_member_number(row, "rank") == 1)
            return row;
    return NULL;
}

static const char *const touches[][2] = {{"full", "written in full"}, {"byte", "touched by one byte"}, {"none", "not touched"}};
enum { TOUCHES = sizeof touches / sizeof *touches };

// --- the finding ---------------------------------------------------------------------------------------------------------------

// locus against mimalloc on a host at a touch, over all cells.
struct sum {
    double logs, least, most;
    size_t cells, counted, first, shared;
};

static struct sum sum_up(const json_t *board, const char *host, const char *touch)
{
    struct sum sum = {.least = INFINITY, .most = -INFINITY};
    const json_t *table;
    size_t i;
    json_array_foreach (tb_member(board, "tables"), i, table) {
        const json_t *row = row_of(table, "locus");
        double estimate = tb_member_number(row, "times_faster.estimate");
        if (!json_is_true(tb_member(table, "main")) || !row || strcmp(tb_member_text(table, "host"), host) ||
            strcmp(tb_member_text(table, "touch"), touch))
            continue;
        bool first = tb_member_number(row, "rank") == 1;
        sum.cells++;
        sum.first += first;
        sum.shared += first && json_is_true(tb_member(row, "shared"));
        if (!(estimate > 0) || strcmp(tb_member_text(table, "baseline"), "mimalloc"))
            continue;
        sum.counted++;
        sum.logs += log(estimate);
        sum.least = fmin(sum.least, estimate);
        sum.most = fmax(sum.most, estimate);
    }
    return sum;
}

bool tb_standing_finding(const json_t *board, const json_t *fleet, char *out, size_t bytes)
{
    const json_t *host, *best = NULL;
    struct sum most = {0};
    size_t i;
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        struct sum sum = sum_up(board, tb_member_text(host, "host"), "full");
        if (sum.counted > most.counted) {
            most = sum;
            best = host;
        }
    }
    if (!best)
        return false;
    snprintf(
        out, bytes,
        "On %s (%s; %s), blocks written in full, locus is %.2f times as fast as mimalloc (geometric mean of %zu cells, %.2f to "
        "%.2f) and first on %zu of %zu, a place that it shares on %zu.",
        tb_member_text(best, "host"), tb_member_text(best, "cpu"), tb_member_text(best, "topology"),
        exp(most.logs / (double)most.counted), most.counted, most.least, most.most, most.first, most.cells, most.shared);
    return true;
}

// --- the scoreboard ------------------------------------------------------------------------------------------------------------

static void put_sums(struct tb_doc *doc, const json_t *board, const json_t *hosts)
{
    static const struct tb_column columns[] = {{"host", "host", TB_AS_IS, false},
                                               {"touch", "blocks are", TB_AS_IS, false},
                                               {"mean", "times as fast as mimalloc,\nthe mean [and the range] of its cells",
                                                TB_AS_RATIO, true},
                                               {"cells", "cells", TB_AS_IS, false},
                                               {"first", "first on", TB_AS_IS, false},
                                               {"shared", "of these shared", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "standing", "locus", columns);
    for (size_t i = 0; i < json_array_size(hosts); i++)
        for (size_t t = 0; t < TOUCHES; t++) {
            const char *host = json_string_value(json_array_get(hosts, i));
            struct sum sum = sum_up(board, host, touches[t][0]);
            if (sum.cells == 0)
                continue;
            tb_table_row(table, TB_ROW_PLAIN);
            tb_table_put(table, tb_text_value(host));
            tb_table_put(table, tb_text_value(touches[t][1]));
            tb_table_put(table,
                         sum.counted ? tb_interval_of(exp(sum.logs / (double)sum.counted), sum.least, sum.most, 1) : tb_none(NULL));
            tb_table_put(table, tb_count(sum.cells));
            tb_table_put(table, tb_count(sum.first));
            tb_table_put(table, tb_count(sum.shared));
        }
}

static void put_cells(struct tb_doc *doc, const json_t *board, const char *host, const char *const touch[2], const char *folder)
{
    static const struct tb_column columns[] = {{"cell", "cell", TB_AS_IS, false},
                                               {"rank", "place of locus", TB_AS_IS, false},
                                               {"times", "times as fast as mimalloc", TB_AS_RATIO, true},
                                               {"first", "first", TB_AS_IS, false},
                                               {NULL, "run", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    const json_t *tables = tb_member(board, "tables"), *table;
    struct tb_table *of_touch = NULL;
    size_t i;
    json_array_foreach (tables, i, table) {
        const json_t *row = row_of(table, "locus"), *first = row_of(table, NULL);
        char rank[16], link[256];
        if (strcmp(tb_member_text(table, "host"), host) || strcmp(tb_member_text(table, "touch"), touch[0]) ||
            !json_is_true(tb_member(table, "main")) || !row)
            continue;
        if (!of_touch) {
            char title[128];
            snprintf(title, sizeof title, "%.60s: each cell, blocks %.40s", host, touch[1]);
            tb_doc_folded(doc, 3, NULL, title);
            of_touch = tb_doc_table(doc, "cells", NULL, columns);
            tb_table_scale(of_touch, touch[0]);
        }
        tb_table_row(of_touch, TB_ROW_PLAIN);
        tb_table_put(of_touch, tb_text_value(tb_member_text(table, "cell")));
        tb_table_put(of_touch, tb_text_value(tb_scoreboard_rank(row, rank)));
        tb_table_put(of_touch, strcmp(tb_member_text(table, "baseline"), "mimalloc") ? tb_none(NULL) : times_faster(row));
        tb_table_put(of_touch, tb_text_value(tb_member_text(first, "name")));
        const char *run = tb_member_text(table, "run");
        tb_table_put(of_touch, tb_linked(tb_text_value(run), run_link(folder, run, link)));
    }
}

// Each name once, in their order.
static json_t *hosts_of(const json_t *board)
{
    json_t *hosts = json_array();
    const json_t *table, *known;
    size_t i, h;
    json_array_foreach (tb_member(board, "tables"), i, table) {
        bool there = false;
        json_array_foreach (hosts, h, known)
            there |= strcmp(json_string_value(known), tb_member_text(table, "host")) == 0;
        if (!there)
            json_array_append_new(hosts, json_string(tb_member_text(table, "host")));
    }
    return hosts;
}

static void put_missing(struct tb_doc *doc, const json_t *board)
{
    static const struct tb_column columns[] = {{"missing", "no figure yet", TB_AS_IS, false},
                                               {NULL, "how to make one", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    static const char *const lists[][2] = {{"not_measured.cells", "cell"}, {"not_measured.contenders", "name"}};
    const json_t *entry;
    size_t i;
    tb_doc_folded(doc, 3, NULL, "What has no figure yet");
    struct tb_table *table = tb_doc_table(doc, "missing", NULL, columns);
    for (size_t l = 0; l < 2; l++)
        json_array_foreach (tb_member(board, lists[l][0]), i, entry) {
            tb_table_row(table, TB_ROW_PLAIN);
            tb_table_put(table, tb_text_value(tb_member_text(entry, lists[l][1])));
            tb_table_put(table, tb_text_value(tb_member_text(entry, "command")));
        }
}

void tb_page_standing(struct tb_doc *doc, const json_t *board, const char *folder)
{
    char link[256];
    json_t *hosts = hosts_of(board);
    tb_doc_heading(doc, 2, NULL, "Scoreboard");
    tb_doc_anchor(doc, "scoreboard");
    tb_doc_say(doc, NULL,
               "From the newest official run of each cell. A place with = is shared: the interval of the ratio to the first "
               "of the place holds 1.");
    put_sums(doc, board, hosts);
    for (size_t i = 0; i < json_array_size(hosts); i++)
        for (size_t t = 0; t < TOUCHES; t++)
            put_cells(doc, board, json_string_value(json_array_get(hosts, i)), touches[t], folder);
    put_missing(doc, board);
    tb_doc_heading(doc, 3, NULL, NULL);
    snprintf(link, sizeof link, "%s/scoreboard.html", folder);
    tb_doc_fact(doc, NULL, "Every contender in every cell", TB_AS_IS, tb_linked(tb_text_value("scoreboard.html"), link));
    json_decref(hosts);
}

static void put_table(struct tb_doc *doc, const json_t *table)
{
    static const char title_format[] = "times faster than %.60s";
    char title[96], settings[160], head[400], rank[16], predicted[24], link[256];
    const char *baseline = tb_member_text(table, "baseline"), *run = tb_member_text(table, "run");
    const json_t *row;
    size_t i;
    snprintf(title, sizeof title, title_format, *baseline ? baseline : "(nothing)");
    const struct tb_column columns[] = {{"contender", "contender", TB_AS_IS, false},
                                        {"rank", "rank", TB_AS_IS, false},
                                        {NULL, "median", TB_AS_TIME, false},
                                        {"times_faster", title, TB_AS_RATIO, true},
                                        {NULL, "MAD, %", TB_AS_IS, false},
                                        {NULL, "footprint, worst", TB_AS_RATIO, false},
                                        {NULL, "mean", TB_AS_RATIO, false},
                                        {NULL, "predicted", TB_AS_IS, false},
                                        {NULL, "gates", TB_AS_IS, false},
                                        {NULL, NULL, TB_AS_IS, false}};
    snprintf(head, sizeof head, "%.60s %.100s, %s%s", tb_member_text(table, "host"), tb_member_text(table, "cell"),
             tb_scoreboard_settings(table, settings, sizeof settings),
             json_is_true(tb_member(table, "main")) ? "" : "; with other contenders");
    tb_doc_folded(doc, 3, NULL, head);
    struct tb_table *out = tb_doc_table(doc, "board", NULL, columns);
    tb_table_scale(out, tb_member_text(table, "touch"));
    json_array_foreach (tb_member(table, "contenders"), i, row) {
        const char *invalid = tb_member_text(row, "invalid"), *kind = tb_member_text(row, "kind");
        bool ranked = strcmp(kind, "ranked") == 0;
        struct tb_value name = tb_text_value(tb_member_text(row, "name"));
        tb_table_row(out, ranked ? strcmp(name.text, "locus") ? TB_ROW_PLAIN : TB_ROW_OURS : TB_ROW_ASIDE);
        tb_table_put(out, ranked ? name : tb_detailed(name, kind));
        tb_table_put(out, tb_text_value(tb_scoreboard_rank(row, rank)));
        tb_table_put(out, tb_number(tb_member_number(row, "median_ns")));
        tb_table_put(out, times_faster(row));
        tb_table_put(out, tb_number(tb_member_number(row, "mad_percent")));
        tb_table_put(out, tb_number(tb_member_number(row, "footprint.worst")));
        tb_table_put(out, tb_number(tb_member_number(row, "footprint.mean")));
        tb_table_put(out, tb_text_value(tb_scoreboard_predicted(row, predicted)));
        tb_table_put(out, *invalid ? tb_toned(tb_text_value(invalid), TB_TONE_POOR) : tb_text_value("ok"));
    }
    tb_doc_fact(doc, NULL, "run", TB_AS_IS, tb_linked(tb_text_value(run), run_link("", run, link)));
    tb_doc_fact(doc, NULL, "its verdict", TB_AS_IS, tb_text_value(tb_member_text(table, "verdict")));
    tb_doc_fact(doc, NULL, "rounds", TB_AS_IS, tb_number(tb_member_number(table, "rounds")));
    tb_doc_fact(doc, NULL, "ledger line", TB_AS_IS, tb_number(tb_member_number(table, "ledger.line")));
    tb_doc_fact(doc, NULL, "older runs, not shown", TB_AS_IS, tb_count(json_array_size(tb_member(table, "older"))));
}

void tb_page_tables(struct tb_doc *doc, const json_t *board)
{
    const json_t *table;
    const char *host = "";
    size_t i;
    tb_doc_heading(doc, 1, NULL, "Scoreboard: every contender in every cell");
    tb_doc_say(doc, NULL, "%s", tb_member_text(board, "answer"));
    json_array_foreach (tb_member(board, "tables"), i, table) {
        if (strcmp(host, tb_member_text(table, "host")))
            tb_doc_heading(doc, 2, NULL, host = tb_member_text(table, "host"));
        put_table(doc, table);
    }
}

// --- all hosts -----------------------------------------------------------------------------------------------------------------

static struct tb_value result_value(const json_t *result, const char *folder, char link[256], char more[32])
{
    const char *verdict = tb_member_text(result, "verdict"), *run = tb_member_text(result, "run");
    size_t others = json_array_size(tb_member(result, "older")) + json_array_size(tb_member(result, "unfit"));
    if (!*run)
        return tb_toned(tb_none("\u00b7"), TB_TONE_FAINT);
    struct tb_value value = tb_toned(tb_text_value(tb_fleet_word(verdict)->word), tb_verdict_look(verdict)->tone);
    value = tb_linked(value, run_link(folder, run, link));
    snprintf(more, 32, "+%zu", others);
    return others ? tb_detailed(value, more) : value;
}

static void put_matrix(struct tb_doc *doc, const json_t *fleet, const char *folder)
{
    const json_t *postulate, *result, *host;
    size_t i, j;
    struct tb_table *table = tb_doc_table(doc, "hosts", NULL, NULL);
    tb_table_column(table, (struct tb_column){"postulate", "postulate", TB_AS_IS, false});
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        const json_t *group = json_array_get(tb_member(fleet, "groups"), (size_t)tb_member_number(host, "group"));
        const char *cpu = tb_member_text(group, "cpu"), *topology = tb_member_text(group, "topology");
        const char *kind = tb_member_text(host, "kind"), *guest = tb_member_text(host, "guest"),
                   *name = tb_member_text(host, "host");
        char title[400];
        snprintf(title, sizeof title, "%.60s\n%.80s\n%.80s; %s%s%.40s", name, *cpu ? cpu : "a CPU that its logs do not name",
                 *topology ? topology : "topology not told", strcmp(kind, "unknown") ? kind : "kind not told", *guest ? ": " : "",
                 guest);
        tb_table_column(table, (struct tb_column){name, title, TB_AS_IS, false});
    }
    json_array_foreach (tb_member(fleet, "postulates"), i, postulate) {
        char name[160], link[256], more[32];
        snprintf(name, sizeof name, "%.16s", tb_member_text(postulate, "id"));
        tb_table_row(table, TB_ROW_PLAIN);
        struct tb_value id = tb_text_value(name);
        tb_table_put(table, id);
        json_array_foreach (tb_member(postulate, "results"), j, result)
            tb_table_put(table, result_value(result, folder, link, more));
    }
}

// Where more than one machine could measure it.
static void put_shared(struct tb_doc *doc, const json_t *fleet)
{
    static const struct tb_column columns[] = {{"across", "prediction", TB_AS_IS, false},
                                               {NULL, "on the machines that could measure it", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    const json_t *postulate, *prediction;
    struct tb_table *table = NULL;
    size_t i, j;
    json_array_foreach (tb_member(fleet, "postulates"), i, postulate)
        json_array_foreach (tb_member(postulate, "predictions"), j, prediction) {
            char id[64];
            if (tb_member_number(prediction, "measured") < 2)
                continue;
            if (!table) {
                tb_doc_folded(doc, 3, NULL, "Every prediction that more than one machine measured");
                table = tb_doc_table(doc, "shared", NULL, columns);
            }
            snprintf(id, sizeof id, "%.20s %.20s", tb_member_text(postulate, "id"), tb_member_text(prediction, "id"));
            tb_table_row(table, TB_ROW_PLAIN);
            tb_table_put(table, tb_text_value(id));
            tb_table_put(table,
                         tb_detailed(tb_text_value(tb_member_text(prediction, "sentence")), tb_member_text(prediction, "text")));
        }
}

void tb_page_fleet(struct tb_doc *doc, const json_t *fleet, const char *folder)
{
    const json_t *entry;
    size_t i;
    tb_doc_heading(doc, 2, NULL, "Machines");
    tb_doc_anchor(doc, "machines");
    json_array_foreach (tb_member(fleet, "answer"), i, entry)
        tb_doc_say(doc, NULL, "%s", json_string_value(entry));
    json_array_foreach (tb_member(fleet, "warnings"), i, entry) {
        tb_doc_say(doc, "warning", "%s", json_string_value(entry));
        tb_doc_tone(doc, TB_TONE_POOR);
    }
    json_array_foreach (tb_member(fleet, "disagree"), i, entry) {
        tb_doc_say(doc, "disagree", "%s", tb_member_text(entry, "sentence"));
        tb_doc_tone(doc, TB_TONE_OPEN);
    }
    put_matrix(doc, fleet, folder);
    put_shared(doc, fleet);
    tb_doc_heading(doc, 3, NULL, NULL);
    tb_doc_say(doc, NULL,
               "Of each machine its newest official run that says something; +1: one more, older or without a verdict. The "
               "same in a terminal, and each prediction with its intervals: locus compare");
}
