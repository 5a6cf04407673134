// SPDX-License-Identifier: Apache-2.0
//
// draw: what HTML and SVG draw of a document, the same in both: intervals as a dot and a bar, samples as a strip of dots, curves.
//
// A drawing has a height in pixels and no width: across everything is placed in percent, so that it is as wide as the reader's
// column, and dots stay round. Paths know no percent: they lie in a picture 1000 wide that is stretched, with strokes that are not.
#include <math.h>
#include <string.h>

#include "testbed/doc/doc_internal.h"

enum { WIDE = 1000, TICKS_MAX = 12, LINE_CLASSES = 6 };

const char *tb_tone_sign(enum tb_tone tone)
{
    switch (tone) {
    case TB_TONE_GOOD: return "\u2713";
    case TB_TONE_BAD: return "\u2717";
    case TB_TONE_OPEN: return "?";
    case TB_TONE_POOR: return "!";
    default: return "";
    }
}

unsigned tb_line_class(size_t line)
{
    return (unsigned)(line % LINE_CLASSES) + 1;
}

// --- scales --------------------------------------------------------------------------------------------------------------------

static void widen(struct tb_scale *scale, double value)
{
    if (!isfinite(value))
        return;
    scale->low = fmin(scale->low, value);
    scale->high = fmax(scale->high, value);
}

static void widen_by_value(struct tb_scale *scale, const struct tb_value *value)
{
    if (value->kind == TB_VALUE_SAMPLES) {
        for (uint64_t i = 0; i < value->count; i++)
            widen(scale, value->samples[i]);
        return;
    }
    widen(scale, tb_value_place(value));
    if (value->mark != 0)
        widen(scale, value->mark);
    if (value->kind == TB_VALUE_INTERVAL) {
        widen(scale, value->low);
        widen(scale, value->high);
    }
}

static void widen_by_column(struct tb_scale *scale, const struct tb_table *table, size_t column)
{
    for (const struct tb_row *row = table->rows; row; row = row->next)
        if (column < row->count)
            widen_by_value(scale, &row->cells[column]);
    if (table->claimed) {
        widen(scale, table->claim_low);
        widen(scale, table->claim_high);
    }
}

static bool draws(const struct tb_table *table, size_t column)
{
    return column < table->columns_count && table->columns[column].draw;
}

bool tb_column_drawn(const struct tb_table *table, size_t column)
{
    struct tb_scale scale = {INFINITY, -INFINITY, false};
    if (draws(table, column))
        widen_by_column(&scale, table, column);
    return scale.low <= scale.high;
}

struct tb_scale tb_column_scale(const struct tb_doc *doc, const struct tb_table *table, size_t column)
{
    struct tb_scale scale = {INFINITY, -INFINITY, false};
    bool ratio = table->columns[column].unit == TB_AS_RATIO;
    widen_by_column(&scale, table, column);
    for (const struct tb_block *block = doc->blocks; block && table->group; block = block->next)
        if (block->table && block->table->group && strcmp(block->table->group, table->group) == 0 && draws(block->table, column))
            widen_by_column(&scale, block->table, column);
    if (!(scale.low <= scale.high))
        return (struct tb_scale){0, 0, false};
    if (ratio)
        widen(&scale, 1);
    scale.log = scale.low > 0 && scale.high > (ratio ? 4 : 8) * scale.low;
    double factor = scale.log ? pow(scale.high / scale.low, 0.05) : 1, room = 0.05 * (scale.high - scale.low);
    if (scale.log)
        return (struct tb_scale){scale.low / factor, scale.high * factor, true};
    if (!(room > 0))
        room = fmax(fabs(scale.low) * 0.1, 0.1);
    bool from_zero = !ratio && scale.low >= 0; // so that lengths can be compared
    return (struct tb_scale){from_zero ? 0 : scale.low - room, scale.high + room, false};
}

