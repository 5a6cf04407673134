// SPDX-License-Identifier: Apache-2.0
//
// svg: what of a document is drawn, one drawing below the other, as one picture with its own colours: of a table the columns that
// are drawn, a heat map as tiles, curves.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testbed/doc/doc_internal.h"
#include "testbed/doc/emit.h"

enum { WIDTH = 900, NAME = 260, HEAT_NAME = 80, FIGURE = 180, LINE = 22, EDGE = 16 }; // pixels

static const char style[] =
    ".paper{fill:#fff}text{font:12px sans-serif;fill:#444}.title{font-weight:700;fill:#111}.end,.left{text-anchor:end}"
    ".axis text,.mid{text-anchor:middle}"
    "line{stroke:#444}.grid{stroke:#ddd}.same{stroke:#999;stroke-dasharray:2 3}.bar{stroke:#0072b2;stroke-width:4}"
    ".unbounded{stroke-dasharray:3 4}.threshold,.median,.mark{stroke:#111;stroke-width:1.5}circle{fill:#0072b2}"
    ".claimed{fill:#1a7f37;fill-opacity:.12}path{fill:none;stroke-linecap:round;vector-effect:non-scaling-stroke}"
    ".dots{stroke:#0072b2;stroke-width:4}"
    ".curve{stroke-width:2}.band{stroke-width:5;stroke-opacity:.25}.plot text{text-anchor:middle}.plot .left{text-anchor:end}"
    ".c1{stroke:#0072b2}.c2{stroke:#d55e00}.c3{stroke:#009e73}.c4{stroke:#cc79a7}.c5{stroke:#b58900;stroke-dasharray:7 4}"
    ".c6{stroke:#444;stroke-dasharray:2 4}.tile{fill:#0072b2}"
    "@media(prefers-color-scheme:dark){.paper{fill:#14181d}text{fill:#c4cad1}.title{fill:#fff}line,.c6{stroke:#c4cad1}"
    ".grid{stroke:#333a42}.same{stroke:#8a929b}.threshold,.median,.mark{stroke:#fff}.bar,.dots,.c1{stroke:#56b4e9}"
    "circle,.tile{fill:#56b4e9}}";

// In one line: SVG drops a line break in a text, and with it the space between two words.
static void put_text(FILE *out, double x, double y, const char *class, const char *text)
{
    char line[256];
    snprintf(line, sizeof line, "%s", text);
    for (char *at = line; (at = strchr(at, '\n')); at++)
        *at = ' ';
    tb_html(out, "<text x=\"@\" y=\"@\" class=\"@\">@</text>\n", TB_EXACT(x), TB_EXACT(y), class, line);
}

// The row's first text.
static const char *name_of(const struct tb_row *row)
{
    for (size_t c = 0; c < row->count; c++)
        if (row->cells[c].kind == TB_VALUE_TEXT && row->cells[c].text)
            return row->cells[c].text;
    return "";
}

static void put_box(FILE *out, double x, double y, double width, double height)
{
    fprintf(out, "<svg x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" overflow=\"visible\">", x, y, width, height);
}

// Returns the height so far.
static double put_column(FILE *out, const struct tb_doc *doc, const struct tb_block *block, size_t c, double y)
{
    const struct tb_table *table = block->table;
    struct tb_scale scale = tb_column_scale(doc, table, c);
    struct tb_unit unit = tb_column_unit(table, c);
    char title[256];
    snprintf(title, sizeof title, "%s%s%s %s", block->text ? block->text : "", block->text ? ": " : "", table->columns[c].title,
             tb_unit_name(table->columns[c].unit, unit));
    put_text(out, EDGE, y += LINE, "title", title);
    for (const struct tb_row *row = table->rows; row; row = row->next) {
        struct tb_figure_text text = {.text = ""};
        char figure[2 * TB_FIGURE_BYTES];
        if (c < row->count)
            tb_figure_text(table->columns[c].unit, unit, &row->cells[c], &text);
        snprintf(figure, sizeof figure, "%.60s %s", text.text, text.range);
        put_text(out, EDGE, y + LINE, "", name_of(row));
        put_box(out, EDGE + NAME, y + 7, WIDTH - NAME - FIGURE - 2 * EDGE, TB_DRAW_HEIGHT);
        if (c < row->count)
            tb_draw_value(out, table, c, scale, &row->cells[c]);
        fputs("</svg>\n", out);
        put_text(out, WIDTH - EDGE, y += LINE, "end", figure);
    }
    put_box(out, EDGE + NAME, y + 8, WIDTH - NAME - FIGURE - 2 * EDGE, TB_AXIS_HEIGHT);
    fputs("<g class=\"axis\">", out);
    tb_draw_axis(out, scale, table->columns[c].unit, unit);
    fputs("</g></svg>\n", out);
    return y + 2 * LINE;
}

