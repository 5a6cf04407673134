// SPDX-License-Identifier: Apache-2.0
//
// matrix run: this machine's matrix in small: what is measured is proved, and what is not says why.
#include "testbed/matrix/matrix.h"

#include "testbed/matrix/spans.h"
#include "topo/topo.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NO_SUCH_NODE 1000

static struct locus_topo *topo;
static struct tb_matrix matrix;

// Few caches are claimed, so that little memory is needed: the figures mean nothing, the checks are the same.
static void plan_small(int first, int last, unsigned rounds)
{
    struct tb_matrix_config config = {.rounds = rounds, .seed = 5};
    struct tb_matrix_caches caches = {.bytes = {32 << 10, 256 << 10}, .last_bytes = 256 << 10};
    for (int kind = first; kind <= last; kind++)
        config.kinds[kind] = true;
    cr_assert_eq(locus_topo_open(&topo, NULL, NULL, 0), 0);
    cr_assert_eq(tb_matrix_plan(&matrix, topo, &caches, &config), 0);
}

static void end(void)
{
    tb_matrix_close(&matrix);
    locus_topo_close(topo);
}

struct told {
    uint64_t calls, done, total;
};

static void count(void *context, const struct tb_matrix *seen, uint64_t done, uint64_t total)
{
    struct told *told = context;
    cr_assert_eq(seen, &matrix);
    cr_assert_eq(done, told->done + 1);
    *told = (struct told){told->calls + 1, done, total};
}

static void check_measured(const struct tb_matrix_cell *cell, unsigned rounds)
{
    cr_assert_eq(cell->samples, matrix.emulated ? 0 : rounds);
    cr_assert_eq(cell->bytes_moved, cell->bytes_planned);
    cr_assert_eq(cell->time_ns > 0, matrix.emulated == NULL);
    cr_assert(cell->placement.verified && cell->placement.pages > 0);
    cr_assert_eq(cell->placement.pages_there, cell->placement.pages);
    cr_assert(cell->placement.requested == LOCUS_POLICY_BIND && cell->placement.granted == LOCUS_POLICY_BIND);
    cr_assert_eq(cell->placement.granted_node, cell->memory);
    cr_assert_neq(cell->placement.page_bytes, 0);
    for (unsigned i = 0; i < cell->samples; i++)
        cr_assert(isfinite(cell->sample[i]) && cell->sample[i] > 0);
    if (!matrix.emulated)
        cr_assert(cell->value.n == rounds && cell->value.estimate > 0 && !cell->value.bounded, "three rounds bound nothing");
    if (!matrix.emulated && cell->kind == TB_MATRIX_LOADED)
        cr_assert_gt(cell->bandwidth, 0);
}

Test(matrix_run, proves_what_it_measures, .timeout = 120)
{
    struct told told = {0};
    unsigned measured = 0;
    plan_small(0, TB_MATRIX_KINDS - 1, 3);
    cr_assert_eq(tb_matrix_run(&matrix, topo, count, &told), 0);
    for (size_t i = 0; i < matrix.cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix.cells[i];
        if (cell->state == TB_MATRIX_UNMEASURABLE) {
            cr_assert_neq(cell->why[0], 0);
            cr_assert(cell->samples == 0 && cell->bytes_moved == 0);
            continue;
        }
        cr_assert_eq(cell->state, matrix.emulated ? TB_MATRIX_EMULATED : TB_MATRIX_MEASURED, "cell %zu, kind %d: %s", i, cell->kind,
                     cell->why);
        check_measured(cell, 3);
        measured++;
    }
    if (measured == 0)
        cr_skip_test("memory cannot be bound here: %s", matrix.cells[0].why);
    cr_assert(told.calls > 0 && told.done == told.total && told.total >= 3 * measured);
    cr_assert_gt(matrix.took_ns, 0);
    end();
}

Test(matrix_run, has_an_interval_from_six_rounds_on, .timeout = 60)
{
    plan_small(TB_MATRIX_WORKING_SET, TB_MATRIX_WORKING_SET, 6);
    cr_assert_eq(tb_matrix_run(&matrix, topo, NULL, NULL), 0);
    const struct tb_matrix_cell *cell = &matrix.cells[0];
    if (cell->state != TB_MATRIX_MEASURED)
        cr_skip_test("nothing is measured here: %s", cell->why);
    cr_assert(cell->value.bounded && cell->value.low <= cell->value.estimate && cell->value.estimate <= cell->value.high);
    cr_assert_geq(cell->value.confidence, 0.95);
    end();
}

