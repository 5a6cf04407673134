// SPDX-License-Identifier: Apache-2.0
//
// html_chart (private to the record): contenders' marks, axes, and the drawings made of them.
#ifndef TB_HTML_CHART_H
#define TB_HTML_CHART_H

#include <stdbool.h>

#include "testbed/base/draw/look.h"
#include "testbed/postulate/metric.h"
#include "testbed/record/log.h"
#include "testbed/report/page/html.h"

// --- marks and axes (html_axis.c) ---

struct tb_arm_look {
    const char *key, *name;     // they point into the log
    const struct tb_look *look;
};

// Of a log's arm by its key; where it has none, a neutral one.
struct tb_arm_look tb_arm_look(const json_t *header, const char *key);

void tb_html_shapes(FILE *out);                             // once in a page: the definitions that the marks use
void tb_html_mark(FILE *out, const struct tb_look *look);   // in a line of text
void tb_html_arm(FILE *out, const struct tb_arm_look *arm); // mark, key and name

struct tb_axis {
    double low, high;
    bool log;
};

#define TB_TICKS_MAX 24
size_t tb_axis_ticks(const struct tb_axis *axis, double ticks[TB_TICKS_MAX]); // round figures, rising; how many

double tb_axis_at(const struct tb_axis *axis, double value); // 0 .. 100, a place in percent; values outside stick to the edge
void tb_axis_grid(FILE *out, const struct tb_axis *axis);    // faint lines, inside an <svg>
void tb_axis_row(FILE *out, const struct tb_axis *axis, const char *what); // the row below a chart's others

// --- drawings ---

// A prediction: for each part a row (html_chart.c).
void tb_html_prediction_chart(FILE *out, const json_t *header, const json_t *prediction);

// "1.31 [1.29, 1.33]"; the figure alone when it is exact (low == high).
void tb_html_interval(FILE *out, double estimate, double low, double high);

// All samples of a cell: a strip for each arm, the fastest on top (html_strips.c). 0 or -ENOMEM.
int tb_html_strips(FILE *out, const struct tb_log_view *view, size_t cell, const struct tb_metric *metric);

#endif
