// SPDX-License-Identifier: Apache-2.0
//
// view (private to the views): which cell answers what, and the answer of the whole.
//
// One rule holds for all views: a figure is shown where tb_matrix_told() says so, and nowhere else. So an emulated machine's times
// cannot reach a reader by any way.
#ifndef TB_MATRIX_VIEW_PRIVATE_H
#define TB_MATRIX_VIEW_PRIVATE_H

#include <hwloc.h>

#include "testbed/base/words.h"
#include "testbed/matrix/view/matrix_view.h"

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

// --- the answer (verdict.c) ---

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
int tb_matrix_hwloc_set(hwloc_topology_t topology, const struct tb_matrix *matrix, const struct locus_topo *topo);

#endif
