// SPDX-License-Identifier: Apache-2.0
//
// matrix_view: a measured matrix as a document (doc.h), and as an hwloc topology whose memory attributes are the
// measured values.
//
// What was not measured is shown with its reason. An emulated matrix shows placement, and neither a time nor what follows from
// times; nor is it exported to hwloc.
#ifndef TB_MATRIX_VIEW_H
#define TB_MATRIX_VIEW_H

#include "testbed/doc/doc.h"
#include "testbed/matrix/matrix.h"
#include "topo/topo.h"

// Nodes are alike ("flat") where there is one, or where the medians of all pairs are within this of each other.
#define TB_MATRIX_FLAT_RATIO 1.05

// Tables and curves for people, every cell and sample for programs: as CSV the table "cells". `topo` (or NULL) names the kinds of
// memory. `machine` (or NULL) becomes the member of that name: tb_topo_json(). `head` as for tb_doc_open(). Takes both over. NULL
// without memory.
struct tb_doc *tb_matrix_doc(json_t *head, const struct tb_matrix *matrix, const struct locus_topo *topo, json_t *machine);

// This machine as hwloc sees it, with ReadLatency, WriteBandwidth ... set to what was measured (ns, MiB/s), which any program on
// hwloc can read: `lstopo -i FILE --memattrs`. `topo` is this machine. 0 or -errno. -EINVAL: nothing that hwloc has an attribute
// for was measured; -ENOTSUP: emulated; -EXDEV: hwloc's environment variables hide this machine.
int tb_matrix_hwloc_xml(const char *path, const struct tb_matrix *matrix, const struct locus_topo *topo);

// "latency", "read" ... as --kinds, JSON and CSV have it; "ns" or "bytes/s".
const char *tb_matrix_kind_name(enum tb_matrix_kind kind);
const char *tb_matrix_kind_unit(enum tb_matrix_kind kind);
const char *tb_matrix_state_name(enum tb_matrix_state state);

#endif
