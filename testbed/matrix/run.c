// SPDX-License-Identifier: Apache-2.0
//
// run: rounds of samples, and whether each counts.
//
// A round takes every cell once, in an order of its own: what disturbs the machine for a second disturbs one sample of many
// cells and not all of one. A cell's value is the median of its samples with the exact sign interval, because the times of a
// shared machine have a tail that no distribution describes; with fewer than six rounds that interval has no ends, and says so.
//
// What a sample must be, or its cell is invalid:
//
//   bytes       moved as planned, by the kernels' own count and the sums of what they touched
//   placement   every page on its node, before and after; where the kernel does not answer, nothing is measured
//   time        finite, above 0, and one that a machine could have needed. No CPU has had a clock beyond 8 GHz, more than two
//               loads and one store of 64 bytes a cycle, or a load that is ready before 3 cycles. So no thread moves more than
//               3 * 64 B * 8 GHz, and no walk, hand-over or push takes less than 3 cycles. A drain may copy 8 handles, a line, with
//               every load, two of them a cycle.
//
// In a guest the same is done and checked but for the time, and that is not kept.
#include "testbed/matrix/matrix.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "testbed/matrix/attempt.h"
#include "testbed/loops/gang.h"
#include "testbed/stats/random.h"
#include "topo/pin.h"

#define CLOCK_HZ_MAX 8e9
#define THREAD_BYTES_PER_SECOND_MAX (3 * 64 * CLOCK_HZ_MAX)
#define STEP_NS_MIN (3 * 1e9 / CLOCK_HZ_MAX)
#define DRAIN_NS_MIN (1e9 / CLOCK_HZ_MAX / (2 * 64 / 8))

struct running {
    struct tb_matrix *matrix;
    const struct locus_topo *topo;
    struct tb_spans spans;
    double *bandwidth;          // [cells * rounds], LOADED
    uint32_t *order;            // [cells]
    tb_matrix_progress *progress;
    void *context;
    uint64_t done, total;
};

static const struct tb_attempt_ops *ops_of(enum tb_matrix_kind kind)
{
    switch (kind) {
    case TB_MATRIX_LATENCY:
    case TB_MATRIX_WORKING_SET: return &tb_attempt_chase;
    case TB_MATRIX_LOADED: return &tb_attempt_loaded;
    case TB_MATRIX_MIGRATION: return &tb_attempt_migration;
    case TB_MATRIX_LINE: return &tb_attempt_line;
    case TB_MATRIX_PUSH:
    case TB_MATRIX_DRAIN: return &tb_attempt_home;
    default: return &tb_attempt_stream;
    }
}

// --- one sample ----------------------------------------------------------------------------------------------------------------

static void look(struct tb_attempt *attempt, const char *when, struct tb_matrix_placement *out)
{
    if (attempt->state != TB_MATRIX_PLANNED)
        return;
    int memory = attempt->cell->memory;
    if (tb_spans_look(attempt->region, attempt->regions_count, memory, out))
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "out of memory");
    else if (!out->verified)
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE,
                        "where the pages are cannot be verified: move_pages does not answer (a container's seccomp profile? give "
                        "it CAP_SYS_NICE)");
    else if (out->pages_there != out->pages)
        tb_attempt_fail(attempt, TB_MATRIX_INVALID, "%s the times only %" PRIu64 " of %" PRIu64 " pages are on node %d", when,
                        out->pages_there, out->pages, memory);
}

static bool is_rate(enum tb_matrix_kind kind)
{
    return (kind >= TB_MATRIX_READ && kind <= TB_MATRIX_NT_WRITE) || kind == TB_MATRIX_MIGRATION;
}

static void judge(struct tb_attempt *attempt, bool timed)
{
    const struct tb_matrix_cell *cell = attempt->cell;
    double rate_max = cell->threads * THREAD_BYTES_PER_SECOND_MAX;
    double least = cell->kind == TB_MATRIX_DRAIN ? DRAIN_NS_MIN : STEP_NS_MIN;
    if (attempt->state != TB_MATRIX_PLANNED)
        return;
    if (attempt->bytes_moved != attempt->bytes)
        tb_attempt_fail(attempt, TB_MATRIX_INVALID, "%" PRIu64 " bytes were moved and not %" PRIu64, attempt->bytes_moved,
                        attempt->bytes);
    else if (!timed)
        return;
    else if (attempt->time_ns == 0 || !isfinite(attempt->value) || attempt->value <= 0)
        tb_attempt_fail(attempt, TB_MATRIX_INVALID, "it took no time (%" PRIu64 " ns)", attempt->time_ns);
    else if (is_rate(cell->kind) ? attempt->value > rate_max : attempt->value < least)
        tb_attempt_fail(attempt, TB_MATRIX_INVALID, "no machine is that fast: %g %s", attempt->value,
                        is_rate(cell->kind) ? "bytes/s" : "ns");
    else if (attempt->bandwidth > rate_max)
        tb_attempt_fail(attempt, TB_MATRIX_INVALID, "no machine is that fast: %g bytes/s of load", attempt->bandwidth);
}

