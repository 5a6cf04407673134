// SPDX-License-Identifier: Apache-2.0
//
// plan: which questions a machine's shape raises, and how much memory each takes to be answered.
//
// Rows are nodes with CPUs, columns nodes with memory, whatever their numbers and kinds. How much is walked over follows from the
// caches: four times the last level, so that of a random walk under a cycle no part is met there, and of a stream at most what
// the last pass left. A node that has less free than that gets half of what it has, as long as it reaches past the caches
// twice; otherwise the cell says the figures.
//
// In an emulated guest no time is kept, so that sizes need not reach past anything, and a CPU is some fifty times slower.
#include "testbed/matrix/matrix.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/host/environment.h"
#include "testbed/matrix/attempt.h"

#define HANDOFFS (2u * TB_ATTEMPT_BATCHES) // of LINE: a whole trip in each batch

#define CURVE_MAX 64u
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

// Where the caches are not known, larger than those of most machines.
#define LAST_GUESSED (64 * MIB)

#define BEYOND 4u                       // times the last level: what is wanted
#define BEYOND_LEAST 2u                 // and the least that is not mostly the caches' own

// --- sizes ---------------------------------------------------------------------------------------------------------------------

// How much each kind of sample takes, and what of that a node can give.
struct sizes {
    uint64_t chase, chase_least;        // bytes of a cycle: wanted, and what reaches past the caches at all
    uint64_t stream, stream_least;      // of all threads' slices together
    uint64_t slice_least;               // of one thread's
    uint64_t moved;                     // by each thread of a stream in a sample, at least
    uint64_t steps, curve_steps;        // of a walk
    uint64_t migrated;                  // bytes
    uint64_t handoffs, tables;          // of LINE; of PUSH and DRAIN
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// Of one CPU: the largest that it has.
static uint64_t last_of_one(const struct tb_matrix_caches *caches)
{
    uint64_t bytes = 0;
    for (unsigned level = 0; level < 4; level++)
        bytes = larger(bytes, caches->bytes[level]);
    return bytes > 0 ? bytes : LAST_GUESSED;
}

// The numbers of samples' lengths are chosen so that one takes tens of milliseconds (short) or a few times that (full) at 100 ns a
// load and 10 GB/s a thread, far above what reading the clock and starting threads costs.
static void sizes_of(struct sizes *out, const struct tb_matrix_caches *caches, bool full, bool emulated)
{
    uint64_t one = last_of_one(caches), all = larger(caches->last_bytes, one);
    if (emulated) {
        *out = (struct sizes){.chase = MIB,
                              .chase_least = 256 * KIB,
                              .stream = MIB,
                              .stream_least = 256 * KIB,
                              .slice_least = 64 * KIB,
                              .moved = 64 * KIB,
                              .steps = 8192,
                              .curve_steps = 8192,
                              .migrated = MIB,
                              .handoffs = 32,
                              .tables = 16};
        return;
    }
    *out = (struct sizes){
        .chase = larger(BEYOND * one, (full ? 256 : 64) * MIB),
        .chase_least = BEYOND_LEAST * one,
        .stream = larger(BEYOND * all, (full ? 256 : 64) * MIB),
        .stream_least = BEYOND_LEAST * all,
        .slice_least = larger(BEYOND * caches->bytes[1], 4 * MIB),
        .moved = (full ? 512 : 128) * MIB,
        .steps = (uint64_t)1 << (full ? 20 : 18),
        .curve_steps = (uint64_t)1 << (full ? 19 : 18),
        .migrated = (full ? 64 : 16) * MIB,
        .handoffs = (uint64_t)1 << (full ? 17 : 15),
        .tables = (uint64_t)256 << (full ? 6 : 4),
    };
}

// Bytes of all slices for so many threads.
static uint64_t stream_bytes(const struct sizes *sizes, unsigned threads)
{
    return larger(sizes->stream, threads * sizes->slice_least);
}

// Free and reclaimable bytes of a node of this machine; all bytes of a described one.
static uint64_t room_on(const struct locus_topo *topo, int node)
{
    const struct locus_topo_node *place = locus_topo_node(topo, node);
    if (!place)
        return 0;
    return place->memory_live ? place->memory.free_bytes + place->memory.reclaimable_bytes : place->memory.total_bytes;
}

// `wanted`, or what half the node's room holds of it, or 0 when that is less than `least`.
static uint64_t fit(const struct locus_topo *topo, int node, uint64_t wanted, uint64_t least)
{
    uint64_t half = room_on(topo, node) / 2;
    if (half >= wanted)
        return wanted;
    return half >= least ? half / (64 * KIB) * (64 * KIB) : 0;
}

// Two points to an octave, so that an end of a cache lies between two of them whose cause is clear; the short curve has one point
// inside each cache and one beyond. Ascending, into out[]; returns how many.
static unsigned curve_sizes(const struct sizes *sizes, const struct tb_matrix_caches *caches, bool full, uint64_t out[CURVE_MAX])
{
    unsigned count = 0;
    if (full) {
        for (uint64_t size = 8 * KIB; size < sizes->chase && count + 3 < CURVE_MAX; size *= 2) {
            out[count++] = size;
            if (size + size / 2 < sizes->chase)
                out[count++] = size + size / 2;
        }
    } else {
        for (unsigned level = 0; level < 4; level++)
            if (caches->bytes[level] > 0 && caches->bytes[level] / 2 < sizes->chase)
                out[count++] = caches->bytes[level] / 2;
    }
    out[count++] = sizes->chase;
    return count;
}

// --- cells ---------------------------------------------------------------------------------------------------------------------

struct planner {
    struct tb_matrix *matrix;
    const struct locus_topo *topo;
    struct sizes sizes;
    size_t capacity;
    int error;
};

// The new cell, or NULL when there is no memory for it.
static struct tb_matrix_cell *add(struct planner *plan, enum tb_matrix_kind kind, int initiator, int memory, int target)
{
    struct tb_matrix *matrix = plan->matrix;
    if (matrix->cells_count == plan->capacity) {
        size_t capacity = plan->capacity ? 2 * plan->capacity : 64;
        struct tb_matrix_cell *cells = realloc(matrix->cells, capacity * sizeof *cells);
        if (!cells) {
            plan->error = -ENOMEM;
            return NULL;
        }
        matrix->cells = cells;
        plan->capacity = capacity;
    }
    struct tb_matrix_cell *cell = &matrix->cells[matrix->cells_count++];
    *cell = (struct tb_matrix_cell){.kind = kind, .initiator = initiator, .memory = memory, .target = target, .threads = 1};
    return cell;
}

__attribute__((format(printf, 2, 3))) static void cannot(struct tb_matrix_cell *cell, const char *format, ...)
{
    va_list words;
    cell->state = TB_MATRIX_UNMEASURABLE;
    cell->working_set_bytes = cell->reader_bytes = cell->bytes_planned = 0;
    va_start(words, format);
    vsnprintf(cell->why, sizeof cell->why, format, words);
    va_end(words);
}

static void cannot_fit(const struct planner *plan, struct tb_matrix_cell *cell, uint64_t needed)
{
    uint64_t room = room_on(plan->topo, cell->memory);
    cannot(cell,
           "node %d has %" PRIu64 " MiB free, of which half would be used, and %" PRIu64 " MiB are needed to reach past the "
           "caches",
           cell->memory, room >> 20, needed >> 20);
}

static void plan_bytes(const struct planner *plan, struct tb_matrix_cell *cell, uint64_t bytes)
{
    cell->bytes_planned = bytes * plan->matrix->config.rounds;
}

// --- the kinds -----------------------------------------------------------------------------------------------------------------

static void plan_latency(struct planner *plan, int initiator, int memory)
{
    struct tb_matrix_cell *cell = add(plan, TB_MATRIX_LATENCY, initiator, memory, -1);
    if (!cell)
        return;
    cell->working_set_bytes = fit(plan->topo, memory, plan->sizes.chase, plan->sizes.chase_least);
    plan_bytes(plan, cell, plan->sizes.steps * 64);
    if (cell->working_set_bytes == 0)
        cannot_fit(plan, cell, plan->sizes.chase_least);
}

// Lines of one thread's slice are divided among the sources and the target, and what remains is left out.
static uint64_t pass_bytes(enum tb_matrix_kind kind, uint64_t slice)
{
    unsigned parts = kind == TB_MATRIX_COPY ? 2 : kind == TB_MATRIX_READ2_WRITE1 ? 3 : kind == TB_MATRIX_READ3_WRITE1 ? 4 : 1;
    return slice / 64 / parts * parts * 64;
}

// Of each of `threads` threads; 0: the node is too small.
static uint64_t slice_bytes(const struct planner *plan, int memory, unsigned threads)
{
    uint64_t least = plan->sizes.stream_least, wanted = stream_bytes(&plan->sizes, threads);
    uint64_t slice = fit(plan->topo, memory, wanted, least) / threads / 4096 * 4096;
    return slice;
}

static uint64_t passes_of(uint64_t moved, uint64_t pass)
{
    uint64_t passes = (moved + pass / 2) / pass;
    return passes > 0 ? passes : 1;
}

static void plan_stream(struct planner *plan, enum tb_matrix_kind kind, int initiator, int memory, unsigned threads)
{
    struct tb_matrix_cell *cell = add(plan, kind, initiator, memory, -1);
    if (!cell)
        return;
    cell->threads = threads;
    cell->working_set_bytes = slice_bytes(plan, memory, threads);
    uint64_t pass = pass_bytes(kind, cell->working_set_bytes);
    if (pass == 0)
        cannot_fit(plan, cell, plan->sizes.stream_least);
    else
        plan_bytes(plan, cell, threads * pass * passes_of(plan->sizes.moved, pass));
}

static void plan_streams(struct planner *plan, enum tb_matrix_kind kind, int initiator, int memory, unsigned cpus)
{
    for (unsigned threads = 1; threads < cpus; threads *= 2)
        if (threads == 1 || plan->matrix->config.full)
            plan_stream(plan, kind, initiator, memory, threads);
    plan_stream(plan, kind, initiator, memory, cpus);
}

static void plan_loaded(struct planner *plan, int initiator, int memory, unsigned cpus)
{
    static const unsigned curve[] = {0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096}, few[] = {0, 64, 512};
    const unsigned *delays = plan->matrix->config.full ? curve : few;
    size_t count = plan->matrix->config.full ? sizeof curve / sizeof *curve : sizeof few / sizeof *few;
    for (size_t i = 0; i < (cpus >= 2 ? count : 1); i++) {
        struct tb_matrix_cell *cell = add(plan, TB_MATRIX_LOADED, initiator, memory, -1);
        if (!cell)
            return;
        cell->threads = cpus;
        cell->delay = delays[i];
        if (cpus < 2) {
            cannot(cell, "node %d has one CPU that this process may use: nobody is left to make the load", initiator);
            return;
        }
        // Both spans at once.
        cell->working_set_bytes = fit(plan->topo, memory, plan->sizes.chase, 2 * plan->sizes.chase_least);
        cell->reader_bytes = slice_bytes(plan, memory, cpus - 1);
        plan_bytes(plan, cell, plan->sizes.steps / 2 * 64);
        if (cell->working_set_bytes == 0 || cell->reader_bytes == 0)
            cannot_fit(plan, cell, 2 * plan->sizes.chase_least + plan->sizes.stream_least);
    }
}

static void plan_working_set(struct planner *plan, int initiator, int memory)
{
    uint64_t sizes[CURVE_MAX];
    unsigned count = curve_sizes(&plan->sizes, &plan->matrix->caches, plan->matrix->config.full, sizes);
    for (unsigned i = 0; i < count; i++) {
        struct tb_matrix_cell *cell = add(plan, TB_MATRIX_WORKING_SET, initiator, memory, -1);
        if (!cell)
            return;
        cell->working_set_bytes = sizes[i];
        plan_bytes(plan, cell, plan->sizes.curve_steps * 64);
        if (fit(plan->topo, memory, sizes[i], sizes[i]) == 0)
            cannot_fit(plan, cell, sizes[i]);
    }
}

static void plan_home(struct planner *plan, enum tb_matrix_kind kind, int initiator, int memory)
{
    struct tb_matrix_cell *cell = add(plan, kind, initiator, memory, -1);
    if (cell)
        plan_bytes(plan, cell, plan->sizes.tables * TB_ATTEMPT_BLOCKS * sizeof(uint64_t));
}

static void plan_line(struct planner *plan, int initiator, int target, int memory, unsigned cpus)
{
    struct tb_matrix_cell *cell = add(plan, TB_MATRIX_LINE, initiator, memory, target);
    if (!cell)
        return;
    cell->threads = 2;
    cell->working_set_bytes = 64;
    plan_bytes(plan, cell, plan->sizes.handoffs / HANDOFFS * HANDOFFS * 64);
    if (initiator == target && cpus < 2)
        cannot(cell, "node %d has one CPU that this process may use: a line goes between two", initiator);
}

static void plan_migration(struct planner *plan, int memory, int target)
{
    int initiator = tb_places_nearest_cpus(plan->topo, memory);
    struct tb_matrix_cell *cell = add(plan, TB_MATRIX_MIGRATION, initiator, memory, target);
    if (!cell)
        return;
    cell->working_set_bytes = fit(plan->topo, memory, plan->sizes.migrated, plan->sizes.migrated / 16);
    plan_bytes(plan, cell, cell->working_set_bytes);
    if (target < 0)
        cannot(cell, "migration goes between two nodes with memory, and this machine has node %d alone", memory);
    else if (cell->working_set_bytes == 0)
        cannot_fit(plan, cell, plan->sizes.migrated / 16);
    else if (room_on(plan->topo, target) / 2 < cell->working_set_bytes)
        cannot(cell, "node %d has %" PRIu64 " MiB free, and %" PRIu64 " MiB would come: too near to its end", target,
               room_on(plan->topo, target) >> 20, cell->working_set_bytes >> 20);
}

// --- all of them ---------------------------------------------------------------------------------------------------------------

static void plan_pair(struct planner *plan, enum tb_matrix_kind kind, const struct locus_topo_node *row, int memory)
{
    int initiator = row->os_index;
    unsigned cpus = tb_places_cpus_count(plan->topo, row);
    switch (kind) {
    case TB_MATRIX_LATENCY: plan_latency(plan, initiator, memory); break;
    case TB_MATRIX_LOADED: plan_loaded(plan, initiator, memory, cpus); break;
    case TB_MATRIX_PUSH:
    case TB_MATRIX_DRAIN: plan_home(plan, kind, initiator, memory); break;
    case TB_MATRIX_WORKING_SET: // where the caches end is the CPUs' matter: the short run asks one memory
        if (plan->matrix->config.full || memory == tb_places_nearest_memory(plan->topo, initiator))
            plan_working_set(plan, initiator, memory);
        break;
    default: plan_streams(plan, kind, initiator, memory, cpus); break;
    }
}

// Each pair of nodes with CPUs once: to and fro is the same both ways. The short run leaves out lines that are at home on a third
// node.
static void plan_lines(struct planner *plan, const struct locus_topo_node *row, int memory)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(plan->topo);
    unsigned count = locus_topo_info(plan->topo)->nodes_count;
    for (unsigned i = 0; i < count; i++) {
        int from = row->os_index, to = nodes[i].os_index;
        unsigned cpus = tb_places_cpus_count(plan->topo, &nodes[i]);
        bool near = memory == tb_places_nearest_memory(plan->topo, from) || memory == tb_places_nearest_memory(plan->topo, to);
        if (cpus > 0 && to >= from && (near || plan->matrix->config.full))
            plan_line(plan, from, to, memory, cpus);
    }
}

