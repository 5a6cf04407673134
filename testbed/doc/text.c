// SPDX-License-Identifier: Apache-2.0
//
// text: a document for a terminal or a pipe: ASCII, no line longer than the reader's width if that can be helped.
//
// A column is as wide as its widest cell. Where the line would be too long, the widest column of texts gives way; its texts keep
// both ends, those of the first column their beginning. Figures end at the same place, and an interval begins behind them. Colour
// repeats what a sign or a word already says.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/doc/doc_internal.h"
#include "testbed/doc/emit.h"

#define COLUMNS_MAX 64
#define TEXT_WIDTH_MIN 12
#define WIDTH_MAX 120           // of sentences: longer lines are hard to read
#define BAR_COLUMNS 34

struct page {
    FILE *out;
    struct tb_report_style style;
    bool begun;                 // something stands above
};

static const char *colour_of(enum tb_tone tone)
{
    switch (tone) {
    case TB_TONE_GOOD: return "\033[32m";
    case TB_TONE_BAD: return "\033[31m";
    case TB_TONE_OPEN: return "\033[33m";
    case TB_TONE_OURS: return "\033[1m";
    case TB_TONE_FAINT: return "\033[2m";
    default: return "";
    }
}

static void put_toned(const struct page *page, enum tb_tone tone, const char *text)
{
    const char *colour = page->style.colour ? colour_of(tone) : "";
    fprintf(page->out, "%s%s%s", colour, text, *colour ? "\033[0m" : "");
}

static int width_of(const struct page *page)
{
    return page->style.columns < WIDTH_MAX ? page->style.columns : WIDTH_MAX;
}

static void part(struct page *page)
{
    if (page->begun)
        fputc('\n', page->out);
    page->begun = true;
}

// --- tables --------------------------------------------------------------------------------------------------------------------

struct layout {
    const struct tb_table *table;
    size_t shown[COLUMNS_MAX], count; // columns with a title, by their place in the table
    struct tb_unit unit[COLUMNS_MAX];
    size_t figure[COLUMNS_MAX], range[COLUMNS_MAX]; // widths
    bool of_text[COLUMNS_MAX];
    bool marked;                // some row is ours
};

static void title_line(const struct layout *layout, size_t c, int line, char out[128])
{
    const struct tb_column *column = &layout->table->columns[layout->shown[c]];
    const char *second = strchr(column->title, '\n'), *unit = tb_unit_name(column->unit, layout->unit[c]);
    size_t first = second ? (size_t)(second - column->title) : 0;
    if (line == 0)
        snprintf(out, 128, "%.*s", (int)first, column->title);
    else
        snprintf(out, 128, "%s%s%s", second ? second + 1 : column->title, *unit ? " " : "", unit);
}

static void measure(struct layout *layout, size_t c)
{
    const struct tb_table *table = layout->table;
    size_t at = layout->shown[c];
    char title[128];
    bool figures = false;
    size_t widest = 0;
    layout->unit[c] = tb_column_unit(table, at);
    for (const struct tb_row *row = table->rows; row; row = row->next) {
        struct tb_figure_text text = {.text = ""};
        if (at < row->count)
            tb_figure_text(table->columns[at].unit, layout->unit[c], &row->cells[at], &text);
        size_t length = strlen(text.text), range = strlen(text.range);
        bool figure = text.text == text.figure;
        figures |= figure;
        widest = length > widest ? length : widest;
        layout->figure[c] = figure && length > layout->figure[c] ? length : layout->figure[c];
        layout->range[c] = range > layout->range[c] ? range : layout->range[c];
        layout->marked |= row->kind == TB_ROW_OURS;
    }
    layout->of_text[c] = !figures;
    for (int line = 0; line < 2; line++) {
        title_line(layout, c, line, title);
        widest = strlen(title) > widest ? strlen(title) : widest;
    }
    size_t whole = layout->figure[c] + (layout->range[c] ? layout->range[c] + 1 : 0);
    layout->figure[c] += widest > whole ? widest - whole : 0;
}

static size_t line_width(const struct layout *layout)
{
    size_t width = layout->marked ? 2 : 0;
    for (size_t c = 0; c < layout->count; c++)
        width += layout->figure[c] + (layout->range[c] ? layout->range[c] + 1 : 0) + (c > 0 ? 2 : 0);
    return width;
}

static void squeeze(struct layout *layout, size_t columns)
{
    while (line_width(layout) > columns) {
        size_t widest = layout->count;
        for (size_t c = 0; c < layout->count; c++)
            if (layout->of_text[c] && layout->figure[c] > TEXT_WIDTH_MIN &&
                (widest == layout->count || layout->figure[c] > layout->figure[widest]))
                widest = c;
        if (widest == layout->count)
            return;
        layout->figure[widest]--;
    }
}

