// SPDX-License-Identifier: Apache-2.0
//
// text: a document for a terminal or a pipe: ASCII, no line longer than the reader's width if that can be helped.
//
// A column is as wide as its widest cell. Where the line would be too long, the widest column of texts gives way; its texts keep
// both ends, those of the first column their beginning. Figures end at the same place, and an interval follows them. Colour
// repeats what a sign or a word already says.
#include <errno.h>
#include <limits.h>
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

// A block of columns that stand beside each other.
struct layout {
    const struct tb_table *table;
    size_t shown[COLUMNS_MAX], count; // columns with a title, by their place in the table
    struct tb_unit unit[COLUMNS_MAX];
    size_t figure[COLUMNS_MAX], range[COLUMNS_MAX]; // widths
    bool of_text[COLUMNS_MAX];
    bool marked;                // some row is ours
    bool bare;                  // without intervals, for which there is no room
    double best;                // of a heat map
};

static void title_line(const struct layout *layout, size_t c, int line, char out[128])
{
    const struct tb_column *column = &layout->table->columns[layout->shown[c]];
    const char *second = strchr(column->title, '\n'), *unit = tb_unit_name(column->unit, layout->unit[c]);
    const char *name = second ? second + 1 : column->title;
    size_t first = second ? (size_t)(second - column->title) : 0;
    if (line == 0)
        snprintf(out, 128, "%.*s", (int)first, column->title);
    else if (layout->table->heat) // one unit for all, above the table
        snprintf(out, 128, "%s", name);
    else
        snprintf(out, 128, "%s%s%s", name, *unit && *name ? " " : "", unit);
}

// What a cell shows. The figure of a heat map is followed by its distance from the best.
static const struct tb_value *cell_text(const struct layout *layout, size_t c, const struct tb_row *row, struct tb_figure_text *out)
{
    static const struct tb_value none = {.kind = TB_VALUE_NONE, .text = ""};
    size_t at = layout->shown[c];
    const struct tb_value *value = at < row->count ? &row->cells[at] : &none;
    double times = tb_times_best(layout->table, layout->best, value);
    tb_figure_text(layout->table->columns[at].unit, layout->unit[c], value, out);
    if (layout->bare)
        out->range[0] = '\0';
    if (layout->table->heat && layout->table->columns[at].unit != TB_AS_IS && isfinite(times)) {
        char number[16];
        size_t used = strlen(out->figure);
        snprintf(out->figure + used, sizeof out->figure - used, " %5sx", tb_text_number(number, times));
    }
    return value;
}

static size_t column_width(const struct layout *layout, size_t c)
{
    return layout->figure[c] + (layout->range[c] ? layout->range[c] + 1 : 0);
}

