// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_cell: one cell of one log: who took part, how fast, how steady, how much memory, and in which place. The figures are
// those that eval shows of its own logs (judge/board.h); what a standing table adds is the places.
//
// Every figure is a pair's: whatever disturbs a round disturbs both of it, and cancels. So places are not read off the
// medians but tried out between the contenders themselves, each against the first of the place before it.
#include "testbed/report/standing/scoreboard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/shown.h"
#include "testbed/judge/board.h"
#include "testbed/judge/loaded.h"
#include "testbed/measure/contender.h"
#include "testbed/postulate/postulate.h"

struct row {
    struct tb_row figures;
    uint32_t arm;
    const json_t *header;       // what the log says of the arm
    char name[96];              // without what makes it no other contender: "#2", "+4w"
    const char *kind;
    bool valid, ranked;         // ranked: a rival, and no twin
    bool has_ratio;
    struct tb_ratio ratio;      // the baseline's time over its own
    unsigned rank;              // 0: none
    bool shared;
    unsigned predicted, predicted_of;
};

struct cell {
    const struct tb_log_view *view;
    const struct tb_rounds *rounds;
    uint32_t index;
    struct row rows[TB_ARMS_MAX];
    unsigned ranked;
};

// --- who took part -------------------------------------------------------------------------------------------------------------

bool tb_scoreboard_rival(const char *name, char bare[96])
{
    int used = 0;
    snprintf(bare, 96, "%.*s", (int)strcspn(name, "#"), name);
    char *plus = strncmp(bare, "malloc:", 7) ? strrchr(bare, '+') : NULL;
    if (plus && sscanf(plus, "+%*3uw%n", &used) == 0 && used > 0 && !plus[used])
        *plus = '\0';
    return tb_arm_is_rival(bare);
}

static const char *kind_of(struct cell *cell, struct row *row)
{
    const struct tb_arm *arm = row->figures.arm;
    if (!tb_scoreboard_rival(tb_member_text(row->header, "name"), row->name))
        return arm->fault ? "fault" : "harness";
    uint32_t own = cell->rounds->cells[cell->index].workers;
    if (arm->workers > 0 && arm->workers != (own ? own : cell->rounds->workers))
        return "workers";
    for (const struct row *other = cell->rows; other < row; other++)
        if (other->ranked && strcmp(other->name, row->name) == 0)
            return "twin";
    row->ranked = true;
    return "ranked";
}

static void load_rows(struct cell *cell, bool figures)
{
    for (uint32_t arm = 0; arm < cell->rounds->arms_count; arm++) {
        struct row *row = &cell->rows[arm];
        row->arm = arm;
        row->header = json_array_get(tb_member(cell->view->header, "arms"), arm);
        tb_row_alone(cell->rounds, cell->index, arm, &row->figures);
        row->kind = kind_of(cell, row);
        row->valid = figures && row->figures.valid && row->figures.ns_median > 0;
    }
}

// --- ratios and places ---------------------------------------------------------------------------------------------------------

// How many times as fast `row` is. false: they have no rounds to pair.
static bool times_faster(const struct cell *cell, const struct row *row, const struct row *than, struct tb_ratio *out)
{
    return row->valid && than->valid &&
           tb_pair_ratio(cell->rounds, cell->index, (int)than->arm, TB_LAP, (int)row->arm, TB_LAP, out);
}

// Against mimalloc, or the first valid contender: its name, or NULL.
static const char *compare_all(struct cell *cell)
{
    const struct row *baseline = NULL, *end = cell->rows + cell->rounds->arms_count;
    for (const struct row *row = cell->rows; row < end; row++)
        if (row->valid && row->ranked && (!baseline || strcmp(row->name, TB_SCOREBOARD_BASELINE) == 0))
            baseline = row;
    for (struct row *row = cell->rows; row < end && baseline; row++)
        row->has_ratio = times_faster(cell, row, baseline, &row->ratio);
    return baseline ? tb_member_text(baseline->header, "name") : NULL;
}

