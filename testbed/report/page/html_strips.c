// SPDX-License-Identifier: Apache-2.0
//
// html_strips: every sample as a dot. A strip for each arm, a dot for each round, the first round at the strip's upper edge, so
// that a drift shows as a slope; a bar at the median. A sample that is not valid is a cross at its place, and counts for nothing.
//
// The axis is linear from zero, so that lengths can be compared, unless the small ones would then lie on top of each other.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/board/board.h"
#include "testbed/report/page/html_chart.h"
#include "testbed/report/page/html_page.h"
#include "testbed/stats/stats.h"

enum { STRIP = 24 }; // pixels

struct strip {
    struct tb_arm_look arm;
    double *values;             // as in the log; NAN where not valid
    size_t count;
    double median;
};

struct strips {
    const struct tb_log_view *view;
    size_t cell;
    const struct tb_metric *metric;
    bool time, share;           // share: logged as a part of one, written in percent
    double scale;               // what is drawn and written is a value divided by this
    const char *unit;
    struct tb_axis axis;
    struct strip strip[64];
    size_t count;
};

static int by_median(const void *left, const void *right)
{
    const struct strip *a = left, *b = right;
    double x = isnan(a->median) ? INFINITY : a->median, y = isnan(b->median) ? INFINITY : b->median;
    return x < y ? -1 : x > y ? 1 : strcmp(a->arm.key, b->arm.key);
}

static int strip_load(const struct strips *strips, struct strip *strip)
{
    size_t valid = 0;
    int rc = tb_log_values(strips->view, strips->cell, strip->arm.key, strips->metric->member, &strip->values, &strip->count);
    double *sound = rc < 0 ? NULL : malloc((strip->count + 1) * sizeof *sound);
    if (!sound)
        return rc < 0 ? rc : -ENOMEM;
    for (size_t i = 0; i < strip->count; i++)
        if (isfinite(strip->values[i]))
            sound[valid++] = strip->values[i];
    strip->median = tb_median(sound, valid);
    free(sound);
    return 0;
}

static int load(struct strips *strips)
{
    const json_t *arms = tb_member(strips->view->header, "arms"), *arm;
    size_t i;
    int rc = 0;
    json_array_foreach (arms, i, arm) {
        if (rc < 0 || strips->count == sizeof strips->strip / sizeof *strips->strip)
            break;
        struct strip *strip = &strips->strip[strips->count++];
        strip->arm = tb_arm_look(strips->view->header, tb_member_text(arm, "key"));
        rc = strip_load(strips, strip);
    }
    qsort(strips->strip, strips->count, sizeof *strips->strip, by_median);
    return rc;
}

static void choose_axis(struct strips *strips)
{
    double smallest = INFINITY, largest = 0;
    for (size_t s = 0; s < strips->count; s++) {
        for (size_t i = 0; i < strips->strip[s].count; i++) {
            double value = strips->strip[s].values[i];
            smallest = value > 0 ? fmin(smallest, value) : smallest;
            largest = fmax(largest, value);
        }
    }
    if (largest <= 0)
        smallest = largest = 1;
    if (strips->time) {
        struct tb_unit unit = tb_text_unit(smallest, largest);
        strips->scale = unit.ns;
        strips->unit = unit.name;
    }
    double low = smallest / strips->scale, high = largest / strips->scale;
    strips->axis = largest > 8 * smallest && !strips->share ? (struct tb_axis){low / 1.3, high * 1.3, true}
                                                            : (struct tb_axis){0, high * 1.04, false};
}

static void put_sample(FILE *out, const struct strips *strips, const struct strip *strip, const json_t *sample, double rounds)
{
    double round = tb_member_number(sample, "round"), value = tb_log_number(sample, strips->metric->member);
    double y = 3 + (STRIP - 6) * (round + 0.5) / rounds, x = tb_axis_at(&strips->axis, value / strips->scale);
    char place[64];
    if (json_is_true(tb_member(sample, "valid")) && isfinite(value)) {
        snprintf(place, sizeof place, "<use href=\"#s%d\" x=\"%.2f%%\" y=\"%.1f\"", strip->arm.look->shape, x, y);
        fputs(place, out);
        tb_html(out, " data-round=\"@\" data-value=\"@\"/>", TB_EXACT(round), TB_EXACT(value));
    } else if (!json_is_true(tb_member(sample, "valid")) || !strips->share) { // else: in this round there was nothing to count
        snprintf(place, sizeof place, "<use href=\"#s2\" class=\"bad\" x=\"%.2f%%\" y=\"%.1f\"", x, y);
        fputs(place, out);
        tb_html(out, " data-round=\"@\" data-invalid=\"@\"><title>@</title></use>", TB_EXACT(round),
                tb_member_text(sample, "invalid"), tb_member_text(sample, "invalid"));
    }
}

