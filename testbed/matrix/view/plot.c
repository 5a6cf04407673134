// SPDX-License-Identifier: Apache-2.0
//
// plot: the matrix as one drawing, by gnuplot: heat maps of latency and read bandwidth, latency under load, latency by working set.
//
// A heat map is drawn as rectangles and not as an image, so that it stays sharp in print, and each has its figure in it. The scale
// of colours falls in lightness from the best to the worst: it survives a black and white printer, and every colour-blindness.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/draw/gnuplot.h"
#include "testbed/base/draw/look.h"
#include "testbed/host/topology/topo_view.h"
#include "testbed/matrix/view/view.h"

// Pixels.
enum { PAGE_WIDTH = 1000, PANEL_WIDTH = 500, PANEL_HEIGHT = 390, HEAD_LINE = 18, HEAD = 26, FOOT = 8 };
enum { LEFT = 74, RIGHT = 24, TOP = 44, BOTTOM = 58 };
enum { HEAD_COLUMNS = 140, FIGURES_MAX = 8, SMALL_FIGURES_MAX = 20, CURVES_MAX = 8, POINTS_MAX = 256 };

struct panel {
    FILE *out;
    const struct tb_matrix *matrix;
    double left, right, top, bottom; // of the plotted area, as shares of the page
};

typedef void put_panel(const struct panel *panel);

static void put_frame(const struct panel *panel, const char *title, const char *xlabel, const char *ylabel)
{
    FILE *out = panel->out;
    fprintf(out, "reset\nset encoding utf8\nset border 3 lc rgb '#777777'\nset tics nomirror textcolor rgb '#333333'\n");
    fprintf(out, "set lmargin at screen %.6f\nset rmargin at screen %.6f\nset tmargin at screen %.6f\nset bmargin at screen %.6f\n",
            panel->left, panel->right, panel->top, panel->bottom);
    fprintf(out, "set title '%s' offset 0,-0.3 font ',14'\nset xlabel '%s'\nset ylabel '%s' offset 1,0\n", title, xlabel, ylabel);
}

// --- heat maps -----------------------------------------------------------------------------------------------------------------

static const char *colour_of(double times, const char **text)
{
    static const struct {
        double from;
        const char *fill, *text;
    } shades[] = {{3, "#800026", "#ffffff"},   {2, "#e31a1c", "#ffffff"},    {1.5, "#fd8d3c", "#000000"},
                  {1.2, "#fed976", "#000000"}, {1.05, "#ffeda0", "#000000"}, {0, "#ffffcc", "#000000"}};
    size_t i = 0;
    while (times < shades[i].from)
        i++;
    *text = shades[i].text;
    return shades[i].fill;
}

static double best_of(const struct tb_matrix *matrix, enum tb_matrix_kind kind)
{
    struct locus_nodes initiators, memories;
    double best = 0;
    tb_matrix_nodes(matrix, &initiators, &memories, NULL);
    for (int from = locus_nodes_next(&initiators, 0); from >= 0; from = locus_nodes_next(&initiators, from + 1)) {
        for (int to = locus_nodes_next(&memories, 0); to >= 0; to = locus_nodes_next(&memories, to + 1)) {
            const struct tb_matrix_cell *cell = tb_matrix_at(matrix, kind, from, to);
            if (!tb_matrix_told(matrix, cell))
                continue;
            double value = cell->value.estimate;
            best = best == 0 || (tb_matrix_in_time(kind) ? value < best : value > best) ? value : best;
        }
    }
    return best;
}