static void put_title(const struct page *page, const struct layout *layout, int line)
{
    char title[128], whole[4096];
    size_t used = (size_t)snprintf(whole, sizeof whole, "%s", layout->marked ? "  " : "");
    for (size_t c = 0; c < layout->count && used < sizeof whole; c++) {
        int width = (int)(layout->figure[c] + (layout->range[c] ? layout->range[c] + 1 : 0));
        title_line(layout, c, line, title);
        bool left = layout->of_text[c] || layout->range[c];
        used += (size_t)snprintf(whole + used, sizeof whole - used, "%s%*s", c > 0 ? "  " : "", left ? -width : width, title);
    }
    while (used > 0 && used < sizeof whole && whole[used - 1] == ' ')
        whole[--used] = '\0';
    if (used > 0)
        fprintf(page->out, "%s\n", whole);
}

static void put_cell(const struct page *page, const struct layout *layout, size_t c, const struct tb_row *row, bool last)
{
    static const struct tb_value none = {.kind = TB_VALUE_NONE, .text = ""};
    size_t at = layout->shown[c];
    const struct tb_value *value = at < row->count ? &row->cells[at] : &none;
    enum tb_tone tone = value->tone ? value->tone : row->kind == TB_ROW_ASIDE ? TB_TONE_FAINT : TB_TONE_PLAIN;
    struct tb_figure_text text;
    char shown[512];
    tb_figure_text(layout->table->columns[at].unit, layout->unit[c], value, &text);
    snprintf(shown, sizeof shown, "%s", text.text);
    bool figure = text.text == text.figure;
    size_t room = layout->figure[c] + (figure || !layout->range[c] ? 0 : layout->range[c] + 1);
    if (c == 0 && strlen(shown) > room) // what a row is about is told by its beginning
        snprintf(shown + room - 2, sizeof shown - room + 2, "..");
    tb_text_shorten(shown, room);
    int blanks = (int)(room - strlen(shown)), tail = figure && layout->range[c] ? (int)layout->range[c] + 1 : 0;
    fprintf(page->out, "%s%*s", c > 0 ? "  " : "", figure && !layout->of_text[c] ? blanks : 0, "");
    put_toned(page, tone, shown);
    if (!figure || layout->of_text[c])
        fprintf(page->out, "%*s", last ? 0 : blanks, "");
    if (tail)
        fprintf(page->out, " %-*s", last ? 0 : tail - 1, text.range);
}

static void put_row(const struct page *page, const struct layout *layout, const struct tb_row *row)
{
    if (row->gap)
        fputc('\n', page->out);
    if (layout->marked)
        fputs(row->kind == TB_ROW_OURS ? "> " : "  ", page->out);
    for (size_t c = 0; c < layout->count; c++)
        put_cell(page, layout, c, row, c + 1 == layout->count);
    fputc('\n', page->out);
}

static void put_table(struct page *page, const struct tb_block *block)
{
    struct layout layout = {.table = block->table};
    if (!tb_table_shown(block->table))
        return;
    part(page);
    if (block->text)
        tb_text_wrap(page->out, width_of(page), 0, 2, block->text);
    for (size_t c = 0; c < block->table->columns_count && layout.count < COLUMNS_MAX; c++)
        if (block->table->columns[c].title)
            layout.shown[layout.count++] = c;
    for (size_t c = 0; c < layout.count; c++)
        measure(&layout, c);
    squeeze(&layout, (size_t)page->style.columns);
    put_title(page, &layout, 0);
    put_title(page, &layout, 1);
    for (const struct tb_row *row = block->table->rows; row; row = row->next)
        put_row(page, &layout, row);
    for (const struct tb_note *note = block->table->notes; note; note = note->next) {
        fputs("  ", page->out);
        tb_text_wrap(page->out, width_of(page), 2, 4, note->text);
    }
}

// --- curves --------------------------------------------------------------------------------------------------------------------

// A bar's length; logarithmic where the values lie far apart.
static int bar_of(const struct tb_curves *curves, double value, double least, double most)
{
    if (!(value > 0) || !(most > 0))
        return 0;
    double share = curves->y.log && most > least ? (1 + log(value / least)) / (1 + log(most / least)) : value / most;
    return (int)lrint(share * BAR_COLUMNS);
}