static void take_sample(struct running *run, struct tb_attempt *attempt, struct tb_matrix_placement *placement)
{
    const struct tb_attempt_ops *ops = ops_of(attempt->cell->kind);
    ops->open(attempt);
    look(attempt, "before", placement);
    if (attempt->state == TB_MATRIX_PLANNED)
        ops->measure(attempt);
    look(attempt, "after", placement);
    judge(attempt, !run->matrix->emulated);
    if (ops->close)
        ops->close(attempt);
    tb_spans_release(&run->spans);
    free(attempt->cpus);
}

// A cell that cannot any more after it could is one whose samples are of another machine.
static void enter(struct running *run, struct tb_matrix_cell *cell, const struct tb_attempt *attempt)
{
    size_t index = (size_t)(cell - run->matrix->cells);
    cell->bytes_moved += attempt->bytes_moved;
    if (attempt->state != TB_MATRIX_PLANNED) {
        bool lost = attempt->state == TB_MATRIX_UNMEASURABLE && cell->bytes_moved > 0;
        cell->state = lost ? TB_MATRIX_INVALID : attempt->state;
        snprintf(cell->why, sizeof cell->why, "%s", attempt->why);
        return;
    }
    if (run->matrix->emulated)
        return;
    run->bandwidth[index * run->matrix->config.rounds + cell->samples] = attempt->bandwidth;
    cell->sample[cell->samples++] = attempt->value;
    cell->time_ns += attempt->time_ns;
}

static void sample_cell(struct running *run, struct tb_matrix_cell *cell)
{
    struct tb_attempt attempt = {
        .topo = run->topo,
        .cell = cell,
        .kernels = tb_kernels_best(),
        .spans = &run->spans,
        .bytes = cell->bytes_planned / run->matrix->config.rounds,
    };
    struct tb_matrix_placement placement = cell->placement;
    take_sample(run, &attempt, &placement);
    cell->placement = placement;
    enter(run, cell, &attempt);
}

// --- all of them ---------------------------------------------------------------------------------------------------------------

static void round_of_samples(struct running *run, uint64_t *random)
{
    struct tb_matrix *matrix = run->matrix;
    tb_random_order(run->order, (uint32_t)matrix->cells_count, random);
    for (size_t i = 0; i < matrix->cells_count; i++) {
        struct tb_matrix_cell *cell = &matrix->cells[run->order[i]];
        if (cell->bytes_planned == 0)
            continue;
        if (cell->state == TB_MATRIX_PLANNED)
            sample_cell(run, cell);
        run->done++;
        if (run->progress)
            run->progress(run->context, matrix, run->done, run->total);
    }
}

static int conclude(struct running *run, struct tb_matrix_cell *cell)
{
    uint32_t rounds = run->matrix->config.rounds;
    if (cell->state != TB_MATRIX_PLANNED)
        return 0;
    cell->state = run->matrix->emulated ? TB_MATRIX_EMULATED : TB_MATRIX_MEASURED;
    if (run->matrix->emulated)
        return 0;
    if (cell->kind == TB_MATRIX_LOADED)
        cell->bandwidth = tb_median(run->bandwidth + (size_t)(cell - run->matrix->cells) * rounds, cell->samples);
    return tb_median_sign(cell->sample, cell->samples, TB_CONFIDENCE, &cell->value);
}

static int begin(struct running *run)
{
    const struct tb_matrix *matrix = run->matrix;
    unsigned cpus;
    int result = locus_pin_allowed(NULL, 0, &cpus); // what may be used, before the first thread is pinned
    if (result)
        return result;
    run->bandwidth = calloc(matrix->cells_count * matrix->config.rounds + 1, sizeof *run->bandwidth);
    run->order = calloc(matrix->cells_count + 1, sizeof *run->order);
    for (size_t i = 0; i < matrix->cells_count; i++)
        run->total += matrix->cells[i].bytes_planned > 0 ? matrix->config.rounds : 0;
    return run->bandwidth && run->order ? 0 : -ENOMEM;
}

int tb_matrix_run(struct tb_matrix *matrix, const struct locus_topo *topo, tb_matrix_progress *progress, void *context)
{
    struct running run = {
        .matrix = matrix, .topo = topo, .spans = {.seed = matrix->config.seed}, .progress = progress, .context = context};
    uint64_t random = matrix->config.seed, start = tb_gang_now_ns();
    if (!tb_places_live(topo))
        return -EINVAL;
    int result = begin(&run);
    for (unsigned round = 0; round < matrix->config.rounds && !result; round++)
        round_of_samples(&run, &random);
    tb_spans_close(&run.spans);
    for (size_t i = 0; i < matrix->cells_count && !result; i++)
        result = conclude(&run, &matrix->cells[i]);
    free(run.bandwidth);
    free(run.order);
    matrix->took_ns = tb_gang_now_ns() - start;
    return result;
}
