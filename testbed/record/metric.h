// SPDX-License-Identifier: Apache-2.0
//
// metric: what a prediction may be about. One table for all who read, judge or show it.
#ifndef TB_METRIC_H
#define TB_METRIC_H

#include <stdbool.h>

struct tb_metric {
    const char *name;           // as a postulate has it
    const char *member;         // of a sample
    bool of_peak;               // the member counts blocks, and the metric is that over the cell's theoretical peak
    bool many_nodes;            // counted in runs of many nodes only, null in others. It may be 0, so arms have no ratio of it
    const char *unit;           // of one arm's figure
    const char *what;           // under a drawing of the samples
};

// By name; NULL: there is no such metric.
const struct tb_metric *tb_metric_find(const char *name);

const struct tb_metric *tb_metric_at(unsigned i); // time_ns first; NULL behind the last
extern const char *const tb_metric_names[];       // the same, NULL-terminated

bool tb_metric_is_time(const char *name); // everything else is a count, and exact

#endif
