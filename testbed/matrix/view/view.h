// SPDX-License-Identifier: Apache-2.0
//
// view: a measured matrix as a document (doc.h), and as an hwloc topology whose memory attributes are the
// measured values.
//
// What was not measured is shown with its reason. An emulated matrix shows placement, and neither a time nor what follows from
// times; nor is it exported to hwloc.
//
// One rule holds for all views: a figure is shown where tb_matrix_told() says so, and nowhere else. So an emulated machine's times
// cannot reach a reader by any way.
#ifndef TB_MATRIX_VIEW_H
#define TB_MATRIX_VIEW_H

#include "testbed/base/words.h"
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
// for was measured; -ENOTSUP: emulated; -EXDEV: hwloc's environment variables, or a sandbox, hide this machine.
int tb_matrix_hwloc_xml(const char *path, const struct tb_matrix *matrix, const struct locus_topo *topo);

// "latency", "read" ... as --kinds, JSON and CSV have it; "ns" or "bytes/s".
const char *tb_matrix_kind_name(enum tb_matrix_kind kind);
const char *tb_matrix_kind_unit(enum tb_matrix_kind kind);
const char *tb_matrix_state_name(enum tb_matrix_state state);

// --- cells (cells.c) ---

bool tb_matrix_told(const struct tb_matrix *matrix, const struct tb_matrix_cell *cell);
bool tb_matrix_ran(const struct tb_matrix_cell *cell);       // it was at least tried
bool tb_matrix_only_planned(const struct tb_matrix *matrix); // nothing was run yet
bool tb_matrix_in_time(enum tb_matrix_kind kind); // its unit is ns, less is better; otherwise bytes/s

// All that the cells name. Any may be NULL.
void tb_matrix_nodes(const struct tb_matrix *matrix, struct locus_nodes *initiators, struct locus_nodes *memories,
                     struct locus_nodes *all);

// The cell of a kind between two nodes; with several, the one with most threads. NULL: not planned.
const struct tb_matrix_cell *tb_matrix_at(const struct tb_matrix *matrix, enum tb_matrix_kind kind, int initiator, int memory);

// How many times as much as `under`'s the value of `over` is: round by round, or, where one has lost a round, from the intervals of
// both. false: one of them has no value.
bool tb_matrix_ratio(const struct tb_matrix *matrix, const struct tb_matrix_cell *over, const struct tb_matrix_cell *under,
                     struct tb_ratio *out);

// Cells of one kind between two nodes, in ascending order of what is walked over (LOADED: of what the other CPUs read): their
// number, at most `max`.
size_t tb_matrix_curve(const struct tb_matrix *matrix, enum tb_matrix_kind kind, int initiator, int memory,
                       const struct tb_matrix_cell *out[], size_t max);

// Distinct pairs of nodes of the cells that are told, in their order: their number, at most `max`.
struct tb_matrix_pair {
    int initiator, memory;
};
size_t tb_matrix_pairs(const struct tb_matrix *matrix, enum tb_matrix_kind kind, struct tb_matrix_pair out[], size_t max);

// --- the answer (cells.c) ---

enum tb_matrix_answer {
    TB_MATRIX_FLAT,
    TB_MATRIX_DIFFERS,
    TB_MATRIX_UNCLEAR,          // apart, but so are the rounds
    TB_MATRIX_NO_LATENCY,
    TB_MATRIX_NO_TIMING,        // emulated
};

struct tb_matrix_verdict {
    enum tb_matrix_answer answer;
    bool has_ratio;
    struct tb_ratio ratio;      // slowest latency over fastest
    struct tb_words sentence;
};
void tb_matrix_verdict(const struct tb_matrix *matrix, struct tb_matrix_verdict *out);
const char *tb_matrix_answer_name(enum tb_matrix_answer answer);

// --- hwloc (hwloc.c) ---

// Sets the attributes of any topology that has these nodes. -EINVAL: nothing to set.
struct hwloc_topology;
int tb_matrix_hwloc_set(struct hwloc_topology *topology, const struct tb_matrix *matrix, const struct locus_topo *topo);

#endif
