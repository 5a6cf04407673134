// SPDX-License-Identifier: Apache-2.0
//
// view: the matrix as a document, the answer last.
//
// One of three pages for people. A measured matrix: tables and curves. An emulated one: a heading that nobody can overlook, what
// ran and where its pages were, and not one figure of time. A plan: what would be measured. Each ends with what is missing.
// For programs every cell with all its samples; what is null for an emulated machine is null in every cell. An invalid cell keeps
// its samples, without a median.
#include "testbed/matrix/view/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/host/topology/topo_view.h"

enum { POINTS_MAX = 256, ROWS_MAX = 24 };
enum { INTERVAL_ROUNDS = 6 };   // of which one end of 95 % is the smallest: 2 / 2^6 < 0.05

struct view {
    struct tb_doc *doc;
    const struct tb_matrix *matrix;
    const struct locus_topo *topo;
    bool planned;
    bool failed;                // no memory
};

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static struct tb_value known(bool is_known, uint64_t count)
{
    return is_known ? tb_count(count) : tb_none(NULL);
}

static struct tb_value node_value(int node)
{
    return known(node >= 0, (uint64_t)node);
}

// --- cells, for programs -------------------------------------------------------------------------------------------------------

static void put_placement(struct tb_table *table, const struct tb_matrix_cell *cell)
{
    const struct tb_matrix_placement *placement = &cell->placement;
    bool pages = tb_matrix_ran(cell) && placement->pages > 0;
    tb_table_put(table, tb_text_value(pages ? locus_policy_name(placement->requested) : NULL));
    tb_table_put(table, tb_text_value(pages ? locus_policy_name(placement->granted) : NULL));
    tb_table_put(table, node_value(pages ? placement->granted_node : -1));
    tb_table_put(table, known(pages && placement->page_bytes > 0, placement->page_bytes));
    tb_table_put(table, known(pages, placement->pages));
    tb_table_put(table, known(pages && placement->verified, placement->pages_there));
    tb_table_put(table, pages ? tb_flag(placement->verified) : tb_none(NULL));
}

static void put_cell(struct tb_table *table, const struct tb_matrix *matrix, const struct tb_matrix_cell *cell)
{
    bool loaded = cell->kind == TB_MATRIX_LOADED, told = tb_matrix_told(matrix, cell), ran = tb_matrix_ran(cell);
    bool bounded = told && cell->value.bounded;
    bool timed = !matrix->emulated && (cell->state == TB_MATRIX_MEASURED || cell->state == TB_MATRIX_INVALID);
    unsigned samples = cell->samples < TB_MATRIX_ROUNDS_MAX ? cell->samples : TB_MATRIX_ROUNDS_MAX;
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(tb_matrix_kind_name(cell->kind)));
    tb_table_put(table, tb_text_value(tb_matrix_kind_unit(cell->kind)));
    tb_table_put(table, node_value(cell->initiator));
    tb_table_put(table, node_value(cell->memory));
    tb_table_put(table, node_value(cell->target));
    tb_table_put(table, tb_count(cell->threads));
    tb_table_put(table, known(loaded, cell->delay));
    tb_table_put(table, known(cell->working_set_bytes > 0, cell->working_set_bytes));
    tb_table_put(table, known(cell->reader_bytes > 0, cell->reader_bytes));
    tb_table_put(table, tb_text_value(tb_matrix_state_name(cell->state)));
    tb_table_put(table, tb_text_value(cell->why[0] ? cell->why : NULL));
    tb_table_put(table, tb_samples(cell->sample, timed ? samples : 0));
    tb_table_put(table, tb_number(told ? cell->value.estimate : (double)NAN));
    tb_table_put(table, tb_number(bounded ? cell->value.low : (double)NAN));
    tb_table_put(table, tb_number(bounded ? cell->value.high : (double)NAN));
    tb_table_put(table, tb_number(bounded ? cell->value.confidence : (double)NAN));
    tb_table_put(table, tb_number(loaded && told ? cell->bandwidth : (double)NAN));
    tb_table_put(table, known(ran, cell->bytes_planned));
    tb_table_put(table, known(ran, cell->bytes_moved));
    tb_table_put(table, known(ran && !matrix->emulated, cell->time_ns));
    put_placement(table, cell);
}