// As after a node that vanished between discovery and measurement: the plan names it, the kernel does not have it.
Test(matrix_run, goes_on_without_a_node_that_vanished, .timeout = 60)
{
    plan_small(0, TB_MATRIX_KINDS - 1, 1);
    for (size_t i = 0; i < matrix.cells_count; i += 2)
        matrix.cells[i].memory = NO_SUCH_NODE;
    cr_assert_eq(tb_matrix_run(&matrix, topo, NULL, NULL), 0);
    for (size_t i = 0; i < matrix.cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix.cells[i];
        if (cell->memory != NO_SUCH_NODE) {
            cr_assert(cell->state != TB_MATRIX_INVALID && cell->state != TB_MATRIX_PLANNED, "cell %zu: %s", i, cell->why);
            continue;
        }
        cr_assert(cell->state == TB_MATRIX_UNMEASURABLE && cell->samples == 0 && cell->bytes_moved == 0);
        cr_assert(strstr(cell->why, "node 1000") || cell->bytes_planned == 0, "cell %zu, kind %d: %s", i, cell->kind, cell->why);
    }
    end();
}

Test(matrix_run, does_not_believe_a_kernel_that_moved_too_little, .timeout = 60)
{
    plan_small(TB_MATRIX_LATENCY, TB_MATRIX_COPY, 1);
    for (size_t i = 0; i < matrix.cells_count; i++)
        matrix.cells[i].bytes_planned += 64;
    cr_assert_eq(tb_matrix_run(&matrix, topo, NULL, NULL), 0);
    for (size_t i = 0; i < matrix.cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix.cells[i];
        if (cell->state == TB_MATRIX_UNMEASURABLE)
            cr_skip_test("memory cannot be bound here: %s", cell->why);
        cr_assert_eq(cell->state, TB_MATRIX_INVALID);
        cr_assert(strstr(cell->why, "bytes were moved and not") && cell->samples == 0, "%s", cell->why);
    }
    end();
}

Test(matrix_spans, say_of_which_pages_they_are)
{
    struct tb_spans spans = {.seed = 1};
    struct tb_matrix_placement placement;
    struct tb_span *huge, *base, *again;
    char why[256] = "";
    int node = 0;
    while (node < 64 && !locus_node_allowed(node))
        node++;
    if (tb_spans_take(&spans, TB_SPAN_STREAM, node, 4 << 20, &huge, why, sizeof why))
        cr_skip_test("memory cannot be bound here: %s", why);
    cr_assert_eq(tb_spans_take(&spans, TB_SPAN_PAGES, node, 8192, &base, why, sizeof why), 0);
    struct locus_region *both[] = {huge->region, base->region};
    cr_assert_eq(tb_spans_look(both, 2, node, &placement), 0);
    cr_assert_eq(placement.pages, (4 << 20) / 4096 + 2);
    cr_assert_eq(placement.page_bytes, (uint64_t)sysconf(_SC_PAGESIZE), "one of them is of base pages");
    tb_spans_release(&spans);
    cr_assert_eq(tb_spans_take(&spans, TB_SPAN_STREAM, node, 2 << 20, &again, why, sizeof why), 0);
    cr_assert_eq(again, huge, "a larger one serves");
    tb_spans_close(&spans);
    cr_assert_null(spans.first);
}

Test(matrix_spans, make_do_with_base_pages)
{
    struct tb_spans spans = {.seed = 1};
    struct tb_matrix_placement placement;
    struct tb_span *span;
    char why[256] = "";
    int node = 0;
    while (node < 64 && !locus_node_allowed(node))
        node++;
    cr_assert_eq(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
    if (tb_spans_take(&spans, TB_SPAN_CHASE, node, 4 << 20, &span, why, sizeof why))
        cr_skip_test("memory cannot be bound here: %s", why);
    cr_assert_eq(tb_spans_look(&span->region, 1, node, &placement), 0);
    cr_assert(placement.pages == (4 << 20) / 4096 && placement.pages_there == placement.pages);
    if (placement.page_bytes == 2 << 20)
        cr_skip_test("this host has reserved huge pages");
    cr_assert_eq(placement.page_bytes, (uint64_t)sysconf(_SC_PAGESIZE));
    cr_assert_eq(tb_chase_number(tb_chase_walk(span->at, 100)), (tb_chase_number(span->at) + 100) % ((4 << 20) / 64));
    tb_spans_close(&spans);
}