// 0 .. 100; what lies outside sticks to the edge.
static double place(struct tb_scale scale, double value)
{
    double share =
        scale.log ? log(value / scale.low) / log(scale.high / scale.low) : (value - scale.low) / (scale.high - scale.low);
    return 100 * fmin(fmax(share, 0), 1);
}

// Round figures, rising. How many.
static size_t ticks(struct tb_scale scale, double divisor, double out[TICKS_MAX])
{
    static const double steps[] = {1, 2, 5};
    double low = scale.low / divisor, high = scale.high / divisor;
    size_t count = 0;
    if (scale.log) {
        size_t stride = log10(high / low) > 1.3 ? 3 : 1, every = log10(high / low) > 6 ? 2 : 1, decade = 0;
        for (double power = pow(10, floor(log10(low))); power <= high; power *= 10, decade++)
            for (size_t s = 0; s < 3; s += stride)
                if (power * steps[s] >= low && power * steps[s] <= high && decade % every == 0 && count < TICKS_MAX)
                    out[count++] = power * steps[s];
        return count;
    }
    double rough = (high - low) / 4, power = pow(10, floor(log10(rough)));
    double step = rough / power < 1.5 ? power : rough / power < 3.5 ? 2 * power : rough / power < 7.5 ? 5 * power : 10 * power;
    for (double i = ceil(low / step - 1e-9); i * step <= high * (1 + 1e-12) && count < TICKS_MAX; i++)
        out[count++] = i * step + 0.0; // no -0
    return count;
}

// From 1 KiB to TiB no unit fits all: each tick, at an eightfold of the last, has its own.
static void put_sizes(FILE *out, struct tb_scale scale)
{
    for (double bytes = 1; bytes <= scale.high; bytes *= 8) {
        struct tb_value value = tb_number(bytes);
        struct tb_unit unit = tb_value_unit(TB_AS_BYTES, &value);
        double x = place(scale, bytes);
        if (bytes >= scale.low)
            fprintf(out, "<line class=\"tick\" x1=\"%.4g%%\" x2=\"%.4g%%\" y2=\"4\"/><text x=\"%.4g%%\" y=\"15\">%g %s</text>", x,
                    x, x, bytes / unit.ns, unit.name);
    }
}

void tb_draw_axis(FILE *out, struct tb_scale scale, enum tb_unit_kind kind, struct tb_unit unit)
{
    double tick[TICKS_MAX], divisor = *tb_unit_name(kind, unit) ? unit.ns : 1;
    if (kind == TB_AS_BYTES && scale.log) {
        put_sizes(out, scale);
        return;
    }
    size_t count = ticks(scale, divisor, tick);
    for (size_t i = 0; i < count; i++) {
        double x = place(scale, tick[i] * divisor);
        fprintf(out, "<line class=\"tick\" x1=\"%.4g%%\" x2=\"%.4g%%\" y2=\"4\"/><text x=\"%.4g%%\" y=\"15\">%.6g</text>", x, x, x,
                tick[i]);
    }
}

// --- intervals and samples -----------------------------------------------------------------------------------------------------

static void upright(FILE *out, const char *class, double x)
{
    fprintf(out, "<line class=\"%s\" x1=\"%.4g%%\" x2=\"%.4g%%\" y2=\"100%%\"/>", class, x, x);
}

static void put_claim(FILE *out, const struct tb_table *table, struct tb_scale scale)
{
    double low = isfinite(table->claim_low) ? place(scale, table->claim_low) : 0;
    double high = isfinite(table->claim_high) ? place(scale, table->claim_high) : 100;
    fprintf(out, "<rect class=\"claimed\" x=\"%.4g%%\" width=\"%.4g%%\" height=\"100%%\"/>", low, high - low);
    if (isfinite(table->claim_low))
        upright(out, "threshold", low);
    if (isfinite(table->claim_high))
        upright(out, "threshold", high);
}

