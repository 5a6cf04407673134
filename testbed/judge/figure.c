// SPDX-License-Identifier: Apache-2.0
//
// figure: pairs, estimates and claims.
//
// A claim is about a set of numbers: at least T, less than T, between a and b. The figure is an interval (a single point, where
// it is exact). The claim survives when the interval lies inside that set, is refuted when it lies outside, and otherwise the
// run cannot tell. So a run that is too short or too noisy is never counted for or against anybody.
#include "testbed/judge/figure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/postulate/metric.h"
#include "testbed/postulate/sum.h"
#include "testbed/stats/stats.h"

#define BLOCKS_APART_MAX 1.05 // the paper's five percent
#define BOOTSTRAP_SEED 1 // the same log gives the same summary

// The largest and the smallest of the rounds are what they are; so is everything about a count. A ratio is an estimate, unless
// every round must have the same; and so is the median of what differs from process to process: a time, cycles, cache misses.
bool tb_prediction_exact(const struct tb_prediction *prediction)
{
    const struct tb_metric *metric = tb_metric_find(prediction->metric);
    if (tb_stat_is_ratio(prediction->stat))
        return metric && metric->fixed;
    return prediction->stat != TB_STAT_MEDIAN || !metric || !metric->estimate;
}

// A member of the header's cells[] by "WORKLOAD/TOUCH", or NULL; *index is its place.
static const json_t *cell_find(const struct tb_log_view *view, const char *cell, size_t *index)
{
    size_t i;
    json_t *entry;
    json_array_foreach (json_object_get(view->header, "cells"), i, entry) {
        char name[160];
        if (strcmp(tb_member_cell(entry, name, sizeof name), cell) == 0) {
            *index = i;
            return entry;
        }
    }
    return NULL;
}

// The header's entry of a counter, or NULL.
static const json_t *counter_find(const struct tb_log_view *view, const char *name)
{
    size_t i;
    json_t *entry;
    json_array_foreach (tb_member(view->header, "counters.counters"), i, entry)
        if (strcmp(tb_member_text(entry, "name"), name) == 0)
            return entry;
    return NULL;
}

// What the kernel counts by itself is the same in an emulated machine; what hardware counts is none's.
static bool counter_unmeasurable(const struct tb_log_view *view, const struct tb_metric *metric, char *why, size_t why_bytes)
{
    const char *guest = tb_log_emulated(view);
    const json_t *counter = counter_find(view, metric->counter);
    const char *reason = tb_member_text(counter, "why");
    if (guest && metric->estimate)
        snprintf(why, why_bytes, "the hardware of an emulated machine (%.64s) says nothing about any other", guest);
    else if (!tb_member(view->header, "counters.counters"))
        snprintf(why, why_bytes, "%s: this log has no counters", metric->counter);
    else if (!counter || *reason)
        snprintf(why, why_bytes, "%s: %.180s", metric->counter, counter ? reason : "not supported: this CPU has no such counter");
    else
        return false;
    return true;
}

bool tb_unmeasurable(const struct tb_log_view *view, const struct tb_prediction *prediction, char *why, size_t why_bytes)
{
    const char *guest = tb_log_emulated(view);
    const struct tb_metric *metric = tb_metric_find(prediction->metric);
    if (metric && metric->counter)
        return counter_unmeasurable(view, metric, why, why_bytes);
    if (!guest || !tb_metric_is_time(prediction->metric))
        return false;
    snprintf(why, why_bytes, "the clock of an emulated machine (%.64s) says nothing about hardware", guest);
    return true;
}

// The first sample of the part that is valid and has no value of the metric, or NULL.
static const json_t *sample_without(const struct tb_log_view *view, const struct tb_metric *metric, const struct tb_part *part)
{
    size_t cell = 0;
    cell_find(view, part->cell, &cell);
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *sample = view->samples[i].line;
        const char *arm = tb_member_text(sample, "arm");
        if (!view->samples[i].superseded && (size_t)tb_member_number(sample, "cell") == cell &&
            json_is_true(tb_member(sample, "valid")) &&
            (strcmp(arm, part->over) == 0 || (part->under && strcmp(arm, part->under) == 0)) &&
            !isfinite(tb_log_number(sample, metric->member)))
            return sample;
    }
    return NULL;
}

