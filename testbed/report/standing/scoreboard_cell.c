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

struct row {
    struct tb_arm_figures figures;
    size_t arm;
    char name[96];              // without what makes it no other contender: "#2", "+4w"
    const char *kind;
    double *times;              // by round; NAN: not valid
    size_t times_count;
    bool valid, has_ratio, ranked; // ranked: a rival, and no twin
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
    char whole[96];
    bool rival = tb_scoreboard_rival(row->figures.name, row->name);
    snprintf(whole, sizeof whole, "%.*s", (int)strcspn(row->figures.name, "#"), row->figures.name);
    unsigned workers = take_workers(whole);
    if (!rival)
        return strncmp(row->name, "malloc:", 7) && strchr(row->name, '@') ? "fault" : "harness";
    if (workers > 0 && workers != cell->workers)
        return "workers";
    for (const struct row *other = cell->rows; other < row; other++)
        if (other->ranked && strcmp(other->name, row->name) == 0)
            return "twin";
    row->ranked = true;
    return "ranked";
}

static int load_footprint(const struct cell *cell, struct row *row)
{
    const struct tb_metric *metric = tb_metric_find("outstanding_ratio");
    double *values = NULL, sum = 0, divisor;
    size_t count = 0, valid = 0;
    int rc = tb_log_values(cell->view, cell->index, row->figures.key, metric->member, &values, &count);
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        sum += isnan(values[i]) ? 0 : values[i];
        valid += !isnan(values[i]);
    }
    free(values);
    divisor = tb_metric_divisor(metric, json_array_get(tb_member(cell->view->header, "cells"), cell->index));
    row->footprint_mean = sum / (double)valid / divisor;
    return rc;
}

static int load_row(struct cell *cell, size_t arm)
{
    struct row *row = &cell->rows[cell->rows_count++];
    row->arm = arm;
    int rc = tb_arm_figures(cell->view, cell->index, arm, &row->figures);
    if (rc >= 0)
        rc = tb_log_values(cell->view, cell->index, row->figures.key, "time_ns", &row->times, &row->times_count);
    if (rc >= 0)
        rc = load_footprint(cell, row);
    if (rc < 0)
        return rc;
    row->kind = kind_of(cell, row);
    row->valid = cell->figures && !row->figures.invalid[0] && row->times_count > 0;
    for (size_t i = 0; i < row->times_count; i++)
        row->valid = row->valid && row->times[i] > 0; // not a NAN either
    return 0;
}

// --- ratios and places ---------------------------------------------------------------------------------------------------------

// How many times as fast `row` is. -EINVAL: they have no rounds to pair.
static int times_faster(const struct row *row, const struct row *than, struct tb_ratio *out)
{
    if (!row->valid || !than->valid || row->times_count != than->times_count)
        return -EINVAL;
    return tb_ratio(row->times, than->times, row->times_count, TB_CONFIDENCE, out);
}

// Against mimalloc, or the first valid contender.
static int compare_all(struct cell *cell)
{
    const struct row *baseline = NULL;
    for (const struct row *row = cell->rows; row < cell->rows + cell->rows_count; row++)
        if (row->valid && row->ranked && (!baseline || strcmp(row->name, TB_SCOREBOARD_BASELINE) == 0))
            baseline = row;
    cell->baseline = baseline;
    for (size_t i = 0; i < cell->rows_count && baseline; i++) {
        int rc = times_faster(&cell->rows[i], baseline, &cell->rows[i].ratio);
        if (rc == -ENOMEM)
            return rc;
        cell->rows[i].has_ratio = rc == 0;
    }
    return 0;
}

static bool takes_a_place(const struct row *row)
{
    return row->valid && row->has_ratio && row->ranked;
}

static int group(const struct row *row)
{
    return takes_a_place(row) ? 0 : row->valid ? 1 : 2;
}

static int by_place(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (group(a) != group(b))
        return group(a) - group(b);
    if (group(a) < 2 && a->ratio.estimate != b->ratio.estimate)
        return a->ratio.estimate > b->ratio.estimate ? -1 : 1;
    return a->arm < b->arm ? -1 : 1;
}

