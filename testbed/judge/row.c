// SPDX-License-Identifier: Apache-2.0
//
// row: from samples to what is shown of an arm in a cell.
//
// Everything that the reports say is worked out here, from the samples alone, so that table, JSON, plot and summary cannot
// contradict each other. A row is valid only if each of its rounds is: one round that lost a block says that the arm does not
// do the work, and how fast it fails to do it is of no interest. For the same reason an arm has no ratio to an invalid one.
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/contender.h"
#include "testbed/judge/board.h"

int tb_rounds_arm(const struct tb_rounds *rounds, const char *label)
{
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        if (strcmp(rounds->arms[arm].label, label) == 0)
            return (int)arm;
    return -1;
}

void tb_base_name(const struct tb_arm *arm, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)tb_twin_mark(arm->label), arm->label);
    char *fault = arm->fault == TB_FAULT_NONE ? NULL : strrchr(out, '@');
    if (fault)
        *fault = '\0';
}

int tb_twin(const struct tb_rounds *rounds, uint32_t arm)
{
    const char *label = rounds->arms[arm].label;
    char base[sizeof rounds->arms[arm].label];
    size_t mark = tb_twin_mark(label);
    if (label[mark] == '\0')
        return -1;
    snprintf(base, sizeof base, "%.*s", (int)mark, label);
    return tb_rounds_arm(rounds, base);
}

// The first round that failed, in words.
static bool first_failure(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, char *out, size_t size)
{
    for (uint32_t round = 0; round < rounds->count; round++) {
        const struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        if (sample->ran && sample->valid)
            continue;
        const char *why = sample->invalid[0] ? sample->invalid : sample->ran ? "a gate failed" : "it did not run to its end";
        snprintf(out, size, "%s (round %" PRIu32 ")", why, round + 1);
        return true;
    }
    if (rounds->count == 0)
        snprintf(out, size, "no round was run");
    return rounds->count == 0;
}

static double sample_ns(const struct tb_sample *sample, int op)
{
    return op < 0 ? sample->lap_ns : sample->bench_ns[op];
}

double *tb_times(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, int op)
{
    double *ns = malloc((rounds->count + (size_t)1) * sizeof *ns);
    for (uint32_t round = 0; ns && round < rounds->count; round++)
        ns[round] = sample_ns(tb_rounds_sample(rounds, cell, arm, round), op);
    return ns;
}

bool tb_pair_ratio(const struct tb_rounds *rounds, uint32_t cell, int over, int over_op, int under, int under_op,
                   struct tb_ratio *out)
{
    char why[224];
    if (over < 0 || under < 0 || first_failure(rounds, cell, (uint32_t)over, why, sizeof why) ||
        first_failure(rounds, cell, (uint32_t)under, why, sizeof why))
        return false;
    double *numerator = tb_times(rounds, cell, (uint32_t)over, over_op);
    double *denominator = tb_times(rounds, cell, (uint32_t)under, under_op);
    bool known = numerator && denominator && tb_ratio(denominator, numerator, rounds->count, TB_CONFIDENCE, out) == 0;
    free(numerator);
    free(denominator);
    return known;
}

static void fill_times(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, struct tb_row *row)
{
    double *ns = tb_times(rounds, cell, arm, TB_LAP);
    row->ns_median = ns ? tb_median(ns, rounds->count) : NAN;
    row->ns_mad = ns ? tb_mad(ns, rounds->count) : NAN;
    free(ns);
    row->ns_min = NAN;
    for (uint32_t round = 0; round < rounds->count; round++) {
        const struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        if (sample->ran)
            row->ns_min = fmin(row->ns_min, sample->lap_ns_min); // fmin skips a NAN
    }
    for (int op = 0; rounds->bench && op < TB_BENCH_COUNT; op++) {
        ns = tb_times(rounds, cell, arm, op);
        row->bench_ns[op] = ns ? tb_median(ns, rounds->count) : NAN;
        row->bench_mad[op] = ns ? tb_mad(ns, rounds->count) : NAN;
        free(ns);
    }
}

static void fill_waits(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, struct tb_row *row)
{
    uint32_t watched = 0, waited = 0;
    for (uint32_t round = 0; round < rounds->count; round++) {
        const struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        watched += sample->watched_ns > 0;
        waited += tb_waited(sample);
    }
    row->rounds_waited = watched ? (double)waited / rounds->count : NAN;
}

static void fill_footprint(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, struct tb_row *row)
{
    const struct tb_schedule *schedule = rounds->cells[cell].schedule;
    double peak = schedule && schedule->blocks_peak > 0 ? schedule->blocks_peak : NAN;
    uint32_t outstanding = 0, distinct = 0;
    double sum = 0, adjacency = NAN;
    for (uint32_t round = 0; round < rounds->count; round++) {
        const struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        outstanding = sample->outstanding_high > outstanding ? sample->outstanding_high : outstanding;
        distinct = sample->distinct > distinct ? sample->distinct : distinct;
        sum += sample->outstanding_high;
        if (sample->adjacency_known)
            adjacency = fmin(adjacency, sample->adjacency); // not of a NAN
    }
    row->outstanding_ratio = outstanding / peak;
    row->outstanding_ratio_mean = sum / rounds->count / peak;
    row->distinct_ratio = distinct / peak;
    row->adjacency = adjacency;
}

// A block of a bulk allocation and a block of a single one do the same for their caller, so both are held against the
// base's allocation. A push has no counterpart: a malloc's user has nothing to push.
const int tb_bench_counterpart[TB_BENCH_COUNT] = {
    [TB_BENCH_ALLOC] = TB_BENCH_ALLOC, [TB_BENCH_BULK] = TB_BENCH_ALLOC, [TB_BENCH_PUSH] = -1, [TB_BENCH_FREE] = TB_BENCH_FREE};

