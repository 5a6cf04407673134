// SPDX-License-Identifier: Apache-2.0
//
// curves: bandwidth by number of CPUs, latency under load, and latency by working set, with the caches named where they end.
//
// A page cannot show the curves of all pairs of nodes: it has those of the first node with CPUs, to its own memory (or its
// nearest) and to its furthest. The rest is in JSON and CSV, and the page says how many there are.
#include <math.h>
#include <string.h>

#include "testbed/host/topology/topo_view.h"
#include "testbed/matrix/view/view.h"

enum { POINTS_MAX = 256, BAR = 34, PAIRS_MAX = 16 };

static const enum tb_matrix_kind bandwidth_kinds[] = {TB_MATRIX_READ,         TB_MATRIX_WRITE,        TB_MATRIX_COPY,
                                                      TB_MATRIX_READ3_WRITE1, TB_MATRIX_READ2_WRITE1, TB_MATRIX_NT_WRITE};
enum { BANDWIDTH_KINDS = sizeof bandwidth_kinds / sizeof *bandwidth_kinds };

// --- which curves --------------------------------------------------------------------------------------------------------------

static double idle_ns(const struct tb_matrix *matrix, struct tb_matrix_pair pair)
{
    const struct tb_matrix_cell *cell = tb_matrix_at(matrix, TB_MATRIX_LATENCY, pair.initiator, pair.memory);
    if (tb_matrix_told(matrix, cell))
        return cell->value.estimate;
    return pair.initiator == pair.memory ? 0 : 1; // its own is the nearest
}

// Of the first initiator: its nearest memory, then its furthest. How many: 0 to 2. *all: of how many curves.
static size_t pairs_shown(const struct tb_matrix *matrix, enum tb_matrix_kind kind, struct tb_matrix_pair out[2], size_t *all)
{
    struct tb_matrix_pair pairs[POINTS_MAX];
    size_t count = tb_matrix_pairs(matrix, kind, pairs, POINTS_MAX);
    *all = count;
    if (count == 0)
        return 0;
    out[0] = out[1] = pairs[0];
    for (size_t i = 1; i < count; i++) {
        if (pairs[i].initiator != pairs[0].initiator)
            continue;
        if (idle_ns(matrix, pairs[i]) < idle_ns(matrix, out[0]))
            out[0] = pairs[i];
        if (idle_ns(matrix, pairs[i]) > idle_ns(matrix, out[1]))
            out[1] = pairs[i];
    }
    return out[1].memory == out[0].memory ? 1 : 2;
}

static void print_more(const struct tb_matrix_page *page, size_t shown, size_t all)
{
    if (all > shown)
        fprintf(page->out, "  curves of %zu more pairs of nodes: --json, --csv, --plot\n", all - shown);
}

static void print_bar(FILE *out, double share)
{
    int length = (int)lround(fmin(fmax(share, 0), 1) * BAR);
    fprintf(out, "%.*s\n", length < 1 ? 1 : length, "########################################");
}

// --- bandwidth by CPUs ---------------------------------------------------------------------------------------------------------

static void print_bandwidth_row(const struct tb_matrix_page *page, struct tb_matrix_pair pair, unsigned threads)
{
    fprintf(page->out, "  %4d %6d %5u", pair.initiator, pair.memory, threads);
    for (size_t k = 0; k < BANDWIDTH_KINDS; k++) {
        const struct tb_matrix_cell *cells[POINTS_MAX];
        size_t count =
            tb_matrix_curve(page->matrix, bandwidth_kinds[k], pair.initiator, pair.memory, TB_MATRIX_BY_THREADS, cells, POINTS_MAX);
        char number[16] = "-";
        for (size_t i = 0; i < count; i++) {
            if (cells[i]->threads != threads)
                continue;
            if (cells[i]->state == TB_MATRIX_INVALID)
                snprintf(number, sizeof number, "INVALID");
            if (tb_matrix_told(page->matrix, cells[i]))
                tb_matrix_figure(number, bandwidth_kinds[k], cells[i]->value.estimate);
        }
        fprintf(page->out, " %8s", number);
    }
    fprintf(page->out, "\n");
}

// Every number of CPUs for the pairs of the first initiator, else all CPUs only.
static void print_bandwidth_pair(const struct tb_matrix_page *page, struct tb_matrix_pair pair, bool scaling)
{
    unsigned threads = 0, next, most = 0;
    do {
        next = 0;
        for (size_t i = 0; i < page->matrix->cells_count; i++) {
            const struct tb_matrix_cell *cell = &page->matrix->cells[i];
            bool bandwidth = cell->kind >= TB_MATRIX_READ && cell->kind <= TB_MATRIX_NT_WRITE;
            if (!bandwidth || cell->initiator != pair.initiator || cell->memory != pair.memory)
                continue;
            most = cell->threads > most ? cell->threads : most;
            if (cell->threads > threads && (next == 0 || cell->threads < next))
                next = cell->threads;
        }
        threads = next;
        if (threads > 0 && (scaling || threads == most))
            print_bandwidth_row(page, pair, threads);
    } while (threads > 0);
}

static double widest_interval(const struct tb_matrix *matrix)
{
    double widest = 0;
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind >= TB_MATRIX_READ && cell->kind <= TB_MATRIX_NT_WRITE && tb_matrix_told(matrix, cell))
            widest = fmax(widest,
                          cell->value.bounded ? (cell->value.high - cell->value.low) / 2 / cell->value.estimate : (double)INFINITY);
    }
    return widest;
}