static void put_cells(const struct view *view)
{
    char keys[] = "kind,unit,initiator,memory,target,threads,delay,working_set_bytes,reader_bytes,state,why,samples,"
                  "value.median,value.low,value.high,value.confidence,loaded_bytes_per_s,bytes_planned,bytes_moved,"
                  "time_ns,placement.requested,placement.granted,placement.granted_node,placement.page_bytes,"
                  "placement.pages,placement.pages_there,placement.verified";
    char *rest = NULL;
    struct tb_table *table = tb_doc_table(view->doc, "cells", NULL, NULL);
    for (char *key = strtok_r(keys, ",", &rest); key; key = strtok_r(NULL, ",", &rest))
        tb_table_column(table, (struct tb_column){.key = key});
    for (size_t i = 0; i < view->matrix->cells_count; i++)
        put_cell(table, view->matrix, &view->matrix->cells[i]);
}

static void put_settings(const struct view *view)
{
    const struct tb_matrix_config *config = &view->matrix->config;
    const struct tb_matrix_caches *caches = &view->matrix->caches;
    json_t *kinds = json_array(), *levels = json_array();
    for (int kind = 0; kind < TB_MATRIX_KINDS; kind++)
        if (config->kinds[kind])
            kinds = tb_json_appended(kinds, json_string(tb_matrix_kind_name((enum tb_matrix_kind)kind)));
    for (int level = 0; level < 4; level++)
        levels = tb_json_appended(levels, caches->bytes[level] ? tb_json_whole(caches->bytes[level]) : json_null());
    tb_doc_json(view->doc, "config",
                json_pack("{s:b, s:o, s:i, s:o}", "full", config->full, "kinds", kinds, "rounds", (int)config->rounds, "seed",
                          tb_json_whole(config->seed)));
    tb_doc_json(view->doc, "caches",
                json_pack("{s:o, s:o}", "level_bytes", levels, "last_level_bytes",
                          caches->last_bytes ? tb_json_whole(caches->last_bytes) : json_null()));
}

// --- tables by two nodes -------------------------------------------------------------------------------------------------------

static struct tb_value value_of(const struct tb_matrix *matrix, const struct tb_matrix_cell *cell)
{
    const struct tb_ratio *value = &cell->value;
    if (!tb_matrix_told(matrix, cell))
        return tb_none(cell->state == TB_MATRIX_INVALID ? "INVALID" : "?");
    return value->bounded ? tb_interval_of(value->estimate, value->low, value->high, value->confidence)
                          : tb_number(value->estimate);
}

static enum tb_unit_kind unit_of(enum tb_matrix_kind kind)
{
    return tb_matrix_in_time(kind) ? TB_AS_TIME : TB_AS_RATE;
}

static int row_node(const struct tb_matrix_cell *cell)
{
    return cell->kind == TB_MATRIX_MIGRATION ? cell->memory : cell->initiator;
}

// Of a line, who reads it.
static int row_other(const struct tb_matrix_cell *cell)
{
    return cell->kind == TB_MATRIX_LINE ? cell->target : -1;
}

static int column_node(const struct tb_matrix_cell *cell)
{
    return cell->kind == TB_MATRIX_MIGRATION ? cell->target : cell->memory;
}

static bool same_row(const struct tb_matrix_cell *a, const struct tb_matrix_cell *b)
{
    return row_node(a) == row_node(b) && row_other(a) == row_other(b);
}

// By row, column and CPUs.
static int by_place(const void *a, const void *b)
{
    const struct tb_matrix_cell *left = *(const struct tb_matrix_cell *const *)a, *right = *(const struct tb_matrix_cell *const *)b;
    int order = row_node(left) - row_node(right);
    order = order ? order : row_other(left) - row_other(right);
    order = order ? order : column_node(left) - column_node(right);
    order = order ? order : (int)left->threads - (int)right->threads;
    return order ? order : (int)left->kind - (int)right->kind;
}

// The cells of the kinds `from` to `to` that have both nodes and could be measured, in that order. The caller frees them.
static const struct tb_matrix_cell **cells_of(struct view *view, enum tb_matrix_kind from, enum tb_matrix_kind to, size_t *count)
{
    const struct tb_matrix *matrix = view->matrix;
    const struct tb_matrix_cell **cells = calloc(matrix->cells_count + 1, sizeof *cells);
    *count = 0;
    view->failed |= !cells;
    for (size_t i = 0; cells && i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind >= from && cell->kind <= to && row_node(cell) >= 0 && column_node(cell) >= 0 &&
            (unsigned)column_node(cell) < LOCUS_NODES_MAX && cell->state != TB_MATRIX_UNMEASURABLE)
            cells[(*count)++] = cell;
    }
    if (*count)
        qsort(cells, *count, sizeof *cells, by_place);
    return cells;
}

