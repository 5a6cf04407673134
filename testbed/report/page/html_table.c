// SPDX-License-Identifier: Apache-2.0
//
// html_table: the arms of a cell, the gates, and whatever else a log holds as nested lists. The figures of the arms are those of
// the log's summary, not worked out again; a run that has none shows its samples only.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/board/board.h"
#include "testbed/report/page/html_chart.h"
#include "testbed/report/page/html_page.h"
#include "testbed/stats/stats.h"

enum { LONG_TEXT = 200 }; // bytes; more than that is folded away

void tb_html_cell_name(const json_t *header, size_t cell, char *out, size_t bytes)
{
    const json_t *object = json_array_get(tb_member(header, "cells"), cell);
    tb_member_cell(object, out, bytes);
}

// --- arms ---

// Time of `arm` over the first arm's, round by round. false: there is none.
static bool ratio_to_first(const struct tb_log_view *view, size_t cell, const char *arm, struct tb_ratio *out)
{
    const char *first = tb_member_text(json_array_get(tb_member(view->header, "arms"), 0), "key");
    double *base = NULL, *own = NULL;
    size_t base_count = 0, own_count = 0;
    bool known = strcmp(arm, first) && tb_log_values(view, cell, first, "time_ns", &base, &base_count) == 0 &&
                 tb_log_values(view, cell, arm, "time_ns", &own, &own_count) == 0 && base_count == own_count &&
                 tb_ratio(base, own, own_count, TB_CONFIDENCE, out) == 0;
    free(base);
    free(own);
    return known;
}

static void put_range(FILE *out, double low, double high)
{
    if (isfinite(low) && isfinite(high))
        tb_html(out, "<td>[@, @]</td>", TB_FIGURE(low), TB_FIGURE(high));
    else
        fputs("<td>\u2013</td>", out);
}

static void put_arm_row(FILE *out, const struct tb_log_view *view, size_t cell, const json_t *row, const struct tb_unit *unit)
{
    struct tb_ratio ratio;
    struct tb_arm_look arm = tb_arm_look(view->header, tb_member_text(row, "arm"));
    double median = tb_member_number(row, "median"), low = tb_member_number(row, "low"), high = tb_member_number(row, "high");
    tb_html(out, "<tr data-arm=\"@\" data-median=\"@\" data-low=\"@\" data-high=\"@\" data-n=\"@\"><th scope=\"row\">", arm.key,
            TB_EXACT(median), TB_EXACT(low), TB_EXACT(high), TB_EXACT(tb_member_number(row, "n")));
    tb_html_arm(out, &arm);
    tb_html(out, "</th><td><b>@</b></td>", TB_FIGURE(median / unit->ns));
    put_range(out, low / unit->ns, high / unit->ns);
    if (ratio_to_first(view, cell, arm.key, &ratio)) {
        tb_html(out, "<td data-ratio=\"@\"><b>@</b></td>", TB_EXACT(ratio.estimate), TB_FIGURE(ratio.estimate));
        put_range(out, ratio.bounded ? ratio.low : NAN, ratio.high);
    } else {
        fputs("<td>\u2013</td><td>\u2013</td>", out);
    }
    tb_html(out, "<td>@</td><td>@</td><td>@</td></tr>\n", TB_FIGURE(tb_member_number(row, "mad") / unit->ns),
            TB_FIGURE(tb_member_number(row, "min") / unit->ns), TB_FIGURE(tb_member_number(row, "n")));
}

static struct tb_unit unit_of(const json_t *rows, const char *cell)
{
    double smallest = INFINITY, largest = 0;
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        if (strcmp(tb_member_text(row, "cell"), cell))
            continue;
        smallest = fmin(smallest, tb_member_number(row, "median"));
        largest = fmax(largest, tb_member_number(row, "median"));
    }
    return largest > 0 ? tb_text_unit(smallest, largest) : tb_text_unit(1, 1);
}

