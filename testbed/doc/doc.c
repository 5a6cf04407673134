// SPDX-License-Identifier: Apache-2.0
//
// doc: builds. Memory is asked for piece by piece and given back at once; a piece that could not be had makes the whole document
// unfit to be emitted, so that nothing goes missing in silence.
//
// At its end: what a person reads of a value, in every form. Three digits say what a measurement can say; a column has one unit, so
// that its figures can be compared at a glance.
#include "testbed/doc/doc.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/doc/doc_internal.h"

struct tb_memory {
    struct tb_memory *next;
    max_align_t bytes[];
};

static void *allot(struct tb_doc *doc, size_t bytes)
{
    struct tb_memory *memory = calloc(1, sizeof *memory + bytes);
    if (!memory) {
        doc->failed = true;
        return NULL;
    }
    memory->next = doc->memory;
    doc->memory = memory;
    return memory->bytes;
}

static const char *kept(struct tb_doc *doc, const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 0;
    char *copy = text ? allot(doc, bytes) : NULL;
    if (copy)
        tb_text_clean(text, false, copy, bytes);
    return copy;
}

// As kept(), but lines stay lines.
static const char *kept_lines(struct tb_doc *doc, const char *text)
{
    char *copy = text ? allot(doc, strlen(text) + 1) : NULL;
    for (size_t i = 0; copy && text[i];) {
        size_t length = strcspn(text + i, "\n");
        char *line = strndup(text + i, length);
        doc->failed |= !line;
        if (line)
            tb_text_clean(line, false, copy + strlen(copy), length + 1);
        free(line);
        i += length;
        if (text[i] == '\n')
            copy[strlen(copy)] = text[i++];
    }
    return copy;
}

static struct tb_value kept_value(struct tb_doc *doc, struct tb_value value)
{
    value.text = kept(doc, value.text);
    value.link = kept(doc, value.link);
    value.detail = kept(doc, value.detail);
    double *samples = value.samples ? allot(doc, (value.count + 1) * sizeof *samples) : NULL;
    if (samples)
        memcpy(samples, value.samples, value.count * sizeof *samples);
    value.samples = samples;
    if (value.kind == TB_VALUE_JSON) {
        doc->values = doc->values ? doc->values : json_array();
        doc->failed |= json_array_append_new(doc->values, value.json) != 0;
    }
    return value;
}

struct tb_doc *tb_doc_open(json_t *head)
{
    struct tb_doc *doc = calloc(1, sizeof *doc);
    if (doc)
        doc->head = head;
    else
        json_decref(head);
    return doc;
}

void tb_doc_close(struct tb_doc *doc)
{
    if (!doc)
        return;
    for (struct tb_block *block = doc->blocks; block; block = block->next)
        json_decref(block->json);
    while (doc->memory) {
        struct tb_memory *memory = doc->memory;
        doc->memory = memory->next;
        free(memory);
    }
    json_decref(doc->head);
    json_decref(doc->values);
    free(doc);
}

// --- values --------------------------------------------------------------------------------------------------------------------

struct tb_value tb_none(const char *why)
{
    return (struct tb_value){.kind = TB_VALUE_NONE, .text = why, .number = NAN};
}

struct tb_value tb_text_value(const char *text)
{
    return text ? (struct tb_value){.kind = TB_VALUE_TEXT, .text = text, .number = NAN} : tb_none(NULL);
}

struct tb_value tb_count(uint64_t count)
{
    return (struct tb_value){.kind = TB_VALUE_COUNT, .count = count, .number = (double)count};
}

struct tb_value tb_number(double number)
{
    return isfinite(number) ? (struct tb_value){.kind = TB_VALUE_NUMBER, .number = number} : tb_none(NULL);
}

struct tb_value tb_flag(bool flag)
{
    return (struct tb_value){.kind = TB_VALUE_FLAG, .count = flag, .number = NAN};
}

struct tb_value tb_interval_of(double estimate, double low, double high, double confidence)
{
    if (!isfinite(estimate))
        return tb_none(NULL);
    low = isnan(low) ? -INFINITY : low;
    high = isnan(high) ? INFINITY : high;
    return (struct tb_value){.kind = TB_VALUE_INTERVAL, .number = estimate, .low = low, .high = high, .confidence = confidence};
}

