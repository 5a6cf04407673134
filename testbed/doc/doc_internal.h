// SPDX-License-Identifier: Apache-2.0
//
// What the builder (doc.c) and the emitters share.
#ifndef TB_DOC_INTERNAL_H
#define TB_DOC_INTERNAL_H

#include <stdarg.h>
#include <stdio.h>

#include "testbed/base/words.h"
#include "testbed/doc/doc.h"

enum tb_block_kind {
    TB_BLOCK_HEADING,
    TB_BLOCK_SAY,
    TB_BLOCK_ANSWER,
    TB_BLOCK_CODE,
    TB_BLOCK_FACT,
    TB_BLOCK_JSON,
    TB_BLOCK_TABLE,
    TB_BLOCK_CURVES,
};

struct tb_block {
    struct tb_block *next;
    enum tb_block_kind kind;
    int level;                  // of a heading
    bool folded;
    bool whole;                 // a paragraph that is not broken
    const char *key, *text;     // the text is the title of what has one
    enum tb_unit_kind unit;
    struct tb_value value;
    enum tb_tone tone;
    const char *anchor;
    json_t *json;               // owned
    struct tb_table *table;
    struct tb_curves *curves;
};

struct tb_row {
    struct tb_row *next;
    enum tb_row_kind kind;
    bool gap;                   // before it
    size_t count;
    struct tb_value *cells;     // as many as the table has columns
};

struct tb_note {
    struct tb_note *next;
    const char *text;
    double x;                   // of a mark
};

struct tb_table {
    struct tb_doc *doc;
    struct tb_column *columns;
    size_t columns_count;
    struct tb_row *rows, *last;
    bool gap, heat, best_is_least;
    struct tb_note *notes;
    const char *group;          // whose scales it draws on; NULL: its own
    bool claimed;
    double claim_low, claim_high;
};

struct tb_point {
    struct tb_point *next;
    double x;
    struct tb_value y;
};

struct tb_line {
    struct tb_line *next;
    const char *name;
    struct tb_point *points, *last;
};

struct tb_curves {
    struct tb_doc *doc;
    struct tb_curve_axis x, y;
    struct tb_line *lines, *last;
    struct tb_note *marks;
};

struct tb_doc {
    struct tb_memory *memory;   // all of it, one piece after the other
    json_t *head, *values;      // owned; of the values that are JSON
    struct tb_block *blocks, *last;
    bool failed;
};

// --- figures -------------------------------------------------------------------------------------------------------------------

// The unit that fits every figure of a column (of a heat map: of the whole table), or of a single value.
struct tb_unit tb_column_unit(const struct tb_table *table, size_t column);
struct tb_unit tb_value_unit(enum tb_unit_kind unit, const struct tb_value *value);

// "1.68" and "[1.64, 1.71]": what a person reads of a value; `range` is "" but for an interval.
#define TB_FIGURE_BYTES 64
struct tb_figure_text {
    const char *text;           // figure, or the value's own
    char figure[TB_FIGURE_BYTES], range[TB_FIGURE_BYTES];
};
void tb_figure_text(enum tb_unit_kind kind, struct tb_unit unit, const struct tb_value *value, struct tb_figure_text *out);

// "us", "%", "GiB": what stands beside a heading or an axis; "" for none.
const char *tb_unit_name(enum tb_unit_kind kind, struct tb_unit unit);

// A number as text, as short as it can be to be read back as the same double, valid until the end of the block; "": not finite. And
// a value for programs; "": samples, JSON, none.
#define TB_EXACT_BYTES 32
#define TB_EXACT(value) tb_exact((char[TB_EXACT_BYTES]){0}, value)
const char *tb_exact(char out[TB_EXACT_BYTES], double value);
const char *tb_exact_value(const struct tb_value *value, char out[TB_EXACT_BYTES]);

// Is it for people? A table whose columns all lack a title is not.
bool tb_table_shown(const struct tb_table *table);

// The best figure of a heat map, and how many times worse another one is: 1 and more. NAN: there is none.
double tb_table_best(const struct tb_table *table);
double tb_times_best(const struct tb_table *table, double best, const struct tb_value *value);

// A figure's place for a drawing; NAN: it has none.
double tb_value_place(const struct tb_value *value);

// --- draw.c: what HTML and SVG draw --------------------------------------------------------------------------------------------

struct tb_scale {
    double low, high;           // low >= high: there is nothing to draw
    bool log;
};

enum { TB_DRAW_HEIGHT = 20, TB_AXIS_HEIGHT = 18, TB_CURVES_HEIGHT = 220 }; // pixels

// Of a table's column, with those of its group.
struct tb_scale tb_column_scale(const struct tb_doc *doc, const struct tb_table *table, size_t column);
bool tb_column_drawn(const struct tb_table *table, size_t column);

// What goes into an <svg> of TB_DRAW_HEIGHT, TB_AXIS_HEIGHT or TB_CURVES_HEIGHT, as wide as it happens to be.
void tb_draw_value(FILE *out, const struct tb_table *table, size_t column, struct tb_scale scale, const struct tb_value *value);
void tb_draw_axis(FILE *out, struct tb_scale scale, enum tb_unit_kind kind, struct tb_unit unit);
void tb_draw_curves(FILE *out, const struct tb_curves *curves);

// The place of a value in a heat map, 0 (best) to 9; -1: none.
int tb_heat_of(const struct tb_table *table, const struct tb_value *value);

// "1" to "6", the classes c1 .. of a curve's line, by turns; and the sign of a tone, "" for none.
unsigned tb_line_class(size_t line);
const char *tb_tone_sign(enum tb_tone tone);

// compose.c: as vasprintf(), but a double that is not finite is "-", and NULL: there is no memory.
char *tb_compose(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

// --- html.c: markup ------------------------------------------------------------------------------------------------------------

// Writes HTML and SVG whose text cannot become markup: tb_html(out, "<td data-arm=\"@\">@</td>\n", key, name). Each `@` stands for
// the next text, and every text is escaped; what is markup is in the template alone, a constant. At least one text; their number
// and that of `@` must agree (asserted).
#define tb_html(out, template, ...) tb_html_fill(out, template, (const char *const[]){__VA_ARGS__, NULL})
void tb_html_fill(FILE *out, const char *template, const char *const texts[]);

// For text and for attributes in double quotes. Control characters but newline and tab, and what is not UTF-8, become '?'. NULL is
// written as nothing.
void tb_html_text(FILE *out, const char *text);

#endif
