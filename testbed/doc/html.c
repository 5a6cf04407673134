// SPDX-License-Identifier: Apache-2.0
//
// html: a document as a page that loads nothing and runs no script.
//
// What has a key carries its exact value: a table's row has data-KEY for each such column (an interval data-KEY, data-KEY-low and
// data-KEY-high), a fact's line has it for itself, and tables, curves and sections are named by data-key. Tests read those.
//
// Headings of level 2 and folds with an anchor make the index. A tone is told by a sign as well as by a colour.
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/doc/doc_internal.h"
#include "testbed/doc/emit.h"

enum { LEVELS = 8, LONG_TEXT = 400 };

// --- markup --------------------------------------------------------------------------------------------------------------------

// A log holds what allocators, firmware and other people's hosts call themselves: all of it is text until it is escaped, which is
// done where the text is put and not where it came from.
static void put_escaped(FILE *out, char c)
{
    switch (c) {
    case '&': fputs("&amp;", out); break;
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '"': fputs("&quot;", out); break;
    case '\'': fputs("&#39;", out); break;
    default: fputc(c, out);
    }
}

void tb_html_text(FILE *out, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *clean = size ? malloc(size) : NULL;
    if (!clean) {
        fputs(size ? "?" : "", out);
        return;
    }
    tb_text_clean(text, false, clean, size);
    for (size_t i = 0; clean[i]; i++) // cleaning keeps every byte at its place
        put_escaped(out, text[i] == '\n' || text[i] == '\t' ? text[i] : clean[i]);
    free(clean);
}

void tb_html_fill(FILE *out, const char *template, const char *const texts[])
{
    for (; *template; template ++) {
        if (*template != '@') {
            fputc(*template, out);
            continue;
        }
        assert(*texts);
        if (*texts)
            tb_html_text(out, *texts++);
    }
    assert(!*texts);
}

static const char *class_of(enum tb_tone tone)
{
    static const char *const names[] = {
        [TB_TONE_PLAIN] = "",    [TB_TONE_GOOD] = "good",   [TB_TONE_BAD] = "bad",  [TB_TONE_OPEN] = "open",
        [TB_TONE_OURS] = "ours", [TB_TONE_FAINT] = "faint", [TB_TONE_POOR] = "poor"};
    return names[tone];
}

static void put_class(FILE *out, const char *class)
{
    if (*class)
        tb_html(out, " class=\"@\"", class);
}

static void put_sign(FILE *out, enum tb_tone tone)
{
    const char *sign = tb_tone_sign(tone);
    if (*sign)
        tb_html(out, "<span class=\"sign @\">@</span> ", class_of(tone), sign);
}

// --- values --------------------------------------------------------------------------------------------------------------------

static void put_exact(FILE *out, const struct tb_value *value)
{
    char number[TB_EXACT_BYTES];
    tb_html_text(out, tb_exact_value(value, number));
    for (uint64_t i = 0; value->kind == TB_VALUE_SAMPLES && i < value->count; i++) {
        const char *exact = TB_EXACT(value->samples[i]);
        fprintf(out, "%s%s", i ? " " : "", *exact ? exact : "-");
    }
}

// A key is the name of an attribute, and escaping does not keep a blank from ending it: a machine may be called anything.
static void put_data(FILE *out, const char *name, const struct tb_value *value)
{
    char key[64];
    size_t i = 0;
    for (; name[i] && i + 1 < sizeof key; i++)
        key[i] = isalnum((unsigned char)name[i]) || name[i] == '-' ? name[i] : '_';
    key[i] = '\0';
    tb_html(out, " data-@=\"", key);
    put_exact(out, value);
    fputc('"', out);
    if (value->kind == TB_VALUE_INTERVAL)
        tb_html(out, " data-@-low=\"@\" data-@-high=\"@\"", key, TB_EXACT(value->low), key, TB_EXACT(value->high));
}

