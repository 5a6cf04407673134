// SPDX-License-Identifier: Apache-2.0
//
// report_plot: every sample as a dot, drawn by gnuplot.
//
// One panel for each cell (in a bench, for each operation). In it every arm has a strip, fastest on top as in the table: a dot for
// each round, the first round at the strip's upper edge, so that a drift shows as a slope; and a bar at the median. Colours
// and shapes are those of look.h.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/draw/gnuplot.h"
#include "testbed/base/draw/look.h"
#include "testbed/report/board/board.h"
#include "testbed/report/board/report.h"

// Pixels. A strip must hold a line of text; the left margin the longest label.
enum { PAGE_WIDTH = 1000, PAGE_HEAD = 58, PAGE_FOOT = 10, STRIP = 22, PANEL_HEAD = 30, PANEL_FOOT = 62 };
enum { MARGIN_LEFT = 176, MARGIN_RIGHT = 66, LABEL_CHARS = 20 };

static const struct tb_look *look_of(const struct tb_campaign *campaign, uint32_t arm)
{
    char name[sizeof campaign->arms[arm].label], earlier[sizeof name];
    tb_base_name(&campaign->arms[arm], name, sizeof name);
    uint32_t first = 0; // the first arm of this contender, so that its twin looks like it
    for (tb_base_name(&campaign->arms[first], earlier, sizeof earlier); strcmp(earlier, name) != 0;)
        tb_base_name(&campaign->arms[++first], earlier, sizeof earlier);
    return tb_look(name, first);
}

struct panel {
    FILE *out;
    const struct tb_campaign *campaign;
    uint32_t cell;
    int op;                           // TB_LAP or an operation
    struct tb_board board;
    struct tb_unit unit;
    double low, high;                 // of the axis, in units
    bool log;
    double left, right, top, bottom;  // of the plotted area, as shares of the page
};

static double panel_sample(const struct panel *panel, uint32_t i, uint32_t round)
{
    const struct tb_sample *sample = tb_campaign_sample(panel->campaign, panel->cell, panel->board.arm[i], round);
    double ns = panel->op == TB_LAP ? sample->lap_ns : sample->bench_ns[panel->op];
    return panel->board.place[i] != TB_PLACE_INVALID && isfinite(ns) && ns > 0 ? ns : 0;
}

static double panel_median(const struct panel *panel, uint32_t i)
{
    const struct tb_row *row = &panel->board.row[i];
    return panel->op == TB_LAP ? row->ns_median : row->bench_ns[panel->op];
}

// Linear from zero, so that lengths can be compared, unless the small ones would then lie on top of each other.
static void choose_axis(struct panel *panel)
{
    double smallest = INFINITY, largest = 0;
    for (uint32_t i = 0; i < panel->board.count; i++) {
        for (uint32_t round = 0; round < panel->campaign->rounds; round++) {
            double ns = panel_sample(panel, i, round);
            smallest = ns > 0 ? fmin(smallest, ns) : smallest;
            largest = fmax(largest, ns);
        }
    }
    if (largest <= 0)
        smallest = largest = 1;
    panel->unit = tb_text_unit(smallest, largest);
    panel->log = largest > 8 * smallest;
    panel->low = panel->log ? smallest / panel->unit.ns / 1.3 : 0;
    panel->high = largest / panel->unit.ns * (panel->log ? 1.3 : 1.04);
}

// gnuplot marks only the powers of ten on a logarithmic axis, which is one mark, or none, on ours.
static void put_log_tics(const struct panel *panel)
{
    static const double steps[] = {1, 2, 5};
    double decades = log10(panel->high / panel->low);
    size_t stride = decades > 2.2 ? 3 : 1; // more marks than that would touch each other
    const char *comma = "";
    fprintf(panel->out, "set xtics (");
    for (double decade = pow(10, floor(log10(panel->low))); decade <= panel->high; decade *= 10) {
        for (size_t s = 0; s < 3; s += stride) {
            double at = decade * steps[s];
            if (at < panel->low || at > panel->high)
                continue;
            fprintf(panel->out, "%s'%.10g' %.10g", comma, at, at);
            comma = ",";
        }
    }
    fprintf(panel->out, ")\n");
}

