// SPDX-License-Identifier: Apache-2.0
//
// text: the matrix as a page for people, within 80 columns of ASCII, the answer last.
//
// Three pages. A measured matrix: tables and curves. An emulated one: a heading that nobody can overlook, what ran and where its
// pages were, and not one figure of time. A plan: what would be measured. Each ends with what is missing, and why.
#include <inttypes.h>
#include <string.h>

#include "testbed/host/topology/topo_view.h"
#include "testbed/matrix/view/view.h"

// --- head ----------------------------------------------------------------------------------------------------------------------

static void say_caches(struct tb_words *words, const struct tb_matrix_caches *caches)
{
    char size[32];
    const char *before = "; caches of a CPU:";
    for (int level = 0; level < 4; level++) {
        if (caches->bytes[level] == 0)
            continue;
        tb_say(words, "%s L%d %s", before, level + 1, tb_topo_bytes(size, sizeof size, caches->bytes[level], true));
        before = ",";
    }
}

static const char *plural(unsigned count)
{
    return count == 1 ? "" : "s";
}

static void print_head(const struct tb_matrix_page *page, bool planned)
{
    const struct tb_matrix *matrix = page->matrix;
    struct locus_nodes initiators, memories, all;
    struct tb_words words = {0};
    tb_matrix_nodes(matrix, &initiators, &memories, &all);
    unsigned nodes = locus_nodes_count(&all), with_cpus = locus_nodes_count(&initiators), bare = locus_nodes_count(&memories);
    tb_say(&words, "%u node%s", nodes, plural(nodes));
    if (with_cpus != nodes || bare != nodes)
        tb_say(&words, " (%u with CPUs, %u with memory)", with_cpus, bare);
    tb_say(&words, ", %s run, %u round%s (seed %" PRIu64 ")", matrix->config.full ? "full" : "short", matrix->config.rounds,
           plural(matrix->config.rounds), matrix->config.seed);
    if (!planned && !matrix->emulated)
        tb_say(&words, matrix->took_ns < 10000000000u ? ", %.1f s" : ", %.0f s", (double)matrix->took_ns / 1e9);
    say_caches(&words, &matrix->caches);
    tb_text_wrap(page->out, TB_MATRIX_COLUMNS, 0, 2, words.text);
}

// --- what is missing -----------------------------------------------------------------------------------------------------------

// "latency 0 -> 1"; a third node as "line 0 -> 1 on 0"; an amount where the kind has several.
static void say_cell(struct tb_words *words, const struct tb_matrix_cell *cell)
{
    char size[32];
    tb_say(words, "%s", tb_matrix_kind_name(cell->kind));
    if (cell->initiator >= 0)
        tb_say(words, " %d", cell->initiator);
    if (cell->memory >= 0)
        tb_say(words, "->%d", cell->memory);
    if (cell->target >= 0)
        tb_say(words, "->%d", cell->target);
    if (cell->kind >= TB_MATRIX_READ && cell->kind <= TB_MATRIX_NT_WRITE)
        tb_say(words, " (%u CPU%s)", cell->threads, plural(cell->threads));
    else if (cell->kind == TB_MATRIX_LOADED)
        tb_say(words, " (pause %u)", cell->delay);
    else if (cell->kind == TB_MATRIX_WORKING_SET)
        tb_say(words, " (%s)", tb_topo_bytes(size, sizeof size, cell->working_set_bytes, true));
}

enum { NAMED_MAX = 6 };

static bool same_reason(const struct tb_matrix_cell *a, const struct tb_matrix_cell *b)
{
    return a->state == b->state && strcmp(a->why, b->why) == 0;
}

static bool reason_was_earlier(const struct tb_matrix *matrix, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (same_reason(&matrix->cells[i], &matrix->cells[index]))
            return true;
    return false;
}

// Cells that share a reason: each of them by name, or by kind where there are many.
static void print_reason(const struct tb_matrix_page *page, size_t first)
{
    const struct tb_matrix *matrix = page->matrix;
    const struct tb_matrix_cell *cells = matrix->cells;
    struct tb_words words = {0};
    size_t count[TB_MATRIX_KINDS] = {0}, total = 0;
    char why[TB_MATRIX_WHY];
    const char *before = "";
    for (size_t i = first; i < matrix->cells_count; i++) {
        if (same_reason(&cells[i], &cells[first])) {
            count[cells[i].kind]++;
            total++;
        }
    }
    for (size_t i = first; total <= NAMED_MAX && i < matrix->cells_count; i++) {
        if (same_reason(&cells[i], &cells[first])) {
            tb_say(&words, "%s", before);
            say_cell(&words, &cells[i]);
            before = ", ";
        }
    }
    for (int kind = 0; total > NAMED_MAX && kind < TB_MATRIX_KINDS; kind++) {
        if (count[kind] > 0) {
            tb_say(&words, "%s%s (%zu cells)", before, tb_matrix_kind_name((enum tb_matrix_kind)kind), count[kind]);
            before = ", ";
        }
    }
    tb_text_clean(cells[first].why, true, why, sizeof why);
    tb_say(&words, ": %s", why[0] ? why : "no reason was given");
    fprintf(page->out, "  ");
    tb_text_wrap(page->out, TB_MATRIX_COLUMNS, 2, 4, words.text);
}