static void put_rectangle(const struct panel *panel, const struct tb_matrix_cell *cell, double best, unsigned x, unsigned y,
                          unsigned side)
{
    FILE *out = panel->out;
    char figure[16], ratio[16];
    const char *text;
    double x_left = x - 0.5, y_low = y - 0.5;
    if (!tb_matrix_told(panel->matrix, cell)) {
        fprintf(out, "set object rect from %g,%g to %g,%g fs empty border lc rgb '#999999'\nset label '%s' at %u,%u center\n",
                x_left, y_low, x_left + 1, y_low + 1, cell && cell->state == TB_MATRIX_INVALID ? "INVALID" : "-", x, y);
        return;
    }
    double times = tb_matrix_in_time(cell->kind) ? cell->value.estimate / best : best / cell->value.estimate;
    fprintf(out, "set object rect from %g,%g to %g,%g fc rgb '%s' fs solid border lc rgb '#ffffff'\n", x_left, y_low, x_left + 1,
            y_low + 1, colour_of(times, &text));
    colour_of(times, &text);
    tb_matrix_figure(figure, cell->kind, cell->value.estimate);
    if (side > SMALL_FIGURES_MAX)
        return;
    fprintf(out, "set label '%s' at %u,%u center offset 0,%g font ',%d' textcolor rgb '%s'\n", figure, x, y,
            side > FIGURES_MAX ? 0
            : side > 4         ? 0.35
                               : 0.5,
            side > FIGURES_MAX ? 8
            : side > 4         ? 10
                               : 15,
            text);
    if (side <= FIGURES_MAX)
        fprintf(out, "set label '%sx' at %u,%u center offset 0,%g font ',%d' textcolor rgb '%s'\n", tb_text_number(ratio, times), x,
                y, side > 4 ? -0.45 : -0.7, side > 4 ? 8 : 11, text);
}

static void put_node_tics(FILE *out, char axis, const struct locus_nodes *nodes)
{
    unsigned at = 1;
    fprintf(out, "set %ctics scale 0 (", axis);
    for (int node = locus_nodes_next(nodes, 0); node >= 0; node = locus_nodes_next(nodes, node + 1), at++)
        fprintf(out, "%s'%d' %u", at > 1 ? "," : "", node, at);
    fprintf(out, ")\n");
}

static void put_heat(const struct panel *panel, enum tb_matrix_kind kind, const char *title)
{
    const struct tb_matrix *matrix = panel->matrix;
    struct locus_nodes initiators, memories;
    unsigned y = 0;
    tb_matrix_nodes(matrix, &initiators, &memories, NULL);
    unsigned rows = locus_nodes_count(&initiators), columns = locus_nodes_count(&memories), side = rows > columns ? rows : columns;
    put_frame(panel, title, "memory of node", "CPUs of node");
    fprintf(panel->out, "unset key\nunset border\nset xrange [0.5:%g]\nset yrange [%g:0.5]\n", columns + 0.5, rows + 0.5);
    put_node_tics(panel->out, 'x', &memories);
    put_node_tics(panel->out, 'y', &initiators);
    double best = best_of(matrix, kind);
    for (int from = locus_nodes_next(&initiators, 0); from >= 0; from = locus_nodes_next(&initiators, from + 1)) {
        unsigned x = 0;
        y++;
        for (int to = locus_nodes_next(&memories, 0); to >= 0; to = locus_nodes_next(&memories, to + 1))
            put_rectangle(panel, tb_matrix_at(matrix, kind, from, to), best, ++x, y, side);
    }
    fprintf(panel->out, "plot NaN notitle\n");
}

static void put_latencies(const struct panel *panel)
{
    put_heat(panel, TB_MATRIX_LATENCY, "Idle latency, ns");
}

static void put_reading(const struct panel *panel)
{
    put_heat(panel, TB_MATRIX_READ, "Read bandwidth of all CPUs of a node, GB/s");
}

// --- curves --------------------------------------------------------------------------------------------------------------------