static void put_value(FILE *out, enum tb_unit_kind kind, struct tb_unit unit, const struct tb_value *value)
{
    struct tb_figure_text text;
    tb_figure_text(kind, unit, value, &text);
    put_sign(out, value->tone);
    if (value->link)
        tb_html(out, "<a href=\"@\">", value->link);
    if (strlen(text.text) > LONG_TEXT)
        tb_html(out, "<details><summary>@ bytes</summary><pre>@</pre></details>", TB_EXACT((double)strlen(text.text)), text.text);
    else
        tb_html_text(out, text.text);
    fputs(value->link ? "</a>" : "", out);
    if (*text.range)
        tb_html(out, " <small class=\"range\">@</small>", text.range);
    if (value->detail)
        tb_html(out, "<small class=\"detail\">@</small>", value->detail);
}

// --- tables --------------------------------------------------------------------------------------------------------------------

struct column {
    struct tb_unit unit;
    struct tb_scale scale;
    bool of_text, drawn, figures; // figures: written, not only drawn
};

static struct column column_of(const struct tb_doc *doc, const struct tb_table *table, size_t c)
{
    struct column column = {.unit = tb_column_unit(table, c), .drawn = tb_column_drawn(table, c), .of_text = true};
    if (column.drawn)
        column.scale = tb_column_scale(doc, table, c);
    for (const struct tb_row *row = table->rows; row; row = row->next) {
        enum tb_value_kind kind = c < row->count ? row->cells[c].kind : TB_VALUE_NONE;
        column.of_text &= kind == TB_VALUE_TEXT || kind == TB_VALUE_NONE || kind == TB_VALUE_FLAG;
        column.figures |= kind != TB_VALUE_SAMPLES;
    }
    column.figures |= !column.drawn;
    return column;
}

