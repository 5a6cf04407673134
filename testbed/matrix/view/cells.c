// SPDX-License-Identifier: Apache-2.0
//
// cells: what kinds and states are called, finding cells, and comparing them.
#include <math.h>
#include <stdlib.h>

#include "testbed/matrix/view/view.h"

static const struct {
    const char *name, *unit;
} kinds[TB_MATRIX_KINDS] = {
    [TB_MATRIX_LATENCY] = {"latency", "ns"},
    [TB_MATRIX_READ] = {"read", "bytes/s"},
    [TB_MATRIX_WRITE] = {"write", "bytes/s"},
    [TB_MATRIX_COPY] = {"copy", "bytes/s"},
    [TB_MATRIX_READ3_WRITE1] = {"3:1", "bytes/s"},
    [TB_MATRIX_READ2_WRITE1] = {"2:1", "bytes/s"},
    [TB_MATRIX_NT_WRITE] = {"nt-write", "bytes/s"},
    [TB_MATRIX_LOADED] = {"loaded", "ns"},
    [TB_MATRIX_WORKING_SET] = {"working-set", "ns"},
    [TB_MATRIX_MIGRATION] = {"migration", "bytes/s"},
    [TB_MATRIX_LINE] = {"line", "ns"},
    [TB_MATRIX_PUSH] = {"push", "ns"},
    [TB_MATRIX_DRAIN] = {"drain", "ns"},
};

const char *tb_matrix_kind_name(enum tb_matrix_kind kind)
{
    return kinds[kind].name;
}

const char *tb_matrix_kind_unit(enum tb_matrix_kind kind)
{
    return kinds[kind].unit;
}

const char *tb_matrix_state_name(enum tb_matrix_state state)
{
    static const char *const names[] = {[TB_MATRIX_PLANNED] = "planned",
                                        [TB_MATRIX_MEASURED] = "measured",
                                        [TB_MATRIX_UNMEASURABLE] = "unmeasurable",
                                        [TB_MATRIX_EMULATED] = "emulated",
                                        [TB_MATRIX_INVALID] = "invalid"};
    return names[state];
}

bool tb_matrix_told(const struct tb_matrix *matrix, const struct tb_matrix_cell *cell)
{
    return cell && !matrix->emulated && cell->state == TB_MATRIX_MEASURED && isfinite(cell->value.estimate) &&
           cell->value.estimate > 0;
}

bool tb_matrix_ran(const struct tb_matrix_cell *cell)
{
    return cell->state != TB_MATRIX_PLANNED && cell->state != TB_MATRIX_UNMEASURABLE;
}

bool tb_matrix_only_planned(const struct tb_matrix *matrix)
{
    for (size_t i = 0; i < matrix->cells_count; i++)
        if (tb_matrix_ran(&matrix->cells[i]))
            return false;
    return matrix->took_ns == 0;
}

bool tb_matrix_in_time(enum tb_matrix_kind kind)
{
    return tb_matrix_kind_unit(kind)[0] == 'n';
}

static void add(struct locus_nodes *set, int node)
{
    if (set && node >= 0 && (unsigned)node < LOCUS_NODES_MAX)
        locus_nodes_add(set, node);
}

void tb_matrix_nodes(const struct tb_matrix *matrix, struct locus_nodes *initiators, struct locus_nodes *memories,
                     struct locus_nodes *all)
{
    struct locus_nodes *sets[] = {initiators, memories, all};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (sets[i])
            *sets[i] = (struct locus_nodes){0};
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        add(initiators, cell->initiator);
        add(memories, cell->memory);
        add(all, cell->initiator);
        add(all, cell->memory);
        add(all, cell->target);
    }
}

const struct tb_matrix_cell *tb_matrix_at(const struct tb_matrix *matrix, enum tb_matrix_kind kind, int initiator, int memory)
{
    const struct tb_matrix_cell *best = NULL;
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind == kind && cell->initiator == initiator && cell->memory == memory &&
            (!best || cell->threads > best->threads))
            best = cell;
    }
    return best;
}

// The true ratio of two medians lies between the quotients of their limits with at least the confidence that both together have.
static void ratio_of_intervals(const struct tb_ratio *over, const struct tb_ratio *under, struct tb_ratio *out)
{
    bool bounded = over->bounded && under->bounded && over->low > 0 && under->low > 0;
    *out = (struct tb_ratio){
        .estimate = over->estimate / under->estimate,
        .low = bounded ? over->low / under->high : 0,
        .high = bounded ? over->high / under->low : (double)INFINITY,
        .confidence = bounded ? fmax(0, over->confidence + under->confidence - 1) : 0,
        .n = over->n < under->n ? over->n : under->n,
        .bounded = bounded,
    };
}

bool tb_matrix_ratio(const struct tb_matrix *matrix, const struct tb_matrix_cell *over, const struct tb_matrix_cell *under,
                     struct tb_ratio *out)
{
    if (!tb_matrix_told(matrix, over) || !tb_matrix_told(matrix, under))
        return false;
    if (over->samples != under->samples || tb_ratio(under->sample, over->sample, over->samples, TB_CONFIDENCE, out))
        ratio_of_intervals(&over->value, &under->value, out);
    return true;
}

// What is walked over, or what the other CPUs read meanwhile.
static double place_of(const struct tb_matrix_cell *cell)
{
    return cell->kind == TB_MATRIX_LOADED ? cell->bandwidth : (double)cell->working_set_bytes;
}

size_t tb_matrix_curve(const struct tb_matrix *matrix, enum tb_matrix_kind kind, int initiator, int memory,
                       const struct tb_matrix_cell *out[], size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < matrix->cells_count && count < max; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind != kind || cell->initiator != initiator || cell->memory != memory)
            continue;
        size_t at = count++;
        for (; at > 0 && place_of(out[at - 1]) > place_of(cell); at--)
            out[at] = out[at - 1];
        out[at] = cell;
    }
    return count;
}

size_t tb_matrix_pairs(const struct tb_matrix *matrix, enum tb_matrix_kind kind, struct tb_matrix_pair out[], size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind != kind || !tb_matrix_told(matrix, cell))
            continue;
        size_t at = 0;
        while (at < count && (out[at].initiator != cell->initiator || out[at].memory != cell->memory))
            at++;
        if (at == count && count < max)
            out[count++] = (struct tb_matrix_pair){cell->initiator, cell->memory};
    }
    return count;
}