static void put_line(const struct page *page, const struct tb_curves *curves, const struct tb_line *line)
{
    double least = INFINITY, most = 0;
    const struct tb_note *mark = curves->marks;
    for (const struct tb_point *point = line->points; point; point = point->next) {
        double y = tb_value_place(&point->y);
        least = isfinite(y) ? fmin(least, y) : least;
        most = isfinite(y) ? fmax(most, y) : most;
    }
    for (const struct tb_point *point = line->points; point; point = point->next) {
        struct tb_value x = tb_number(point->x);
        struct tb_unit x_unit = tb_value_unit(curves->x.unit, &x), y_unit = tb_value_unit(curves->y.unit, &point->y);
        struct tb_figure_text at, text;
        tb_figure_text(curves->x.unit, x_unit, &x, &at);
        tb_figure_text(curves->y.unit, y_unit, &point->y, &text);
        for (; mark && mark->x < point->x; mark = mark->next)
            fprintf(page->out, "  -- %s\n", mark->text);
        int bar = bar_of(curves, tb_value_place(&point->y), least, most);
        const char *x_name = tb_unit_name(curves->x.unit, x_unit), *y_name = tb_unit_name(curves->y.unit, y_unit);
        fprintf(page->out, "  %8s %-4s %8s %-4s %.*s\n", at.text, x_name, text.text, y_name, bar,
                "##################################");
    }
}

static void put_curves(struct page *page, const struct tb_block *block)
{
    const struct tb_curves *curves = block->curves;
    part(page);
    if (block->text)
        tb_text_wrap(page->out, width_of(page), 0, 2, block->text);
    fprintf(page->out, "  %s; %s%s\n", curves->x.title, curves->y.title, curves->y.log ? " (bars: log scale)" : "");
    for (const struct tb_line *line = curves->lines; line; line = line->next) {
        if (line->name)
            fprintf(page->out, "  %s\n", line->name);
        put_line(page, curves, line);
    }
}

// --- the rest ------------------------------------------------------------------------------------------------------------------

// Facts that follow each other have their values below each other.
static size_t facts_width(const struct tb_block *block)
{
    size_t width = 0;
    for (; block && block->kind == TB_BLOCK_FACT; block = block->next)
        if (block->text && strlen(block->text) > width)
            width = strlen(block->text);
    return width;
}

static void put_fact(const struct page *page, const struct tb_block *block, size_t width)
{
    struct tb_unit unit = tb_value_unit(block->unit, &block->value);
    const char *name = tb_unit_name(block->unit, unit);
    struct tb_figure_text text;
    char whole[1024];
    tb_figure_text(block->unit, unit, &block->value, &text);
    snprintf(whole, sizeof whole, "%s%s%s%s%s", text.text, *name ? " " : "", name, *text.range ? " " : "", text.range);
    fprintf(page->out, "%-*s  ", (int)width, block->text);
    tb_text_wrap(page->out, width_of(page), (int)width + 2, (int)width + 2, whole);
}

static void put_said(struct page *page, const struct tb_block *block, const struct tb_block *before)
{
    bool follows = before && (before->kind == TB_BLOCK_SAY || before->kind == TB_BLOCK_ANSWER);
    if (!follows)
        part(page);
    if (block->kind == TB_BLOCK_ANSWER && page->style.colour)
        fputs(colour_of(TB_TONE_OURS), page->out);
    tb_text_wrap(page->out, width_of(page), 0, 2, block->text);
    if (block->kind == TB_BLOCK_ANSWER && page->style.colour)
        fputs("\033[0m", page->out);
}

static void put_code(struct page *page, const struct tb_block *block)
{
    for (const char *line = block->text; line && *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(page->out, "    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    page->begun = true;
}

static void put_block(struct page *page, const struct tb_block *block, const struct tb_block *before, size_t *width)
{
    switch (block->kind) {
    case TB_BLOCK_HEADING:
        if (!block->text)
            return;
        part(page);
        put_toned(page, TB_TONE_OURS, block->text);
        fputc('\n', page->out);
        page->begun = false;
        return;
    case TB_BLOCK_SAY:
    case TB_BLOCK_ANSWER: put_said(page, block, before); return;
    case TB_BLOCK_CODE: put_code(page, block); return;
    case TB_BLOCK_FACT:
        if (!before || before->kind != TB_BLOCK_FACT) {
            part(page);
            *width = facts_width(block);
        }
        if (block->text)
            put_fact(page, block, *width);
        return;
    case TB_BLOCK_TABLE: put_table(page, block); return;
    case TB_BLOCK_CURVES: put_curves(page, block); return;
    case TB_BLOCK_JSON: return;
    }
}

int tb_emit_text(FILE *out, const struct tb_doc *doc, struct tb_report_style style)
{
    struct tb_text text;
    int rc = doc->failed ? -ENOMEM : tb_text_open(&text);
    if (rc)
        return rc;
    struct page page = {.out = text.stream, .style = style};
    const struct tb_block *before = NULL;
    size_t width = 0;
    for (const struct tb_block *block = doc->blocks; block; before = block, block = block->next)
        put_block(&page, block, before, &width);
    return tb_text_close(&text, out, 0);
}