static void put_frame(const struct panel *panel)
{
    FILE *out = panel->out;
    char title[128], where[96];
    tb_text_cell(panel->campaign, panel->cell, where, sizeof where);
    if (panel->campaign->bench)
        snprintf(title, sizeof title, "%s: %s", where, tb_bench_name(panel->op));
    else
        snprintf(title, sizeof title, "%s", where);
    fprintf(out, "reset\nunset key\nset border 1 lc rgb '#777777'\nset tics nomirror textcolor rgb '#333333'\nset encoding utf8\n");
    fprintf(out, "set lmargin at screen %.6f\nset rmargin at screen %.6f\nset tmargin at screen %.6f\nset bmargin at screen %.6f\n",
            panel->left, panel->right, panel->top, panel->bottom);
    fprintf(out, "set title ");
    tb_gnuplot_quoted(out, title);
    fprintf(out, " offset 0,-0.4 font ',14'\nset xlabel '%s, %s%s; left is faster' offset 0,0.3\n",
            panel->campaign->bench ? panel->op == TB_BENCH_PUSH ? "time per request" : "time per block" : "time per lap",
            panel->unit.name, panel->log ? ", log scale" : "");
    fprintf(out, "unset ytics\nset grid xtics lc rgb '#dddddd' lt 1 lw 1\n");
    fprintf(out, "set xrange [%.10g:%.10g]\nset yrange [%.1f:0.5]\n", panel->low, panel->high, panel->board.count + 0.5);
    if (panel->log) {
        fprintf(out, "set logscale x\n");
        put_log_tics(panel);
    }
}

// Left of strip i: the arm's name and, as a key, its shape once; and a faint line that leads the eye to the dots.
static void put_strip_name(const struct panel *panel, uint32_t i)
{
    FILE *out = panel->out;
    char clean[96], name[128];
    const struct tb_look *look = look_of(panel->campaign, panel->board.arm[i]);
    tb_text_clean(panel->board.row[i].arm->label, true, clean, sizeof clean);
    tb_text_shorten(clean, LABEL_CHARS);
    snprintf(name, sizeof name, "%s%s", strcmp(clean, "locus") == 0 ? "> " : "", clean);
    fprintf(out, "set label ");
    tb_gnuplot_quoted(out, name);
    fprintf(out, " at screen %.6f, first %" PRIu32 " right\n", panel->left - 26.0 / PAGE_WIDTH, i + 1);
    fprintf(out, "set label '' at screen %.6f, first %" PRIu32 " point pt %d ps 0.9 lw 1.5 lc rgb '%s'\n",
            panel->left - 13.0 / PAGE_WIDTH, i + 1, look->shape, look->colour);
    fprintf(out, "set arrow from graph 0, first %" PRIu32 " to graph 1, first %" PRIu32 " nohead lw 1 lc rgb '#eeeeee' back\n",
            i + 1, i + 1);
}

// Right of strip i: its median, which is also the bar; or why there is none.
static void put_strip_median(const struct panel *panel, uint32_t i)
{
    FILE *out = panel->out;
    char number[16];
    double median = panel_median(panel, i) / panel->unit.ns;
    if (panel->board.place[i] == TB_PLACE_INVALID) {
        fprintf(out, "set label 'INVALID' at graph 1, first %" PRIu32 " left offset 0.6,0 textcolor rgb '#B00000'\n", i + 1);
        return;
    }
    if (!(median > 0))
        return;
    fprintf(out, "set label '%s %s' at graph 1, first %" PRIu32 " left offset 0.6,0\n", tb_text_number(number, median),
            panel->unit.name, i + 1);
    fprintf(out, "set arrow from %.10g,%.2f to %.10g,%.2f nohead lw 1.5 lc rgb '#222222' front\n", median, i + 0.58, median,
            i + 1.42);
}