void tb_html_arms_table(FILE *out, const struct tb_log_view *view, size_t cell)
{
    const json_t *rows = tb_member(view->summary, "arms"), *row;
    const char *first = tb_member_text(json_array_get(tb_member(view->header, "arms"), 0), "key");
    char name[160];
    size_t i;
    tb_html_cell_name(view->header, cell, name, sizeof name);
    if (json_array_size(rows) == 0)
        return;
    struct tb_unit unit = unit_of(rows, name);
    tb_html(out,
            "<div class=\"wide\"><table class=\"arms\" data-cell=\"@\"><thead><tr><th scope=\"col\">@</th>"
            "<th scope=\"col\">median, @</th>"
            "<th scope=\"col\">95&#8239;%, @</th><th scope=\"col\">times as long as @</th><th scope=\"col\">95&#8239;%</th>"
            "<th scope=\"col\">MAD, @</th><th scope=\"col\">least, @</th><th scope=\"col\">rounds</th></tr></thead><tbody>\n",
            name, name, unit.name, unit.name, first, unit.name, unit.name);
    json_array_foreach (rows, i, row)
        if (strcmp(tb_member_text(row, "cell"), name) == 0)
            put_arm_row(out, view, cell, row, &unit);
    fputs("</tbody></table></div>\n", out);
}

// --- gates ---

static void put_aa(FILE *out, const json_t *row)
{
    tb_html(out, "<li><span class=\"sign\">=</span> A/A <b>@</b> in @: ", tb_member_text(row, "arms"), tb_member_text(row, "cell"));
    tb_html_interval(out, tb_member_number(row, "estimate"), tb_member_number(row, "low"), tb_member_number(row, "high"));
    fputs("</li>\n", out);
}

static void put_control(FILE *out, const json_t *control)
{
    if (!json_is_object(control))
        return;
    tb_html(out, "<li><span class=\"sign\">@</span> A slowdown of @&#8239;% put in on purpose (@) was @: ",
            json_is_true(tb_member(control, "found")) ? "\u2713" : "\u2717", TB_FIGURE(tb_member_number(control, "percent")),
            tb_member_text(control, "arms"), json_is_true(tb_member(control, "found")) ? "found" : "not found");
    tb_html_interval(out, tb_member_number(control, "estimate"), tb_member_number(control, "low"),
                     tb_member_number(control, "high"));
    fputs("</li>\n", out);
}

void tb_html_gates(FILE *out, const struct tb_log_view *view)
{
    const json_t *gates = tb_member(view->summary, "gates"), *pairs = tb_member(view->summary, "aa"), *item;
    size_t i;
    fputs("<ul class=\"gates\">\n", out);
    json_array_foreach (gates, i, item) {
        bool passed = json_is_true(tb_member(item, "passed"));
        tb_html(out, "<li data-gate=\"@\" data-passed=\"@\"><span class=\"sign\">@</span> <code>@</code> <small>@</small> @</li>\n",
                tb_member_text(item, "gate"), passed ? "yes" : "no", passed ? "\u2713" : "\u2717", tb_member_text(item, "gate"),
                tb_member_text(item, "kind"), tb_member_text(item, "reason"));
    }
    if (!tb_emulated(view->header)[0]) { // they are about time
        json_array_foreach (pairs, i, item)
            put_aa(out, item);
        put_control(out, tb_member(view->summary, "positive_control"));
    }
    fputs("</ul>\n", out);
}

// --- any JSON ---

static void put_text(FILE *out, const char *text)
{
    if (strlen(text) <= LONG_TEXT)
        tb_html(out, "@", text);
    else
        tb_html(out, "<details class=\"raw\"><summary>@ bytes</summary><pre>@</pre></details>", TB_COUNT(strlen(text)), text);
}

static void put_list(FILE *out, const json_t *array)
{
    const json_t *item;
    size_t i;
    fputs("<ol>", out);
    json_array_foreach (array, i, item) {
        fputs("<li>", out);
        tb_html_json(out, item);
        fputs("</li>", out);
    }
    fputs("</ol>", out);
}

void tb_html_json(FILE *out, const json_t *value)
{
    const char *key;
    json_t *member;
    if (json_is_object(value)) {
        fputs("<dl>", out);
        json_object_foreach ((json_t *)value, key, member) {
            tb_html(out, "<div><dt>@</dt><dd>", key);
            tb_html_json(out, member);
            fputs("</dd></div>", out);
        }
        fputs("</dl>", out);
    } else if (json_is_array(value)) {
        put_list(out, value);
    } else if (json_is_string(value)) {
        put_text(out, json_string_value(value));
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        tb_html_text(out, text);
        free(text);
    }
}