void tb_row_alone(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, struct tb_row *out)
{
    *out = (struct tb_row){.arm = &rounds->arms[arm]};
    out->valid = !first_failure(rounds, cell, arm, out->invalid, sizeof out->invalid);
    for (uint32_t round = 0; round < rounds->count && !out->version[0]; round++)
        memcpy(out->version, tb_rounds_sample(rounds, cell, arm, round)->version, sizeof out->version);
    fill_times(rounds, cell, arm, out);
    fill_waits(rounds, cell, arm, out);
    fill_footprint(rounds, cell, arm, out);
    out->noise = tb_noise_of(out, TB_LAP);
    for (int op = 0; op < TB_BENCH_COUNT; op++)
        out->bench_noise[op] = tb_noise_of(out, op);
}

// An interval is as wide as both its arms make it; which of the two it was is not asked.
static void fill_vs_base(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, struct tb_row *row)
{
    struct tb_row base_row;
    int base = tb_rounds_arm(rounds, "mimalloc");
    row->has_vs_base = tb_pair_ratio(rounds, cell, base, TB_LAP, (int)arm, TB_LAP, &row->vs_base);
    if (base < 0)
        return;
    tb_row_alone(rounds, cell, (uint32_t)base, &base_row);
    if (row->has_vs_base && !row->noise && !base_row.noise && tb_interval_wide(&row->vs_base))
        row->noise = TB_NOISE_INTERVAL;
    for (int op = 0; rounds->bench && op < TB_BENCH_COUNT; op++) {
        int counterpart = tb_bench_counterpart[op];
        struct tb_ratio *ratio = &row->bench_vs_base[op];
        if (counterpart < 0 || !tb_pair_ratio(rounds, cell, base, counterpart, (int)arm, op, ratio))
            continue;
        if (!row->bench_noise[op] && !base_row.bench_noise[counterpart] && tb_interval_wide(ratio))
            row->bench_noise[op] = TB_NOISE_INTERVAL;
    }
}

int tb_floor(const struct tb_rounds *rounds)
{
    int floor = tb_rounds_arm(rounds, "oracle");
    for (uint32_t arm = 0; arm < rounds->arms_count && floor < 0; arm++)
        if (rounds->arms[arm].contender->floor && rounds->arms[arm].fault == TB_FAULT_NONE)
            floor = (int)arm;
    return floor;
}

void tb_rounds_row(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, struct tb_row *out)
{
    struct tb_ratio twin;
    tb_row_alone(rounds, cell, arm, out);
    fill_vs_base(rounds, cell, arm, out);
    out->has_vs_oracle = tb_pair_ratio(rounds, cell, (int)arm, TB_LAP, tb_floor(rounds), TB_LAP, &out->vs_oracle);
    out->has_vs_aa = tb_pair_ratio(rounds, cell, (int)arm, TB_LAP, tb_twin(rounds, arm), TB_LAP, &twin);
}

bool tb_workers_pinned(const struct tb_rounds *rounds)
{
    uint64_t samples = (uint64_t)rounds->cells_count * rounds->arms_count * rounds->count;
    for (uint64_t i = 0; i < samples; i++)
        if (rounds->samples[i].ran && !rounds->samples[i].workers_pinned)
            return false;
    return true;
}

// --- the board ---

struct standing {
    enum tb_place place;
    double ns;
    uint32_t arm;
};

static int compare_standings(const void *left, const void *right)
{
    const struct standing *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->arm < b->arm ? -1 : a->arm > b->arm;
}

static struct standing standing(const struct tb_rounds *rounds, uint32_t arm, const struct tb_row *row)
{
    bool control = tb_twin(rounds, arm) >= 0, harness = row->arm->contender && row->arm->contender->harness;
    double ns = rounds->bench ? row->bench_ns[TB_BENCH_ALLOC] : row->ns_median;
    enum tb_place place = TB_PLACE_RANKED;
    if (!row->valid)
        place = TB_PLACE_INVALID;
    else if (harness)
        place = TB_PLACE_HARNESS;
    else if (control)
        place = TB_PLACE_CONTROL;
    return (struct standing){.place = place, .ns = ns > 0 ? ns : INFINITY, .arm = arm}; // unknown times last, and NAN sorts nowhere
}

void tb_board(const struct tb_rounds *rounds, uint32_t cell, struct tb_board *out)
{
    assert(rounds->arms_count <= TB_ARMS_MAX);
    struct standing standings[TB_ARMS_MAX];
    *out = (struct tb_board){.count = rounds->arms_count};
    out->best = tb_best_malloc(rounds, cell, rounds->bench ? TB_BENCH_ALLOC : TB_LAP);
    for (uint32_t arm = 0; arm < out->count; arm++) {
        struct tb_row row;
        tb_row_alone(rounds, cell, arm, &row);
        standings[arm] = standing(rounds, arm, &row);
    }
    qsort(standings, out->count, sizeof *standings, compare_standings);
    for (uint32_t i = 0; i < out->count; i++) {
        out->place[i] = standings[i].place;
        out->arm[i] = standings[i].arm;
        tb_rounds_row(rounds, cell, standings[i].arm, &out->row[i]);
        tb_pair_ratio(rounds, cell, (int)out->arm[i], TB_LAP, tb_twin(rounds, out->arm[i]), TB_LAP, &out->vs_twin[i]);
    }
}
