// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_cell: one cell of one log: who took part, how fast, how steady, how much memory, and in which place.
//
// Every figure is a pair's: whatever disturbs a round disturbs both of it, and cancels. So places are not read off the
// medians but tried out between the contenders themselves, each against the first of the place before it.
#include "testbed/report/standing/scoreboard.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/arm_figures.h"
#include "testbed/postulate/metric.h"
#include "testbed/postulate/postulate.h"
#include "testbed/report/board/board.h"

#define BASELINE "mimalloc"

struct row {
    struct tb_arm_figures figures;
    size_t arm;
    char name[96];              // without what makes it no other contender: "#2", "+4w"
    const char *kind;
    double *times;              // by round; NAN: not valid
    size_t times_count;
    bool valid, has_ratio;
    struct tb_ratio ratio;      // the baseline's time over its own
    double footprint_mean;
    unsigned rank;              // 0: none
    bool shared;
    unsigned predicted, predicted_of;
};

struct cell {
    const struct tb_log_view *view;
    size_t index;
    bool figures;
    double workers;
    struct row *rows;
    size_t rows_count;
    const struct row *baseline; // or NULL; until the rows are sorted
    unsigned ranked;
};

// --- who took part -------------------------------------------------------------------------------------------------------------

// "locus+4w" is locus, with other workers than the cell's. Returns how many; 0: nothing is said.
static unsigned take_workers(char *name)
{
    char *plus = strncmp(name, "malloc:", 7) ? strrchr(name, '+') : NULL;
    unsigned workers = 0;
    int used = 0;
    if (!plus || sscanf(plus, "+%3uw%n", &workers, &used) != 1 || used == 0 || plus[used])
        return 0;
    *plus = '\0';
    return workers;
}

bool tb_scoreboard_rival(const char *name, char bare[96])
{
    snprintf(bare, 96, "%.*s", (int)strcspn(name, "#"), name);
    take_workers(bare);
    return tb_arm_is_rival(bare);
}

static const char *kind_of(const struct cell *cell, struct row *row)
{
    bool rival = tb_scoreboard_rival(row->figures.name, row->name);
    char whole[96];
    snprintf(whole, sizeof whole, "%.*s", (int)strcspn(row->figures.name, "#"), row->figures.name);
    unsigned workers = take_workers(whole);
    if (!rival)
        return strncmp(row->name, "malloc:", 7) && strchr(row->name, '@') ? "fault" : "harness";
    if (workers > 0 && workers != cell->workers)
        return "workers";
    for (const struct row *other = cell->rows; other < row; other++)
        if (strcmp(other->kind, "ranked") == 0 && strcmp(other->name, row->name) == 0)
            return "twin";
    return "ranked";
}

static double footprint_mean(const struct cell *cell, const struct row *row)
{
    const struct tb_metric *metric = tb_metric_find("outstanding_ratio");
    const json_t *entry = json_array_get(tb_member(cell->view->header, "cells"), cell->index);
    double *values = NULL, sum = 0;
    size_t count = 0, valid = 0;
    if (tb_log_values(cell->view, cell->index, row->figures.key, metric->member, &values, &count) < 0)
        return NAN;
    for (size_t i = 0; i < count; i++) {
        sum += isnan(values[i]) ? 0 : values[i];
        valid += !isnan(values[i]);
    }
    free(values);
    return valid > 0 ? sum / (double)valid / tb_metric_divisor(metric, entry) : NAN;
}

static int load_row(struct cell *cell, size_t arm)
{
    struct row *row = &cell->rows[cell->rows_count];
    row->arm = arm;
    int rc = tb_arm_figures(cell->view, cell->index, arm, &row->figures);
    if (rc >= 0)
        rc = tb_log_values(cell->view, cell->index, row->figures.key, "time_ns", &row->times, &row->times_count);
    if (rc < 0)
        return rc;
    row->kind = kind_of(cell, row);
    row->footprint_mean = footprint_mean(cell, row);
    row->valid = cell->figures && !row->figures.invalid[0] && row->times_count > 0;
    for (size_t i = 0; i < row->times_count; i++)
        row->valid = row->valid && row->times[i] > 0; // not a NAN either
    cell->rows_count++;
    return 0;
}

// --- velocity and places -------------------------------------------------------------------------------------------------------