// Why a round has no value of what is counted, by hardware or by an emulator; false: each has one, or its sample is invalid, which
// its gate says, or the log is of a version that gave no reason.
static bool count_unknown(const struct tb_log_view *view, const struct tb_metric *metric, const struct tb_part *part, char *why,
                          size_t why_bytes)
{
    const json_t *sample = metric->counter || metric->emulated ? sample_without(view, metric, part) : NULL;
    const json_t *counter = tb_member(tb_member(sample, "counters"), metric->counter ? metric->counter : "");
    const char *arm = tb_member_text(sample, "arm"), *name = metric->emulated ? metric->name : metric->counter;
    const char *said = metric->emulated ? tb_member_text(sample, "emulated.why")
                       : counter        ? tb_member_text(counter, "why")
                                        : "not counted";
    double running = tb_member_number(counter, "running_ns"), enabled = tb_member_number(counter, "enabled_ns");
    if (!sample || (metric->emulated && !*said))
        return false;
    if (running < enabled)
        snprintf(why, why_bytes, "multiplexed: in round %.0f of %s in %s the hardware counted %s for %.0f %% of the time",
                 tb_member_number(sample, "round"), arm, part->cell, name, 100 * running / enabled);
    else
        snprintf(why, why_bytes, "round %.0f of %s in %s has no %s (%s)", tb_member_number(sample, "round"), arm, part->cell, name,
                 said);
    return true;
}

// --- pairs ---

void tb_pair_close(struct tb_pair *pair)
{
    free(pair->over);
    free(pair->under);
    free(pair->block);
    *pair = (struct tb_pair){0};
}

// Values of one arm, over `divisor`, and the rounds and blocks that they belong to. (49 * (1 / 49.0) is less than 1.)
static int arm_load(const struct tb_log_view *view, size_t cell, const char *arm, const char *member, double divisor,
                    double **values, double **rounds, double **blocks, size_t *n)
{
    size_t rounds_n = 0, blocks_n = 0;
    int rc = tb_log_values(view, cell, arm, member, values, n);
    if (rc == 0)
        rc = tb_log_values(view, cell, arm, "round", rounds, &rounds_n);
    if (rc == 0)
        rc = tb_log_values(view, cell, arm, "block", blocks, &blocks_n);
    if (rc == 0 && (rounds_n != *n || blocks_n != *n))
        rc = -EINVAL;
    for (size_t i = 0; rc == 0 && i < *n; i++)
        (*values)[i] /= divisor;
    return rc;
}

static bool same_round(double a, double b) // an invalid sample has no number, and is told by its gate
{
    return a == b || isnan(a) || isnan(b);
}

// An arm in a cell, and what its values are divided by there.
struct side {
    size_t cell;
    const char *arm;
    double divisor;
};

// Of the arms' rounds only those of both are a pair; they must be the same ones from the first on.
static int pair_load(const struct tb_log_view *view, const char *member, const struct side *over, const struct side *under,
                     struct tb_pair *out)
{
    double *rounds = NULL, *under_rounds = NULL, *under_blocks = NULL;
    size_t under_n = 0;
    int rc = arm_load(view, over->cell, over->arm, member, over->divisor, &out->over, &rounds, &out->block, &out->n);
    if (rc == 0 && out->n == 0)
        rc = -ENOENT;
    if (rc < 0 || !under->arm)
        goto out;
    rc = arm_load(view, under->cell, under->arm, member, under->divisor, &out->under, &under_rounds, &under_blocks, &under_n);
    if (rc == 0 && under_n != out->n)
        rc = under_n == 0 ? -ENOENT : -ENODATA;
    for (size_t i = 0; rc == 0 && i < out->n; i++)
        if (!same_round(rounds[i], under_rounds[i]) || !same_round(out->block[i], under_blocks[i]))
            rc = -ENODATA;
out:
    free(rounds);
    free(under_rounds);
    free(under_blocks);
    return rc;
}

