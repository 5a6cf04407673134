// SPDX-License-Identifier: Apache-2.0
//
// doc: what a command shows, before anybody has decided how.
//
// A document is a head and a list of blocks: headings, sentences, facts, tables, curves. A command builds one; an emitter each
// writes it as text for a terminal, JSON, CSV, Markdown, HTML or SVG (emit.h). So a new command writes no emitter, and a figure is
// rounded, aligned and coloured in one place. Values are typed and have a unit: programs get them as they are, people get three
// digits.
//
// Whatever has a key is for programs: JSON members are called so, and CSV columns. Whatever has no title is for them only, and what
// has no key is for people only. Strings are copied, and cleaned of control characters.
//
// Building does not fail call by call: a document for which there was not memory enough says so when it is emitted (-ENOMEM).
// One thread. Nothing of a document outlives tb_doc_close().
#ifndef TB_DOC_H
#define TB_DOC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/stats/stats.h"

struct tb_doc;
struct tb_table;
struct tb_curves;

// `head` is what every JSON of the program begins with (host/head.h); taken over, may be NULL. NULL without memory.
struct tb_doc *tb_doc_open(json_t *head);
void tb_doc_close(struct tb_doc *doc); // NULL is allowed

// --- values --------------------------------------------------------------------------------------------------------------------

enum tb_value_kind {
    TB_VALUE_NONE,              // there is no figure; the text, if any, says why
    TB_VALUE_TEXT,
    TB_VALUE_COUNT,
    TB_VALUE_NUMBER,
    TB_VALUE_INTERVAL,
    TB_VALUE_FLAG,
    TB_VALUE_SAMPLES,           // drawn as a strip; for programs an array
    TB_VALUE_IDS,               // numbers of CPUs or nodes, "0-3,8"; for programs an array
    TB_VALUE_JSON,              // for programs only
};

// How it is told: by a sign in plain text, by colour where there is any.
// poor: it cannot be told, and that is somebody's fault (invalid, crashed); open: it cannot be told.
enum tb_tone { TB_TONE_PLAIN, TB_TONE_GOOD, TB_TONE_BAD, TB_TONE_OPEN, TB_TONE_OURS, TB_TONE_FAINT, TB_TONE_POOR };

struct tb_value {
    enum tb_value_kind kind;
    enum tb_tone tone;
    const char *text;
    double number, low, high;   // low and high not finite: unbounded. Of samples: what is marked in the strip, NAN: nothing
    double confidence;
    uint64_t count;             // also of samples; a flag's is 0 or 1
    const double *samples;      // NAN: of no worth, and not drawn
    double mark;                // drawn as an upright line beside it; 0: none
    const char *link, *detail;  // HTML: where it leads; what stands beneath it, small
    json_t *json;
};

struct tb_value tb_none(const char *why); // NULL: "-"
struct tb_value tb_text_value(const char *text);
struct tb_value tb_count(uint64_t count);
struct tb_value tb_number(double number); // none when it is not finite
struct tb_value tb_flag(bool flag);
struct tb_value tb_interval(const struct tb_ratio *ratio);
struct tb_value tb_interval_of(double estimate, double low, double high, double confidence);
struct tb_value tb_samples(const double samples[], size_t count);
struct tb_value tb_ids(const char *list); // "": none
struct tb_value tb_json_value(json_t *json); // taken over when it is put; NULL is no memory
struct tb_value tb_member_value(const json_t *object, const char *path); // text, number or flag; else none
struct tb_value tb_marked(struct tb_value value, double mark);
struct tb_value tb_toned(struct tb_value value, enum tb_tone tone);
struct tb_value tb_linked(struct tb_value value, const char *link);
struct tb_value tb_detailed(struct tb_value value, const char *detail);

enum tb_unit_kind {
    TB_AS_IS,                   // three digits
    TB_AS_RATIO,                // 1 is the middle of a drawing
    TB_AS_TIME,                 // ns; for people the unit that fits the whole column
    TB_AS_BYTES,                // for people KiB, MiB, GiB
    TB_AS_SHARE,                // of 1; for people in percent
    TB_AS_RATE,                 // bytes a second; for people GB/s
};

// --- blocks --------------------------------------------------------------------------------------------------------------------

// Level 1 is the document's title. What follows belongs to the heading, until the next one of the same or a smaller level. With a
// key, its members are an object of that name. `folded`: HTML shows the heading alone until it is opened.
void tb_doc_heading(struct tb_doc *doc, int level, const char *key, const char *title);
void tb_doc_folded(struct tb_doc *doc, int level, const char *key, const char *title);

