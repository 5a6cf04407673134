// SPDX-License-Identifier: Apache-2.0
//
// standing: the scoreboard's model (standing/scoreboard.h) and the hosts' (hosts/fleet.h) as parts of the page. A figure leads to
// the run behind it.
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/hosts/fleet.h"
#include "testbed/report/page/page.h"
#include "testbed/report/standing/scoreboard.h"

static const char *run_link(const char *folder, const char *run, char out[256])
{
    char name[80];
    snprintf(out, 256, "%s%s%s.html", folder, *folder ? "/" : "", tb_page_name(run, name));
    return out;
}

// --- the finding ---------------------------------------------------------------------------------------------------------------

// locus at full touch on the host where most cells were measured. NULL: nowhere.
static const json_t *find_widest(const json_t *board, const json_t **group)
{
    const json_t *entry, *widest = NULL;
    size_t i;
    json_array_foreach (tb_member(board, "standing"), i, entry) {
        const json_t *row = tb_scoreboard_find(tb_member(entry, "contenders"), TB_SCOREBOARD_FOCUS);
        if (strcmp(tb_member_text(entry, "touch"), "full") == 0 &&
            tb_member_number(row, "cells") > (widest ? tb_member_number(widest, "cells") : 0)) {
            widest = row;
            *group = entry;
        }
    }
    return widest;
}

bool tb_standing_finding(const json_t *board, const json_t *fleet, char *out, size_t bytes)
{
    const json_t *group = NULL, *row = find_widest(board, &group), *host, *machine = NULL;
    size_t i;
    json_array_foreach (tb_member(fleet, "hosts"), i, host)
        if (strcmp(tb_member_text(host, "host"), tb_member_text(group, "host")) == 0)
            machine = host;
    if (!row)
        return false;
    snprintf(out, bytes,
             "On %s (%s; %s), blocks written in full, locus is %.2f times as fast as mimalloc (geometric mean of %.0f cells, %.2f "
             "to %.2f) and first on %.0f of %.0f, a place that it shares on %.0f.",
             tb_member_text(group, "host"), tb_member_text(machine, "cpu"), tb_member_text(machine, "topology"),
             tb_member_number(row, "mean_times_faster"), tb_member_number(row, "cells"), tb_member_number(row, "least"),
             tb_member_number(row, "most"), tb_member_number(row, "first"), tb_member_number(row, "ranked"),
             tb_member_number(row, "shared"));
    return true;
}

// --- the scoreboard ------------------------------------------------------------------------------------------------------------

void tb_page_standing(struct tb_doc *doc, const json_t *board, const char *folder)
{
    char link[256];
    tb_doc_heading(doc, 2, NULL, "Scoreboard");
    tb_doc_anchor(doc, "scoreboard");
    tb_scoreboard_put_standing(doc, board, false);
    tb_doc_folded(doc, 3, NULL, "All contenders");
    tb_scoreboard_put_standing(doc, board, true);
    tb_doc_folded(doc, 3, NULL, "What has no figure yet");
    tb_scoreboard_put_missing(doc, board);
    tb_doc_heading(doc, 3, NULL, NULL);
    snprintf(link, sizeof link, "%s/scoreboard.html", folder);
    tb_doc_fact(doc, NULL, "Every contender in every cell", TB_AS_IS, tb_linked(tb_text_value("scoreboard.html"), link));
}

void tb_page_tables(struct tb_doc *doc, const json_t *board)
{
    const json_t *table;
    const char *host = "";
    size_t i;
    tb_doc_heading(doc, 1, NULL, "Scoreboard: every contender in every cell");
    tb_doc_say(doc, NULL, "%s", tb_member_text(board, "answer"));
    json_array_foreach (tb_member(board, "tables"), i, table) {
        char title[256], link[256];
        if (strcmp(host, tb_member_text(table, "host")))
            tb_doc_heading(doc, 2, NULL, host = tb_member_text(table, "host"));
        tb_doc_folded(doc, 3, NULL, tb_scoreboard_title(table, title));
        tb_scoreboard_put_table(doc, table, NULL, run_link("", tb_member_text(table, "run"), link));
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
    char title[64];
    snprintf(title, sizeof title, "Each postulate on each machine: %zu", json_array_size(tb_member(fleet, "postulates")));
    tb_doc_folded(doc, 3, NULL, title); // it grows by a row with each experiment
    struct tb_table *table = tb_doc_table(doc, "hosts", NULL, NULL);
    tb_table_column(table, (struct tb_column){"postulate", "postulate", TB_AS_IS, false});
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        const json_t *group = json_array_get(tb_member(fleet, "groups"), (size_t)tb_member_number(host, "group"));
        const char *cpu = tb_member_text(group, "cpu"), *topology = tb_member_text(group, "topology");
        const char *kind = tb_member_text(host, "kind"), *guest = tb_member_text(host, "guest"),
                   *name = tb_member_text(host, "host");
        char machine[400];
        snprintf(machine, sizeof machine, "%.60s\n%.80s\n%.80s; %s%s%.40s", name, *cpu ? cpu : "a CPU that its logs do not name",
                 *topology ? topology : "topology not told", strcmp(kind, "unknown") ? kind : "kind not told", *guest ? ": " : "",
                 guest);
        tb_table_column(table, (struct tb_column){name, machine, TB_AS_IS, false});
    }
    json_array_foreach (tb_member(fleet, "postulates"), i, postulate) {
        char link[256], more[32];
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(tb_member_text(postulate, "id")));
        json_array_foreach (tb_member(postulate, "results"), j, result)
            tb_table_put(table, result_value(result, folder, link, more));
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
    tb_doc_heading(doc, 3, NULL, NULL);
    tb_doc_say(doc, NULL,
               "Of each machine its newest official run that says something; +1: one more, older or without a verdict. The "
               "same in a terminal, and each prediction on every machine with its intervals: locus report compare");
}
