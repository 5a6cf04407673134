// SPDX-License-Identifier: Apache-2.0
//
// heat: values by two nodes as a table, and the line transfers by three.
//
// The background says how far a value is from the best of its table, and so does the figure behind it ("1.74x"): colour is never
// the only mark. 1x is the best; of latencies 2x is twice as long, of bandwidths half as much. Up to four columns have their
// intervals below them. More come in blocks without intervals, and how wide the widest is stands under the table.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/matrix/view/view.h"

enum { LABEL = 10, WIDE = 17, NARROW = 13, VALUE = 12, WIDE_COLUMNS_MAX = 4, LINES_MAX = 16 };

struct axis_node {
    int node, other;            // other: of a line, who reads it; else -1
};

struct heat {
    const struct tb_matrix_page *page;
    enum tb_matrix_kind kind;
    struct axis_node *rows;     // owned
    size_t rows_count;
    int columns[LOCUS_NODES_MAX];
    size_t columns_count;
    const struct tb_matrix_cell **grid; // owned: row by row; NULL: not planned
    double best, widest;        // the latter: half an interval over its median
    bool has_intervals, told;
};

static int row_node(const struct tb_matrix_cell *cell)
{
    return cell->kind == TB_MATRIX_MIGRATION ? cell->memory : cell->initiator;
}

static int row_other(const struct tb_matrix_cell *cell)
{
    return cell->kind == TB_MATRIX_LINE ? cell->target : -1;
}

static int column_node(const struct tb_matrix_cell *cell)
{
    return cell->kind == TB_MATRIX_MIGRATION ? cell->target : cell->memory;
}

static bool belongs(const struct heat *heat, const struct tb_matrix_cell *cell)
{
    return cell->kind == heat->kind && row_node(cell) >= 0 && column_node(cell) >= 0 &&
           (unsigned)column_node(cell) < LOCUS_NODES_MAX && cell->state != TB_MATRIX_UNMEASURABLE;
}

static int by_nodes(const void *a, const void *b)
{
    const struct axis_node *left = a, *right = b;
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return (left->other > right->other) - (left->other < right->other);
}

static void rows_unique(struct heat *heat)
{
    size_t kept = 0;
    qsort(heat->rows, heat->rows_count, sizeof *heat->rows, by_nodes);
    for (size_t i = 0; i < heat->rows_count; i++)
        if (i == 0 || by_nodes(&heat->rows[i], &heat->rows[kept - 1]))
            heat->rows[kept++] = heat->rows[i];
    heat->rows_count = kept;
}

static void values_seen(struct heat *heat, const struct tb_matrix_cell *cell)
{
    if (!tb_matrix_told(heat->page->matrix, cell))
        return;
    double value = cell->value.estimate;
    if (!heat->told || (tb_matrix_in_time(heat->kind) ? value < heat->best : value > heat->best))
        heat->best = value;
    heat->told = true;
    heat->has_intervals |= cell->value.bounded;
    if (cell->value.bounded)
        heat->widest = fmax(heat->widest, (cell->value.high - cell->value.low) / 2 / value);
}

// pre: row and column are of the table.
static const struct tb_matrix_cell **cell_at(const struct heat *heat, size_t row, size_t column)
{
    return &heat->grid[row * heat->columns_count + column];
}

// With several cells at one place the one with most threads, as tb_matrix_at().
static bool grid_fill(struct heat *heat)
{
    const struct tb_matrix *matrix = heat->page->matrix;
    heat->grid = calloc(heat->rows_count * heat->columns_count + 1, sizeof *heat->grid);
    for (size_t i = 0; heat->grid && i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (!belongs(heat, cell))
            continue;
        const struct axis_node key = {row_node(cell), row_other(cell)};
        const struct axis_node *row = bsearch(&key, heat->rows, heat->rows_count, sizeof key, by_nodes);
        size_t column = 0;
        while (heat->columns[column] != column_node(cell))
            column++;
        const struct tb_matrix_cell **place = cell_at(heat, (size_t)(row - heat->rows), column);
        if (!*place || cell->threads > (*place)->threads)
            *place = cell;
    }
    return heat->grid;
}

static void heat_close(struct heat *heat)
{
    free(heat->rows);
    free(heat->grid);
}