// 1, 2 and 5 times the powers of ten: gnuplot marks only the powers, which is one mark or two on our axes.
static void put_log_tics(FILE *out, double low, double high)
{
    static const double steps[] = {1, 2, 5};
    const char *comma = "";
    fprintf(out, "set logscale y\nset ytics (");
    for (double decade = pow(10, floor(log10(low))); decade <= high; decade *= 10) {
        for (size_t s = 0; s < 3; s++) {
            if (decade * steps[s] < low || decade * steps[s] > high)
                continue;
            fprintf(out, "%s'%g' %g", comma, decade * steps[s], decade * steps[s]);
            comma = ",";
        }
    }
    fprintf(out, ")\nset yrange [%g:%g]\n", low, high);
}

static double x_of(const struct tb_matrix_cell *cell)
{
    return cell->kind == TB_MATRIX_LOADED ? cell->bandwidth / 1e9 : (double)cell->working_set_bytes;
}

struct bounds {
    double x_low, x_high, y_low, y_high;
};

static void put_curve_data(const struct panel *panel, enum tb_matrix_kind kind, struct tb_matrix_pair pair, size_t index,
                           struct bounds *bounds)
{
    const struct tb_matrix_cell *cells[POINTS_MAX];
    enum tb_matrix_key key = kind == TB_MATRIX_LOADED ? TB_MATRIX_BY_BANDWIDTH : TB_MATRIX_BY_WORKING_SET;
    size_t count = tb_matrix_curve(panel->matrix, kind, pair.initiator, pair.memory, key, cells, POINTS_MAX);
    fprintf(panel->out, "$curve%zu << EOD\n", index);
    for (size_t i = 0; i < count; i++) {
        const struct tb_interval *value = &cells[i]->value;
        if (!tb_matrix_told(panel->matrix, cells[i]))
            continue;
        fprintf(panel->out, "%.10g %.10g %.10g %.10g\n", x_of(cells[i]), value->estimate,
                value->bounded ? value->low : value->estimate, value->bounded ? value->high : value->estimate);
        bounds->x_low = fmin(bounds->x_low, x_of(cells[i]));
        bounds->x_high = fmax(bounds->x_high, x_of(cells[i]));
        bounds->y_low = fmin(bounds->y_low, value->bounded ? value->low : value->estimate);
        bounds->y_high = fmax(bounds->y_high, value->bounded ? value->high : value->estimate);
    }
    fprintf(panel->out, "EOD\n");
}

static size_t put_curves_data(const struct panel *panel, enum tb_matrix_kind kind, struct tb_matrix_pair pairs[CURVES_MAX],
                              struct bounds *bounds)
{
    size_t count = tb_matrix_pairs(panel->matrix, kind, pairs, CURVES_MAX);
    *bounds = (struct bounds){.x_low = INFINITY, .y_low = INFINITY};
    for (size_t i = 0; i < count; i++)
        put_curve_data(panel, kind, pairs[i], i, bounds);
    return count;
}

static void put_curves(const struct panel *panel, const struct tb_matrix_pair pairs[], size_t count)
{
    FILE *out = panel->out;
    fprintf(out, "set grid ytics lc rgb '#e4e4e4' lt 1 lw 1\nset key %s\n",
            count > 1 ? "top left reverse Left samplen 2 opaque box lc rgb '#cccccc'" : "off");
    for (size_t i = 0; i < count; i++) {
        const struct tb_look *look = tb_look("", (uint32_t)i);
        fprintf(out, "%s $curve%zu using 1:2:3:4 with yerrorbars pt %d ps 0.7 lw 1 lc rgb '%s' notitle", i ? "," : "plot", i,
                look->shape, look->colour);
        fprintf(out, ", $curve%zu using 1:2 with lines lw 1.5 lc rgb '%s' notitle", i, look->colour);
        fprintf(out, ", NaN with linespoints pt %d ps 0.7 lw 1.5 lc rgb '%s' title 'node %d, memory of %d'", look->shape,
                look->colour, pairs[i].initiator, pairs[i].memory);
    }
    fprintf(out, "\n");
}