struct tb_value tb_interval(const struct tb_ratio *ratio)
{
    double low = ratio->bounded ? ratio->low : -INFINITY, high = ratio->bounded ? ratio->high : INFINITY;
    return tb_interval_of(ratio->estimate, low, high, ratio->confidence);
}

struct tb_value tb_samples(const double samples[], size_t count)
{
    return (struct tb_value){.kind = TB_VALUE_SAMPLES, .samples = samples, .count = count, .number = NAN};
}

struct tb_value tb_ids(const char *list)
{
    return (struct tb_value){.kind = TB_VALUE_IDS, .text = list, .number = NAN};
}

struct tb_value tb_json_value(json_t *json)
{
    return (struct tb_value){.kind = TB_VALUE_JSON, .json = json, .number = NAN};
}

struct tb_value tb_member_value(const json_t *object, const char *path)
{
    const json_t *member = tb_member(object, path);
    return json_is_string(member)    ? tb_text_value(json_string_value(member))
           : json_is_boolean(member) ? tb_flag(json_is_true(member))
                                     : tb_number(tb_member_number(object, path));
}

struct tb_value tb_marked(struct tb_value value, double mark)
{
    value.mark = isfinite(mark) ? mark : 0;
    return value;
}

struct tb_value tb_toned(struct tb_value value, enum tb_tone tone)
{
    value.tone = tone;
    return value;
}

struct tb_value tb_linked(struct tb_value value, const char *link)
{
    value.link = link;
    return value;
}

struct tb_value tb_detailed(struct tb_value value, const char *detail)
{
    value.detail = detail;
    return value;
}

// --- blocks --------------------------------------------------------------------------------------------------------------------

static struct tb_block *block_add(struct tb_doc *doc, enum tb_block_kind kind, const char *key, const char *text)
{
    struct tb_block *block = allot(doc, sizeof *block);
    if (!block)
        return NULL;
    *block = (struct tb_block){.kind = kind, .key = kept(doc, key), .text = kept(doc, text)};
    if (doc->last)
        doc->last->next = block;
    else
        doc->blocks = block;
    doc->last = block;
    return block;
}

void tb_doc_heading(struct tb_doc *doc, int level, const char *key, const char *title)
{
    struct tb_block *block = block_add(doc, TB_BLOCK_HEADING, key, title);
    if (block)
        block->level = level;
}

void tb_doc_folded(struct tb_doc *doc, int level, const char *key, const char *title)
{
    tb_doc_heading(doc, level, key, title);
    if (doc->last)
        doc->last->folded = true;
}

void tb_doc_tell(struct tb_doc *doc, enum tb_said said, const char *key, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = tb_compose(format, arguments);
    va_end(arguments);
    doc->failed |= !text;
    struct tb_block *block = text ? block_add(doc, said == TB_SAID_ANSWER ? TB_BLOCK_ANSWER : TB_BLOCK_SAY, key, text) : NULL;
    if (block)
        block->whole = said == TB_SAID_LINE;
    free(text);
}

void tb_doc_code(struct tb_doc *doc, const char *key, const char *text)
{
    struct tb_block *block = block_add(doc, TB_BLOCK_CODE, key, NULL);
    if (block)
        block->text = kept_lines(doc, text);
}

void tb_doc_fact(struct tb_doc *doc, const char *key, const char *title, enum tb_unit_kind unit, struct tb_value value)
{
    struct tb_block *block = block_add(doc, TB_BLOCK_FACT, key, title);
    if (!block)
        return;
    block->unit = unit;
    block->value = kept_value(doc, value);
}

void tb_doc_tone(struct tb_doc *doc, enum tb_tone tone)
{
    if (doc->last)
        doc->last->tone = tone;
}

void tb_doc_anchor(struct tb_doc *doc, const char *name)
{
    if (doc->last)
        doc->last->anchor = kept(doc, name);
}

void tb_doc_json(struct tb_doc *doc, const char *key, json_t *value)
{
    struct tb_block *block = value ? block_add(doc, TB_BLOCK_JSON, key, NULL) : NULL;
    doc->failed |= !value;
    if (block)
        block->json = value;
    else
        json_decref(value);
}

void tb_doc_members(struct tb_doc *doc, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)object, key, value)
        tb_doc_json(doc, key, json_incref(value));
}