static const char *title_of(enum tb_matrix_kind kind)
{
    switch (kind) {
    case TB_MATRIX_LATENCY: return "Idle latency of a load";
    case TB_MATRIX_READ: return "Read bandwidth, all CPUs of a node at once";
    case TB_MATRIX_MIGRATION: return "Page migration";
    case TB_MATRIX_LINE: return "Line transfer, until one CPU sees what another wrote";
    case TB_MATRIX_PUSH: return "Push into a mailbox";
    case TB_MATRIX_DRAIN: return "Drain by the owner on that memory, a block";
    default: return tb_matrix_kind_name(kind);
    }
}

static struct tb_table *heat_table(const struct view *view, enum tb_matrix_kind kind, const struct locus_nodes *columns)
{
    bool migration = kind == TB_MATRIX_MIGRATION;
    struct tb_table *table = tb_doc_table(view->doc, NULL, title_of(kind), NULL);
    tb_table_column(table, (struct tb_column){.title = kind == TB_MATRIX_LINE ? "from to" : migration ? "from" : "node"});
    for (int column = locus_nodes_next(columns, 0); column >= 0; column = locus_nodes_next(columns, column + 1)) {
        char title[64];
        const struct locus_topo_node *node = view->topo ? locus_topo_node(view->topo, column) : NULL;
        bool tier = node && node->tier;
        snprintf(title, sizeof title, "%s %d%s%s", migration ? "to" : "memory", column, tier ? " " : "", tier ? node->tier : "");
        tb_table_column(table, (struct tb_column){.title = title, .unit = unit_of(kind), .draw = true});
    }
    tb_table_heat(table, tb_matrix_in_time(kind));
    return table;
}

static void heat_row(const struct view *view, struct tb_table *table, const struct tb_matrix_cell *const *cells, size_t count,
                     const struct locus_nodes *columns)
{
    char label[32];
    snprintf(label, sizeof label, row_other(cells[0]) < 0 ? "%d" : "%d to %d", row_node(cells[0]), row_other(cells[0]));
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(label));
    for (int column = locus_nodes_next(columns, 0); column >= 0; column = locus_nodes_next(columns, column + 1)) {
        const struct tb_matrix_cell *cell = NULL; // of several the one with most threads
        for (; count > 0 && column_node(*cells) <= column; cells++, count--)
            cell = *cells;
        tb_table_put(table, cell ? value_of(view->matrix, cell) : tb_none("-"));
    }
}

// A single value needs no table.
static void put_heat(struct view *view, enum tb_matrix_kind kind)
{
    size_t count, rows = 0;
    struct locus_nodes columns = {0};
    struct tb_table *table = NULL;
    const struct tb_matrix_cell **cells = cells_of(view, kind, kind, &count);
    for (size_t i = 0; i < count; i++) {
        locus_nodes_add(&columns, column_node(cells[i]));
        rows += i == 0 || !same_row(cells[i], cells[i - 1]);
    }
    if (rows == 1 && locus_nodes_count(&columns) == 1)
        tb_doc_fact(view->doc, NULL, title_of(kind), unit_of(kind), value_of(view->matrix, cells[0]));
    else if (rows > 0)
        table = heat_table(view, kind, &columns);
    size_t shown = 0, most = kind == TB_MATRIX_LINE ? ROWS_MAX : rows;
    for (size_t i = 0, next; table && i < count && shown < most; i = next, shown++) {
        for (next = i; next < count && same_row(cells[next], cells[i]);)
            next++;
        heat_row(view, table, cells + i, next - i, &columns);
    }
    if (table && shown < rows)
        tb_table_note(table, "and %zu rows more: --json, --csv", rows - shown);
    free(cells);
}

// --- bandwidth by CPUs ---------------------------------------------------------------------------------------------------------

static bool same_bandwidths(const struct tb_matrix_cell *a, const struct tb_matrix_cell *b)
{
    return a->initiator == b->initiator && a->memory == b->memory && a->threads == b->threads;
}