// Where two arms took turns in one process a turn's ratio says more than that of two medians: it cancels what the host did to
// both. out: time_rel in place of the times. Where both were alone in their processes the times stay. Whoever shares a process
// finds its caches as others left them, so one that was alone looks faster for that reason: -EXDEV, they are no pair.
static int turns_load(const struct tb_log_view *view, size_t cell, const char *over, const char *under, struct tb_pair *out)
{
    double *values[4] = {NULL};
    const char *const members[2] = {"time_rel", "process"};
    size_t n = out->n, shared = 0, together = 0;
    int rc = 0;
    for (int i = 0; i < 4 && rc == 0; i++) {
        rc = tb_log_values(view, cell, i % 2 ? under : over, members[i / 2], &values[i], &n);
        if (rc == 0 && n != out->n)
            rc = -ENODATA;
    }
    for (size_t i = 0; i < out->n && rc == 0; i++) {
        shared += values[0][i] > 0 || values[1][i] > 0;
        together += values[0][i] > 0 && values[1][i] > 0 && values[2][i] == values[3][i];
    }
    if (rc == 0 && together < shared)
        rc = -EXDEV;
    if (rc == 0 && shared > 0 && together == out->n) {
        memcpy(out->over, values[0], out->n * sizeof *out->over);
        memcpy(out->under, values[1], out->n * sizeof *out->under);
    }
    for (int i = 0; i < 4; i++)
        free(values[i]);
    return rc;
}

int tb_pair_load_across(const struct tb_log_view *view, const char *metric, const char *cell, const char *over,
                        const char *cell_under, const char *under, struct tb_pair *out, char *why, size_t why_bytes)
{
    const struct tb_metric *known = tb_metric_find(metric);
    struct side sides[2] = {{.arm = over}, {.arm = under}};
    const json_t *entries[2] = {cell_find(view, cell, &sides[0].cell), cell_find(view, cell_under, &sides[1].cell)};
    *out = (struct tb_pair){0};
    if (!known || !entries[0] || !entries[1]) {
        snprintf(why, why_bytes, known ? "the cell %s was not run" : "there is no metric %s",
                 !known       ? metric
                 : entries[0] ? cell_under
                              : cell);
        return -ENODATA;
    }
    for (int i = 0; i < 2; i++)
        sides[i].divisor = tb_metric_divisor(known, entries[i]);
    int rc = pair_load(view, known->member, &sides[0], &sides[1], out);
    if (rc == 0 && under && sides[0].cell == sides[1].cell && strcmp(known->member, "time_ns") == 0)
        rc = turns_load(view, sides[0].cell, over, under, out);
    if (rc == -EXDEV)
        snprintf(why, why_bytes, "%s and %s in %s did not take turns in one process, and one of them had company", over, under,
                 cell);
    if (rc == -ENODATA)
        snprintf(why, why_bytes, "the rounds of %s and %s in %s do not match", over, under, cell);
    else if (rc == -ENOENT)
        snprintf(why, why_bytes, "arm %s was not run in %s", out->n == 0 ? over : under, out->n == 0 ? cell : cell_under);
    else if (rc == -EINVAL)
        snprintf(why, why_bytes, "the samples of %s in %s cannot be read", over, cell);
    if (rc == 0)
        return 0;
    tb_pair_close(out);
    return rc == -ENOMEM ? rc : -ENODATA;
}

int tb_pair_load(const struct tb_log_view *view, const char *metric, const char *cell, const char *over, const char *under,
                 struct tb_pair *out, char *why, size_t why_bytes)
{
    return tb_pair_load_across(view, metric, cell, over, cell, under, out, why, why_bytes);
}