static void put_loaded(const struct panel *panel)
{
    struct tb_matrix_pair pairs[CURVES_MAX];
    struct bounds bounds;
    put_frame(panel, "Latency while the other CPUs read", "bandwidth that they read, GB/s", "ns a load");
    size_t count = put_curves_data(panel, TB_MATRIX_LOADED, pairs, &bounds);
    fprintf(panel->out, "set xrange [0:%g]\nset yrange [0:%g]\n", bounds.x_high > 0 ? bounds.x_high * 1.06 : 1,
            bounds.y_high * (1.1 + 0.09 * (double)(count > 1 ? count : 0)));
    put_curves(panel, pairs, count);
}

// A tick every fourfold, and a line where a cache ends.
static void put_sizes(const struct panel *panel, const struct bounds *bounds)
{
    FILE *out = panel->out;
    char text[32];
    const char *comma = "";
    fprintf(out, "set logscale x 2\nset xrange [%g:%g]\nset xtics (", bounds->x_low / 1.4, bounds->x_high * 1.4);
    for (double size = 1024; size <= bounds->x_high * 1.4; size *= 8) {
        if (size < bounds->x_low / 1.4)
            continue;
        fprintf(out, "%s'%s' %.0f", comma, tb_topo_bytes(text, sizeof text, (uint64_t)size, true), size);
        comma = ",";
    }
    fprintf(out, ")\n");
    for (int level = 0; level < 4; level++) {
        uint64_t bytes = panel->matrix->caches.bytes[level];
        if (bytes == 0 || (double)bytes < bounds->x_low / 1.4 || (double)bytes > bounds->x_high * 1.4)
            continue;
        fprintf(out, "set arrow from %.0f, graph 0 to %.0f, graph 1 nohead dt 2 lw 1.2 lc rgb '#555555' back\n", (double)bytes,
                (double)bytes);
        fprintf(out, "set label 'L%d %s' at %.0f, graph 0.07 left offset 0.4,0 font ',10' textcolor rgb '#555555'\n", level + 1,
                tb_topo_bytes(text, sizeof text, bytes, true), (double)bytes);
    }
}

static void put_working_sets(const struct panel *panel)
{
    struct tb_matrix_pair pairs[CURVES_MAX];
    struct bounds bounds;
    put_frame(panel, "Latency by working set (log scales)", "bytes walked over at random", "ns a load");
    size_t count = put_curves_data(panel, TB_MATRIX_WORKING_SET, pairs, &bounds);
    put_sizes(panel, &bounds);
    put_log_tics(panel->out, bounds.y_low / 1.8, bounds.y_high * (count > 1 ? 2.5 : 1.3));
    put_curves(panel, pairs, count);
}

// --- the page ------------------------------------------------------------------------------------------------------------------

static size_t panels_of(const struct tb_matrix *matrix, put_panel *out[4])
{
    static const struct {
        enum tb_matrix_kind kind;
        size_t pairs_min;       // a map of one cell shows nothing
        put_panel *put;
    } all[] = {{TB_MATRIX_LATENCY, 2, put_latencies},
               {TB_MATRIX_READ, 2, put_reading},
               {TB_MATRIX_LOADED, 1, put_loaded},
               {TB_MATRIX_WORKING_SET, 1, put_working_sets}};
    struct tb_matrix_pair pairs[2];
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (tb_matrix_pairs(matrix, all[i].kind, pairs, 2) >= all[i].pairs_min)
            out[count++] = all[i].put;
    return count;
}

