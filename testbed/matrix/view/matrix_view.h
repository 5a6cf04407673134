// SPDX-License-Identifier: Apache-2.0
//
// matrix_view: a measured matrix as a document (doc.h), as SVG for eyes, and as an hwloc topology whose memory attributes are the
// measured values.
//
// What was not measured is shown with its reason. An emulated matrix shows placement, and neither a time nor what follows from
// times; nor is it drawn or exported to hwloc.
#ifndef TB_MATRIX_VIEW_H
#define TB_MATRIX_VIEW_H

#include "testbed/doc/doc.h"
#include "testbed/matrix/matrix.h"
#include "topo/topo.h"

// Are all nodes alike? By the measured latencies: 1 "flat", 0 they differ, -1 it is not known (nothing was measured, or the rounds
// lie further apart than the nodes). `ratio` (or NULL): the slowest pair over the fastest, NAN where there is none. Flat is one
// node, or medians within FLAT_RATIO of each other.
#define TB_MATRIX_FLAT_RATIO 1.05
int tb_matrix_flat(const struct tb_matrix *matrix, double *ratio);

// Tables and curves for people, every cell and sample for programs: as CSV the table "cells". `topo` (or NULL) names the kinds of
// memory. `machine` (or NULL) becomes the member of that name: tb_topo_json(). `head` as for tb_doc_open(). Takes both over. NULL
// without memory.
struct tb_doc *tb_matrix_doc(json_t *head, const struct tb_matrix *matrix, const struct locus_topo *topo, json_t *machine);

// By gnuplot: heat maps, latency under load and by working set. 0 or -errno. -ENOENT: it is not installed; -ENOTDIR: there is no
// such folder; -EINVAL: nothing that it draws was measured; -ENOTSUP: emulated.
int tb_matrix_plot(const char *svg_path, const struct tb_matrix *matrix);

// This machine as hwloc sees it, with ReadLatency, WriteBandwidth ... set to what was measured (ns, MiB/s), which any program on
// hwloc can read: `lstopo -i FILE --memattrs`. `topo` is this machine. 0 or -errno. -EINVAL: nothing that hwloc has an attribute
// for was measured; -ENOTSUP: emulated; -EXDEV: hwloc's environment variables hide this machine.
int tb_matrix_hwloc_xml(const char *path, const struct tb_matrix *matrix, const struct locus_topo *topo);

// "latency", "read" ... as --kinds, JSON and CSV have it; "ns" or "bytes/s".
const char *tb_matrix_kind_name(enum tb_matrix_kind kind);
const char *tb_matrix_kind_unit(enum tb_matrix_kind kind);
const char *tb_matrix_state_name(enum tb_matrix_state state);

#endif