int tb_part_load(const struct tb_log_view *view, const char *metric, const struct tb_part *part, struct tb_pair *out, char *why,
                 size_t why_bytes)
{
    return tb_pair_load_across(view, metric, part->cell, part->over, part->cell_under ? part->cell_under : part->cell, part->under,
                               out, why, why_bytes);
}

// --- figures ---

// 1 - 2^(1 - n) is the most that n rounds can reach.
static void say_unbounded(struct tb_figure *figure)
{
    size_t n = figure->drifted ? figure->halves[0].n : figure->seen.n;
    snprintf(figure->why, sizeof figure->why, "%s%zu rounds cannot reach a %.4g %% interval, it takes %.0f",
             figure->drifted ? "the halves of the rounds differ, and " : "", n, 100 * figure->confidence,
             ceil(1 - log2(1 - figure->confidence)));
}

// A round without a figure (nothing was counted in it, or nothing to divide by) leaves the whole one unknown: fmax alone would
// pass over it. So do rounds that differ in what must be the same in all.
static void take_exact(const struct tb_prediction *prediction, struct tb_pair *pair, struct tb_figure *figure)
{
    bool ratio = tb_stat_is_ratio(prediction->stat), whole = pair->n > 0, same = true;
    double value = pair->over[0];
    for (size_t i = 0; i < pair->n; i++) {
        same = same && pair->over[i] == pair->over[0] && (!ratio || pair->under[i] == pair->under[0]);
        value = prediction->stat == TB_STAT_MAX ? fmax(value, pair->over[i]) : fmin(value, pair->over[i]);
        whole = whole && isfinite(ratio ? pair->over[i] / pair->under[i] : pair->over[i]);
    }
    if (ratio)
        value = pair->over[0] / pair->under[0];
    else if (prediction->stat == TB_STAT_MEDIAN)
        value = tb_median(pair->over, pair->n);
    figure->known = whole && (same || !tb_metric_find(prediction->metric)->fixed);
    if (whole && !figure->known)
        snprintf(figure->why, sizeof figure->why, "rounds differ in %s, which must be the same in each", prediction->metric);
    if (!figure->known)
        value = NAN;
    figure->seen = (struct tb_ratio){value, value, value, 1, pair->n, figure->known};
    figure->confidence = 1;
}

static int estimate(enum tb_stat stat, const struct tb_pair *pair, double confidence, struct tb_ratio *out)
{
    if (!tb_stat_is_ratio(stat))
        return tb_median_sign(pair->over, pair->n, confidence, out);
    return (stat == TB_STAT_MEDIAN_RATIO ? tb_ratio_sign : tb_ratio)(pair->under, pair->over, pair->n, confidence, out);
}

// --- halves ---
//
// Noise makes the halves of the rounds differ as well, so whether they do is asked of a test, and not of a percentage: unlike
// any threshold it says so of one run in twenty under pure noise, whatever the noise is. What differs is not yet useless: where
// both halves stand on one side of the claim, the interval is widened until it holds those of both.

int tb_drift(enum tb_stat stat, const struct tb_pair *pair, double confidence, bool *drifted, struct tb_ratio halves[2])
{
    size_t first = pair->n / 2, second = pair->n - first;
    bool ratio = tb_stat_is_ratio(stat);
    struct tb_ratio change;
    double *values = first ? malloc(pair->n * sizeof *values) : NULL;
    *drifted = false;
    if (!values)
        return first ? -ENOMEM : 0;
    for (size_t i = 0; i < pair->n; i++)
        values[i] = ratio ? pair->over[i] / pair->under[i] : pair->over[i];
    int rc = tb_ratio_unpaired(values, first, values + first, second, TB_CONFIDENCE, &change);
    free(values);
    *drifted = rc == 0 && change.bounded && (change.low > 1 || change.high < 1);
    for (size_t half = 0; *drifted && rc == 0 && half < 2; half++) {
        size_t begin = half ? first : 0;
        struct tb_pair part = {.over = pair->over + begin, .under = ratio ? pair->under + begin : NULL, .n = half ? second : first};
        rc = estimate(stat, &part, confidence, &halves[half]);
    }
    return rc;
}

