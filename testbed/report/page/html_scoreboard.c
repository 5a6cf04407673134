// SPDX-License-Identifier: Apache-2.0
//
// html_scoreboard: the standing table as a section of the report. Each table leads to the run behind it, further down the page.
#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/board/board.h"
#include "testbed/report/page/html_chart.h"
#include "testbed/report/standing/scoreboard.h"

static const struct tb_look *look_of(const json_t *row)
{
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(tb_member_text(row, "name"), "@#+"), tb_member_text(row, "name"));
    return tb_look(name, 0);
}

static void put_figure(FILE *out, double value)
{
    if (isfinite(value))
        tb_html(out, "<td>@</td>", TB_FIGURE(value));
    else
        fputs("<td>\u2013</td>", out);
}

static void put_velocity(FILE *out, const json_t *row)
{
    double estimate = tb_member_number(row, "times_faster.estimate"), low = tb_member_number(row, "times_faster.low");
    double high = tb_member_number(row, "times_faster.high");
    if (isnan(estimate)) {
        fputs("<td>\u2013</td><td>\u2013</td>", out);
        return;
    }
    tb_html(out, "<td><b>@</b></td>", TB_FIGURE(estimate));
    if (isfinite(low) && low < high)
        tb_html(out, "<td>[@, @]</td>", TB_FIGURE(low), TB_FIGURE(high));
    else
        fputs("<td>\u2013</td>", out);
}

static void put_row(FILE *out, const json_t *row, const struct tb_unit *unit)
{
    char rank[16], predicted[24];
    const char *invalid = tb_member_text(row, "invalid"), *kind = tb_member_text(row, "kind");
    bool ranked = strcmp(kind, "ranked") == 0;
    tb_html(out, "<tr data-contender=\"@\" data-rank=\"@\" data-times-faster=\"@\"><th scope=\"row\">", tb_member_text(row, "name"),
            tb_scoreboard_rank(row, rank), TB_EXACT(tb_member_number(row, "times_faster.estimate")));
    tb_html_mark(out, look_of(row));
    tb_html(out, " @ <small>@</small></th>", tb_member_text(row, "name"), ranked ? "" : kind);
    put_figure(out, tb_member_number(row, "median_ns") / unit->ns);
    put_velocity(out, row);
    put_figure(out, tb_member_number(row, "mad_percent"));
    put_figure(out, tb_member_number(row, "footprint.worst"));
    put_figure(out, tb_member_number(row, "footprint.mean"));
    tb_html(out, "<td>@</td><td>@</td>", tb_scoreboard_predicted(row, predicted), rank);
    tb_html(out, "<td class=\"text@\">@@</td></tr>\n", *invalid ? " bad" : "", *invalid ? "INVALID: " : "ok", invalid);
}

static void put_table(FILE *out, const json_t *table)
{
    struct tb_unit unit = tb_scoreboard_unit(table);
    const char *baseline = tb_member_text(table, "baseline"), *run = tb_member_text(table, "run");
    char settings[160], line[32];
    const json_t *row;
    size_t i;
    snprintf(line, sizeof line, "%.0f", tb_member_number(table, "ledger.line"));
    tb_html(out, "<h3>@/@ <small>@, @@</small></h3>\n", tb_member_text(table, "workload"), tb_member_text(table, "touch"),
            tb_member_text(table, "host"), tb_scoreboard_settings(table, settings, sizeof settings),
            json_is_true(tb_member(table, "main")) ? "" : "; with other contenders");
    tb_html(out,
            "<div class=\"wide\"><table class=\"arms board\" data-board=\"@\"><thead><tr><th scope=\"col\">contender</th>"
            "<th scope=\"col\">median, @</th><th scope=\"col\">times faster than @</th><th scope=\"col\">95&#8239;%</th>"
            "<th scope=\"col\">MAD, %</th><th scope=\"col\">footprint, worst</th><th scope=\"col\">mean</th>"
            "<th scope=\"col\">predicted</th><th scope=\"col\">rank</th><th scope=\"col\" class=\"text\">gates</th></tr></thead>"
            "<tbody>\n",
            tb_member_text(table, "cell"), unit.name, *baseline ? baseline : "(nothing)");
    json_array_foreach (tb_member(table, "contenders"), i, row)
        put_row(out, row, &unit);
    fputs("</tbody></table></div>\n", out);
    tb_html(out, "<p class=\"note\"><a href=\"#@\">@</a>: @, @ rounds, ledger line @", run, run, tb_member_text(table, "verdict"),
            TB_FIGURE(tb_member_number(table, "rounds")), line);
    if (json_array_size(tb_member(table, "older")) > 0)
        tb_html(out, "; @ older, not shown", TB_COUNT(json_array_size(tb_member(table, "older"))));
    fputs("</p>\n", out);
}

static void put_missing(FILE *out, const json_t *board)
{
    static const char *const lists[][2] = {{"not_measured.cells", "cell"}, {"not_measured.contenders", "name"}};
    const json_t *entry;
    size_t i;
    fputs("<ul class=\"gates\">\n", out);
    for (size_t l = 0; l < 2; l++)
        json_array_foreach (tb_member(board, lists[l][0]), i, entry)
            tb_html(out, "<li data-missing=\"@\">@ <small>no figure yet</small> <code>@</code></li>\n",
                    tb_member_text(entry, lists[l][1]), tb_member_text(entry, lists[l][1]), tb_member_text(entry, "command"));
    fputs("</ul>\n", out);
}

void tb_scoreboard_html(FILE *out, const json_t *board)
{
    const json_t *table;
    size_t i;
    tb_html(
        out,
        "<h2 id=\"scoreboard\">Scoreboard</h2>\n<p>@</p>\n<p class=\"note\">The standing table, from the newest official run of "
        "each cell. A rank with = is shared: the interval of the ratio to the first of the place holds 1.</p>\n",
        tb_member_text(board, "answer"));
    json_array_foreach (tb_member(board, "tables"), i, table)
        put_table(out, table);
    put_missing(out, board);
}