// The cells of a row, a column for each kind. Six intervals are wider than a page.
static void bandwidth_row(const struct view *view, struct tb_table *table, const struct tb_matrix_cell *const *cells, size_t count)
{
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, node_value(cells[0]->initiator));
    tb_table_put(table, node_value(cells[0]->memory));
    tb_table_put(table, tb_count(cells[0]->threads));
    for (enum tb_matrix_kind kind = TB_MATRIX_READ; kind <= TB_MATRIX_NT_WRITE; kind++) {
        struct tb_value value = tb_none("-");
        if (count > 0 && cells[0]->kind == kind) {
            value = value_of(view->matrix, *cells++);
            count--;
        }
        tb_table_put(table, value.kind == TB_VALUE_INTERVAL ? tb_number(value.number) : value);
    }
}

static void put_bandwidths(struct view *view)
{
    size_t count, rows = 0;
    const struct tb_matrix_cell **cells = cells_of(view, TB_MATRIX_READ, TB_MATRIX_NT_WRITE, &count);
    bool told = false;
    for (size_t i = 0; i < count; i++)
        told |= tb_matrix_told(view->matrix, cells[i]);
    struct tb_table *table = told ? tb_doc_table(view->doc, NULL, "Bandwidth of what the program asks for, by CPUs", NULL) : NULL;
    tb_table_column(table, (struct tb_column){.title = "node"});
    tb_table_column(table, (struct tb_column){.title = "memory"});
    tb_table_column(table, (struct tb_column){.title = "CPUs"});
    for (enum tb_matrix_kind kind = TB_MATRIX_READ; kind <= TB_MATRIX_NT_WRITE; kind++) {
        char title[32];
        snprintf(title, sizeof title, "%s\n", tb_matrix_kind_name(kind));
        tb_table_column(table, (struct tb_column){.title = title, .unit = TB_AS_RATE});
    }
    for (size_t i = 0, next; told && i < count; i = next, rows++) {
        for (next = i; next < count && same_bandwidths(cells[next], cells[i]);)
            next++;
        if (rows < ROWS_MAX)
            bandwidth_row(view, table, cells + i, next - i);
    }
    if (rows > ROWS_MAX)
        tb_table_note(table, "and %zu rows more: --json, --csv", rows - ROWS_MAX);
    free(cells);
}

// --- curves --------------------------------------------------------------------------------------------------------------------

static double idle_ns(const struct tb_matrix *matrix, struct tb_matrix_pair pair)
{
    const struct tb_matrix_cell *cell = tb_matrix_at(matrix, TB_MATRIX_LATENCY, pair.initiator, pair.memory);
    if (tb_matrix_told(matrix, cell))
        return cell->value.estimate;
    return pair.initiator == pair.memory ? 0 : 1; // its own is the nearest
}

// A page cannot show the curves of all pairs of nodes: of the first initiator its nearest memory, then its furthest. How many: 0 to
// 2. *all: of how many curves.
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

static void put_marks(struct tb_curves *curves, const struct tb_matrix_caches *caches)
{
    for (int level = 0; level < 4; level++) {
        char size[32], name[64];
        snprintf(name, sizeof name, "L%d %s ends", level + 1, tb_topo_bytes(size, sizeof size, caches->bytes[level], true));
        if (caches->bytes[level] > 0) // a set that just fits is inside
            tb_curves_mark(curves, (double)caches->bytes[level], name);
    }
}

static void put_curves(const struct view *view, enum tb_matrix_kind kind)
{
    static const struct tb_curve_axis read = {"what the other CPUs read", TB_AS_RATE, false};
    static const struct tb_curve_axis load = {"a load", TB_AS_TIME, false};
    static const struct tb_curve_axis walked = {"bytes walked over at random", TB_AS_BYTES, true};
    static const struct tb_curve_axis step = {"a load", TB_AS_TIME, true};
    bool loaded = kind == TB_MATRIX_LOADED;
    struct tb_matrix_pair pairs[2];
    size_t all, count = pairs_shown(view->matrix, kind, pairs, &all);
    if (count == 0)
        return;
    struct tb_curves *curves = tb_doc_curves(view->doc, NULL, loaded ? "Latency under load" : "Latency by working set",
                                             loaded ? read : walked, loaded ? load : step);
    for (size_t p = 0; p < count; p++) {
        const struct tb_matrix_cell *cells[POINTS_MAX];
        char name[64];
        size_t points = tb_matrix_curve(view->matrix, kind, pairs[p].initiator, pairs[p].memory, cells, POINTS_MAX);
        snprintf(name, sizeof name, "node %d on memory %d", pairs[p].initiator, pairs[p].memory);
        tb_curves_line(curves, name);
        for (size_t i = 0; i < points; i++)
            if (tb_matrix_told(view->matrix, cells[i]))
                tb_curves_point(curves, loaded ? cells[i]->bandwidth : (double)cells[i]->working_set_bytes,
                                value_of(view->matrix, cells[i]));
    }
    if (!loaded)
        put_marks(curves, &view->matrix->caches);
    if (all > count)
        tb_doc_say(view->doc, NULL, "Curves of %zu more pairs of nodes: --json, --csv.", all - count);
}

