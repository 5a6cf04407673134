// SPDX-License-Identifier: Apache-2.0
//
// plan_sizes (private): how much each kind of sample takes, and what of that a node can give.
#ifndef TB_PLAN_SIZES_H
#define TB_PLAN_SIZES_H

#include "testbed/matrix/matrix.h"
#include "topo/topo.h"

struct tb_plan_sizes {
    uint64_t chase, chase_least;        // bytes of a cycle: wanted, and what reaches past the caches at all
    uint64_t stream, stream_least;      // of all threads' slices together
    uint64_t slice_least;               // of one thread's
    uint64_t moved;                     // by each thread of a stream in a sample, at least
    uint64_t steps, curve_steps;        // of a walk
    uint64_t migrated;                  // bytes
    uint64_t handoffs, tables;          // of LINE; of PUSH and DRAIN
};

void tb_plan_sizes(struct tb_plan_sizes *out, const struct tb_matrix_caches *caches, bool full, bool emulated);

// Bytes of all slices for so many threads.
uint64_t tb_plan_stream(const struct tb_plan_sizes *sizes, unsigned threads);

// Free and reclaimable bytes of a node of this machine; all bytes of a described one.
uint64_t tb_plan_room(const struct locus_topo *topo, int node);

// `wanted`, or what half the node's room holds of it, or 0 when that is less than `least`.
uint64_t tb_plan_fit(const struct locus_topo *topo, int node, uint64_t wanted, uint64_t least);

// Working sets of the curve, ascending, into sizes[]; returns how many.
#define TB_PLAN_CURVE_MAX 64u
unsigned tb_plan_curve(const struct tb_plan_sizes *sizes, const struct tb_matrix_caches *caches, bool full,
                       uint64_t out[TB_PLAN_CURVE_MAX]);

#endif