static void widen(struct tb_ratio *seen, const struct tb_ratio halves[2])
{
    for (size_t half = 0; half < 2; half++) {
        seen->low = fmin(seen->low, halves[half].low);
        seen->high = fmax(seen->high, halves[half].high);
        seen->bounded = seen->bounded && halves[half].bounded;
    }
}

int tb_figure_estimate(enum tb_stat stat, unsigned rules, const struct tb_pair *pair, double confidence, struct tb_figure *figure)
{
    int rc = estimate(stat, pair, confidence, &figure->seen);
    figure->known = rc == 0;
    if (rc == 0 && rules >= 2)
        rc = tb_drift(stat, pair, confidence, &figure->drifted, figure->halves);
    if (rc == 0 && figure->drifted)
        widen(&figure->seen, figure->halves);
    if (rc == 0 && rules >= 2 && stat == TB_STAT_HL_RATIO)
        rc = tb_ratio_sign(pair->under, pair->over, pair->n, confidence, &figure->sign);
    return rc;
}

// No round has a part in it: n is 0.
static void work_out(const char *sum, struct tb_figure *figure)
{
    double value;
    figure->known = tb_sum(sum, &value, figure->why, sizeof figure->why) == 0;
    if (figure->known)
        figure->seen = (struct tb_ratio){.estimate = value, .low = value, .high = value, .confidence = 1, .bounded = true};
}

int tb_part_measure(const struct tb_log_view *view, const struct tb_prediction *prediction, unsigned rules, double confidence,
                    struct tb_part *part)
{
    struct tb_figure *figure = &part->figure;
    struct tb_pair pair;
    *figure = (struct tb_figure){.seen = {.estimate = NAN, .low = -INFINITY, .high = INFINITY}, .confidence = confidence};
    if (prediction->stat == TB_STAT_SUM) {
        work_out(prediction->sum, figure);
        return 0;
    }
    if (tb_unmeasurable(view, prediction, figure->why, sizeof figure->why))
        return 0;
    if (isnan(confidence)) {
        snprintf(figure->why, sizeof figure->why, "the run ended after a number of rounds at which nobody was to look");
        return 0;
    }
    int rc = tb_part_load(view, prediction->metric, part, &pair, figure->why, sizeof figure->why);
    if (rc < 0)
        return rc == -ENODATA ? 0 : rc;
    figure->seen.n = pair.n;
    if (tb_prediction_exact(prediction))
        take_exact(prediction, &pair, figure);
    else
        rc = tb_figure_estimate(prediction->stat, rules, &pair, confidence, figure);
    tb_pair_close(&pair);
    const struct tb_metric *metric = tb_metric_find(prediction->metric);
    bool said = !figure->known && count_unknown(view, metric, part, figure->why, sizeof figure->why);
    if (!figure->known && !said && !figure->why[0])
        snprintf(figure->why, sizeof figure->why, "a round in %s has no %s to compare", part->cell, prediction->metric);
    else if (figure->known && !figure->seen.bounded)
        say_unbounded(figure);
    return rc == -EINVAL ? 0 : rc;
}

// --- claims ---

// The set that is claimed, as an interval whose ends belong to it or (`open`) do not.
struct claim {
    double from, to;
    bool open;
};

static struct claim claim_of(const struct tb_prediction *p)
{
    switch (p->op) {
    case TB_CLAIM_GE: return (struct claim){p->low, INFINITY, false};
    case TB_CLAIM_GT: return (struct claim){p->low, INFINITY, true};
    case TB_CLAIM_LE: return (struct claim){-INFINITY, p->low, false};
    case TB_CLAIM_LT: return (struct claim){-INFINITY, p->low, true};
    case TB_CLAIM_WITHIN: return (struct claim){p->low, p->high, false};
    case TB_CLAIM_EQ: break;
    }
    return (struct claim){p->low, p->low, false};
}