static bool put_strip_data(const struct panel *panel, uint32_t i)
{
    uint32_t rounds = panel->campaign->rounds, dots = 0;
    for (uint32_t round = 0; round < rounds; round++)
        dots += panel_sample(panel, i, round) > 0;
    if (dots == 0)
        return false;
    fprintf(panel->out, "$strip%" PRIu32 " << EOD\n", i);
    for (uint32_t round = 0; round < rounds; round++) {
        double ns = panel_sample(panel, i, round);
        if (ns > 0)
            fprintf(panel->out, "%.10g %.4f\n", ns / panel->unit.ns, i + 1 + 0.7 * ((round + 0.5) / rounds - 0.5));
    }
    fprintf(panel->out, "EOD\n");
    return true;
}

static void put_panel(struct panel *panel)
{
    bool drawn[TB_ARMS_MAX];
    tb_board(panel->campaign, panel->cell, &panel->board);
    choose_axis(panel);
    put_frame(panel);
    for (uint32_t i = 0; i < panel->board.count; i++) {
        put_strip_name(panel, i);
        put_strip_median(panel, i);
        drawn[i] = put_strip_data(panel, i);
    }
    fprintf(panel->out, "plot NaN notitle"); // gnuplot refuses to draw a panel of nothing
    for (uint32_t i = 0; i < panel->board.count; i++) {
        const struct tb_look *look = look_of(panel->campaign, panel->board.arm[i]);
        if (drawn[i])
            fprintf(panel->out, ", $strip%" PRIu32 " using 1:2 with points pt %d ps 0.45 lw 1 lc rgb '%s' notitle", i, look->shape,
                    look->colour);
    }
    fprintf(panel->out, "\n");
}

// Panels from left to right and from top to bottom; a single one has the whole width.
static void put_page(FILE *out, const struct tb_campaign *campaign)
{
    uint32_t per_cell = campaign->bench ? TB_BENCH_COUNT : 1, panels = campaign->cells_count * per_cell;
    uint32_t columns = panels > 1 ? 2 : 1, lines = panels > 0 ? (panels + columns - 1) / columns : 1;
    double panel_height = PANEL_HEAD + PANEL_FOOT + STRIP * (double)campaign->arms_count;
    double height = PAGE_HEAD + PAGE_FOOT + lines * panel_height, width = (double)PAGE_WIDTH / columns;
    char settings[192];
    tb_text_settings(campaign, settings, sizeof settings);
    fprintf(out, "set encoding utf8\nset terminal svg size %d,%.0f fixed noenhanced font 'sans-serif,12' background 'white'\n",
            PAGE_WIDTH, height);
    fprintf(out, "set multiplot\nset label 1 '%s' at screen 0.015,%.6f left font ',15'\n", settings, 1 - 20 / height);
    fprintf(out,
            "set label 2 'a dot: one round (a fresh process), the first at the strip''s upper edge; the bar: the median' "
            "at screen 0.015,%.6f left textcolor rgb '#555555'\n",
            1 - 40 / height);
    fprintf(out, "unset border\nunset tics\nunset key\nset yrange [0:1]\nset xrange [0:1]\nplot NaN notitle\n");
    for (uint32_t p = 0; p < panels; p++) {
        double x = p % columns * width, y = PAGE_HEAD + p / columns * panel_height;
        struct panel panel = {.out = out,
                              .campaign = campaign,
                              .cell = p / per_cell,
                              .op = campaign->bench ? (int)(p % per_cell) : TB_LAP,
                              .left = (x + MARGIN_LEFT) / PAGE_WIDTH,
                              .right = (x + width - MARGIN_RIGHT) / PAGE_WIDTH,
                              .top = 1 - (y + PANEL_HEAD) / height,
                              .bottom = 1 - (y + panel_height - PANEL_FOOT) / height};
        put_panel(&panel);
    }
    fprintf(out, "unset multiplot\n");
}

static int put_page_of(FILE *out, const void *campaign)
{
    put_page(out, campaign);
    return 0;
}

int tb_report_plot(const char *svg_path, const struct tb_campaign *campaign)
{
    return tb_gnuplot(svg_path, put_page_of, campaign);
}