// False: there is none.
static bool print_missing(const struct tb_matrix_page *page, enum tb_matrix_state state, const char *title)
{
    const char *head = title;
    for (size_t i = 0; i < page->matrix->cells_count; i++) {
        if (page->matrix->cells[i].state != state || reason_was_earlier(page->matrix, i))
            continue;
        if (head)
            fprintf(page->out, "%s\n", head);
        head = NULL;
        print_reason(page, i);
    }
    return !head;
}

// --- where the pages were ------------------------------------------------------------------------------------------------------

// ", 2 MiB pages"; with several, in how many cells each: what is small has small pages.
static void say_page_sizes(struct tb_words *words, const struct tb_matrix_placed *placed)
{
    for (size_t i = 0; i < placed->sizes_count; i++) {
        char size[32] = "unknown";
        if (placed->sizes[i].page_bytes > 0)
            tb_topo_bytes(size, sizeof size, placed->sizes[i].page_bytes, true);
        tb_say(words, ", %s pages", size);
        if (placed->sizes_count > 1)
            tb_say(words, " in %zu cell%s", placed->sizes[i].cells, plural((unsigned)placed->sizes[i].cells));
    }
}

static void print_placement(const struct tb_matrix_page *page)
{
    struct tb_matrix_placed placed;
    struct tb_words words = {0};
    tb_matrix_placed(page->matrix, &placed);
    if (placed.cells == 0)
        return;
    if (placed.cells_verified > 0)
        tb_say(&words, "%" PRIu64 " of %" PRIu64 " pages verified on their nodes", placed.pages_there, placed.pages);
    else
        tb_say(&words, "placement not verified: the kernel did not answer move_pages");
    if (placed.cells_verified > 0 && placed.cells_verified < placed.cells)
        tb_say(&words, " (and of %zu cells none could be asked)", placed.cells - placed.cells_verified);
    if (placed.one_policy)
        tb_say(&words, ", %s", placed.granted == LOCUS_POLICY_BIND ? "bound" : locus_policy_name(placed.granted));
    else
        tb_say(&words, ", under several policies");
    if (placed.cells_refused > 0)
        tb_say(&words, " (%zu of %zu cells asked for another one)", placed.cells_refused, placed.cells);
    say_page_sizes(&words, &placed);
    tb_text_wrap(page->out, TB_MATRIX_COLUMNS, 0, 2, words.text);
}

// --- the three pages -----------------------------------------------------------------------------------------------------------

enum { INTERVAL_ROUNDS = 6 }; // of which one end of 95 % is the smallest: 2 / 2^6 < 0.05

static void print_measured(const struct tb_matrix_page *page)
{
    bool intervals = page->matrix->config.rounds >= INTERVAL_ROUNDS;
    fprintf(page->out, "%s; 1.00x: best of its table, 2.00x: half as good\n\n",
            intervals ? "[ ]: 95 % interval of the median" : "too few rounds for intervals");
    static const enum tb_matrix_kind last[] = {TB_MATRIX_MIGRATION, TB_MATRIX_LINE, TB_MATRIX_PUSH, TB_MATRIX_DRAIN};
    struct locus_nodes all;
    tb_matrix_nodes(page->matrix, NULL, NULL, &all);
    if (tb_matrix_heat(page, TB_MATRIX_LATENCY))
        fprintf(page->out, "\n");
    if (locus_nodes_count(&all) > 1) // on one node the table of bandwidths has it
        tb_matrix_heat(page, TB_MATRIX_READ);
    tb_matrix_bandwidths(page);
    tb_matrix_loaded(page);
    tb_matrix_working_sets(page);
    bool single = false;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        single |= tb_matrix_heat(page, last[i]);
    if (single)
        fprintf(page->out, "\n");
}