// false: nothing of this kind is here, or there is no memory, which fails the page's stream as well. Closed either way.
static bool heat_open(struct heat *heat, const struct tb_matrix_page *page, enum tb_matrix_kind kind)
{
    const struct tb_matrix *matrix = page->matrix;
    struct locus_nodes columns = {0};
    *heat = (struct heat){.page = page, .kind = kind, .rows = calloc(matrix->cells_count + 1, sizeof *heat->rows)};
    for (size_t i = 0; heat->rows && i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (!belongs(heat, cell))
            continue;
        heat->rows[heat->rows_count++] = (struct axis_node){row_node(cell), row_other(cell)};
        locus_nodes_add(&columns, column_node(cell));
    }
    for (int node = locus_nodes_next(&columns, 0); node >= 0; node = locus_nodes_next(&columns, node + 1))
        heat->columns[heat->columns_count++] = node;
    if (heat->rows_count == 0)
        return false;
    rows_unique(heat);
    if (!grid_fill(heat))
        return false;
    for (size_t i = 0; i < heat->rows_count * heat->columns_count; i++)
        values_seen(heat, heat->grid[i]);
    return true;
}

const char *tb_matrix_figure(char *out, enum tb_matrix_kind kind, double value)
{
    return tb_text_number(out, tb_matrix_in_time(kind) ? value : value / 1e9);
}

static double times_best(const struct heat *heat, const struct tb_matrix_cell *cell)
{
    return tb_matrix_in_time(heat->kind) ? cell->value.estimate / heat->best : heat->best / cell->value.estimate;
}

// From cream to dark red, whose lightness falls as well; black figures, on the two darkest white ones.
static const char *shade(const struct heat *heat, double times)
{
    static const struct {
        double from;
        const char *code;
    } shades[] = {{3, "\033[48;5;88;38;5;231m"},
                  {2, "\033[48;5;160;38;5;231m"},
                  {1.5, "\033[48;5;209;38;5;16m"},
                  {1.2, "\033[48;5;222;38;5;16m"},
                  {TB_MATRIX_FLAT_RATIO, "\033[48;5;229;38;5;16m"},
                  {0, "\033[48;5;230;38;5;16m"}};
    size_t i = 0;
    while (times < shades[i].from)
        i++;
    return heat->page->style.colour ? shades[i].code : "";
}

static void print_value(const struct heat *heat, const struct tb_matrix_cell *cell)
{
    FILE *out = heat->page->out;
    char number[16], ratio[16];
    if (!tb_matrix_told(heat->page->matrix, cell)) {
        fprintf(out, " %*s", VALUE, !cell ? "-" : cell->state == TB_MATRIX_INVALID ? "INVALID" : "?");
        return;
    }
    double times = times_best(heat, cell);
    fprintf(out, " %s%5s %5sx%s", shade(heat, times), tb_matrix_figure(number, heat->kind, cell->value.estimate),
            tb_text_number(ratio, times), heat->page->style.colour ? "\033[0m" : "");
}

static void interval_text(const struct heat *heat, const struct tb_matrix_cell *cell, char out[48])
{
    char low[16], high[16];
    out[0] = '\0';
    if (tb_matrix_told(heat->page->matrix, cell) && cell->value.bounded)
        snprintf(out, 48, "[%s, %s]", tb_matrix_figure(low, heat->kind, cell->value.low),
                 tb_matrix_figure(high, heat->kind, cell->value.high));
}

static void print_intervals(const struct heat *heat, size_t row, size_t first, size_t last)
{
    char interval[48];
    int column_at = LABEL + 1, at = 0;
    for (size_t column = first; column < last; column++, column_at += WIDE) {
        interval_text(heat, *cell_at(heat, row, column), interval);
        if (interval[0])
            at += fprintf(heat->page->out, "%*s%s", column_at - at, "", interval);
    }
    fprintf(heat->page->out, "\n");
}

