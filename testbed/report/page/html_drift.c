// SPDX-License-Identifier: Apache-2.0
//
// html_drift: how far an arm's blocks wander off their node while the trace goes on. From left to right the stretches of the
// counted laps, upwards the share of the blocks handed out in a stretch that lay on another node than the scheduler that got them.
//
// Curves that coincide must all be seen, above all those that lie at zero: an arm's marks stand at other stretches than those of
// the next one, and the keys at the right end of curves that end together stand side by side.
//
// Lines and bands need polygons, which know no percent: they are in a picture of 100 by 100 that is stretched to the reader's
// width, with strokes that are not. Marks and letters are placed outside of it and keep their form.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/page/html_nodes.h"
#include "testbed/report/page/html_page.h"

enum { PLOT = 190, EDGE = 8, HEIGHT = PLOT + 2 * EDGE, LETTERS = 12, KEYS_BESIDE = 3, MARKS = 6 }; // pixels; keys in a line

struct curve {
    const struct tb_rounds *rounds;
    struct tb_reading *points;   // [drift.stretches], in percent
};

struct drift {
    const struct tb_node_cell *cell;
    struct curve *curves;       // [cell->count]
    size_t stretches;
    struct tb_axis upward;      // percent
};

// --- the figures ---

static double read_stretch(const json_t *sample, const void *what)
{
    const json_t *point = json_array_get(tb_member(sample, "nodes.drift"), *(const size_t *)what);
    double allocated = json_number_value(json_array_get(point, 0)), wandered = json_number_value(json_array_get(point, 1));
    return allocated > 0 ? 100 * wandered / allocated : NAN; // nothing was handed out, or there is no such stretch
}

static size_t count_stretches(const struct tb_node_cell *cell)
{
    size_t most = 0;
    for (size_t a = 0; a < cell->count; a++) {
        for (size_t r = 0; r < cell->arms[a].count; r++) {
            size_t count = json_array_size(tb_member(cell->arms[a].samples[r], "nodes.drift"));
            most = count > most ? count : most;
        }
    }
    return most;
}

// Zero to a round figure above the highest.
static struct tb_axis choose_axis(double highest)
{
    static const double round[] = {1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100};
    size_t i = 0;
    while (i + 1 < sizeof round / sizeof *round && round[i] < highest)
        i++;
    return (struct tb_axis){0, round[i], false};
}

static void drift_close(struct drift *drift)
{
    for (size_t a = 0; drift->curves && a < drift->cell->count; a++)
        free(drift->curves[a].points);
    free(drift->curves);
}

static int drift_open(const struct tb_node_cell *cell, struct drift *out)
{
    double highest = 0;
    *out = (struct drift){.cell = cell, .stretches = count_stretches(cell)};
    out->curves = calloc(cell->count + 1, sizeof *out->curves);
    if (!out->curves)
        return -ENOMEM;
    for (size_t a = 0; a < cell->count; a++) {
        struct curve *curve = &out->curves[a];
        curve->rounds = &cell->arms[a];
        curve->points = calloc(out->stretches + 1, sizeof *curve->points);
        if (!curve->points)
            return -ENOMEM;
        for (size_t i = 0; i < out->stretches; i++) {
            curve->points[i] = tb_read_rounds(curve->rounds, read_stretch, &i);
            highest = fmax(highest, curve->points[i].high); // of a number and NAN: the number
        }
    }
    out->upward = choose_axis(highest);
    return 0;
}

// --- places ---

static double across(const struct drift *drift, size_t i) // the middle of a stretch, in percent
{
    return 100 * ((double)i + 0.5) / (double)drift->stretches;
}

static double stretched(const struct drift *drift, double share) // in the picture of 100 by 100
{
    return 100 - tb_axis_at(&drift->upward, share);
}

static double down(const struct drift *drift, double share) // in pixels
{
    return EDGE + PLOT * stretched(drift, share) / 100;
}

// --- lines and bands ---

// The end of the piece of a curve that begins at `from`: it is broken where a stretch has no figure.
static size_t piece_end(const struct drift *drift, const struct curve *curve, size_t from)
{
    while (from < drift->stretches && curve->points[from].count > 0)
        from++;
    return from;
}

static void put_line(FILE *out, const struct drift *drift, const struct curve *curve, size_t from, size_t end)
{
    fprintf(out, "<polyline class=\"k%s d%u\" points=\"", curve->rounds->arm.look->colour + 1, curve->rounds->dash % TB_DASHES);
    for (size_t i = from; i < end; i++)
        fprintf(out, "%.3f,%.3f ", across(drift, i), stretched(drift, curve->points[i].median));
    fputs("\"/>", out);
}