// --- what is missing -----------------------------------------------------------------------------------------------------------

static bool same_reason(const struct tb_matrix_cell *a, const struct tb_matrix_cell *b)
{
    return a->state == b->state && a->kind == b->kind && strcmp(a->why, b->why) == 0;
}

// A row for each kind and reason, with the first of its cells.
static void put_missing(const struct view *view, enum tb_matrix_state state, const char *title)
{
    static const struct tb_column columns[] = {
        {NULL, "kind", 0, 0}, {NULL, "cells", 0, 0}, {NULL, "such as", 0, 0}, {NULL, "because", 0, 0}, {NULL, NULL, 0, 0}};
    const struct tb_matrix_cell *cells = view->matrix->cells;
    struct tb_table *table = NULL;
    for (size_t i = 0; i < view->matrix->cells_count; i++) {
        size_t count = 0, first = i;
        char pair[48];
        for (size_t j = 0; j < view->matrix->cells_count && cells[i].state == state; j++) {
            count += same_reason(&cells[j], &cells[i]);
            first = j < first && same_reason(&cells[j], &cells[i]) ? j : first;
        }
        if (count == 0 || first < i)
            continue;
        table = table ? table : tb_doc_table(view->doc, NULL, title, columns);
        snprintf(pair, sizeof pair, cells[i].memory < 0 ? "-" : "%d->%d", cells[i].initiator, cells[i].memory);
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(tb_matrix_kind_name(cells[i].kind)));
        tb_table_put(table, tb_count(count));
        tb_table_put(table, tb_text_value(pair));
        tb_table_put(table, tb_text_value(cells[i].why[0] ? cells[i].why : "no reason was given"));
    }
}

// --- where the pages were ------------------------------------------------------------------------------------------------------

static void put_placed(const struct view *view)
{
    uint64_t count = 0, verified = 0, refused = 0, pages = 0, there = 0, least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < view->matrix->cells_count; i++) {
        const struct tb_matrix_placement *placement = &view->matrix->cells[i].placement;
        if (placement->pages == 0 || !tb_matrix_ran(&view->matrix->cells[i]))
            continue;
        count++;
        refused += placement->granted != placement->requested;
        verified += placement->verified;
        pages += placement->verified ? placement->pages : 0;
        there += placement->verified ? placement->pages_there : 0;
        least = placement->page_bytes < least ? placement->page_bytes : least;
        most = placement->page_bytes > most ? placement->page_bytes : most;
    }
    tb_doc_heading(view->doc, 2, "placement", NULL);
    tb_doc_fact(view->doc, "cells", NULL, TB_AS_IS, tb_count(count));
    tb_doc_fact(view->doc, "cells_verified", NULL, TB_AS_IS, tb_count(verified));
    tb_doc_fact(view->doc, "cells_of_another_policy", NULL, TB_AS_IS, tb_count(refused));
    tb_doc_fact(view->doc, "pages", NULL, TB_AS_IS, tb_count(pages));
    tb_doc_fact(view->doc, "pages_there", NULL, TB_AS_IS, tb_count(there));
    if (count > 0 && !view->planned) {
        char low[32], high[32];
        struct tb_words words = {0};
        tb_say(&words, "%" PRIu64 " of %" PRIu64 " pages verified on their nodes", there, pages);
        if (verified < count)
            tb_say(&words, "; of %" PRIu64 " of %" PRIu64 " cells the kernel did not tell", count - verified, count);
        if (refused)
            tb_say(&words, "; %" PRIu64 " cells got another policy than they asked for", refused);
        tb_topo_bytes(high, sizeof high, most, true);
        tb_say(&words, least == most ? "; pages of %s" : "; pages of %s to %s", tb_topo_bytes(low, sizeof low, least, true), high);
        tb_doc_say(view->doc, NULL, "%s", most ? words.text : "The pages' size is not known");
    }
    tb_doc_heading(view->doc, 1, NULL, NULL);
}