// How many times as fast `row` is. -EINVAL: they have no rounds to pair.
static int times_faster(const struct row *row, const struct row *than, struct tb_ratio *out)
{
    if (!row->valid || !than->valid || row->times_count != than->times_count)
        return -EINVAL;
    return tb_ratio(row->times, than->times, row->times_count, TB_CONFIDENCE, out);
}

// mimalloc, or the first valid contender.
static void choose_baseline(struct cell *cell)
{
    for (size_t i = cell->rows_count; i-- > 0;)
        if (cell->rows[i].valid && strcmp(cell->rows[i].kind, "ranked") == 0)
            cell->baseline = &cell->rows[i];
    for (size_t i = 0; i < cell->rows_count; i++)
        if (cell->rows[i].valid && strcmp(cell->rows[i].kind, "ranked") == 0 && strcmp(cell->rows[i].name, BASELINE) == 0)
            cell->baseline = &cell->rows[i];
}

static int compare_all(struct cell *cell)
{
    int rc = 0;
    for (size_t i = 0; i < cell->rows_count && cell->baseline && rc != -ENOMEM; i++) {
        rc = times_faster(&cell->rows[i], cell->baseline, &cell->rows[i].ratio);
        cell->rows[i].has_ratio = rc == 0;
    }
    return rc == -ENOMEM ? rc : 0;
}

static bool takes_a_place(const struct row *row)
{
    return row->valid && row->has_ratio && strcmp(row->kind, "ranked") == 0;
}

static unsigned group(const struct row *row)
{
    return takes_a_place(row) ? 0 : row->valid ? 1 : 2;
}

static int by_place(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (group(a) != group(b))
        return group(a) < group(b) ? -1 : 1;
    if (group(a) < 2 && a->ratio.estimate != b->ratio.estimate)
        return a->ratio.estimate > b->ratio.estimate ? -1 : 1;
    return a->arm < b->arm ? -1 : 1;
}

// Not told apart: the interval holds 1, or there are too few rounds for one.
static int not_told_apart(const struct row *first, const struct row *row, bool *out)
{
    struct tb_ratio ratio;
    int rc = times_faster(first, row, &ratio);
    *out = rc == 0 && (!ratio.bounded || (ratio.low <= 1 && ratio.high >= 1));
    return rc == -ENOMEM ? rc : 0;
}

// The rows are in the order of their velocity.
static int give_places(struct cell *cell)
{
    struct row *first = NULL;
    for (size_t i = 0; i < cell->rows_count && takes_a_place(&cell->rows[i]); i++) {
        struct row *row = &cell->rows[i];
        bool shared = false;
        if (first && not_told_apart(first, row, &shared) == -ENOMEM)
            return -ENOMEM;
        cell->ranked++;
        row->rank = shared ? first->rank : cell->ranked;
        row->shared = shared;
        if (shared)
            first->shared = true;
        else
            first = row;
    }
    return 0;
}

// --- what was predicted --------------------------------------------------------------------------------------------------------

static const json_t *find_order(const struct cell *cell)
{
    const json_t *prediction;
    char label[256];
    size_t i;
    tb_cell_label(cell->view, cell->index, label, sizeof label);
    json_array_foreach (tb_member(cell->view->summary, "predictions"), i, prediction) {
        struct tb_prediction claim = {.stat = TB_STAT_ORDER};
        snprintf(claim.cell, sizeof claim.cell, "%s", tb_member_text(prediction, "cell"));
        if (strcmp(tb_member_text(prediction, "stat"), "order") == 0 &&
            strcmp(tb_member_text(prediction, "metric"), "time_ns") == 0 && tb_prediction_covers(&claim, label))
            return tb_member(prediction, "order");
    }
    return NULL;
}

static const struct row *row_of_key(const struct cell *cell, const char *key)
{
    for (size_t i = 0; i < cell->rows_count; i++)
        if (strcmp(cell->rows[i].figures.key, key) == 0)
            return &cell->rows[i];
    return NULL;
}