static void put_head(FILE *out, const struct tb_table *table, const struct column columns[])
{
    fputs("<thead><tr>", out);
    for (size_t c = 0; c < table->columns_count; c++) {
        const char *title = table->columns[c].title, *unit = tb_unit_name(table->columns[c].unit, columns[c].unit);
        if (!title)
            continue;
        fprintf(out, "<th scope=\"col\"%s%s>", columns[c].of_text ? " class=\"t\"" : "",
                columns[c].drawn && columns[c].figures ? " colspan=\"2\"" : "");
        tb_html_text(out, title);
        if (*unit)
            tb_html(out, ", @", unit);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n", out);
}

static void put_cell(FILE *out, const struct tb_table *table, size_t c, const struct column *column, const struct tb_row *row)
{
    static const struct tb_value none = {.kind = TB_VALUE_NONE, .text = ""};
    const struct tb_value *value = c < row->count ? &row->cells[c] : &none;
    bool first = true;
    for (size_t i = 0; i < c; i++)
        first &= !table->columns[i].title;
    if (column->figures) {
        char class[48];
        snprintf(class, sizeof class, "%s%s", column->of_text ? "t " : "", class_of(value->tone));
        fputs(first ? "<th scope=\"row\"" : "<td", out);
        put_class(out, class);
        fputc('>', out);
        put_value(out, table->columns[c].unit, column->unit, value);
        fputs(first ? "</th>" : "</td>", out);
    }
    if (column->drawn) {
        fprintf(out, "<td class=\"d\"><svg height=\"%d\" role=\"img\">", TB_DRAW_HEIGHT);
        tb_draw_value(out, table, c, column->scale, value);
        fputs("</svg></td>", out);
    }
}

static void put_row(FILE *out, const struct tb_table *table, const struct column columns[], const struct tb_row *row)
{
    char class[32];
    snprintf(class, sizeof class, "%s%s",
             row->kind == TB_ROW_OURS    ? "ours"
             : row->kind == TB_ROW_ASIDE ? "aside"
                                         : "",
             row->gap ? " gap" : "");
    fputs("<tr", out);
    for (size_t c = 0; c < table->columns_count; c++)
        if (table->columns[c].key && c < row->count)
            put_data(out, table->columns[c].key, &row->cells[c]);
    put_class(out, class);
    fputc('>', out);
    for (size_t c = 0; c < table->columns_count; c++)
        if (table->columns[c].title)
            put_cell(out, table, c, &columns[c], row);
    fputs("</tr>\n", out);
}

static void put_axis(FILE *out, const struct tb_table *table, const struct column columns[])
{
    fputs("<tfoot><tr>", out);
    for (size_t c = 0; c < table->columns_count; c++) {
        if (!table->columns[c].title)
            continue;
        fputs(columns[c].figures ? "<td></td>" : "", out);
        if (!columns[c].drawn)
            continue;
        fprintf(out, "<td class=\"d axis\"><svg height=\"%d\" aria-hidden=\"true\">", TB_AXIS_HEIGHT);
        tb_draw_axis(out, columns[c].scale, table->columns[c].unit, columns[c].unit);
        fputs("</svg></td>", out);
    }
    fputs("</tr></tfoot>\n", out);
}

static int put_table(FILE *out, const struct tb_doc *doc, const struct tb_block *block)
{
    const struct tb_table *table = block->table;
    struct column *columns = calloc(table->columns_count + 1, sizeof *columns);
    bool drawn = false;
    if (!columns)
        return -ENOMEM;
    for (size_t c = 0; c < table->columns_count; c++) {
        columns[c] = column_of(doc, table, c);
        drawn |= columns[c].drawn && table->columns[c].title;
    }
    fputs("<div class=\"wide\"><table", out);
    if (block->key)
        tb_html(out, " data-key=\"@\"", block->key);
    fputs(">\n", out);
    if (block->text)
        tb_html(out, "<caption>@</caption>\n", block->text);
    put_head(out, table, columns);
    fputs("<tbody>\n", out);
    for (const struct tb_row *row = table->rows; row; row = row->next)
        put_row(out, table, columns, row);
    fputs("</tbody>\n", out);
    if (drawn)
        put_axis(out, table, columns);
    fputs("</table></div>\n", out);
    for (const struct tb_note *note = table->notes; note; note = note->next)
        tb_html(out, "<p class=\"note\">@</p>\n", note->text);
    free(columns);
    return 0;
}

// --- facts -----------------------------------------------------------------------------------------------------------------

// Those that follow each other are one list.
static void put_fact(FILE *out, const struct tb_block *block, const struct tb_block *before)
{
    struct tb_unit unit = tb_value_unit(block->unit, &block->value);
    const char *name = tb_unit_name(block->unit, unit);
    if (!before || before->kind != TB_BLOCK_FACT)
        fputs("<dl>\n", out);
    fputs("<div", out);
    if (block->key)
        put_data(out, block->key, &block->value);
    if (!block->text)
        fputs(" hidden=\"\"", out);
    tb_html(out, "><dt>@</dt><dd>", block->text ? block->text : "");
    put_value(out, block->unit, unit, &block->value);
    tb_html(out, "@@</dd></div>\n", *name ? " " : "", name);
    if (!block->next || block->next->kind != TB_BLOCK_FACT)
        fputs("</dl>\n", out);
}

// --- sections ------------------------------------------------------------------------------------------------------------------

struct sections {
    struct {
        int level;
        bool folded;
    } open[LEVELS];
    size_t count, headings;
};

static void close_to(FILE *out, struct sections *sections, int level)
{
    while (sections->count > 0 && sections->open[sections->count - 1].level >= level)
        fputs(sections->open[--sections->count].folded ? "</div></details>\n" : "</section>\n", out);
}

// Its own name, or one by its number.
static const char *anchor_of(const struct tb_block *block, size_t number, char out[24])
{
    snprintf(out, 24, "s%zu", number);
    return block->anchor ? block->anchor : out;
}

static void put_heading(FILE *out, struct sections *sections, const struct tb_block *block)
{
    static const char *const heads[] = {"h1", "h1", "h2", "h3", "h4", "h5", "h6"};
    int level = block->level < 6 ? block->level : 6;
    char number[24];
    const char *anchor = anchor_of(block, sections->headings++, number), *head = heads[level > 0 ? level : 1];
    close_to(out, sections, level);
    if (!block->text || sections->count == LEVELS)
        return;
    if (level > 1) {
        tb_html(out, block->folded ? "<details id=\"@\"" : "<section id=\"@\"", anchor);
        if (block->key)
            tb_html(out, " data-key=\"@\"", block->key);
        fputs(block->folded ? "><summary>" : ">", out);
        sections->open[sections->count].level = level;
        sections->open[sections->count++].folded = block->folded;
    }
    tb_html(out, "<@", head);
    put_class(out, class_of(block->tone));
    fputc('>', out);
    put_sign(out, block->tone);
    tb_html(out, "@</@>", block->text, head);
    fputs(level > 1 && block->folded ? "</summary><div class=\"inside\">\n" : "\n", out);
}

static void put_said(FILE *out, const struct tb_block *block)
{
    fputs("<p", out);
    put_class(out, block->kind == TB_BLOCK_ANSWER ? "answer" : class_of(block->tone));
    if (block->key)
        tb_html(out, " data-key=\"@\"", block->key);
    fputc('>', out);
    put_sign(out, block->tone);
    tb_html(out, "@</p>\n", block->text);
}

static int put_body(FILE *out, const struct tb_doc *doc)
{
    struct sections sections = {.count = 0};
    const struct tb_block *before = NULL;
    int rc = 0;
    for (const struct tb_block *block = doc->blocks; block && rc == 0; before = block, block = block->next) {
        switch (block->kind) {
        case TB_BLOCK_HEADING: put_heading(out, &sections, block); break;
        case TB_BLOCK_SAY:
        case TB_BLOCK_ANSWER: put_said(out, block); break;
        case TB_BLOCK_CODE: tb_html(out, "<pre>@</pre>\n", block->text ? block->text : ""); break;
        case TB_BLOCK_FACT: put_fact(out, block, before); break;
        case TB_BLOCK_TABLE: rc = block->table && tb_table_shown(block->table) ? put_table(out, doc, block) : 0; break;
        case TB_BLOCK_CURVES: // no page has any
        case TB_BLOCK_JSON: break;
        }
    }
    close_to(out, &sections, 0);
    return rc;
}

static void put_index(FILE *out, const struct tb_doc *doc)
{
    size_t number = 0;
    char name[24];
    for (const struct tb_block *block = doc->blocks; block; block = block->next) {
        if (block->kind != TB_BLOCK_HEADING)
            continue;
        const char *anchor = anchor_of(block, number++, name);
        bool brief = block->folded && block->anchor && block->level > 2;
        if (!block->text || (block->level != 2 && !brief))
            continue;
        fputs("<a", out);
        put_class(out, brief ? "brief" : "");
        tb_html(out, " href=\"#@\">", anchor);
        put_sign(out, block->tone);
        tb_html(out, "@</a>\n", brief ? anchor : block->text);
    }
}

static void put_title(FILE *out, const struct tb_doc *doc)
{
    for (const struct tb_block *block = doc->blocks; block; block = block->next)
        if (block->kind == TB_BLOCK_HEADING && block->level == 1) {
            tb_html_text(out, block->text);
            return;
        }
}

int tb_emit_html(FILE *out, const struct tb_doc *doc, const char *template, const char *style)
{
    static const char *const words[] = {"@TITLE@", "@STYLE@", "@INDEX@", "@BODY@"};
    int rc = doc->failed ? -ENOMEM : 0;
    errno = 0;
    while (*template && rc == 0) {
        size_t w = 0;
        while (w < 4 && strncmp(template, words[w], strlen(words[w])))
            w++;
        switch (w) {
        case 0: put_title(out, doc); break;
        case 1: fputs(style, out); break; // CSS, and a constant
        case 2: put_index(out, doc); break;
        case 3: rc = put_body(out, doc); break;
        default: fputc(*template ++, out);
        }
        template += w < 4 ? strlen(words[w]) : 0;
    }
    return rc ? rc : fflush(out) || ferror(out) ? errno ? -errno : -EIO : 0;
}
