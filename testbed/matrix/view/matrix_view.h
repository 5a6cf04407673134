// SPDX-License-Identifier: Apache-2.0
//
// matrix_view: a measured matrix as a table with a heat map, as JSON and CSV for programs, as SVG for eyes, and as an hwloc
// topology whose memory attributes are the measured values.
//
// All writers return 0 or -errno. What was not measured is shown with its reason. An emulated matrix shows placement, and neither a
// time nor what follows from times; nor is it drawn or exported to hwloc.
#ifndef TB_MATRIX_VIEW_H
#define TB_MATRIX_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "testbed/base/terminal.h"
#include "testbed/matrix/matrix.h"
#include "topo/topo.h"

// Are all nodes alike? By the measured latencies: 1 "flat", 0 they differ, -1 it is not known (nothing was measured, or the rounds
// lie further apart than the nodes). `ratio` (or NULL): the slowest pair over the fastest, NAN where there is none. Flat is one
// node, or medians within FLAT_RATIO of each other.
#define TB_MATRIX_FLAT_RATIO 1.05
int tb_matrix_flat(const struct tb_matrix *matrix, double *ratio);

// `topo` (or NULL) names the kinds of memory. `machine` (or NULL) becomes the member of that name: tb_topo_json(). `head` (or
// NULL) comes first: tb_head(). Both are borrowed.
int tb_matrix_text(FILE *stream, const struct tb_matrix *matrix, const struct locus_topo *topo, struct tb_report_style style);
int tb_matrix_json(FILE *stream, json_t *head, const struct tb_matrix *matrix, json_t *machine, const char *command);
int tb_matrix_csv(FILE *stream, const struct tb_matrix *matrix); // every sample, one line each

// By gnuplot: heat maps, latency under load and by working set. -ENOENT: it is not installed; -ENOTDIR: there is no such folder;
// -EINVAL: nothing that it draws was measured; -ENOTSUP: emulated.
int tb_matrix_plot(const char *svg_path, const struct tb_matrix *matrix);

// This machine as hwloc sees it, with ReadLatency, WriteBandwidth ... set to what was measured (ns, MiB/s), which any program on
// hwloc can read: `lstopo -i FILE --memattrs`. `topo` is this machine. -EINVAL: nothing that hwloc has an attribute for was
// measured; -ENOTSUP: emulated; -EXDEV: hwloc's environment variables hide this machine.
int tb_matrix_hwloc_xml(const char *path, const struct tb_matrix *matrix, const struct locus_topo *topo);

// "latency", "read" ... as --kinds, JSON and CSV have it; "ns" or "bytes/s".
const char *tb_matrix_kind_name(enum tb_matrix_kind kind);
const char *tb_matrix_kind_unit(enum tb_matrix_kind kind);
const char *tb_matrix_state_name(enum tb_matrix_state state);

#endif