// A claim that the two are the same, more or less, is not answered by "no difference".
static bool claims_sameness(const struct claim *claim)
{
    return isfinite(claim->from) && isfinite(claim->to) && claim->from <= 1 && claim->to >= 1;
}

// On which side of the claim is a number? 1: within it; -1: beyond it, and beyond the zone of indifference; 0: in that zone.
static int side_of(const struct tb_prediction *prediction, const struct claim *claim, double value)
{
    bool within = claim->open ? value > claim->from && value < claim->to : value >= claim->from && value <= claim->to;
    double zone = prediction->zone;
    bool indifferent = zone > 0 && (zone < prediction->low ? value >= zone : value <= zone);
    return within ? 1 : indifferent ? 0 : -1;
}

// Is an interval inside the claim (1), beyond it (-1), or, where there is a zone, of which it does not hold both ends, in
// between (0)? Otherwise it tells nothing: 2.
static int place_of(const struct tb_prediction *prediction, const struct claim *claim, const struct tb_ratio *seen)
{
    int low = side_of(prediction, claim, seen->low), high = side_of(prediction, claim, seen->high);
    bool outside =
        claim->open ? seen->high <= claim->from || seen->low >= claim->to : seen->high < claim->from || seen->low > claim->to;
    if (low == 1 && high == 1)
        return 1;
    if (prediction->zone > 0)
        return low == -1 && high == -1 ? -1 : low * high == -1 ? 2 : 0;
    return outside ? -1 : 2;
}

static bool contradicts(const struct tb_prediction *prediction, const struct claim *claim, const struct tb_ratio *sign, int place)
{
    return sign->n > 0 && sign->bounded && place * place_of(prediction, claim, sign) == -1;
}

void tb_part_judge(const struct tb_prediction *prediction, struct tb_part *part)
{
    struct tb_figure *figure = &part->figure;
    const struct tb_ratio *seen = &figure->seen;
    struct claim claim = claim_of(prediction);
    bool told = figure->known && seen->bounded;
    int place = told ? place_of(prediction, &claim, seen) : 2;
    part->slack = told ? fmin(seen->low - claim.from, claim.to - seen->high) : -INFINITY;
    part->refuted = place == -1;
    if (figure->drifted &&
        side_of(prediction, &claim, figure->halves[0].estimate) * side_of(prediction, &claim, figure->halves[1].estimate) == -1) {
        part->verdict = TB_VERDICT_UNSTABLE;
        part->refuted = false;
        snprintf(figure->why, sizeof figure->why, "%.4g in the first half of the rounds, %.4g in the second",
                 figure->halves[0].estimate, figure->halves[1].estimate);
    } else if (contradicts(prediction, &claim, &figure->sign, place)) {
        part->verdict = TB_VERDICT_INCONCLUSIVE;
        part->refuted = false;
        snprintf(figure->why, sizeof figure->why, "the sign interval, [%.4g, %.4g], says the opposite", figure->sign.low,
                 figure->sign.high);
    } else if (told && tb_stat_is_ratio(prediction->stat) && !claims_sameness(&claim) && tb_equivalent(seen, prediction->margin)) {
        part->verdict = TB_VERDICT_NO_DIFFERENCE;
    } else {
        part->verdict = place == 1    ? TB_VERDICT_SURVIVED
                        : place == -1 ? TB_VERDICT_FALSIFIED
                        : place == 0  ? TB_VERDICT_IN_BETWEEN
                                      : TB_VERDICT_INCONCLUSIVE;
    }
}

// --- blocks ---