// What ran, by kind.
static void print_emulated(const struct tb_matrix_page *page)
{
    const struct tb_matrix *matrix = page->matrix;
    fprintf(page->out, "\n  %-12s %6s %9s %22s %20s\n", "kind", "cells", "verified", "pages on their nodes", "bytes moved");
    for (int kind = 0; kind < TB_MATRIX_KINDS; kind++) {
        size_t cells = 0, verified = 0;
        uint64_t pages = 0, there = 0, moved = 0;
        char counts[48];
        for (size_t i = 0; i < matrix->cells_count; i++) {
            const struct tb_matrix_cell *cell = &matrix->cells[i];
            if ((int)cell->kind != kind || cell->state == TB_MATRIX_UNMEASURABLE || cell->state == TB_MATRIX_PLANNED)
                continue;
            cells++;
            verified += cell->placement.verified && cell->state != TB_MATRIX_INVALID;
            pages += cell->placement.pages;
            there += cell->placement.pages_there;
            moved += cell->bytes_moved;
        }
        snprintf(counts, sizeof counts, "%" PRIu64 " of %" PRIu64, there, pages);
        if (cells > 0)
            fprintf(page->out, "  %-12s %6zu %9zu %22s %20" PRIu64 "\n", tb_matrix_kind_name((enum tb_matrix_kind)kind), cells,
                    verified, counts, moved);
    }
    fprintf(page->out, "\n");
}

static void say_range(struct tb_words *words, uint64_t least, uint64_t most, bool bytes, const char *unit)
{
    char low[32], high[32];
    if (bytes) {
        tb_topo_bytes(low, sizeof low, least, true);
        tb_topo_bytes(high, sizeof high, most, true);
    } else {
        snprintf(low, sizeof low, "%" PRIu64, least);
        snprintf(high, sizeof high, "%" PRIu64, most);
    }
    if (least == most)
        tb_say(words, "  %s%s", low, unit);
    else
        tb_say(words, "  %s to %s%s", low, high, unit);
}

static void print_plan(const struct tb_matrix_page *page)
{
    const struct tb_matrix *matrix = page->matrix;
    fprintf(page->out, "\n  %-12s %6s  %s\n", "kind", "cells", "of each thread a working set of; CPUs at once");
    for (int kind = 0; kind < TB_MATRIX_KINDS; kind++) {
        size_t cells = 0;
        uint64_t least = UINT64_MAX, most = 0, threads_least = UINT64_MAX, threads_most = 0;
        struct tb_words words = {0};
        for (size_t i = 0; i < matrix->cells_count; i++) {
            const struct tb_matrix_cell *cell = &matrix->cells[i];
            if ((int)cell->kind != kind || cell->state != TB_MATRIX_PLANNED)
                continue;
            cells++;
            least = cell->working_set_bytes < least ? cell->working_set_bytes : least;
            most = cell->working_set_bytes > most ? cell->working_set_bytes : most;
            threads_least = cell->threads < threads_least ? cell->threads : threads_least;
            threads_most = cell->threads > threads_most ? cell->threads : threads_most;
        }
        if (cells == 0)
            continue;
        if (most > 0)
            say_range(&words, least, most, true, "");
        if (threads_most > 1)
            say_range(&words, threads_least, threads_most, false, " CPUs");
        fprintf(page->out, "  %-12s %6zu%s\n", tb_matrix_kind_name((enum tb_matrix_kind)kind), cells, words.text);
    }
    fprintf(page->out, "\n");
}

static void print_answer(const struct tb_matrix_page *page)
{
    struct tb_matrix_verdict verdict;
    tb_matrix_verdict(page->matrix, &verdict);
    tb_text_wrap(page->out, TB_MATRIX_COLUMNS, 0, 2, verdict.sentence.text);
}

static void print_page(const struct tb_matrix_page *page)
{
    const struct tb_matrix *matrix = page->matrix;
    bool planned = tb_matrix_only_planned(matrix);
    if (matrix->emulated)
        fprintf(page->out, "EMULATED (%s): pages and bytes are real, times are not, and none is shown\n", matrix->emulated);
    print_head(page, planned);
    if (planned)
        print_plan(page);
    else if (matrix->emulated)
        print_emulated(page);
    else
        print_measured(page);
    bool missing = print_missing(page, TB_MATRIX_INVALID, "INVALID, not used above:");
    missing |= print_missing(page, TB_MATRIX_UNMEASURABLE, planned ? "cannot be measured:" : "not measured:");
    if (planned)
        return;
    if (missing)
        fprintf(page->out, "\n");
    print_placement(page);
    print_answer(page);
}

int tb_matrix_text(FILE *stream, const struct tb_matrix *matrix, const struct locus_topo *topo, struct tb_report_style style)
{
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc < 0)
        return rc;
    print_page(&(struct tb_matrix_page){text.stream, matrix, topo, style});
    return tb_text_close(&text, stream, 0);
}