// --- tables --------------------------------------------------------------------------------------------------------------------

struct tb_table *tb_doc_table(struct tb_doc *doc, const char *key, const char *title, const struct tb_column columns[])
{
    struct tb_block *block = block_add(doc, TB_BLOCK_TABLE, key, title);
    struct tb_table *table = block ? allot(doc, sizeof *table) : NULL;
    if (!table)
        return NULL;
    table->doc = doc;
    block->table = table;
    for (; columns && (columns->key || columns->title); columns++)
        tb_table_column(table, *columns);
    return table;
}

struct tb_table *tb_doc_grid(struct tb_doc *doc, const char *key, const char *title, const char *columns)
{
    struct tb_table *table = tb_doc_table(doc, key, title, NULL);
    char column[160], *heading;
    for (; table && *columns; columns += strcspn(columns, "|"), columns += *columns == '|') {
        snprintf(column, sizeof column, "%.*s", (int)strcspn(columns, "|"), columns);
        heading = strchr(column, '=');
        if (heading)
            *heading++ = '\0';
        tb_table_column(table, (struct tb_column){*column ? column : NULL, heading, TB_AS_IS, false});
    }
    return table;
}

void tb_table_column(struct tb_table *table, struct tb_column column)
{
    struct tb_column *columns = table ? allot(table->doc, (table->columns_count + 1) * sizeof *columns) : NULL;
    if (!columns)
        return;
    if (table->columns_count)
        memcpy(columns, table->columns, table->columns_count * sizeof *columns);
    column.key = kept(table->doc, column.key);
    column.title = kept_lines(table->doc, column.title);
    columns[table->columns_count++] = column;
    table->columns = columns;
}

void tb_table_row(struct tb_table *table, enum tb_row_kind kind)
{
    struct tb_row *row = table ? allot(table->doc, sizeof *row) : NULL;
    if (!row)
        return;
    row->kind = kind;
    row->gap = table->gap;
    row->cells = allot(table->doc, table->columns_count * sizeof *row->cells);
    table->gap = false;
    if (table->last)
        table->last->next = row;
    else
        table->rows = row;
    table->last = row;
}

void tb_table_put(struct tb_table *table, struct tb_value value)
{
    struct tb_row *row = table ? table->last : NULL;
    if (row && row->cells && row->count < table->columns_count)
        row->cells[row->count++] = kept_value(table->doc, value);
    else
        json_decref(value.json);
}

void tb_table_values(struct tb_table *table, enum tb_row_kind kind, const struct tb_value values[], size_t count)
{
    tb_table_row(table, kind);
    for (size_t i = 0; i < count; i++)
        tb_table_put(table, values[i]);
}

void tb_table_gap(struct tb_table *table)
{
    if (table)
        table->gap = table->rows != NULL;
}

static void note_add(struct tb_doc *doc, struct tb_note **list, const char *text, double x)
{
    struct tb_note *note = allot(doc, sizeof *note);
    if (!note)
        return;
    *note = (struct tb_note){.text = kept(doc, text), .x = x};
    while (*list)
        list = &(*list)->next;
    *list = note;
}

void tb_table_note(struct tb_table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = table ? tb_compose(format, arguments) : NULL;
    va_end(arguments);
    if (text)
        note_add(table->doc, &table->notes, text, 0);
    else if (table)
        table->doc->failed = true;
    free(text);
}

void tb_table_heat(struct tb_table *table, bool best_is_least)
{
    if (table) {
        table->heat = true;
        table->best_is_least = best_is_least;
    }
}

void tb_table_scale(struct tb_table *table, const char *group)
{
    if (table)
        table->group = kept(table->doc, group);
}

void tb_table_claim(struct tb_table *table, double low, double high)
{
    if (!table)
        return;
    table->claimed = true;
    table->claim_low = low;
    table->claim_high = high;
}

// --- curves --------------------------------------------------------------------------------------------------------------------

struct tb_curves *tb_doc_curves(struct tb_doc *doc, const char *key, const char *title, struct tb_curve_axis x,
                                struct tb_curve_axis y)
{
    struct tb_block *block = block_add(doc, TB_BLOCK_CURVES, key, title);
    struct tb_curves *curves = block ? allot(doc, sizeof *curves) : NULL;
    if (!curves)
        return NULL;
    *curves = (struct tb_curves){.doc = doc, .x = x, .y = y};
    curves->x.title = kept(doc, x.title);
    curves->y.title = kept(doc, y.title);
    block->curves = curves;
    return curves;
}