// --- the three pages -----------------------------------------------------------------------------------------------------------

static void put_head(const struct view *view)
{
    const struct tb_matrix *matrix = view->matrix;
    struct locus_nodes initiators, memories, all;
    struct tb_words words = {0};
    const char *before = "; caches of a CPU:";
    tb_matrix_nodes(matrix, &initiators, &memories, &all);
    unsigned nodes = locus_nodes_count(&all), with_cpus = locus_nodes_count(&initiators), bare = locus_nodes_count(&memories);
    if (matrix->emulated)
        tb_doc_answer(view->doc, NULL, "EMULATED (%s): pages and bytes are real, times are not, and none is shown",
                      matrix->emulated);
    tb_say(&words, "%u node%s", nodes, plural(nodes));
    if (with_cpus != nodes || bare != nodes)
        tb_say(&words, " (%u with CPUs, %u with memory)", with_cpus, bare);
    tb_say(&words, ", %s run, %u round%s (seed %" PRIu64 ")", matrix->config.full ? "full" : "short", matrix->config.rounds,
           plural(matrix->config.rounds), matrix->config.seed);
    if (!view->planned && !matrix->emulated)
        tb_say(&words, matrix->took_ns < 10000000000u ? ", %.1f s" : ", %.0f s", (double)matrix->took_ns / 1e9);
    for (int level = 0; level < 4; level++) {
        char size[32];
        if (matrix->caches.bytes[level] == 0)
            continue;
        tb_say(&words, "%s L%d %s", before, level + 1, tb_topo_bytes(size, sizeof size, matrix->caches.bytes[level], true));
        before = ",";
    }
    tb_doc_say(view->doc, NULL, "%s", words.text);
}

static void put_measured(struct view *view)
{
    static const enum tb_matrix_kind last[] = {TB_MATRIX_MIGRATION, TB_MATRIX_LINE, TB_MATRIX_PUSH, TB_MATRIX_DRAIN};
    struct locus_nodes all;
    tb_matrix_nodes(view->matrix, NULL, NULL, &all);
    tb_doc_say(view->doc, NULL, "%s; 1.00x: best of its table, 2.00x: half as good",
               view->matrix->config.rounds >= INTERVAL_ROUNDS ? "[ ]: 95 % interval of the median"
                                                              : "too few rounds for intervals");
    put_heat(view, TB_MATRIX_LATENCY);
    if (locus_nodes_count(&all) > 1) // on one node the table of bandwidths has it
        put_heat(view, TB_MATRIX_READ);
    put_bandwidths(view);
    put_curves(view, TB_MATRIX_LOADED);
    put_curves(view, TB_MATRIX_WORKING_SET);
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        put_heat(view, last[i]);
}

// What was planned of a kind, or what ran of it.
struct sum {
    uint64_t cells, verified, pages, there, moved;
    uint64_t least, most, threads_least, threads_most; // bytes walked over; threads
};

static struct sum sum_of(const struct view *view, enum tb_matrix_kind kind)
{
    struct sum sum = {.least = UINT64_MAX, .threads_least = UINT64_MAX};
    for (size_t i = 0; i < view->matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &view->matrix->cells[i];
        if (cell->kind != kind || (view->planned ? cell->state != TB_MATRIX_PLANNED : !tb_matrix_ran(cell)))
            continue;
        sum.cells++;
        sum.verified += cell->placement.verified && cell->state != TB_MATRIX_INVALID;
        sum.pages += cell->placement.pages;
        sum.there += cell->placement.pages_there;
        sum.moved += cell->bytes_moved;
        sum.least = cell->working_set_bytes < sum.least ? cell->working_set_bytes : sum.least;
        sum.most = cell->working_set_bytes > sum.most ? cell->working_set_bytes : sum.most;
        sum.threads_least = cell->threads < sum.threads_least ? cell->threads : sum.threads_least;
        sum.threads_most = cell->threads > sum.threads_most ? cell->threads : sum.threads_most;
    }
    return sum;
}