static void put_interval(FILE *out, struct tb_scale scale, const struct tb_value *value)
{
    if (value->kind == TB_VALUE_INTERVAL) {
        bool bounded = isfinite(value->low) && isfinite(value->high);
        fprintf(out, "<line class=\"bar%s\" x1=\"%.4g%%\" x2=\"%.4g%%\" y1=\"10\" y2=\"10\"/>", bounded ? "" : " unbounded",
                isfinite(value->low) ? place(scale, value->low) : 0, isfinite(value->high) ? place(scale, value->high) : 100);
    }
    fprintf(out, "<circle cx=\"%.4g%%\" cy=\"10\" r=\"4\"/>", place(scale, value->number));
}

// A dot for each sample, the first at the upper edge, so that a drift shows as a slope; a line through the median.
static void put_strip(FILE *out, struct tb_scale scale, const struct tb_value *value)
{
    bool begun = false;
    for (uint64_t i = 0; i < value->count; i++) {
        if (!isfinite(value->samples[i]))
            continue;
        if (!begun)
            fprintf(out, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\"><path class=\"dots\" d=\"", WIDE, TB_DRAW_HEIGHT);
        begun = true;
        double y = 3 + (TB_DRAW_HEIGHT - 6) * ((double)i + 0.5) / (double)value->count;
        fprintf(out, "M%.4g %.3gh.1", WIDE / 100 * place(scale, value->samples[i]), y);
    }
    if (begun)
        fputs("\"/></svg>", out);
    if (isfinite(value->number))
        upright(out, "median", place(scale, value->number));
}

void tb_draw_value(FILE *out, const struct tb_table *table, size_t column, struct tb_scale scale, const struct tb_value *value)
{
    if (!(scale.low < scale.high))
        return;
    if (table->claimed)
        put_claim(out, table, scale);
    if (table->columns[column].unit == TB_AS_RATIO)
        upright(out, "same", place(scale, 1));
    if (value->mark != 0)
        upright(out, "mark", place(scale, value->mark));
    if (value->kind == TB_VALUE_SAMPLES)
        put_strip(out, scale, value);
    else if (isfinite(tb_value_place(value)))
        put_interval(out, scale, value);
}

// --- heat ----------------------------------------------------------------------------------------------------------------------

#define HEAT_RANGE 1.5          // at least, from the palest to the darkest

int tb_heat_of(const struct tb_table *table, const struct tb_value *value)
{
    struct tb_scale scale = {INFINITY, -INFINITY, false};
    double at = tb_value_place(value);
    for (const struct tb_row *row = table->rows; row; row = row->next)
        for (size_t c = 0; c < row->count; c++)
            widen(&scale, tb_value_place(&row->cells[c]));
    if (!isfinite(at))
        return -1;
    if (!(scale.low < scale.high))
        return 0;
    scale.log = scale.low > 0;
    if (scale.log && table->best_is_least) // a per cent more is no other colour
        scale.high = fmax(scale.high, HEAT_RANGE * scale.low);
    else if (scale.log)
        scale.low = fmin(scale.low, scale.high / HEAT_RANGE);
    int heat = (int)lrint(place(scale, at) * 9 / 100);
    return table->best_is_least ? heat : 9 - heat;
}

// --- curves --------------------------------------------------------------------------------------------------------------------

// Room for text below and above; the figures of the axis upwards stand to the left of the drawing.
enum { BOTTOM = 36, TOP = 12 };

static struct tb_scale axis_scale(const struct tb_curves *curves, bool across)
{
    struct tb_scale scale = {INFINITY, -INFINITY, across ? curves->x.log : curves->y.log};
    for (const struct tb_line *line = curves->lines; line; line = line->next)
        for (const struct tb_point *point = line->points; point; point = point->next) {
            if (across)
                widen(&scale, point->x);
            else
                widen_by_value(&scale, &point->y);
        }
    if (!across && !scale.log)
        widen(&scale, 0);
    if (scale.log && !(scale.low > 0))
        scale.log = false;
    if (!(scale.low < scale.high))
        scale = (struct tb_scale){scale.low <= scale.high ? scale.low : 0, (scale.low <= scale.high ? scale.low : 0) + 1, false};
    return scale;
}

