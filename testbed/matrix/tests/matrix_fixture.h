// SPDX-License-Identifier: Apache-2.0
//
// matrix_fixture: a matrix that nobody measured, to be filled cell by cell. Rounds differ by a thousandth and each cell wavers by
// half of one, so that ratios are known to a part in a thousand. (Whole machines of such cells: matrix_machines.h.)
#ifndef TB_MATRIX_FIXTURE_H
#define TB_MATRIX_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/matrix/matrix.h"

enum { MATRIX_FIXTURE_CELLS = 8192 };

struct matrix_fixture {
    struct tb_matrix matrix;
    struct tb_matrix_cell *cells; // not static: LeakSanitizer reads all static memory at the end of each test
};

static inline void matrix_fixture_open(struct matrix_fixture *f, unsigned rounds)
{
    free(f->cells);
    memset(f, 0, sizeof *f);
    f->cells = calloc(MATRIX_FIXTURE_CELLS, sizeof *f->cells);
    cr_assert_not_null(f->cells);
    f->matrix = (struct tb_matrix){
        .config = {.rounds = rounds, .seed = 41},
        .caches = {{49152, 1048576, 33554432, 0}, 33554432},
        .cells = f->cells,
        .took_ns = 12300000000u,
    };
    memset(f->matrix.config.kinds, true, sizeof f->matrix.config.kinds);
}

// A cell whose pages were all there, with `value` as its median.
static inline struct tb_matrix_cell *matrix_fixture_cell(struct matrix_fixture *f, enum tb_matrix_kind kind, int initiator,
                                                         int memory, unsigned threads, double value)
{
    cr_assert_lt(f->matrix.cells_count, MATRIX_FIXTURE_CELLS);
    size_t index = f->matrix.cells_count++;
    struct tb_matrix_cell *cell = &f->cells[index];
    *cell = (struct tb_matrix_cell){
        .kind = kind,
        .initiator = initiator,
        .memory = memory,
        .target = -1,
        .threads = threads,
        .working_set_bytes = UINT64_C(1) << 28,
        .state = TB_MATRIX_MEASURED,
        .samples = f->matrix.config.rounds,
        .bytes_planned = 4096000,
        .bytes_moved = 4096000,
        .time_ns = 987654321,
        .placement = {LOCUS_POLICY_BIND, LOCUS_POLICY_BIND, memory, 2097152, 65536, 65536, true},
    };
    for (unsigned round = 0; round < cell->samples; round++) {
        uint32_t mixed = ((uint32_t)index * 2654435761u) ^ ((round + 1) * 2246822519u);
        mixed = (mixed ^ (mixed >> 15)) * 2654435761u;
        cell->sample[round] = value * (1 + 0.001 * (round % 3 - 1.0)) * (1 + 0.001 * ((mixed >> 8) / 16777216.0 - 0.5));
    }
    cr_assert_eq(tb_median_sign(cell->sample, cell->samples, 0.95, &cell->value), 0);
    return cell;
}

static inline void matrix_fixture_refuse(struct tb_matrix_cell *cell, enum tb_matrix_state state, const char *why)
{
    cell->state = state;
    snprintf(cell->why, sizeof cell->why, "%s", why);
    if (state == TB_MATRIX_UNMEASURABLE)
        cell->samples = 0;
}

#endif