// A plan, or what ran in an emulated machine, by kind.
static void put_sums(const struct view *view)
{
    static const struct tb_column planned[] = {{NULL, "kind", 0, 0},
                                               {NULL, "cells", 0, 0},
                                               {NULL, "CPUs from", 0, 0},
                                               {NULL, "to", 0, 0},
                                               {NULL, "walked over from", 0, 0},
                                               {NULL, "to", 0, 0},
                                               {NULL, NULL, 0, 0}};
    static const struct tb_column ran[] = {{NULL, "kind", 0, 0},  {NULL, "cells", 0, 0}, {NULL, "verified", 0, 0},
                                           {NULL, "pages", 0, 0}, {NULL, "there", 0, 0}, {NULL, "bytes moved", 0, 0},
                                           {NULL, NULL, 0, 0}};
    struct tb_table *table = tb_doc_table(view->doc, NULL, NULL, view->planned ? planned : ran);
    for (int kind = 0; kind < TB_MATRIX_KINDS; kind++) {
        struct sum sum = sum_of(view, (enum tb_matrix_kind)kind);
        const uint64_t of_run[] = {sum.verified, sum.pages, sum.there, sum.moved};
        char least[32], most[32];
        if (sum.cells == 0)
            continue;
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(tb_matrix_kind_name((enum tb_matrix_kind)kind)));
        tb_table_put(table, tb_count(sum.cells));
        for (size_t i = 0; i < 4 && !view->planned; i++)
            tb_table_put(table, tb_count(of_run[i]));
        if (!view->planned)
            continue;
        tb_table_put(table, tb_count(sum.threads_least));
        tb_table_put(table, tb_count(sum.threads_most));
        tb_table_put(table, tb_text_value(tb_topo_bytes(least, sizeof least, sum.least, true)));
        tb_table_put(table, tb_text_value(tb_topo_bytes(most, sizeof most, sum.most, true)));
    }
}

static void put_verdict(const struct view *view)
{
    struct tb_matrix_verdict verdict;
    tb_matrix_verdict(view->matrix, &verdict);
    bool is_known = verdict.answer == TB_MATRIX_FLAT || verdict.answer == TB_MATRIX_DIFFERS;
    tb_doc_heading(view->doc, 2, "verdict", NULL);
    tb_doc_fact(view->doc, "answer", NULL, TB_AS_IS, tb_text_value(tb_matrix_answer_name(verdict.answer)));
    tb_doc_fact(view->doc, "flat", NULL, TB_AS_IS, is_known ? tb_flag(verdict.answer == TB_MATRIX_FLAT) : tb_none(NULL));
    tb_doc_fact(view->doc, "slowest_over_fastest", NULL, TB_AS_RATIO,
                verdict.has_ratio ? tb_interval(&verdict.ratio) : tb_none(NULL));
    tb_doc_answer(view->doc, "sentence", "%s", verdict.sentence.text);
}

struct tb_doc *tb_matrix_doc(json_t *head, const struct tb_matrix *matrix, const struct locus_topo *topo, json_t *machine)
{
    struct view view = {tb_doc_open(head), matrix, topo, tb_matrix_only_planned(matrix), false};
    if (!view.doc) {
        json_decref(machine);
        return NULL;
    }
    bool timed = !matrix->emulated && !view.planned;
    tb_doc_fact(view.doc, "command", NULL, TB_AS_IS, tb_text_value("matrix"));
    tb_doc_fact(view.doc, "emulated", NULL, TB_AS_IS, tb_text_value(matrix->emulated));
    tb_doc_fact(view.doc, "took_ns", NULL, TB_AS_TIME, known(timed, matrix->took_ns));
    put_settings(&view);
    tb_doc_json(view.doc, "machine", machine ? machine : json_null());
    put_cells(&view);
    put_head(&view);
    if (view.planned || matrix->emulated)
        put_sums(&view);
    else
        put_measured(&view);
    put_missing(&view, TB_MATRIX_INVALID, "INVALID, not used above");
    put_missing(&view, TB_MATRIX_UNMEASURABLE, view.planned ? "Cannot be measured" : "Not measured");
    put_placed(&view);
    if (view.planned)
        tb_doc_json(view.doc, "verdict", json_null());
    else
        put_verdict(&view);
    if (!view.failed)
        return view.doc;
    tb_doc_close(view.doc);
    return NULL;
}
