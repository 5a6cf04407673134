// SPDX-License-Identifier: Apache-2.0
//
// locality (private): data that locality.c writes and locality_counts.c reads. Here nodes are ordinals in the topology's order,
// and `nodes_count` means unknown: one more row and column.
#ifndef TB_LOCALITY_INTERNAL_H
#define TB_LOCALITY_INTERNAL_H

#include <stdbool.h>

#include "testbed/measure/locality/locality.h"

struct locality_event {
    uint32_t page;              // index in the arrays
    uint16_t from, kept;        // ordinals
    enum tb_locality_what what;
    uint64_t count;
};

struct tb_locality {
    struct tb_locality_world world;
    bool own_world;             // this machine, not an injected one: rseq may be used
    size_t mapping_bytes;
    unsigned page_shift, slots_shift;
    uint32_t nodes_count, nodes_end, cpus_end; // the last two: one above the highest OS index
    uint32_t pages_max, pending_max, points_max;
    uint32_t points_count;      // the last one is the step in progress
    uint32_t place_last;        // index of the page noted last: the next note is often on the same
    struct tb_locality_map map;
    struct tb_locality_map added; // of the instances added to this one

    int *os_nodes;              // by ordinal
    uint16_t *ordinals;         // by OS node
    uint16_t *cpu_ordinals;     // by CPU
    uint64_t *matrices;         // TB_LOCALITY_WHATS of (nodes_count + 1) rows and columns
    struct tb_locality_point *points;
    struct locality_event *pending;
    void **pages;
    int *nodes, *nodes_fresh;
    uint32_t *slots;            // index of a page in the arrays; NONE: empty
};

static inline uint16_t locality_ordinal(const struct tb_locality *locality, int os_node)
{
    return os_node >= 0 && (uint32_t)os_node < locality->nodes_end ? locality->ordinals[os_node] : (uint16_t)locality->nodes_count;
}

static inline uint64_t *locality_cell(const struct tb_locality *locality, enum tb_locality_what what, uint32_t from, uint32_t to)
{
    size_t side = locality->nodes_count + 1u;
    return &locality->matrices[((size_t)what * side + from) * side + to];
}

#endif