static void put_band(FILE *out, const struct drift *drift, const struct curve *curve, size_t from, size_t end)
{
    bool differ = false;
    for (size_t i = from; i < end; i++)
        differ |= curve->points[i].low < curve->points[i].high;
    if (!differ)
        return;
    fprintf(out, "<polygon class=\"k%s\" points=\"", curve->rounds->arm.look->colour + 1);
    for (size_t i = from; i < end; i++)
        fprintf(out, "%.3f,%.3f ", across(drift, i), stretched(drift, curve->points[i].high));
    for (size_t i = end; i-- > from;)
        fprintf(out, "%.3f,%.3f ", across(drift, i), stretched(drift, curve->points[i].low));
    fputs("\"/>", out);
}

typedef void put_piece(FILE *out, const struct drift *drift, const struct curve *curve, size_t from, size_t end);

static void put_pieces(FILE *out, const struct drift *drift, put_piece *put)
{
    for (size_t a = 0; a < drift->cell->count; a++) {
        const struct curve *curve = &drift->curves[a];
        for (size_t i = 0; i < drift->stretches; i++) {
            size_t end = piece_end(drift, curve, i);
            if (end > i)
                put(out, drift, curve, i, end);
            i = end;
        }
    }
}

// --- marks ---

static void put_mark(FILE *out, const struct drift *drift, const struct curve *curve, size_t i, bool marked)
{
    const struct tb_reading *point = &curve->points[i];
    double x = across(drift, i), y = down(drift, point->median);
    if (marked)
        fprintf(out, "<use href=\"#m%d\" x=\"%.2f%%\" y=\"%.1f\"", curve->rounds->arm.look->shape, x, y);
    else
        fprintf(out, "<circle class=\"filled\" r=\"1.5\" cx=\"%.2f%%\" cy=\"%.1f\"", x, y);
    tb_html(out, " data-stretch=\"@\" data-share=\"@\" data-low=\"@\" data-high=\"@\"><title>@ @: @&#8239;%</title></@>",
            TB_COUNT(i), TB_EXACT(point->median), TB_EXACT(point->low), TB_EXACT(point->high), curve->rounds->arm.key,
            curve->rounds->arm.name, TB_SHARE(point->median / 100), marked ? "use" : "circle");
}

// All the stretches of an arm that are marked, or all others.
static void put_arm_marks(FILE *out, const struct drift *drift, size_t arm, bool marked)
{
    size_t arms = drift->cell->count, every = drift->stretches / MARKS > arms ? drift->stretches / MARKS : arms;
    const struct curve *curve = &drift->curves[arm];
    every = every < drift->stretches ? every : drift->stretches;
    tb_html(out, "<g class=\"@ k@\" data-arm=\"@\" data-rounds=\"@\">", marked ? "marks" : "dots",
            curve->rounds->arm.look->colour + 1, curve->rounds->arm.key, TB_COUNT(curve->rounds->count));
    for (size_t i = 0; i < drift->stretches; i++)
        if (curve->points[i].count > 0 && (i % every == arm * every / arms) == marked)
            put_mark(out, drift, curve, i, marked);
    fputs("</g>", out);
}

static void put_marks(FILE *out, const struct drift *drift)
{
    for (int marked = 0; marked < 2; marked++) // nobody's dots lie on another's marks
        for (size_t arm = 0; arm < drift->cell->count; arm++)
            put_arm_marks(out, drift, arm, marked);
}

// --- keys at the right end ---

struct end {
    const struct curve *curve;
    double y;
};

static int lower_first(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    int order = (a->y < b->y) - (a->y > b->y);
    return order ? order : strcmp(a->curve->rounds->arm.key, b->curve->rounds->arm.key);
}

static size_t find_ends(const struct drift *drift, struct end ends[])
{
    size_t count = 0;
    for (size_t a = 0; a < drift->cell->count; a++) {
        size_t last = drift->stretches;
        while (last > 0 && drift->curves[a].points[last - 1].count == 0)
            last--;
        if (last > 0)
            ends[count++] = (struct end){&drift->curves[a], down(drift, drift->curves[a].points[last - 1].median)};
    }
    qsort(ends, count, sizeof *ends, lower_first);
    return count;
}