void tb_curves_line(struct tb_curves *curves, const char *name)
{
    struct tb_line *line = curves ? allot(curves->doc, sizeof *line) : NULL;
    if (!line)
        return;
    line->name = kept(curves->doc, name);
    if (curves->last)
        curves->last->next = line;
    else
        curves->lines = line;
    curves->last = line;
}

void tb_curves_point(struct tb_curves *curves, double x, struct tb_value y)
{
    struct tb_line *line = curves ? curves->last : NULL;
    struct tb_point *point = line ? allot(curves->doc, sizeof *point) : NULL;
    if (!point)
        return;
    *point = (struct tb_point){.x = x, .y = kept_value(curves->doc, y)};
    if (line->last)
        line->last->next = point;
    else
        line->points = point;
    line->last = point;
}

void tb_curves_mark(struct tb_curves *curves, double x, const char *name)
{
    if (curves)
        note_add(curves->doc, &curves->marks, name, x);
}

// --- figures -------------------------------------------------------------------------------------------------------------------

static const struct tb_unit no_unit = {"", 1, TB_DIGITS};

static void widen(const struct tb_value *value, double *least, double *most)
{
    if (value->kind == TB_VALUE_SAMPLES)
        for (uint64_t i = 0; i < value->count; i++) {
            *least = fmin(*least, value->samples[i]);
            *most = fmax(*most, value->samples[i]);
        }
    else if (isfinite(value->number) && value->number > 0) {
        *least = fmin(*least, value->number);
        *most = fmax(*most, value->number);
    }
}

static struct tb_unit unit_of(enum tb_unit_kind kind, double least, double most)
{
    static const struct tb_unit sizes[] = {
        {"B", 1, 0}, {"KiB", 0x1p10, 1}, {"MiB", 0x1p20, 1}, {"GiB", 0x1p30, 1}, {"TiB", 0x1p40, 1}};
    if (kind == TB_AS_RATE)
        return (struct tb_unit){"GB/s", 1e9, TB_DIGITS};
    if (!(least <= most))
        return no_unit;
    if (kind == TB_AS_TIME)
        return tb_text_unit(least, most);
    if (kind == TB_AS_SHARE)
        return (struct tb_unit){"%", 0.01, TB_DIGITS};
    if (kind != TB_AS_BYTES)
        return no_unit;
    size_t s = 0;
    while (s + 1 < sizeof sizes / sizeof *sizes && least >= sizes[s + 1].ns)
        s++;
    return sizes[s];
}

struct tb_unit tb_column_unit(const struct tb_table *table, size_t column)
{
    double least = INFINITY, most = -INFINITY;
    for (const struct tb_row *row = table->rows; row; row = row->next)
        for (size_t c = 0; c < row->count; c++)
            if (c == column || (table->heat && table->columns[c].unit == table->columns[column].unit))
                widen(&row->cells[c], &least, &most);
    return unit_of(table->columns[column].unit, least, most);
}

struct tb_unit tb_value_unit(enum tb_unit_kind kind, const struct tb_value *value)
{
    double least = INFINITY, most = -INFINITY;
    widen(value, &least, &most);
    return unit_of(kind, least, most);
}

const char *tb_unit_name(enum tb_unit_kind kind, struct tb_unit unit)
{
    return kind == TB_AS_TIME || kind == TB_AS_BYTES || kind == TB_AS_SHARE || kind == TB_AS_RATE ? unit.name : "";
}