static double plot_y(struct tb_scale scale, double value)
{
    return TOP + (TB_CURVES_HEIGHT - TOP - BOTTOM) * (1 - place(scale, value) / 100);
}

// A line is broken where a point has no figure.
static void put_line(FILE *out, const struct tb_line *line, size_t number, struct tb_scale x, struct tb_scale y)
{
    bool broken = true;
    tb_html(out, "<g data-line=\"@\">", line->name ? line->name : "");
    fprintf(out, "<path class=\"band c%u\" d=\"", tb_line_class(number));
    for (const struct tb_point *point = line->points; point; point = point->next)
        if (point->y.kind == TB_VALUE_INTERVAL && point->y.low < point->y.high)
            fprintf(out, "M%.4g %.4gV%.4g", WIDE / 100 * place(x, point->x), plot_y(y, point->y.low), plot_y(y, point->y.high));
    fprintf(out, "\"/><path class=\"curve c%u\" d=\"", tb_line_class(number));
    for (const struct tb_point *point = line->points; point; point = point->next) {
        double at = tb_value_place(&point->y);
        if (isfinite(at))
            fprintf(out, "%c%.4g %.4gh.1", broken ? 'M' : 'L', WIDE / 100 * place(x, point->x), plot_y(y, at));
        broken = !isfinite(at);
    }
    fputs("\"/></g>", out);
}

static void put_frame(FILE *out, const struct tb_curves *curves, struct tb_scale x, struct tb_scale y)
{
    double tick[TICKS_MAX];
    struct tb_value most = tb_number(y.high), far = tb_number(x.high);
    struct tb_unit y_unit = tb_value_unit(curves->y.unit, &most), x_unit = tb_value_unit(curves->x.unit, &far);
    bool sizes = curves->x.unit == TB_AS_BYTES && x.log; // each tick has its unit
    const char *y_name = tb_unit_name(curves->y.unit, y_unit), *x_name = sizes ? "" : tb_unit_name(curves->x.unit, x_unit);
    double divisor = *y_name ? y_unit.ns : 1;
    size_t count = ticks(y, divisor, tick);
    for (size_t i = 0; i < count; i++)
        fprintf(out,
                "<line class=\"grid\" x2=\"100%%\" y1=\"%.4g\" y2=\"%.4g\"/><text class=\"left\" x=\"-6\" y=\"%.4g\">%.6g</text>",
                plot_y(y, tick[i] * divisor), plot_y(y, tick[i] * divisor), plot_y(y, tick[i] * divisor) + 4, tick[i]);
    for (const struct tb_note *mark = curves->marks; mark; mark = mark->next)
        if (mark->x >= x.low && mark->x <= x.high) {
            upright(out, "same", place(x, mark->x));
            tb_html(out, "<text x=\"@%\" y=\"8\">@</text>", TB_EXACT(place(x, mark->x)), mark->text);
        }
    fprintf(out, "<svg y=\"%d\" height=\"%d\" overflow=\"visible\">", TB_CURVES_HEIGHT - BOTTOM, TB_AXIS_HEIGHT);
    tb_draw_axis(out, x, curves->x.unit, x_unit);
    fputs("</svg>", out);
    tb_html(out, "<text x=\"50%\" y=\"@\">@@@@@@@@</text>", TB_EXACT(TB_CURVES_HEIGHT - 3), curves->x.title ? curves->x.title : "",
            *x_name ? ", " : "", x_name, x.log ? " (log scale)" : "", "; upwards ", curves->y.title ? curves->y.title : "",
            *y_name ? ", " : "", y_name);
}

void tb_draw_curves(FILE *out, const struct tb_curves *curves)
{
    struct tb_scale x = axis_scale(curves, true), y = axis_scale(curves, false);
    size_t number = 0;
    put_frame(out, curves, x, y);
    fprintf(out, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">", WIDE, TB_CURVES_HEIGHT);
    for (const struct tb_line *line = curves->lines; line; line = line->next)
        put_line(out, line, number++, x, y);
    fputs("</svg>", out);
}