// From the lowest up. Those that would touch form a group, whose lines grow upwards.
static int put_ends(FILE *out, const struct drift *drift)
{
    struct end *ends = calloc(drift->cell->count + 1, sizeof *ends);
    if (!ends)
        return -ENOMEM;
    size_t count = find_ends(drift, ends);
    double y = HEIGHT + LETTERS;
    fprintf(out, "<svg class=\"ends\" height=\"%d\" aria-hidden=\"true\">", HEIGHT);
    for (size_t i = 0; i < count;) {
        size_t group = i;
        y = fmin(y - LETTERS, ends[i].y + 4);
        while (group < count && ends[group].y > ends[i].y - LETTERS)
            group++;
        for (size_t k = i; k < group; k++) {
            bool fresh = (k - i) % KEYS_BESIDE == 0;
            y -= fresh && k > i ? LETTERS : 0;
            if (fresh)
                fprintf(out, "%s<text x=\"6\" y=\"%.1f\">", k > i ? "</text>" : "", y);
            tb_html(out, "<tspan class=\"k@\">@ </tspan>", ends[k].curve->rounds->arm.look->colour + 1,
                    ends[k].curve->rounds->arm.key);
        }
        fputs("</text>", out);
        i = group;
    }
    fputs("</svg>\n", out);
    free(ends);
    return 0;
}

// --- the frame ---

static void put_upward(FILE *out, const struct drift *drift)
{
    double ticks[TB_TICKS_MAX];
    size_t count = tb_axis_ticks(&drift->upward, ticks);
    fprintf(out, "<svg class=\"upward\" height=\"%d\" aria-hidden=\"true\">", HEIGHT);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "<text x=\"100%%\" y=\"%.1f\">%.6g&#8239;%%</text>", down(drift, ticks[i]) + 4, ticks[i]);
    fputs("</svg>\n", out);
}

static void put_grid(FILE *out, const struct drift *drift)
{
    double ticks[TB_TICKS_MAX];
    size_t count = tb_axis_ticks(&drift->upward, ticks);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "<line class=\"%s\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>", i > 0 ? "grid" : "tick", down(drift, ticks[i]),
                down(drift, ticks[i]));
}

static void put_forward(FILE *out, const struct drift *drift)
{
    const json_t *cell = json_array_get(tb_member(drift->cell->view->header, "cells"), drift->cell->cell);
    double laps = tb_member_number(cell, "laps_counted");
    fputs("<svg class=\"forward\" height=\"38\" aria-hidden=\"true\">", out);
    for (int percent = 0; percent <= 100; percent += 20)
        fprintf(out, "<line class=\"tick\" x1=\"%d%%\" x2=\"%d%%\" y2=\"4\"/><text x=\"%d%%\" y=\"16\">%d</text>", percent, percent,
                percent, percent);
    fputs("<text x=\"50%\" y=\"33\">% of the ", out);
    if (laps > 1)
        tb_html(out, "@ counted laps</text></svg>\n", TB_WHOLE(laps));
    else
        fprintf(out, "counted lap%s</text></svg>\n", laps == 1 ? "" : "s");
}

static int put_plot(FILE *out, const struct drift *drift)
{
    fputs("<div class=\"plot\">", out);
    put_upward(out, drift);
    fprintf(out, "<svg height=\"%d\" role=\"img\">", HEIGHT);
    put_grid(out, drift);
    fprintf(out, "<svg y=\"%d\" width=\"100%%\" height=\"%d\" viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\">", EDGE, PLOT);
    put_pieces(out, drift, put_band);
    put_pieces(out, drift, put_line);
    fputs("</svg>", out);
    put_marks(out, drift);
    fputs("</svg>\n", out);
    int rc = put_ends(out, drift);
    put_forward(out, drift);
    fputs("</div>\n", out);
    return rc;
}

int tb_html_drift(FILE *out, const struct tb_node_cell *cell)
{
    struct drift drift;
    char name[160];
    int rc = drift_open(cell, &drift);
    tb_html_cell_name(cell->view->header, cell->cell, name, sizeof name);
    tb_html(out,
            "<div class=\"chart drift\" data-cell=\"@\"><h4>@ <small>blocks on another node than their scheduler, of those handed "
            "out</small></h4>\n",
            name, name);
    if (rc == 0 && drift.stretches > 0)
        rc = put_plot(out, &drift);
    fputs("</div>\n", out);
    drift_close(&drift);
    return rc;
}
