// SPDX-License-Identifier: Apache-2.0
//
// html_nodes: the samples of a run of many nodes, gathered by cell and arm, and the shares that its arms are compared by. Of
// several rounds the median is shown, and the least and the most beside it where they differ: a count that is the same in every
// round is a stronger word than a median.
#include "testbed/report/page/html_nodes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/page/html_page.h"
#include "testbed/stats/stats.h"

// --- rounds ---

static bool is_of(const json_t *sample, size_t cell, const char *arm)
{
    return json_is_object(tb_member(sample, "nodes")) && tb_member_number(sample, "cell") == (double)cell &&
           strcmp(tb_member_text(sample, "arm"), arm) == 0;
}

static int gather(const struct tb_log_view *view, size_t cell, struct tb_rounds *rounds)
{
    rounds->samples = calloc(view->samples_count + 1, sizeof(const json_t *));
    rounds->scratch = calloc(view->samples_count + 1, sizeof *rounds->scratch);
    if (!rounds->samples || !rounds->scratch)
        return -ENOMEM;
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *sample = view->chain.entries[view->samples_begin + i].object;
        if (!is_of(sample, cell, rounds->arm.key))
            continue;
        if (json_is_true(tb_member(sample, "valid")))
            rounds->samples[rounds->count++] = sample;
        else
            rounds->left_out++;
    }
    return 0;
}

static void forget(struct tb_rounds *rounds)
{
    free(rounds->samples);
    free(rounds->scratch);
}