static size_t put_samples(FILE *out, const struct strips *strips, const struct strip *strip)
{
    double rounds = fmax(tb_member_number(strips->view->header, "design.rounds"), 1); // of NAN and 1: 1
    size_t invalid = 0;
    for (int pass = 0; pass < 2; pass++) { // a run may have been given another block of rounds
        for (size_t i = 0; i < strips->view->samples_count; i++) {
            const json_t *sample = strips->view->chain.entries[strips->view->samples_begin + i].object;
            if ((size_t)tb_member_number(sample, "cell") != strips->cell || strcmp(tb_member_text(sample, "arm"), strip->arm.key))
                continue;
            if (pass == 0)
                rounds = fmax(rounds, tb_member_number(sample, "round") + 1);
            else
                put_sample(out, strips, strip, sample, rounds);
            invalid += pass == 0 && !json_is_true(tb_member(sample, "valid"));
        }
    }
    return invalid;
}

static void put_strip(FILE *out, const struct strips *strips, const struct strip *strip)
{
    double median = strip->median / strips->scale, x = tb_axis_at(&strips->axis, median);
    tb_html(out, "<div class=\"row strip\" data-arm=\"@\" data-metric=\"@\" data-median=\"@\"><span class=\"name\">",
            strip->arm.key, strips->metric->name, TB_EXACT(strip->median / (strips->time || strips->share ? 1 : strips->scale)));
    tb_html_arm(out, &strip->arm);
    fprintf(out, "</span><svg height=\"%d\" role=\"img\">", STRIP);
    tb_axis_grid(out, &strips->axis);
    fprintf(out, "<g class=\"k%s\">", strip->arm.look->colour + 1);
    size_t invalid = put_samples(out, strips, strip);
    fputs("</g>", out);
    if (!isnan(median))
        tb_html(out, "<line class=\"median\" x1=\"@\" x2=\"@\" y2=\"100%\"/>", TB_PERCENT(x), TB_PERCENT(x));
    tb_html(out, "</svg><span class=\"figure\"><b>@</b> @", strips->share ? TB_SHARE(strip->median) : TB_FIGURE(median),
            isnan(median) ? "" : strips->unit);
    if (invalid > 0)
        tb_html(out, " <span class=\"bad\">@ invalid</span>", TB_COUNT(invalid));
    fputs("</span></div>\n", out);
}

// What is drawn for a metric, and what it is divided by.
static bool describe(struct strips *strips)
{
    const struct tb_metric *metric = strips->metric;
    const json_t *cell = json_array_get(tb_member(strips->view->header, "cells"), strips->cell);
    strips->time = tb_metric_is_time(metric->name);
    strips->share = metric->many_nodes;
    strips->unit = strips->share ? "%" : metric->counter ? "" : "of peak";
    strips->scale = strips->share ? 0.01 : tb_metric_divisor(metric, cell);
    return strips->scale > 0;
}

int tb_html_strips(FILE *out, const struct tb_log_view *view, size_t cell, const struct tb_metric *metric)
{
    struct strips strips = {.view = view, .cell = cell, .metric = metric};
    char name[160], what[64];
    if (!describe(&strips))
        return 0;
    int rc = load(&strips);
    choose_axis(&strips);
    tb_html_cell_name(view->header, cell, name, sizeof name);
    tb_html(out, "<div class=\"chart strips\" data-cell=\"@\" data-metric=\"@\"><h4>@ <small>@</small></h4>\n", name, metric->name,
            name, metric->what);
    for (size_t i = 0; i < strips.count && rc == 0; i++)
        put_strip(out, &strips, &strips.strip[i]);
    snprintf(what, sizeof what, "%s%s", strips.time || strips.share ? strips.unit : "", strips.axis.log ? ", log scale" : "");
    tb_axis_row(out, &strips.axis, what);
    fputs("</div>\n", out);
    for (size_t i = 0; i < strips.count; i++)
        free(strips.strip[i].values);
    return rc;
}