void tb_matrix_bandwidths(const struct tb_matrix_page *page)
{
    struct tb_matrix_pair pairs[POINTS_MAX], more[POINTS_MAX];
    size_t count = 0;
    for (size_t k = 0; k < BANDWIDTH_KINDS; k++) { // the kind that was measured between most nodes
        size_t found = tb_matrix_pairs(page->matrix, bandwidth_kinds[k], more, POINTS_MAX);
        if (found > count)
            memcpy(pairs, more, found * sizeof *pairs);
        count = found > count ? found : count;
    }
    if (count == 0)
        return;
    fprintf(page->out, "Bandwidth by number of CPUs, GB/s of what the program asks for\n  %4s %6s %5s", "node", "memory", "CPUs");
    for (size_t k = 0; k < BANDWIDTH_KINDS; k++)
        fprintf(page->out, " %8s", tb_matrix_kind_name(bandwidth_kinds[k]));
    fprintf(page->out, "\n");
    size_t printed = 0;
    for (size_t i = 0; i < count && printed < PAIRS_MAX; i++) {
        if (count > PAIRS_MAX && pairs[i].initiator != pairs[i].memory)
            continue;
        print_bandwidth_pair(page, pairs[i], pairs[i].initiator == pairs[0].initiator);
        printed++;
    }
    if (count > printed)
        fprintf(page->out, "  and %zu pairs of nodes more: --json, --csv\n", count - printed);
    double widest = widest_interval(page->matrix);
    if (isfinite(widest))
        fprintf(page->out, "  the widest interval is +-%.1f %% of its median\n", 100 * widest);
    fprintf(page->out, "\n");
}

// --- latency under load --------------------------------------------------------------------------------------------------------

static void print_loaded(const struct tb_matrix_page *page, struct tb_matrix_pair pair)
{
    const struct tb_matrix_cell *cells[POINTS_MAX];
    size_t count =
        tb_matrix_curve(page->matrix, TB_MATRIX_LOADED, pair.initiator, pair.memory, TB_MATRIX_BY_BANDWIDTH, cells, POINTS_MAX);
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = tb_matrix_told(page->matrix, cells[i]) ? fmax(most, cells[i]->value.estimate) : most;
    fprintf(page->out, "Latency under load: node %d on memory %d, while its other CPUs read\n  %7s %7s\n", pair.initiator,
            pair.memory, "GB/s", "ns");
    for (size_t i = 0; i < count; i++) {
        const struct tb_matrix_cell *cell = cells[i];
        char load[16], ns[16], low[16], high[16], interval[40] = "";
        if (!tb_matrix_told(page->matrix, cell))
            continue;
        if (cell->value.bounded)
            snprintf(interval, sizeof interval, "[%s, %s]", tb_text_number(low, cell->value.low),
                     tb_text_number(high, cell->value.high));
        fprintf(page->out, "  %7s %7s  %-16s ", tb_text_number(load, cell->bandwidth / 1e9),
                tb_text_number(ns, cell->value.estimate), interval);
        print_bar(page->out, cell->value.estimate / most);
    }
}

// --- latency by working set ----------------------------------------------------------------------------------------------------

// Names the caches that end between two sizes.
static void print_caches(const struct tb_matrix_page *page, uint64_t above_bytes, uint64_t upto_bytes)
{
    for (int level = 0; level < 4; level++) {
        uint64_t bytes = page->matrix->caches.bytes[level];
        char size[32];
        if (bytes > 0 && bytes >= above_bytes && bytes < upto_bytes)
            fprintf(page->out, "  -- L%d %s ends\n", level + 1, tb_topo_bytes(size, sizeof size, bytes, true));
    }
}

// Bars by the logarithm: a step from 1 ns to 4 is as much as one from 25 to 100.
static void print_working_set(const struct tb_matrix_page *page, struct tb_matrix_pair pair)
{
    const struct tb_matrix_cell *cells[POINTS_MAX];
    size_t count = tb_matrix_curve(page->matrix, TB_MATRIX_WORKING_SET, pair.initiator, pair.memory, TB_MATRIX_BY_WORKING_SET,
                                   cells, POINTS_MAX);
    double least = INFINITY, most = 0;
    uint64_t above_bytes = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!tb_matrix_told(page->matrix, cells[i]))
            continue;
        least = fmin(least, cells[i]->value.estimate);
        most = fmax(most, cells[i]->value.estimate);
    }
    fprintf(page->out, "Latency by working set: node %d on memory %d (bars: log scale)\n  %9s %7s\n", pair.initiator, pair.memory,
            "", "ns");
    for (size_t i = 0; i < count; i++) {
        char size[32], ns[16];
        if (!tb_matrix_told(page->matrix, cells[i]))
            continue;
        print_caches(page, above_bytes, cells[i]->working_set_bytes);
        above_bytes = cells[i]->working_set_bytes;
        fprintf(page->out, "  %9s %7s  ", tb_topo_bytes(size, sizeof size, above_bytes, true),
                tb_text_number(ns, cells[i]->value.estimate));
        print_bar(page->out, (1 + log(cells[i]->value.estimate / least)) / (1 + log(most / least)));
    }
}

// --- both ----------------------------------------------------------------------------------------------------------------------

static void print_curves(const struct tb_matrix_page *page, enum tb_matrix_kind kind,
                         void (*print)(const struct tb_matrix_page *, struct tb_matrix_pair))
{
    struct tb_matrix_pair pairs[2];
    size_t all, count = pairs_shown(page->matrix, kind, pairs, &all);
    for (size_t i = 0; i < count; i++)
        print(page, pairs[i]);
    print_more(page, count, all);
    if (count > 0)
        fprintf(page->out, "\n");
}

void tb_matrix_loaded(const struct tb_matrix_page *page)
{
    print_curves(page, TB_MATRIX_LOADED, print_loaded);
}

void tb_matrix_working_sets(const struct tb_matrix_page *page)
{
    print_curves(page, TB_MATRIX_WORKING_SET, print_working_set);
}