// What the drawing answers, and of a single pair of nodes the figures that have no map.
static void say_head(const struct tb_matrix *matrix, struct tb_words *words)
{
    static const enum tb_matrix_kind kinds[] = {TB_MATRIX_LATENCY, TB_MATRIX_READ};
    struct tb_matrix_verdict verdict;
    struct tb_matrix_pair pairs[2];
    tb_matrix_verdict(matrix, &verdict);
    tb_say(words, "%s", verdict.sentence.text);
    for (size_t i = 0; i < 2; i++) {
        char number[16], low[16], high[16];
        if (tb_matrix_pairs(matrix, kinds[i], pairs, 2) != 1)
            continue;
        const struct tb_matrix_cell *cell = tb_matrix_at(matrix, kinds[i], pairs[0].initiator, pairs[0].memory);
        if (!tb_matrix_told(matrix, cell))
            continue;
        tb_say(words, "; %s %s %s", i ? "all its CPUs read" : "idle latency",
               tb_matrix_figure(number, cell->kind, cell->value.estimate), i ? "GB/s" : "ns");
        if (cell->value.bounded)
            tb_say(words, " [%s, %s]", tb_matrix_figure(low, cell->kind, cell->value.low),
                   tb_matrix_figure(high, cell->kind, cell->value.high));
    }
}

// Broken into lines by the wrapper of the texts: how many.
static size_t head_lines(const char *text, char **lines)
{
    size_t bytes = 0, count = 0;
    *lines = NULL;
    FILE *stream = open_memstream(lines, &bytes);
    if (!stream)
        return 0;
    tb_text_wrap(stream, HEAD_COLUMNS, 0, 0, text);
    if (fclose(stream))
        return 0;
    for (const char *c = *lines; c && *c; c++)
        count += *c == '\n';
    return count;
}

static void put_head(FILE *out, char *lines, double height)
{
    char *rest = NULL;
    int number = 0;
    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), number++) {
        fprintf(out, "set label %d ", number + 1);
        tb_gnuplot_quoted(out, line);
        fprintf(out, " at screen 0.015,%.6f left font ',13'\n", 1 - (HEAD / 2.0 + number * HEAD_LINE) / height);
    }
    fprintf(out, "unset border\nunset tics\nunset key\nset yrange [0:1]\nset xrange [0:1]\nplot NaN notitle\n");
}

static int put_page(FILE *out, const void *what)
{
    const struct tb_matrix *matrix = what;
    put_panel *panels[4];
    struct tb_words words = {0};
    char *lines;
    size_t count = panels_of(matrix, panels);
    say_head(matrix, &words);
    tb_say(&words, ". %s run, medians of %u rounds (seed %llu), bars: 95 %% intervals", matrix->config.full ? "Full" : "Short",
           matrix->config.rounds, (unsigned long long)matrix->config.seed);
    size_t lines_count = head_lines(words.text, &lines);
    if (lines_count == 0)
        return -ENOMEM;
    double head = HEAD + (double)lines_count * HEAD_LINE;
    double height = head + (double)((count + 1) / 2) * PANEL_HEIGHT + FOOT;
    fprintf(out, "set encoding utf8\nset terminal svg size %d,%.0f fixed noenhanced font 'sans-serif,12' background 'white'\n",
            PAGE_WIDTH, height);
    fprintf(out, "set multiplot\n");
    put_head(out, lines, height);
    for (size_t i = 0; i < count; i++) {
        double x = (double)(i % 2) * PANEL_WIDTH, y = head + (double)(i / 2) * PANEL_HEIGHT;
        panels[i](&(struct panel){.out = out,
                                  .matrix = matrix,
                                  .left = (x + LEFT) / PAGE_WIDTH,
                                  .right = (x + PANEL_WIDTH - RIGHT) / PAGE_WIDTH,
                                  .top = 1 - (y + TOP) / height,
                                  .bottom = 1 - (y + PANEL_HEIGHT - BOTTOM) / height});
    }
    fprintf(out, "unset multiplot\n");
    free(lines);
    return 0;
}

int tb_matrix_plot(const char *svg_path, const struct tb_matrix *matrix)
{
    put_panel *panels[4];
    if (matrix->emulated)
        return -ENOTSUP;
    if (panels_of(matrix, panels) == 0)
        return -EINVAL;
    return tb_gnuplot(svg_path, put_page, matrix);
}