// Estimates of the ratio in each block of rounds: the last one must be within five percent of one before it. (Of two blocks:
// they agree. Of three, the third of which was added because the first two did not: it sides with one of them.)
static bool part_disagrees(const struct tb_prediction *prediction, const struct tb_part *part, const struct tb_pair *pair,
                           char *why, size_t why_bytes)
{
    double nearest = INFINITY, last = NAN, earlier[64];
    size_t blocks = 0;
    for (size_t begin = 0, end; begin < pair->n && blocks < sizeof earlier / sizeof *earlier; begin = end) {
        struct tb_pair block = {.over = pair->over + begin, .under = pair->under + begin};
        struct tb_ratio seen;
        for (end = begin + 1; end < pair->n && pair->block[end] == pair->block[begin]; end++)
            continue;
        block.n = end - begin;
        if (estimate(prediction->stat, &block, 0.5, &seen) < 0)
            return false; // an invalid sample: its gate says so
        last = earlier[blocks++] = seen.estimate;
    }
    for (size_t i = 0; i + 1 < blocks; i++)
        nearest = fmin(nearest, fmax(last / earlier[i], earlier[i] / last));
    if (blocks < 2 || nearest <= BLOCKS_APART_MAX)
        return false;
    snprintf(why, why_bytes, "%s: %s/%s is %.3f in the last of %zu blocks of rounds, %.1f %% from the nearest before it",
             part->cell, part->over, part->under, last, blocks, 100 * (nearest - 1));
    return true;
}

bool tb_blocks_disagree(const struct tb_log_view *view, const struct tb_postulate *postulate,
                        const struct tb_prediction *prediction, char *why, size_t why_bytes)
{
    struct tb_part *parts = NULL;
    size_t count = 0;
    bool found = false;
    if (!tb_stat_is_ratio(prediction->stat) || tb_prediction_exact(prediction) ||
        tb_unmeasurable(view, prediction, why, why_bytes) || tb_parts(postulate, prediction, &parts, &count) < 0)
        return false;
    for (size_t i = 0; i < count && !found; i++) {
        struct tb_pair pair;
        char ignored[200];
        if (tb_part_load(view, prediction->metric, &parts[i], &pair, ignored, sizeof ignored))
            continue;
        found = part_disagrees(prediction, &parts[i], &pair, why, why_bytes);
        tb_pair_close(&pair);
    }
    free(parts);
    return found;
}

// --- what the summary says beside the verdicts -------------------------------------------------------------------------------
//
// An A/A pair shows what the testbed sees where nothing is to be seen. The positive control shows that it sees what is there: an
// arm slowed down on purpose.

// Ratio of two arms' times in a cell. false: there is none (no samples, invalid ones, no memory).
static bool time_ratio(const struct tb_log_view *view, const char *cell, const char *over, const char *under, double confidence,
                       struct tb_ratio *out)
{
    struct tb_pair pair;
    char ignored[200];
    if (tb_pair_load(view, "time_ns", cell, over, under, &pair, ignored, sizeof ignored))
        return false;
    int rc = tb_ratio(pair.under, pair.over, pair.n, confidence, out);
    tb_pair_close(&pair);
    return rc == 0;
}

// The ratio's members, with the cell and "OVER/UNDER".
static json_t *ratio_row(const char *cell, const char *over, const char *under, const struct tb_ratio *ratio)
{
    json_t *row = tb_json_ratio(ratio);
    if (row && json_object_update_new(row, json_pack("{s:s, s:o}", "cell", cell, "arms", json_sprintf("%s/%s", over, under))) == 0)
        return row;
    json_decref(row);
    return NULL;
}

// Of an emulated run none of these tables has anything: they are of time.
static uint32_t cells_timed(const struct tb_log_view *view, const struct tb_postulate *postulate)
{
    return tb_log_emulated(view) ? 0 : postulate->cells_count;
}

json_t *tb_table_aa(const struct tb_log_view *view, const struct tb_postulate *postulate, double confidence)
{
    json_t *rows = json_array();
    for (uint32_t cell = 0; cell < cells_timed(view, postulate); cell++) {
        for (uint32_t second = 1; second < postulate->arms_count; second++) {
            for (uint32_t first = 0; first < second; first++) {
                const struct tb_postulate_arm *over = &postulate->arms[second], *under = &postulate->arms[first];
                struct tb_ratio ratio;
                if (strcmp(over->name, under->name) == 0 &&
                    time_ratio(view, postulate->cells[cell], over->key, under->key, confidence, &ratio))
                    rows = tb_json_appended(rows, ratio_row(postulate->cells[cell], over->key, under->key, &ratio));
            }
        }
    }
    return rows;
}