static void measure(struct layout *layout, size_t c)
{
    const struct tb_table *table = layout->table;
    char title[128];
    bool figures = false;
    size_t widest = 0;
    layout->unit[c] = tb_column_unit(table, layout->shown[c]);
    layout->figure[c] = layout->range[c] = 0;
    for (const struct tb_row *row = table->rows; row; row = row->next) {
        struct tb_figure_text text;
        cell_text(layout, c, row, &text);
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
    size_t whole = column_width(layout, c);
    layout->figure[c] += widest > whole ? widest - whole : 0;
}

static size_t line_width(const struct layout *layout)
{
    size_t width = layout->marked ? 2 : 0;
    for (size_t c = 0; c < layout->count; c++)
        width += column_width(layout, c) + (c > 0 ? 2 : 0);
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

static void column_add(struct layout *layout, size_t at)
{
    layout->shown[layout->count] = at;
    measure(layout, layout->count++);
}

// What has samples is drawn, and nothing stands in text.
static bool is_shown(const struct tb_table *table, size_t at)
{
    for (const struct tb_row *row = table->rows; row; row = row->next)
        if (at < row->count && row->cells[at].kind == TB_VALUE_SAMPLES)
            return false;
    return table->columns[at].title;
}

static bool are_alike(const struct layout *layout, const struct tb_row *row, const struct tb_row *other)
{
    for (size_t c = 0; c < layout->count; c++) {
        struct tb_figure_text text, beside;
        cell_text(layout, c, row, &text);
        cell_text(layout, c, other, &beside);
        if (strcmp(text.text, beside.text))
            return false;
    }
    return true;
}

static bool are_told_apart(const struct layout *layout)
{
    for (const struct tb_row *row = layout->table->rows; row; row = row->next)
        for (const struct tb_row *other = row->next; other; other = other->next)
            if (are_alike(layout, row, other))
                return false;
    return true;
}

// What each part of a table begins with: its first column, and the texts after it that it takes to tell the rows apart.
static void add_names(struct layout *layout, size_t before, size_t columns)
{
    bool told = false;
    for (size_t at = 0; at < before && !told && layout->count < COLUMNS_MAX; at++) {
        if (!is_shown(layout->table, at))
            continue;
        column_add(layout, at);
        if (layout->count > 1 && !layout->of_text[layout->count - 1])
            break;
        told = are_told_apart(layout);
    }
    while (layout->count > 1 && (!told || line_width(layout) > columns * 2 / 3))
        layout->count--;
}

// As many columns from `from` as fit beside those that tell the rows apart. Returns the next.
static size_t lay_out(struct layout *layout, size_t from, size_t columns)
{
    const struct tb_table *table = layout->table;
    size_t at = from;
    layout->count = 0;
    add_names(layout, from, columns);
    size_t least = layout->count ? layout->count + 1 : 2;
    for (; at < table->columns_count && layout->count < COLUMNS_MAX; at++) {
        if (!is_shown(table, at))
            continue;
        column_add(layout, at);
        squeeze(layout, columns);
        if (line_width(layout) > columns && layout->count > least) {
            layout->count--;
            break;
        }
    }
    for (size_t c = 0; c < layout->count; c++) // as if the one that did not fit had not been tried
        measure(layout, c);
    squeeze(layout, columns);
    return at;
}

// A line without the blanks at its end.
static void put_words(const struct page *page, struct tb_words *line)
{
    while (line->used > 0 && line->text[line->used - 1] == ' ')
        line->text[--line->used] = '\0';
    fprintf(page->out, "%s\n", line->text);
}

static void put_title(const struct page *page, const struct layout *layout, int line)
{
    char title[128];
    bool any = false;
    struct tb_words words = {0};
    tb_say(&words, "%s", layout->marked ? "  " : "");
    for (size_t c = 0; c < layout->count; c++) {
        int width = (int)column_width(layout, c);
        title_line(layout, c, line, title);
        bool left = layout->of_text[c] || layout->range[c];
        any |= title[0] != '\0';
        tb_say(&words, "%s%*s", c > 0 ? "  " : "", left ? -width : width, title);
    }
    if (any)
        put_words(page, &words);
}

// How much of a text stands in a line of its column. It goes on in the next one, after a comma or a blank; a single word is
// shortened.
static size_t piece_length(const char *text, size_t room)
{
    size_t length = strlen(text), cut = 0;
    if (length <= room || !text[strcspn(text, ", ")])
        return length;
    for (size_t i = 1; i <= room; i++)
        if (text[i] == ' ' || text[i - 1] == ' ' || text[i - 1] == ',')
            cut = i;
    return cut ? cut : room;
}

// From cream to dark red, whose lightness falls as well; black figures, on the two darkest white ones.
static const char *shade_of(double times)
{
    static const struct {
        double from;
        const char *code;
    } shades[] = {{3, "\033[48;5;88;38;5;231m"},   {2, "\033[48;5;160;38;5;231m"},   {1.5, "\033[48;5;209;38;5;16m"},
                  {1.2, "\033[48;5;222;38;5;16m"}, {1.05, "\033[48;5;229;38;5;16m"}, {0, "\033[48;5;230;38;5;16m"}};
    size_t i = 0;
    while (times < shades[i].from)
        i++;
    return shades[i].code;
}

static void say_figure(const struct page *page, const struct layout *layout, size_t c, const struct tb_value *value,
                       const struct tb_figure_text *text, enum tb_tone tone, struct tb_words *line)
{
    double times = tb_times_best(layout->table, layout->best, value);
    bool hot = page->style.colour && layout->table->heat && strchr(text->figure, 'x') && isfinite(times);
    const char *colour = hot ? shade_of(times) : page->style.colour ? colour_of(tone) : "";
    int width = (int)layout->figure[c], blanks = width - (int)strlen(text->figure);
    bool left = layout->of_text[c];
    tb_say(line, "%*s%s%*s%s%*s", left || hot ? 0 : blanks, "", colour, hot ? width : 0, text->figure, *colour ? "\033[0m" : "",
           left ? blanks : 0, "");
    if (layout->range[c])
        tb_say(line, " %-*s", (int)layout->range[c], text->range);
}

// `rest` is what is left of a text for the next lines, or NULL.
static void say_cell(const struct page *page, const struct layout *layout, size_t c, const struct tb_row *row, const char **rest,
                     struct tb_words *line)
{
    struct tb_figure_text text;
    const struct tb_value *value = cell_text(layout, c, row, &text);
    enum tb_tone tone = value->tone ? value->tone : row->kind == TB_ROW_ASIDE ? TB_TONE_FAINT : TB_TONE_PLAIN;
    size_t room = column_width(layout, c);
    const char *colour = page->style.colour ? colour_of(tone) : "";
    if (text.text == text.figure && !*rest) {
        say_figure(page, layout, c, value, &text, tone, line);
        *rest = "";
        return;
    }
    const char *from = *rest ? *rest : text.text;
    char shown[512];
    size_t length = piece_length(from, room);
    snprintf(shown, sizeof shown, "%.*s", (int)length, from);
    if (c == 0 && length > room) // what a row is about is told by its beginning
        snprintf(shown + room - 2, sizeof shown - room + 2, "..");
    tb_text_shorten(shown, room);
    *rest = from + length + strspn(from + length, " ");
    int blanks = (int)(room - strlen(shown));
    bool right = !layout->of_text[c] && !layout->range[c]; // below figures that end there
    tb_say(line, "%*s%s%s%s%*s", right ? blanks : 0, "", colour, shown, *colour ? "\033[0m" : "", right ? 0 : blanks, "");
}

static void put_row(const struct page *page, const struct layout *layout, const struct tb_row *row)
{
    const char *rest[COLUMNS_MAX] = {0};
    const char *mark = !layout->marked ? "" : row->kind == TB_ROW_OURS ? "> " : "  ";
    if (row->gap)
        fputc('\n', page->out);
    for (bool more = true; more; mark = layout->marked ? "  " : "") {
        struct tb_words line = {0};
        tb_say(&line, "%s", mark);
        more = false;
        for (size_t c = 0; c < layout->count; c++) {
            tb_say(&line, "%s", c > 0 ? "  " : "");
            say_cell(page, layout, c, row, &rest[c], &line);
            more |= *rest[c] != '\0';
        }
        put_words(page, &line);
    }
}

static void put_table_title(const struct page *page, const struct layout *layout, const char *text)
{
    const struct tb_table *table = layout->table;
    size_t last = table->columns_count - 1;
    const char *unit = table->heat ? tb_unit_name(table->columns[last].unit, tb_column_unit(table, last)) : "";
    struct tb_words words = {0};
    tb_say(&words, "%s%s%s", text, *unit ? ", " : "", unit);
    tb_text_wrap(page->out, width_of(page), 0, 2, words.text);
}

static void put_table(struct page *page, const struct tb_block *block)
{
    const struct tb_table *table = block->table;
    struct layout layout = {.table = table, .best = table->heat ? tb_table_best(table) : (double)NAN};
    size_t columns = (size_t)page->style.columns;
    part(page);
    if (block->text)
        put_table_title(page, &layout, block->text);
    layout.bare = table->heat && lay_out(&layout, 0, columns) < table->columns_count;
    for (size_t from = 0; from < table->columns_count;) {
        from = lay_out(&layout, from, columns);
        put_title(page, &layout, 0);
        put_title(page, &layout, 1);
        for (const struct tb_row *row = table->rows; row; row = row->next)
            put_row(page, &layout, row);
    }
    for (const struct tb_note *note = table->notes; note; note = note->next) {
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
    size_t ranges = 0;          // width of the intervals
    const struct tb_note *mark = curves->marks;
    for (const struct tb_point *point = line->points; point; point = point->next) {
        double y = tb_value_place(&point->y);
        struct tb_figure_text text;
        tb_figure_text(curves->y.unit, tb_value_unit(curves->y.unit, &point->y), &point->y, &text);
        ranges = strlen(text.range) > ranges ? strlen(text.range) : ranges;
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
        struct tb_words words = {0};
        tb_say(&words, "  %8s %-4s %8s %-4s %-*s%s%.*s", at.text, x_name, text.text, y_name, (int)ranges, text.range,
               ranges ? " " : "", bar, "##################################");
        put_words(page, &words);
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

// Is it for people?
static bool shown(const struct tb_block *block)
{
    return block->kind == TB_BLOCK_TABLE ? tb_table_shown(block->table) : block->text || block->kind == TB_BLOCK_CURVES;
}

// Facts that follow each other have their values below each other.
static size_t facts_width(const struct tb_block *block)
{
    size_t width = 0;
    for (; block && (block->kind == TB_BLOCK_FACT || !shown(block)); block = block->next)
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
    tb_text_wrap(page->out, block->whole ? INT_MAX : width_of(page), 0, 2, block->text);
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
        part(page);
        fputs(page->style.colour ? colour_of(TB_TONE_OURS) : "", page->out);
        tb_text_wrap(page->out, width_of(page), 0, 2, block->text);
        fputs(page->style.colour ? "\033[0m" : "", page->out);
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
    for (const struct tb_block *block = doc->blocks; block; block = block->next)
        if (shown(block)) {
            put_block(&page, block, before, &width);
            before = block;
        } else if (block->kind == TB_BLOCK_HEADING) {
            before = NULL;
        }
    return tb_text_close(&text, out, 0);
}