// A paragraph. Several of one key are an array. An answer stands out; a line stays one, for other programs: FILE:LINE: WHAT
#define tb_doc_say(doc, key, ...) tb_doc_tell(doc, TB_SAID_PLAIN, key, __VA_ARGS__)
#define tb_doc_answer(doc, key, ...) tb_doc_tell(doc, TB_SAID_ANSWER, key, __VA_ARGS__)
#define tb_doc_line(doc, key, ...) tb_doc_tell(doc, TB_SAID_LINE, key, __VA_ARGS__)
enum tb_said { TB_SAID_PLAIN, TB_SAID_ANSWER, TB_SAID_LINE };
// In sentences and notes a double that is not finite is "-": there is no such figure.
void tb_doc_tell(struct tb_doc *doc, enum tb_said said, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void tb_doc_code(struct tb_doc *doc, const char *key, const char *text); // kept as it is, line by line

// "title  value". For programs the member `key`.
void tb_doc_fact(struct tb_doc *doc, const char *key, const char *title, enum tb_unit_kind unit, struct tb_value value);

// HTML: of the block that was added last its tone, and the name by which others link to it.
void tb_doc_tone(struct tb_doc *doc, enum tb_tone tone);
void tb_doc_anchor(struct tb_doc *doc, const char *name);

// Any JSON, for programs only. Taken over.
void tb_doc_json(struct tb_doc *doc, const char *key, json_t *value);
void tb_doc_members(struct tb_doc *doc, const json_t *object); // each member of it; borrowed

// --- tables --------------------------------------------------------------------------------------------------------------------

struct tb_column {
    const char *key, *title;    // a '\n' in the title begins its second line
    enum tb_unit_kind unit;
    bool draw;                  // HTML and SVG draw intervals and samples on one scale for the whole column
};

// A row is an object, a member for each column that has a key; "placement.pages" is a member of the object `placement`, which is
// null where nothing of it is known. `columns` ends with one that has neither key nor title. NULL without
// memory: all functions of tables take that.
struct tb_table *tb_doc_table(struct tb_doc *doc, const char *key, const char *title, const struct tb_column columns[]);

// The same with plain figures, its columns in one text: "run=name|=question|hash" are a column with key and title, one for people
// and one for programs.
struct tb_table *tb_doc_grid(struct tb_doc *doc, const char *key, const char *title, const char *columns);

// One more column, before the first row: of a table that has one for each host, say.
void tb_table_column(struct tb_table *table, struct tb_column column);

enum tb_row_kind { TB_ROW_PLAIN, TB_ROW_OURS, TB_ROW_ASIDE }; // ours: marked '>'; aside: unranked, faint
void tb_table_row(struct tb_table *table, enum tb_row_kind kind);
void tb_table_put(struct tb_table *table, struct tb_value value); // the row's next cell; those that are left out are none
#define TB_VALUES(...) ((const struct tb_value[]){__VA_ARGS__})
#define tb_table_add(table, kind, ...)                                                                                             \
    tb_table_values(table, kind, TB_VALUES(__VA_ARGS__), sizeof TB_VALUES(__VA_ARGS__) / sizeof(struct tb_value))
// A row with its first cells.
void tb_table_values(struct tb_table *table, enum tb_row_kind kind, const struct tb_value values[], size_t count);
void tb_table_gap(struct tb_table *table);                        // before the next row
void tb_table_note(struct tb_table *table, const char *format, ...) __attribute__((format(printf, 2, 3))); // below the table

// Text and SVG: every number of the table in one drawing, by its place and with a colour: a heat map. `best_is_least`: else the
// largest is best.
void tb_table_heat(struct tb_table *table, bool best_is_least);

// What is drawn of it: tables of one group have one scale for each column, by its place; the values that were claimed are shaded
// (not finite: to the edge).
void tb_table_scale(struct tb_table *table, const char *group);
void tb_table_claim(struct tb_table *table, double low, double high);

// --- curves --------------------------------------------------------------------------------------------------------------------

// Points of named lines over one axis. SVG draws them, text shows a bar for each point, JSON an array of {x, y} by name.
struct tb_curve_axis {
    const char *title;
    enum tb_unit_kind unit;
    bool log;
};
struct tb_curves *tb_doc_curves(struct tb_doc *doc, const char *key, const char *title, struct tb_curve_axis x,
                                struct tb_curve_axis y);
void tb_curves_line(struct tb_curves *curves, const char *name); // those that follow belong to it
void tb_curves_point(struct tb_curves *curves, double x, struct tb_value y);
void tb_curves_mark(struct tb_curves *curves, double x, const char *name); // "L2 2 MiB ends"

#endif