static json_t *arm_row(const char *cell, const char *arm, const double values[], size_t n)
{
    struct tb_ratio median = {.estimate = NAN, .low = NAN, .high = NAN};
    struct tb_outliers outliers = {0};
    double least = INFINITY;
    bool known =
        tb_median_bootstrap(values, n, TB_CONFIDENCE, BOOTSTRAP_SEED, &median) == 0 && tb_outliers(values, n, &outliers) == 0;
    for (size_t i = 0; i < n; i++)
        least = fmin(least, values[i]);
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cell", cell, "arm", arm, "n", (json_int_t)n, "median",
                     tb_json_number(median.estimate), "low", tb_json_number(median.low), "high", tb_json_number(median.high), "mad",
                     tb_json_number(tb_mad(values, n)), "min", tb_json_number(least), "outliers_mild",
                     known ? json_integer((json_int_t)outliers.mild) : json_null(), "outliers_severe",
                     known ? json_integer((json_int_t)outliers.severe) : json_null());
}

json_t *tb_table_arms(const struct tb_log_view *view, const struct tb_postulate *postulate)
{
    json_t *rows = json_array();
    for (uint32_t cell = 0; cell < cells_timed(view, postulate); cell++) {
        for (uint32_t arm = 0; arm < postulate->arms_count; arm++) {
            struct tb_pair pair;
            char ignored[200];
            const char *key = postulate->arms[arm].key;
            if (tb_pair_load(view, "time_ns", postulate->cells[cell], key, NULL, &pair, ignored, sizeof ignored))
                continue;
            rows = tb_json_appended(rows, arm_row(postulate->cells[cell], key, pair.over, pair.n));
            tb_pair_close(&pair);
        }
    }
    return rows;
}

// "locus@delay:3" and "locus": the arms' places, and the percentage. false: there is no such pair.
static bool control_find(const struct tb_postulate *postulate, uint32_t *slowed, uint32_t *plain, double *percent)
{
    for (*slowed = 0; *slowed < postulate->arms_count; ++*slowed) {
        const char *name = postulate->arms[*slowed].name, *at = strstr(name, "@delay:");
        for (*plain = 0; at && *plain < postulate->arms_count; ++*plain) {
            const char *candidate = postulate->arms[*plain].name;
            if (strlen(candidate) != (size_t)(at - name) || strncmp(candidate, name, strlen(candidate)))
                continue;
            *percent = strtod(at + strlen("@delay:"), NULL);
            return true;
        }
    }
    return false;
}

json_t *tb_table_positive_control(const struct tb_log_view *view, const struct tb_postulate *postulate)
{
    struct tb_ratio least = {.low = INFINITY};
    const char *cell = NULL;
    uint32_t slowed, plain;
    double percent;
    if (tb_log_emulated(view) || !control_find(postulate, &slowed, &plain, &percent))
        return json_null();
    const char *over = postulate->arms[slowed].key, *under = postulate->arms[plain].key;
    for (uint32_t c = 0; c < postulate->cells_count; c++) {
        struct tb_ratio ratio;
        if (!time_ratio(view, postulate->cells[c], over, under, TB_CONFIDENCE, &ratio))
            ratio = (struct tb_ratio){.estimate = NAN, .high = INFINITY}; // no time to compare: not found
        if (!cell || ratio.low < least.low) {
            least = ratio;
            cell = postulate->cells[c];
        }
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "percent", tb_json_number(percent), "arms",
                     json_sprintf("%s/%s", over, under), "cell", json_string(cell), "estimate", tb_json_number(least.estimate),
                     "low", least.bounded ? tb_json_number(least.low) : json_null(), "high", tb_json_number(least.high), "found",
                     cell && least.bounded && least.low > 1);
}