// The predicted place of a twin is its contender's.
static void predict(struct cell *cell)
{
    const json_t *order = find_order(cell), *key;
    unsigned places = 0;
    size_t i;
    json_array_foreach (order, i, key) {
        const struct row *named = row_of_key(cell, json_string_value(key) ? json_string_value(key) : "");
        for (size_t r = 0; named && r < cell->rows_count; r++) {
            struct row *row = &cell->rows[r];
            if (strcmp(row->kind, "ranked") == 0 && strcmp(row->name, named->name) == 0 && row->predicted == 0)
                row->predicted = ++places;
        }
    }
    for (size_t r = 0; r < cell->rows_count; r++)
        cell->rows[r].predicted_of = cell->rows[r].predicted ? places : 0;
}

// --- as JSON -------------------------------------------------------------------------------------------------------------------

// The summary's figure, or NAN: it has none of this arm, or the arm none that count.
static double of_summary(const struct row *row, const char *member)
{
    return row->valid ? tb_member_number(row->figures.summary, member) : (double)NAN;
}

static json_t *count_or_null(unsigned count)
{
    return count > 0 ? json_integer((json_int_t)count) : json_null();
}

static json_t *row_json(const struct row *row)
{
    double median = row->valid ? tb_median(row->times, row->times_count) : (double)NAN;
    double low = of_summary(row, "low"), high = of_summary(row, "high");
    double mad = row->valid ? tb_mad(row->times, row->times_count) : (double)NAN;
    const struct tb_json_member footprint[] = {
        {"worst", tb_json_number(row->valid ? row->figures.outstanding : (double)NAN)},
        {"mean", tb_json_number(row->valid ? row->footprint_mean : (double)NAN)},
    };
    const struct tb_json_member members[] = {
        {"name", tb_json_clean(row->figures.name)},
        {"key", tb_json_clean(row->figures.key)},
        {"kind", json_string(row->kind)},
        {"version", tb_json_clean(row->figures.version)},
        {"invalid", tb_json_clean(row->figures.invalid)},
        {"median_ns", tb_json_number(median)},
        {"low_ns", tb_json_number(low)},
        {"high_ns", tb_json_number(high)},
        {"mad_percent", tb_json_number(100 * mad / median)},
        {"interval_percent", tb_json_number(100 * (high - low) / median)},
        {"n", json_integer((json_int_t)row->times_count)},
        {"times_faster", tb_json_ratio(row->has_ratio ? &row->ratio : NULL)},
        {"footprint", TB_JSON_OBJECT(footprint)},
        {"predicted_rank", count_or_null(row->predicted)},
        {"predicted_of", count_or_null(row->predicted_of)},
        {"rank", count_or_null(row->rank)},
        {"shared", json_boolean(row->shared)},
    };
    return TB_JSON_OBJECT(members);
}

static int put(const struct cell *cell, json_t *table)
{
    json_t *rows = json_array();
    size_t rounds = 0;
    for (size_t i = 0; i < cell->rows_count; i++) {
        rows = tb_json_appended(rows, row_json(&cell->rows[i]));
        rounds = cell->rows[i].times_count > rounds ? cell->rows[i].times_count : rounds;
    }
    int rc = json_object_set_new(table, "contenders", rows);
    rc |= json_object_set_new(table, "rounds", json_integer((json_int_t)rounds));
    rc |= json_object_set_new(table, "ranked", json_integer((json_int_t)cell->ranked));
    return rc ? -ENOMEM : 0;
}

int tb_scoreboard_cell(const struct tb_log_view *view, size_t cell_index, bool figures, double workers, json_t *table)
{
    size_t arms = tb_arms_count(view);
    struct cell cell = {.view = view, .index = cell_index, .figures = figures, .workers = workers};
    cell.rows = calloc(arms + 1, sizeof *cell.rows);
    int rc = cell.rows ? 0 : -ENOMEM;
    for (size_t arm = 0; !rc && arm < arms; arm++)
        rc = load_row(&cell, arm);
    if (!rc) {
        choose_baseline(&cell);
        rc = compare_all(&cell);
    }
    if (!rc) {
        json_t *baseline = cell.baseline ? tb_json_clean(cell.baseline->figures.name) : json_null();
        rc = json_object_set_new(table, "baseline", baseline) ? -ENOMEM : 0;
        qsort(cell.rows, cell.rows_count, sizeof *cell.rows, by_place);
    }
    if (!rc)
        rc = give_places(&cell);
    if (!rc) {
        predict(&cell);
        rc = put(&cell, table);
    }
    for (size_t i = 0; i < cell.rows_count; i++)
        free(cell.rows[i].times);
    free(cell.rows);
    return rc;
}