static void plan_migrations(struct planner *plan, int memory, unsigned columns)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(plan->topo);
    if (columns == 1)
        plan_migration(plan, memory, -1);
    for (unsigned i = 0; i < locus_topo_info(plan->topo)->nodes_count; i++)
        if (tb_places_has_memory(&nodes[i]) && nodes[i].os_index != memory)
            plan_migration(plan, memory, nodes[i].os_index);
}

static void plan_kind(struct planner *plan, enum tb_matrix_kind kind, unsigned columns)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(plan->topo);
    unsigned count = locus_topo_info(plan->topo)->nodes_count;
    if (kind == TB_MATRIX_MIGRATION) {
        for (unsigned m = 0; m < count; m++)
            if (tb_places_has_memory(&nodes[m]))
                plan_migrations(plan, nodes[m].os_index, columns);
        return;
    }
    for (unsigned row = 0; row < count; row++)
        for (unsigned m = 0; m < count; m++) {
            if (tb_places_cpus_count(plan->topo, &nodes[row]) == 0 || !tb_places_has_memory(&nodes[m]))
                continue;
            if (kind == TB_MATRIX_LINE)
                plan_lines(plan, &nodes[row], nodes[m].os_index);
            else
                plan_pair(plan, kind, &nodes[row], nodes[m].os_index);
        }
}