static void print_row(const struct heat *heat, size_t row, size_t first, size_t last, int width)
{
    FILE *out = heat->page->out;
    char label[40];
    struct axis_node node = heat->rows[row];
    const char *word = heat->kind == TB_MATRIX_MIGRATION ? "from" : "node";
    if (node.other >= 0)
        snprintf(label, sizeof label, "%d to %d", node.node, node.other);
    else
        snprintf(label, sizeof label, "%s %d", word, node.node);
    fprintf(out, "  %-*s", LABEL - 2, label);
    for (size_t column = first; column < last; column++) {
        print_value(heat, *cell_at(heat, row, column));
        fprintf(out, "%*s", column + 1 < last ? width - VALUE - 1 : 0, "");
    }
    fprintf(out, "\n");
    if (width == WIDE && heat->has_intervals)
        print_intervals(heat, row, first, last);
}

static void print_column_names(const struct heat *heat, size_t first, size_t last, int width)
{
    FILE *out = heat->page->out;
    fprintf(out, "%*s", LABEL, "");
    for (size_t column = first; column < last; column++) {
        char name[64];
        const struct locus_topo *topo = heat->page->topo;
        const struct locus_topo_node *node = topo ? locus_topo_node(topo, heat->columns[column]) : NULL;
        const char *tier = node && node->tier ? node->tier : "";
        snprintf(name, sizeof name, "%s %d%s%s", heat->kind == TB_MATRIX_MIGRATION ? "to" : "memory", heat->columns[column],
                 *tier ? " " : "", tier);
        fprintf(out, " %-*.*s", column + 1 < last ? width - 1 : 0, width - 2, name);
    }
    fprintf(out, "\n");
}

static const char *title_of(enum tb_matrix_kind kind)
{
    switch (kind) {
    case TB_MATRIX_LATENCY: return "Idle latency, ns a load";
    case TB_MATRIX_READ: return "Read bandwidth, GB/s, all CPUs of a node at once";
    case TB_MATRIX_MIGRATION: return "Page migration, GB/s";
    case TB_MATRIX_LINE: return "Line transfer, ns until one CPU sees what another wrote";
    case TB_MATRIX_PUSH: return "Push into a mailbox, ns";
    case TB_MATRIX_DRAIN: return "Drain by the owner on that memory, ns a block";
    default: return tb_matrix_kind_name(kind);
    }
}

// A single value needs no table.
static void print_single(const struct heat *heat)
{
    const struct tb_matrix_cell *cell = heat->grid[0];
    char number[16] = "-", interval[48];
    if (cell->state == TB_MATRIX_INVALID)
        snprintf(number, sizeof number, "INVALID");
    if (tb_matrix_told(heat->page->matrix, cell))
        tb_matrix_figure(number, heat->kind, cell->value.estimate);
    interval_text(heat, cell, interval);
    fprintf(heat->page->out, "%-55s %7s%s%s\n", title_of(heat->kind), number, interval[0] ? "  " : "", interval);
}

static void print_table(const struct heat *heat, size_t rows)
{
    FILE *out = heat->page->out;
    int width = heat->columns_count > WIDE_COLUMNS_MAX ? NARROW : WIDE;
    size_t block = (size_t)(TB_MATRIX_COLUMNS - LABEL) / (size_t)width;
    fprintf(out, "%s\n", title_of(heat->kind));
    for (size_t first = 0; first < heat->columns_count; first += block) {
        size_t last = first + block < heat->columns_count ? first + block : heat->columns_count;
        print_column_names(heat, first, last, width);
        for (size_t row = 0; row < rows; row++)
            print_row(heat, row, first, last, width);
    }
    if (rows < heat->rows_count)
        fprintf(out, "  and %zu rows more: --json, --csv\n", heat->rows_count - rows);
    if (width == NARROW && heat->has_intervals)
        fprintf(out, "  the widest interval is +-%.1f %% of its median\n", 100 * heat->widest);
    fprintf(out, "\n");
}

bool tb_matrix_heat(const struct tb_matrix_page *page, enum tb_matrix_kind kind)
{
    struct heat heat;
    bool any = heat_open(&heat, page, kind), single = any && heat.rows_count == 1 && heat.columns_count == 1;
    if (single)
        print_single(&heat);
    else if (any)
        print_table(&heat, kind == TB_MATRIX_LINE && heat.rows_count > LINES_MAX ? LINES_MAX : heat.rows_count);
    heat_close(&heat);
    return single;
}
