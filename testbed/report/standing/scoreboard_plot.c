// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_plot: how many times as fast as the baseline each contender is, with its interval: a line for each table, a mark for
// each contender, in the colours and shapes of look.h. The axis is logarithmic, so that twice and half are as far from 1.
#include "testbed/report/standing/scoreboard.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "testbed/base/draw/gnuplot.h"
#include "testbed/base/draw/look.h"
#include "testbed/base/json.h"

// Pixels. A line must hold the marks of all contenders, one below the other; the left margin the longest name of a cell.
enum { PAGE_WIDTH = 1280, PAGE_HEAD = 50, PAGE_FOOT = 60, LINE = 90, MARGIN_LEFT = 450, MARGIN_RIGHT = 230, NAMES_MAX = 64 };

struct drawing {
    const json_t *tables;
    const char *names[NAMES_MAX];   // of contenders that have a velocity
    size_t names_count, lines;
};

static bool has_velocity(const json_t *row)
{
    return json_is_number(tb_member(row, "times_faster.estimate"));
}

static size_t name_index(const struct drawing *drawing, const char *name)
{
    size_t i = 0;
    while (i < drawing->names_count && strcmp(drawing->names[i], name))
        i++;
    return i;
}

static void collect(struct drawing *drawing)
{
    const json_t *table, *row;
    size_t t, r;
    json_array_foreach (drawing->tables, t, table) {
        bool any = false;
        json_array_foreach (tb_member(table, "contenders"), r, row) {
            const char *name = tb_member_text(row, "name");
            if (!has_velocity(row))
                continue;
            any = true;
            if (name_index(drawing, name) == drawing->names_count && drawing->names_count < NAMES_MAX)
                drawing->names[drawing->names_count++] = name;
        }
        drawing->lines += any;
    }
}

// The points of one contender: x, y, low, high. A twin of the same name is a second point.
static void put_points(FILE *out, const struct drawing *drawing, size_t name)
{
    const json_t *table, *row;
    size_t t, r, line = 0;
    fprintf(out, "$c%zu << EOD\n", name);
    json_array_foreach (drawing->tables, t, table) {
        bool any = false;
        json_array_foreach (tb_member(table, "contenders"), r, row) {
            double low = tb_member_number(row, "times_faster.low"), high = tb_member_number(row, "times_faster.high");
            double estimate = tb_member_number(row, "times_faster.estimate");
            any |= has_velocity(row);
            if (!has_velocity(row) || name_index(drawing, tb_member_text(row, "name")) != name)
                continue;
            double y = (double)line + 0.8 * (((double)name + 0.5) / (double)drawing->names_count - 0.5);
            fprintf(out, "%.9g %.4f %.9g %.9g\n", estimate, y, isfinite(low) ? low : estimate, isfinite(high) ? high : estimate);
        }
        line += any;
    }
    fputs("EOD\n", out);
}

static void put_tics(FILE *out, const struct drawing *drawing)
{
    const json_t *table, *row;
    size_t t, r, line = 0;
    fputs("set ytics (", out);
    json_array_foreach (drawing->tables, t, table) {
        char text[256];
        bool any = false;
        json_array_foreach (tb_member(table, "contenders"), r, row)
            any |= has_velocity(row);
        if (!any)
            continue;
        snprintf(text, sizeof text, "%.60s: %.120s, vs %.40s", tb_member_text(table, "host"), tb_member_text(table, "cell"),
                 tb_member_text(table, "baseline"));
        fputs(line ? ", " : "", out);
        tb_gnuplot_quoted(out, text);
        fprintf(out, " %zu", line++);
    }
    fputs(")\n", out);
}

static int put_script(FILE *out, const void *what)
{
    const struct drawing *drawing = what;
    double height = PAGE_HEAD + PAGE_FOOT + LINE * (double)drawing->lines;
    fprintf(out,
            "set encoding utf8\nset terminal svg size %d,%.0f fixed noenhanced font 'sans-serif,12' background 'white'\n"
            "set title 'LOCUS scoreboard: times faster than the contender that each line names, 95 %% interval'\n"
            "set border 1 lc rgb '#777777'\nset tics nomirror\nset grid x lc rgb '#dddddd'\nset logscale x\n"
            "set xlabel 'times faster, log scale; right is faster'\nset yrange [%.1f:-0.6]\n"
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\nset key at screen 0.99, graph 1 right top\n"
            "set arrow from 1, graph 0 to 1, graph 1 nohead lc rgb '#777777' dt 2\n",
            PAGE_WIDTH, height, (double)drawing->lines - 0.4, (double)MARGIN_LEFT / PAGE_WIDTH,
            1 - (double)MARGIN_RIGHT / PAGE_WIDTH);
    put_tics(out, drawing);
    for (size_t i = 0; i < drawing->names_count; i++)
        put_points(out, drawing, i);
    for (size_t i = 0; i < drawing->names_count; i++) {
        const struct tb_look *look = tb_look(drawing->names[i], (uint32_t)i);
        fprintf(out, "%s $c%zu using 1:2:3:4 with xerrorbars pt %d ps 0.8 lc rgb '%s' title ", i ? "," : "plot", i, look->shape,
                look->colour);
        tb_gnuplot_quoted(out, drawing->names[i]);
    }
    fputc('\n', out);
    return 0;
}

int tb_scoreboard_plot(const json_t *board, const char *svg_path)
{
    struct drawing drawing = {.tables = tb_member(board, "tables")};
    collect(&drawing);
    return drawing.names_count > 0 ? tb_gnuplot(svg_path, put_script, &drawing) : -ENODATA;
}
