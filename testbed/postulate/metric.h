// SPDX-License-Identifier: Apache-2.0
//
// metric: what a prediction may be about. One table for all who read, judge or show it.
//
// Those of counters are per lap: the sum over all threads and metered laps, over the number of those laps. What one counts on
// which CPU is in counters/tables_*.c, and `locus counters --help` says it. Those of an emulator are per block;
// guest/plugin/counts.c says what each counts. With dispatch inline they are the same in each process. With threads, waiting is
// among the instructions and the order of the threads is the emulator's own: there instructions_per_block is null, and
// failed_per_block is of that order only.
#ifndef TB_METRIC_H
#define TB_METRIC_H

#include <jansson.h>
#include <stdbool.h>

struct tb_metric {
    const char *name;           // as a postulate has it
    const char *member;         // of a sample, by its path
    bool of_peak;               // the member counts blocks, and the metric is that over the cell's theoretical peak
    bool many_nodes;            // counted in runs of many nodes only, null in others
    bool ratio;                 // arms have a ratio of it; otherwise it may well be 0
    bool estimate;              // it differs from process to process, so a median is one of a sample; otherwise a count, and exact
    bool fixed;                 // decided in virtual time, or counted of one thread: each round must have the same, so that a ratio
                         // of arms is exact, too
    bool emulated;              // counted by an emulator (requires: [emulator]), and over the blocks of the laps that it counted
    const char *counter;        // its name there (counters/counters.h), or NULL
    const char *unit;           // of one arm's figure
    const char *what;           // under a drawing of the samples
};

#define TB_METRICS_MAX 208u

// By name; NULL: there is no such metric.
const struct tb_metric *tb_metric_find(const char *name);

const struct tb_metric *tb_metric_at(unsigned i); // time_ns first; NULL after the last

// What a sample's number is divided by to be the metric: the peak, the metered laps or their blocks of its cell, one of the
// header's; or 1.
double tb_metric_divisor(const struct tb_metric *metric, const json_t *cell);

// Is it a time, or a share of one? An emulated machine can tell neither.
bool tb_metric_is_time(const char *name);

// Of laps in which each take is timed: a run has them if a prediction asks for such a metric.
bool tb_metric_is_clocked(const struct tb_metric *metric);

#endif