static int group(const struct row *row)
{
    return row->has_ratio && row->ranked ? 0 : row->valid ? 1 : 2;
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
static void give_places(struct cell *cell)
{
    struct row *first = NULL, *end = cell->rows + cell->rounds->arms_count;
    for (struct row *row = cell->rows; row < end && group(row) == 0; row++) {
        struct tb_ratio ratio;
        row->shared = first && times_faster(cell, first, row, &ratio) && (!ratio.bounded || (ratio.low <= 1 && ratio.high >= 1));
        cell->ranked++;
        if (row->shared)
            first->shared = true;
        else
            first = row;
        row->rank = row == first ? cell->ranked : first->rank;
    }
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
static struct row *rival_of_key(struct cell *cell, const char *key)
{
    struct row *named = cell->rows, *rival = cell->rows, *end = cell->rows + cell->rounds->arms_count;
    while (named < end && strcmp(tb_member_text(named->header, "key"), key))
        named++;
    while (rival < end && named < end && !(rival->ranked && strcmp(rival->name, named->name) == 0))
        rival++;
    return named < end && rival < end ? rival : NULL;
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
    for (i = 0; i < cell->rounds->arms_count; i++)
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
static json_t *row_json(const struct cell *cell, const struct row *row)
{
    const struct tb_row *figures = &row->figures;
    const json_t *summary = tb_summary_arm(cell->view, cell->index, tb_member_text(row->header, "key"));
    double median = figures->ns_median, low = tb_member_number(summary, "low"), high = tb_member_number(summary, "high");
    const struct tb_json_member members[] = {
        {"name", tb_json_clean(tb_member_text(row->header, "name"))},
        {"key", tb_json_clean(tb_member_text(row->header, "key"))},
        {"kind", json_string(row->kind)},
        {"version", tb_json_clean(figures->version)},
        {"invalid", tb_json_clean(figures->invalid)},
        {"median_ns", figure(row, median)},
        {"low_ns", figure(row, low)},
        {"high_ns", figure(row, high)},
        {"mad_percent", figure(row, 100 * figures->ns_mad / median)},
        {"interval_percent", figure(row, 100 * (high - low) / median)},
        {"n", json_integer((json_int_t)cell->rounds->count)},
        {"times_faster", tb_json_ratio(row->has_ratio ? &row->ratio : NULL)},
        {"footprint", json_pack("{s:o, s:o}", "worst", figure(row, figures->outstanding_ratio), "mean",
                                figure(row, figures->outstanding_ratio_mean))},
        {"predicted_rank", count_or_null(row->predicted)},
        {"predicted_of", count_or_null(row->predicted_of)},
        {"rank", count_or_null(row->rank)},
        {"shared", json_boolean(row->shared)},
    };
    return TB_JSON_OBJECT(members);
}

int tb_scoreboard_cell(const struct tb_rounds *rounds, const struct tb_log_view *view, size_t cell_index, bool figures,
                       json_t *table)
{
    struct cell *cell = calloc(1, sizeof *cell);
    json_t *rows = json_array();
    if (!cell)
        return -ENOMEM;
    *cell = (struct cell){.view = view, .rounds = rounds, .index = (uint32_t)cell_index};
    load_rows(cell, figures);
    const char *baseline = compare_all(cell);
    qsort(cell->rows, rounds->arms_count, sizeof *cell->rows, by_place);
    give_places(cell);
    predict(cell);
    for (uint32_t i = 0; i < rounds->arms_count; i++)
        rows = tb_json_appended(rows, row_json(cell, &cell->rows[i]));
    json_t *more = json_pack("{s:o, s:o, s:i, s:i}", "baseline", tb_json_clean(baseline), "contenders", rows, "rounds",
                             (int)rounds->count, "ranked", (int)cell->ranked);
    int rc = json_object_update(table, more) ? -ENOMEM : 0;
    json_decref(more);
    free(cell);
    return rc;
}
