// SPDX-License-Identifier: Apache-2.0
//
// html_nodes (private to the record): what a run of many nodes counted, node by node. A log without `nodes` in its samples has none
// of it, and nothing is written.
#ifndef TB_HTML_NODES_H
#define TB_HTML_NODES_H

#include "testbed/report/page/html_chart.h"

// The valid samples of an arm in a cell that know of nodes, in the order of the log.
struct tb_rounds {
    struct tb_arm_look arm;
    unsigned dash;              // 0, 1, ..: of several arms that look alike each has a line of its own
    const json_t **samples;     // [count], they belong to the view
    double *scratch;            // [count]
    size_t count, left_out;     // left_out: not valid
};

struct tb_node_cell {
    const struct tb_log_view *view;
    size_t cell;
    struct tb_rounds *arms;     // [count], as in the header; those that were not run here are left out
    size_t count;
};

// count is 0 where no sample of the cell has nodes. 0 or -ENOMEM; to be closed in any case.
int tb_node_cell_open(const struct tb_log_view *view, size_t cell, struct tb_node_cell *out);
void tb_node_cell_close(struct tb_node_cell *cell);

// One figure over all rounds. NAN where no round has it.
struct tb_reading {
    double first, median, low, high;
    size_t count;               // rounds that have it
};

typedef double tb_sample_reader(const json_t *sample, const void *what); // NAN: it has none
double tb_read_member(const json_t *sample, const void *path);           // "nodes.pages_moved"
struct tb_reading tb_read_rounds(const struct tb_rounds *rounds, tb_sample_reader *read, const void *what);

// One of its figures, a count or a share of one, with the least and the most in brackets where they differ.
void tb_html_reading(FILE *out, const struct tb_reading *reading, double shown, bool share);

#define TB_DASHES 4u            // lines that can be told apart: the classes d0 .. d3

// How far blocks wandered, as a curve for each arm (html_drift.c). 0 or -ENOMEM.
int tb_html_drift(FILE *out, const struct tb_node_cell *cell);

// Who touched what where, the homes and the placement of one arm, folded away (html_pairs.c).
void tb_html_pairs(FILE *out, const struct tb_node_cell *cell, const struct tb_rounds *rounds);

// All of it, for each cell (html_nodes.c). 0 or -ENOMEM.
int tb_html_nodes(FILE *out, const struct tb_log_view *view);

#endif