int tb_node_cell_open(const struct tb_log_view *view, size_t cell, struct tb_node_cell *out)
{
    const json_t *arms = tb_member(view->header, "arms"), *arm;
    size_t i;
    *out = (struct tb_node_cell){.view = view, .cell = cell, .arms = calloc(json_array_size(arms) + 1, sizeof *out->arms)};
    if (!out->arms)
        return -ENOMEM;
    json_array_foreach (arms, i, arm) {
        struct tb_rounds *rounds = &out->arms[out->count];
        *rounds = (struct tb_rounds){.arm = tb_arm_look(view->header, tb_member_text(arm, "key"))};
        for (size_t a = 0; a < out->count; a++)
            rounds->dash += out->arms[a].arm.look == rounds->arm.look;
        int rc = gather(view, cell, rounds);
        if (rc == 0 && rounds->count + rounds->left_out > 0)
            out->count++;
        else
            forget(rounds);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void tb_node_cell_close(struct tb_node_cell *cell)
{
    for (size_t i = 0; i < cell->count; i++)
        forget(&cell->arms[i]);
    free(cell->arms);
    *cell = (struct tb_node_cell){0};
}

double tb_read_member(const json_t *sample, const void *path)
{
    return tb_member_number(sample, path);
}

struct tb_reading tb_read_rounds(const struct tb_rounds *rounds, tb_sample_reader *read, const void *what)
{
    struct tb_reading reading = {.first = NAN, .low = NAN, .high = NAN};
    for (size_t i = 0; i < rounds->count; i++) {
        double value = read(rounds->samples[i], what);
        if (isnan(value))
            continue;
        if (reading.count == 0)
            reading.first = value;
        reading.low = fmin(reading.low, value); // of NAN and a number: the number
        reading.high = fmax(reading.high, value);
        rounds->scratch[reading.count++] = value;
    }
    reading.median = tb_median(rounds->scratch, reading.count);
    return reading;
}

void tb_html_reading(FILE *out, const struct tb_reading *reading, double shown, bool share)
{
    double low = reading->low, high = reading->high;
    if (reading->count == 0)
        fputs("\u2013", out);
    else
        tb_html(out, "<b>@</b>", share ? TB_SHARE(shown) : TB_WHOLE(shown));
    if (low < high)
        tb_html(out, " <small>[@, @]</small>", share ? TB_SHARE(low) : TB_WHOLE(low), share ? TB_SHARE(high) : TB_WHOLE(high));
}

// --- the arms, side by side ---

static const struct {
    const char *member, *title;
    bool share; // of one; shown in percent
} columns[] = {
    {"wandered_ratio", "blocks wandered, %", true},      {"remote_touch_ratio", "remote touches, %", true},
    {"abroad_free_ratio", "frees kept abroad, %", true}, {"nodes.pages_moved", "pages moved", false},
    {"nodes.pages_repaired", "moved back", false},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static void put_cell(FILE *out, const struct tb_rounds *rounds, size_t column)
{
    struct tb_reading reading = tb_read_rounds(rounds, tb_read_member, columns[column].member);
    tb_html(out, "<td data-metric=\"@\" data-median=\"@\" data-low=\"@\" data-high=\"@\">", columns[column].member,
            TB_EXACT(reading.median), TB_EXACT(reading.low), TB_EXACT(reading.high));
    tb_html_reading(out, &reading, reading.median, columns[column].share);
    fputs("</td>", out);
}

static void put_line_sample(FILE *out, const struct tb_rounds *rounds)
{
    const struct tb_look *look = rounds->arm.look;
    fprintf(out,
            "<svg class=\"sample k%s\" aria-hidden=\"true\"><line class=\"d%u\" x2=\"32\" y1=\"7\" y2=\"7\"/>"
            "<use href=\"#m%d\" x=\"16\" y=\"7\"/></svg>",
            look->colour + 1, rounds->dash % TB_DASHES, look->shape);
}

// It is the curves' legend, too.
static void put_shares(FILE *out, const struct tb_node_cell *cell)
{
    fputs("<div class=\"wide\"><table class=\"shares\"><thead><tr><th scope=\"col\">arm</th>", out);
    for (size_t c = 0; c < COLUMNS; c++)
        tb_html(out, "<th scope=\"col\">@</th>", columns[c].title);
    fputs("<th scope=\"col\">rounds</th></tr></thead><tbody>\n", out);
    for (size_t i = 0; i < cell->count; i++) {
        const struct tb_rounds *rounds = &cell->arms[i];
        tb_html(out, "<tr data-arm=\"@\"><th scope=\"row\">", rounds->arm.key);
        put_line_sample(out, rounds);
        tb_html(out, " <b>@</b> @</th>", rounds->arm.key, rounds->arm.name);
        for (size_t c = 0; c < COLUMNS; c++)
            put_cell(out, rounds, c);
        tb_html(out, "<td>@", TB_COUNT(rounds->count));
        if (rounds->left_out > 0)
            tb_html(out, " <span class=\"bad\">@ invalid</span>", TB_COUNT(rounds->left_out));
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

// --- all cells ---

static int put_node_cell(FILE *out, const struct tb_log_view *view, size_t cell, bool *begun)
{
    struct tb_node_cell nodes;
    char name[160];
    int rc = tb_node_cell_open(view, cell, &nodes);
    if (rc < 0 || nodes.count == 0)
        goto out;
    if (!*begun)
        fputs("<h3>Node by node</h3>\n<p class=\"note\">Counted in laps of their own, before the timed ones: for every touch the "
              "CPU's node is held against the node where the kernel has the page, and no handle is believed. A line is the median "
              "of the rounds, the band about it goes from the least to the most.</p>\n",
              out);
    *begun = true;
    tb_html_cell_name(view->header, cell, name, sizeof name);
    tb_html(out, "<section class=\"nodes\" data-cell=\"@\">\n", name);
    rc = tb_html_drift(out, &nodes);
    put_shares(out, &nodes);
    for (size_t i = 0; i < nodes.count; i++)
        if (nodes.arms[i].count > 0)
            tb_html_pairs(out, &nodes, &nodes.arms[i]);
    fputs("</section>\n", out);
out:
    tb_node_cell_close(&nodes);
    return rc;
}

int tb_html_nodes(FILE *out, const struct tb_log_view *view)
{
    size_t cells = json_array_size(tb_member(view->header, "cells"));
    bool begun = false;
    int rc = 0;
    for (size_t cell = 0; cell < cells && rc == 0; cell++)
        rc = put_node_cell(out, view, cell, &begun);
    return rc;
}