// The best is the palest. The first column names the rows.
static double put_heat(FILE *out, const struct tb_block *block, double y)
{
    const struct tb_table *table = block->table;
    size_t tiles = table->columns_count > 1 ? table->columns_count - 1 : 1, last = table->columns_count - 1;
    double left = EDGE + HEAT_NAME, tile = fmin((WIDTH - HEAT_NAME - 2 * EDGE) / (double)tiles, NAME / 2.0);
    char title[256];
    snprintf(title, sizeof title, "%s, %s", block->text ? block->text : "",
             tb_unit_name(table->columns[last].unit, tb_column_unit(table, last)));
    put_text(out, EDGE, y += LINE, "title", title);
    y += 18;
    for (size_t c = 0; c <= last; c++)
        if (table->columns[c].title)
            put_text(out, c ? left + tile * ((double)c - 0.5) : EDGE, y, c ? "mid" : "", table->columns[c].title);
    y += 6;
    for (const struct tb_row *row = table->rows; row; row = row->next, y += LINE) {
        put_text(out, EDGE, y + 15, "", name_of(row));
        for (size_t c = 1; c < row->count; c++) {
            struct tb_figure_text text;
            int heat = tb_heat_of(table, &row->cells[c]);
            double x = left + tile * ((double)c - 1);
            if (heat >= 0)
                fprintf(out, "<rect class=\"tile\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%d\" fill-opacity=\"%.2f\"/>", x, y,
                        tile - 2, LINE - 2, 0.05 + 0.06 * heat);
            tb_figure_text(table->columns[c].unit, tb_column_unit(table, c), &row->cells[c], &text);
            put_text(out, x + tile / 2, y + 15, "mid", text.text);
        }
    }
    return y + LINE;
}

static double put_curves(FILE *out, const struct tb_block *block, double y)
{
    double x = EDGE + NAME;
    size_t number = 0;
    put_text(out, EDGE, y += LINE, "title", block->text ? block->text : "");
    for (const struct tb_line *line = block->curves->lines; line; line = line->next, number++) {
        if (!line->name)
            continue;
        fprintf(out, "<path class=\"curve c%u\" d=\"M%g %gh20\"/>", tb_line_class(number), x, y - 4);
        put_text(out, x + 26, y, "", line->name);
        x += 40 + 7 * (double)strlen(line->name);
    }
    fputs("<g class=\"plot\">", out);
    put_box(out, 4 * EDGE, y += 12, WIDTH - 6 * EDGE, TB_CURVES_HEIGHT);
    tb_draw_curves(out, block->curves);
    fputs("</svg></g>\n", out);
    return y + TB_CURVES_HEIGHT + LINE;
}

static double put_all(FILE *out, const struct tb_doc *doc)
{
    double y = 0;
    for (const struct tb_block *block = doc->blocks; block; block = block->next) {
        const struct tb_table *table = block->kind == TB_BLOCK_TABLE ? block->table : NULL;
        if (table && table->heat)
            y = put_heat(out, block, y);
        for (size_t c = 0; table && !table->heat && c < table->columns_count; c++)
            if (table->columns[c].title && tb_column_drawn(table, c))
                y = put_column(out, doc, block, c, y);
        if (block->kind == TB_BLOCK_CURVES && block->curves)
            y = put_curves(out, block, y);
    }
    return y;
}

int tb_emit_svg(FILE *out, const struct tb_doc *doc)
{
    struct tb_text body;
    int rc = doc->failed ? -ENOMEM : tb_text_open(&body);
    if (rc)
        return rc;
    double height = put_all(body.stream, doc);
    if (height == 0)
        return tb_text_close(&body, NULL, -ENODATA);
    errno = 0;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %g\" width=\"%d\" height=\"%g\" role=\"img\">\n"
            "<style>%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
            WIDTH, height + EDGE, WIDTH, height + EDGE, style);
    rc = tb_text_close(&body, out, 0);
    if (rc == 0 && (fputs("</svg>\n", out) == EOF || fflush(out)))
        rc = errno ? -errno : -EIO;
    return rc;
}