static const char *digits(enum tb_unit_kind kind, struct tb_unit unit, double number, char out[TB_FIGURE_BYTES])
{
    char *at = out;
    if (signbit(number) && number != 0) {
        *at++ = '-';
        number = -number;
    }
    if (isinf(number))
        snprintf(at, 16, "unbounded");
    else if (kind == TB_AS_SHARE && number < 1 && number >= 0.9995)
        snprintf(at, 8, ">99.9"); // what is nearly all must not read as all
    else if (kind == TB_AS_RATIO && (number >= 0.01 || number == 0))
        tb_text_ratio(at, number);
    else if (unit.decimals != TB_DIGITS)
        snprintf(at, TB_FIGURE_BYTES - 1, "%.*f", unit.decimals, number / unit.ns);
    else if (number == 0 && kind == TB_AS_SHARE)
        snprintf(at, 8, "0");
    else if (number == floor(number) && number < 1000 && kind == TB_AS_IS)
        snprintf(at, 8, "%.0f", number);
    else
        tb_text_significant(at, number / unit.ns);
    return out;
}

static void range_text(enum tb_unit_kind kind, struct tb_unit unit, const struct tb_value *value, char out[TB_FIGURE_BYTES])
{
    char low[TB_FIGURE_BYTES], high[TB_FIGURE_BYTES];
    if (!isfinite(value->low) && !isfinite(value->high))
        snprintf(out, TB_FIGURE_BYTES, "[unbounded]");
    else
        snprintf(out, TB_FIGURE_BYTES, "[%.29s, %.29s]", digits(kind, unit, value->low, low),
                 digits(kind, unit, value->high, high));
}

void tb_figure_text(enum tb_unit_kind kind, struct tb_unit unit, const struct tb_value *value, struct tb_figure_text *out)
{
    out->figure[0] = out->range[0] = '\0';
    out->text = out->figure;
    switch (value->kind) {
    case TB_VALUE_NONE: out->text = value->text ? value->text : "-"; break;
    case TB_VALUE_TEXT: out->text = value->text ? value->text : ""; break;
    case TB_VALUE_IDS: out->text = value->text && *value->text ? value->text : "-"; break;
    case TB_VALUE_FLAG: out->text = value->count ? "yes" : "no"; break;
    case TB_VALUE_COUNT:
        if (kind == TB_AS_BYTES || kind == TB_AS_TIME)
            digits(kind, unit, value->number, out->figure);
        else
            snprintf(out->figure, sizeof out->figure, "%" PRIu64, value->count);
        break;
    case TB_VALUE_NUMBER: digits(kind, unit, value->number, out->figure); break;
    case TB_VALUE_INTERVAL:
        digits(kind, unit, value->number, out->figure);
        range_text(kind, unit, value, out->range);
        break;
    case TB_VALUE_SAMPLES:
    case TB_VALUE_JSON: break;
    }
}

bool tb_table_shown(const struct tb_table *table)
{
    for (size_t c = 0; c < table->columns_count; c++)
        if (table->columns[c].title)
            return true;
    return false;
}

double tb_value_place(const struct tb_value *value)
{
    return value->kind == TB_VALUE_COUNT || value->kind == TB_VALUE_NUMBER || value->kind == TB_VALUE_INTERVAL ? value->number
                                                                                                               : NAN;
}

// Of the columns that have a unit: the first one may number the rows.
double tb_table_best(const struct tb_table *table)
{
    double best = NAN;
    for (const struct tb_row *row = table->rows; row; row = row->next)
        for (size_t c = 0; c < row->count; c++)
            if (table->columns[c].unit != TB_AS_IS) {
                double place = tb_value_place(&row->cells[c]);
                best = table->best_is_least ? fmin(best, place) : fmax(best, place);
            }
    return best;
}

double tb_times_best(const struct tb_table *table, double best, const struct tb_value *value)
{
    double place = tb_value_place(value);
    return table->best_is_least ? place / best : best / place;
}

const char *tb_exact(char out[TB_EXACT_BYTES], double value)
{
    out[0] = '\0';
    for (int digits = 15; digits <= 17 && isfinite(value); digits++) {
        snprintf(out, TB_EXACT_BYTES, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}

const char *tb_exact_value(const struct tb_value *value, char out[TB_EXACT_BYTES])
{
    switch (value->kind) {
    case TB_VALUE_TEXT:
    case TB_VALUE_IDS: return value->text ? value->text : "";
    case TB_VALUE_FLAG: return value->count ? "true" : "false";
    case TB_VALUE_COUNT: snprintf(out, TB_EXACT_BYTES, "%" PRIu64, value->count); return out;
    case TB_VALUE_NUMBER:
    case TB_VALUE_INTERVAL: return tb_exact(out, value->number);
    default: return "";
    }
}