// The rows are in order. Not told apart: the interval holds 1, or there are too few rounds for one.
static int give_places(struct cell *cell)
{
    struct row *first = NULL;
    for (struct row *row = cell->rows; row < cell->rows + cell->rows_count && takes_a_place(row); row++) {
        struct tb_ratio ratio;
        int rc = first ? times_faster(first, row, &ratio) : -EINVAL;
        if (rc == -ENOMEM)
            return rc;
        row->shared = rc == 0 && (!ratio.bounded || (ratio.low <= 1 && ratio.high >= 1));
        cell->ranked++;
        if (row->shared)
            first->shared = true;
        else
            first = row;
        row->rank = row == first ? cell->ranked : first->rank;
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

// The rival of that key; a twin's is its contender. NULL: there is none.
static struct row *rival_of_key(const struct cell *cell, const char *key)
{
    const struct row *named = NULL;
    for (size_t i = 0; i < cell->rows_count && key && !named; i++)
        named = strcmp(cell->rows[i].figures.key, key) == 0 ? &cell->rows[i] : NULL;
    for (size_t i = 0; i < cell->rows_count && named; i++)
        if (cell->rows[i].ranked && strcmp(cell->rows[i].name, named->name) == 0)
            return &cell->rows[i];
    return NULL;
}

static void predict(struct cell *cell)
{
    const json_t *order = find_order(cell), *key;
    unsigned places = 0;
    size_t i;
    json_array_foreach (order, i, key) {
        struct row *row = rival_of_key(cell, json_string_value(key));
        if (row && row->predicted == 0)
            row->predicted = ++places;
    }
    for (i = 0; i < cell->rows_count; i++)
        cell->rows[i].predicted_of = cell->rows[i].predicted ? places : 0;
}

// --- as JSON -------------------------------------------------------------------------------------------------------------------

static json_t *count_or_null(unsigned count)
{
    return count > 0 ? json_integer((json_int_t)count) : json_null();
}

// null: it does not count.
static json_t *figure(const struct row *row, double value)
{
    return row->valid ? tb_json_number(value) : json_null();
}

// The medians' ends are the summary's.
static json_t *row_json(const struct row *row)
{
    double median = tb_median(row->times, row->times_count), mad = tb_mad(row->times, row->times_count);
    double low = tb_member_number(row->figures.summary, "low"), high = tb_member_number(row->figures.summary, "high");
    const struct tb_json_member footprint[] = {
        {"worst", figure(row, row->figures.outstanding)},
        {"mean", figure(row, row->footprint_mean)},
    };
    const struct tb_json_member members[] = {
        {"name", tb_json_clean(row->figures.name)},
        {"key", tb_json_clean(row->figures.key)},
        {"kind", json_string(row->kind)},
        {"version", tb_json_clean(row->figures.version)},
        {"invalid", tb_json_clean(row->figures.invalid)},
        {"median_ns", figure(row, median)},
        {"low_ns", figure(row, low)},
        {"high_ns", figure(row, high)},
        {"mad_percent", figure(row, 100 * mad / median)},
        {"interval_percent", figure(row, 100 * (high - low) / median)},
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

static int put(const struct cell *cell, const char *baseline, json_t *table)
{
    json_t *rows = json_array();
    size_t rounds = 0;
    for (size_t i = 0; i < cell->rows_count; i++) {
        rows = tb_json_appended(rows, row_json(&cell->rows[i]));
        rounds = cell->rows[i].times_count > rounds ? cell->rows[i].times_count : rounds;
    }
    int rc = json_object_set_new(table, "baseline", tb_json_clean(baseline));
    rc |= json_object_set_new(table, "contenders", rows);
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
    if (!rc)
        rc = compare_all(&cell);
    const char *baseline = cell.baseline ? cell.baseline->figures.name : NULL;
    if (!rc) {
        qsort(cell.rows, cell.rows_count, sizeof *cell.rows, by_place);
        rc = give_places(&cell);
    }
    if (!rc) {
        predict(&cell);
        rc = put(&cell, baseline, table);
    }
    for (size_t i = 0; i < cell.rows_count; i++)
        free(cell.rows[i].times);
    free(cell.rows);
    return rc;
}
