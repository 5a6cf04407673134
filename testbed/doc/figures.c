// SPDX-License-Identifier: Apache-2.0
//
// figures: what a person reads of a value. Three digits say what a measurement can say; a column has one unit, so that its figures
// can be compared at a glance.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "testbed/doc/doc_internal.h"

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
        snprintf(at, 8, "inf");
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
