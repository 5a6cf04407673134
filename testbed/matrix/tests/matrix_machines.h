// SPDX-License-Identifier: Apache-2.0
//
// matrix_machines: matrices of machines that nobody here owns, for the tests of the views. Latencies and bandwidths are those that
// MLC published for a machine of two Cascade Lake sockets: 80.8 and 140.4 ns, 113.1 and 34.3 GB/s.
#ifndef TB_MATRIX_MACHINES_H
#define TB_MATRIX_MACHINES_H

#include "testbed/matrix/tests/matrix_fixture.h"

// Latency and bandwidths between two nodes, by 1 and by 16 CPUs.
static inline void matrix_fixture_pair(struct matrix_fixture *f, int initiator, int memory, double ns, double bytes_per_s)
{
    static const double shares[] = {1, 0.6, 0.8, 0.9, 0.85, 0.7}; // of reading
    matrix_fixture_cell(f, TB_MATRIX_LATENCY, initiator, memory, 1, ns);
    for (int kind = TB_MATRIX_READ; kind <= TB_MATRIX_NT_WRITE; kind++) {
        double share = shares[kind - TB_MATRIX_READ];
        matrix_fixture_cell(f, (enum tb_matrix_kind)kind, initiator, memory, 1, 0.1 * share * bytes_per_s);
        matrix_fixture_cell(f, (enum tb_matrix_kind)kind, initiator, memory, 16, share * bytes_per_s);
    }
}

static inline void matrix_fixture_curves(struct matrix_fixture *f, int initiator, int memory, double ns, double bytes_per_s)
{
    static const double caches_ns[] = {1.1, 1.1, 1.2, 4, 4.2, 6, 18, 20, 25, 60};
    for (unsigned i = 0; i < 8; i++) {
        double load = (double)i / 7;
        struct tb_matrix_cell *cell = matrix_fixture_cell(f, TB_MATRIX_LOADED, initiator, memory, 16,
                                                          ns * (1 + 0.15 * load + 0.8 * load * load * load * load));
        cell->delay = 4096 >> (i + 1);
        cell->bandwidth = load * bytes_per_s;
    }
    for (unsigned i = 0; i < 14; i++) {
        struct tb_matrix_cell *cell =
            matrix_fixture_cell(f, TB_MATRIX_WORKING_SET, initiator, memory, 1, i < 10 ? caches_ns[i] : ns);
        cell->working_set_bytes = UINT64_C(8192) << (2 * i * 9 / 13);
    }
}

// What concerns mailboxes and pages, between all nodes of a list.
static inline void matrix_fixture_homes(struct matrix_fixture *f, const int nodes[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < count; j++) {
            double far = i == j ? 1 : 2.3;
            matrix_fixture_cell(f, TB_MATRIX_PUSH, nodes[i], nodes[j], 1, 21 * far);
            matrix_fixture_cell(f, TB_MATRIX_DRAIN, nodes[i], nodes[j], 1, 3.1 * far);
            for (unsigned k = 0; k < count; k++)
                matrix_fixture_cell(f, TB_MATRIX_LINE, nodes[i], nodes[k], 2, 49.3 * far)->target = nodes[j];
            if (i != j)
                matrix_fixture_cell(f, TB_MATRIX_MIGRATION, nodes[i], nodes[i], 1, 3.31e9)->target = nodes[j];
        }
    }
}

static inline struct tb_matrix *matrix_fixture_one(struct matrix_fixture *f)
{
    static const int nodes[] = {0};
    matrix_fixture_open(f, 7);
    matrix_fixture_pair(f, 0, 0, 80.8, 113.1e9);
    matrix_fixture_curves(f, 0, 0, 80.8, 113.1e9);
    matrix_fixture_homes(f, nodes, 1);
    matrix_fixture_refuse(matrix_fixture_cell(f, TB_MATRIX_MIGRATION, 0, 0, 1, 1), TB_MATRIX_UNMEASURABLE,
                          "there is one node with memory, and pages have nowhere to go");
    return &f->matrix;
}

static inline struct tb_matrix *matrix_fixture_two(struct matrix_fixture *f)
{
    static const int nodes[] = {0, 1};
    matrix_fixture_open(f, 7);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            matrix_fixture_pair(f, i, j, i == j ? 80.8 : 140.4, i == j ? 113.1e9 : 34.3e9);
    for (int j = 0; j < 2; j++)
        matrix_fixture_curves(f, 0, j, j ? 140.4 : 80.8, j ? 34.3e9 : 113.1e9);
    matrix_fixture_homes(f, nodes, 2);
    return &f->matrix;
}

// Nodes 0 and 1 with CPUs, and node 2 of CXL memory close to node 0.
static inline struct tb_matrix *matrix_fixture_cxl(struct matrix_fixture *f)
{
    matrix_fixture_two(f);
    matrix_fixture_pair(f, 0, 2, 255, 22e9);
    matrix_fixture_pair(f, 1, 2, 330, 15e9);
    return &f->matrix;
}

// `count` nodes numbered from `first`, all pairs within `spread` of each other.
static inline struct tb_matrix *matrix_fixture_many(struct matrix_fixture *f, int first, int count, double spread)
{
    int nodes[64];
    matrix_fixture_open(f, 7);
    for (int i = 0; i < count; i++) {
        nodes[i] = first + i;
        for (int j = 0; j < count; j++) {
            double far = 1 + spread * abs(i - j) / (count - 1);
            matrix_fixture_pair(f, first + i, first + j, 100 * far, 40e9 / far);
        }
    }
    matrix_fixture_homes(f, nodes, count < 9 ? (unsigned)count : 8);
    return &f->matrix;
}

// As a run in a guest leaves them, but with every figure still there: a view that looks at them is caught.
static inline struct tb_matrix *matrix_fixture_emulate(struct tb_matrix *matrix)
{
    matrix->emulated = "n2";
    for (size_t i = 0; i < matrix->cells_count; i++)
        if (matrix->cells[i].state == TB_MATRIX_MEASURED)
            matrix->cells[i].state = TB_MATRIX_EMULATED;
    return matrix;
}

#endif