static void count_nodes(const struct locus_topo *topo, unsigned *rows, unsigned *columns)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    *rows = *columns = 0;
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count; i++) {
        *rows += tb_places_cpus_count(topo, &nodes[i]) > 0;
        *columns += tb_places_has_memory(&nodes[i]);
    }
}

int tb_matrix_plan(struct tb_matrix *out, const struct locus_topo *topo, const struct tb_matrix_caches *caches,
                   const struct tb_matrix_config *config)
{
    struct planner plan = {.matrix = out, .topo = topo};
    unsigned rows, columns;
    *out = (struct tb_matrix){.config = *config, .caches = *caches};
    if (config->rounds > TB_MATRIX_ROUNDS_MAX)
        return -EINVAL;
    count_nodes(topo, &rows, &columns);
    if (rows == 0 || columns == 0)
        return -ENODEV;
    out->emulated = tb_places_live(topo) ? tb_environment_guest() : NULL;
    if (config->rounds == 0)
        out->config.rounds = out->emulated ? 2 : config->full ? 9 : 6;
    sizes_of(&plan.sizes, caches, config->full, out->emulated);
    for (int kind = 0; kind < TB_MATRIX_KINDS && !plan.error; kind++)
        if (config->kinds[kind])
            plan_kind(&plan, (enum tb_matrix_kind)kind, columns);
    if (plan.error)
        tb_matrix_close(out);
    return plan.error;
}

void tb_matrix_close(struct tb_matrix *matrix)
{
    free(matrix->cells);
    matrix->cells = NULL;
    matrix->cells_count = 0;
}
