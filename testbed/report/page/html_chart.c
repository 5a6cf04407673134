// SPDX-License-Identifier: Apache-2.0
//
// html_chart: a prediction. For each of its parts a dot at the estimate and a bar over the interval; through all rows the threshold
// as a line, the side that was claimed shaded, and, for a ratio, a dotted line at 1, where there is no difference.
#include <math.h>
#include <string.h>

#include "testbed/report/page/html_chart.h"
#include "testbed/base/json.h"
#include "testbed/report/page/html_page.h"

struct claim {
    struct tb_axis axis;
    const char *op;
    double value, upper; // upper: of `within`, otherwise NAN
    bool ratio;          // then 1 says "no difference", and is marked
};

static void widen(struct tb_axis *axis, double value)
{
    if (!isfinite(value))
        return;
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

static void widen_by_part(struct tb_axis *axis, const json_t *part)
{
    widen(axis, tb_member_number(part, "estimate"));
    widen(axis, tb_member_number(part, "low"));
    widen(axis, tb_member_number(part, "high"));
}

static struct claim claim_of(const json_t *prediction)
{
    const json_t *value = tb_member(prediction, "value"), *parts = tb_member(prediction, "parts"), *part;
    struct claim claim = {.op = tb_member_text(prediction, "op"), .upper = NAN, .axis = {INFINITY, -INFINITY, false}};
    size_t i;
    claim.ratio = tb_member_text(prediction, "under")[0] || tb_member(prediction, "order");
    claim.value = json_number_value(json_is_array(value) ? json_array_get(value, 0) : value);
    if (json_is_array(value))
        claim.upper = json_number_value(json_array_get(value, 1));
    widen(&claim.axis, claim.value);
    widen(&claim.axis, claim.upper);
    widen(&claim.axis, claim.ratio ? 1 : NAN);
    widen_by_part(&claim.axis, prediction);
    json_array_foreach (parts, i, part)
        widen_by_part(&claim.axis, part);
    struct tb_axis *axis = &claim.axis;
    axis->log = axis->low > 0 && axis->high > 4 * axis->low;
    double room = axis->high > axis->low ? 0.08 * (axis->high - axis->low) : fmax(fabs(axis->low) * 0.1, 0.1);
    double factor = pow(axis->high / axis->low, 0.08);
    *axis = axis->log ? (struct tb_axis){axis->low / factor, axis->high * factor, true}
                      : (struct tb_axis){axis->low - room, axis->high + room, false};
    return claim;
}

// The side of the threshold that was claimed, and the threshold.
static void put_threshold(FILE *out, const struct claim *claim)
{
    double x = tb_axis_at(&claim->axis, claim->value), left = 0, right = 100;
    if (claim->op[0] == '>')
        left = x;
    else if (claim->op[0] == '<')
        right = x;
    else
        left = x, right = isnan(claim->upper) ? x : tb_axis_at(&claim->axis, claim->upper);
    fprintf(out, "<rect class=\"claimed\" x=\"%.2f%%\" width=\"%.2f%%\" height=\"100%%\"/>", left, right - left);
    if (claim->ratio)
        fprintf(out, "<line class=\"same\" x1=\"%.2f%%\" x2=\"%.2f%%\" y2=\"100%%\"/>", tb_axis_at(&claim->axis, 1),
                tb_axis_at(&claim->axis, 1));
    tb_html(out, "<line class=\"threshold\" x1=\"@\" x2=\"@\" y2=\"100%\"/>", TB_PERCENT(x), TB_PERCENT(x));
    if (!isnan(claim->upper))
        tb_html(out, "<line class=\"threshold\" x1=\"@\" x2=\"@\" y2=\"100%\"/>", TB_PERCENT(right), TB_PERCENT(right));
}

static void put_bar(FILE *out, const struct claim *claim, const json_t *part, const struct tb_look *look)
{
    double estimate = tb_member_number(part, "estimate"), low = tb_member_number(part, "low"),
           high = tb_member_number(part, "high");
    bool bounded = isfinite(low) && isfinite(high);
    fprintf(out, "<g class=\"k%s\">", look->colour + 1);
    if (!isnan(estimate) && (!bounded || low < high))
        fprintf(out, "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"11\" y2=\"11\"/>", bounded ? "bar" : "bar unbounded",
                isfinite(low) ? tb_axis_at(&claim->axis, low) : 0, isfinite(high) ? tb_axis_at(&claim->axis, high) : 100);
    if (!isnan(estimate))
        fprintf(out, "<use href=\"#m%d\" x=\"%.2f%%\" y=\"11\"/>", look->shape, tb_axis_at(&claim->axis, estimate));
    fputs("</g>", out);
}

void tb_html_interval(FILE *out, double estimate, double low, double high)
{
    if (isnan(estimate))
        fputs("no figure", out);
    else if (low == high)
        tb_html(out, "<b>@</b>", TB_FIGURE(estimate));
    else if (isnan(low) || isnan(high))
        tb_html(out, "<b>@</b> <span class=\"nowrap\">[unbounded]</span>", TB_FIGURE(estimate));
    else
        tb_html(out, "<b>@</b> <span class=\"nowrap\">[@, @]</span>", TB_FIGURE(estimate), TB_FIGURE(low), TB_FIGURE(high));
}

static void put_prediction_row(FILE *out, const json_t *header, const struct claim *claim, const json_t *part, bool conjunction)
{
    const char *over = tb_member_text(part, "over"), *cell = tb_member_text(part, "cell"), *under = tb_member_text(part, "under");
    double estimate = tb_member_number(part, "estimate"), low = tb_member_number(part, "low"),
           high = tb_member_number(part, "high");
    struct tb_arm_look arm = tb_arm_look(header, over[0] ? over : tb_member_text(part, "arm"));
    fputs("<div class=\"row\"", out);
    if (conjunction)
        tb_html(out, " data-part=\"@\" data-over=\"@\" data-estimate=\"@\" data-low=\"@\" data-high=\"@\" data-verdict=\"@\"", cell,
                over, TB_EXACT(estimate), TB_EXACT(low), TB_EXACT(high), tb_member_text(part, "verdict"));
    fputs("><span class=\"name\">", out);
    tb_html_mark(out, arm.look);
    bool pair = conjunction && under[0]; // of an order: each with the one before it
    tb_html(out, " @@@</span><svg height=\"22\" role=\"img\">", arm.name, pair ? " / " : "",
            pair ? tb_arm_look(header, under).name : "");
    put_threshold(out, claim);
    put_bar(out, claim, part, arm.look);
    fputs("</svg><span class=\"figure\">", out);
    tb_html_interval(out, estimate, low, high);
    if (conjunction)
        tb_html(out, " <span title=\"@\">@</span>", tb_member_text(part, "verdict"),
                tb_badge(tb_member_text(part, "verdict"))->sign);
    fputs("</span></div>\n", out);
}

// Above the parts in one cell. The threshold goes through it.
static void put_cell_row(FILE *out, const struct claim *claim, const char *cell)
{
    tb_html(out, "<div class=\"row cell\"><span class=\"name\">@</span><svg height=\"22\" aria-hidden=\"true\">", cell);
    put_threshold(out, claim);
    fputs("</svg><span></span></div>\n", out);
}

void tb_html_prediction_chart(FILE *out, const json_t *header, const json_t *prediction)
{
    const json_t *parts = tb_member(prediction, "parts"), *part;
    struct claim claim = claim_of(prediction);
    char what[96];
    size_t i;
    fputs("<div class=\"chart intervals\">\n", out);
    const char *cell = "";
    json_array_foreach (parts, i, part) {
        if (strcmp(cell, tb_member_text(part, "cell")))
            put_cell_row(out, &claim, cell = tb_member_text(part, "cell"));
        put_prediction_row(out, header, &claim, part, true);
    }
    if (json_array_size(parts) == 0)
        put_prediction_row(out, header, &claim, prediction, false);
    bool time = strcmp(tb_member_text(prediction, "metric"), "time_ns") == 0;
    snprintf(what, sizeof what, "%s%s",
             !claim.ratio ? tb_member_text(prediction, "unit")
             : time       ? "times as long"
                          : "times as many",
             claim.axis.log ? ", log scale" : "");
    tb_axis_row(out, &claim.axis, what);
    fputs("</div>\n", out);
}
