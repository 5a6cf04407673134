// SPDX-License-Identifier: Apache-2.0
//
// noise: what of a measurement may be relied on. The rest is shown, marked as noisy, and left out of everything that is said of it.
//
// A machine on which others are at work slows some contenders down and others not, and an interval does not say so: it tells what
// other rounds of this hour would have shown, not what a quiet machine would. So three things make a row or a ratio noisy, and each
// sees what the others miss. A process that waited for its CPU may have done so in every round alike. Rounds that lie far apart
// have no common time. And a few slow rounds of many leave the spread as it is, but not the interval.
//
// What is noisy may still have been the fastest. So the first of several is known only if no noisy one can have been before it: as
// far as is known, none is faster than in the best of the rounds in which it had its CPU.
#include <math.h>
#include <stdlib.h>

#include "testbed/measure/contender.h"
#include "testbed/judge/board.h"

// Of the time of a process. On two virtual Zen 5 CPUs that nobody else used the median process waited for 0 to 1.3 % of it, with
// spinning and with sleeping workers; beside one endless loop on each, for 80 to 200 % (threads are added up).
#define WAITED_SHARE_MAX 0.05
// Of the rounds. Hodges and Lehmann's estimate goes wherever one will when 29 % of its pairs are off.
#define WAITED_ROUNDS_MAX 0.25
// Median absolute deviation over median: half of the rounds are farther off than that. On the same quiet CPUs 0.5 to 5 %. On two
// of an Emerald Rapids host whose memory others load, 3 to 26 %: there three runs in a row agreed within their intervals up to 20
// %, but for one ratio of a process that had waited, and for dpdk-ring, whose rounds lay 9 to 26 % apart and which differed by a
// third.
#define SPREAD_MAX 0.20
// High end over low end. Twenty quiet rounds have 1.02 to 1.12; "2 to 3 times faster" is no answer to "how much?".
#define INTERVAL_WIDTH_MAX 1.5

bool tb_waited(const struct tb_sample *sample)
{
    return sample->watched_ns > 0 && (double)sample->waited_ns > WAITED_SHARE_MAX * (double)sample->watched_ns;
}

enum tb_noise tb_noise_of(const struct tb_row *row, int op)
{
    double median = op == TB_LAP ? row->ns_median : row->bench_ns[op], mad = op == TB_LAP ? row->ns_mad : row->bench_mad[op];
    return row->rounds_waited > WAITED_ROUNDS_MAX ? TB_NOISE_WAITED : mad > SPREAD_MAX * median ? TB_NOISE_SPREAD : TB_NOISE_NONE;
}

bool tb_interval_wide(const struct tb_ratio *ratio)
{
    return ratio->bounded && ratio->high > INTERVAL_WIDTH_MAX * ratio->low;
}

bool tb_rounds_few(const struct tb_rounds *rounds)
{
    double achieved;
    size_t k;
    return tb_signed_rank_k(rounds->count, TB_CONFIDENCE, &k, &achieved) || k == 0;
}

// --- how small a difference can be seen ---

// The farthest that an interval's ends are from 1: half its width and how far its centre is off, together.
static double reach(const struct tb_ratio *ratio)
{
    return ratio->bounded ? fmax(fabs(ratio->high - 1), fabs(1 - ratio->low)) : INFINITY;
}

double tb_resolution(const struct tb_rounds *rounds, uint32_t cell, int op)
{
    double worst = -1;
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
        struct tb_ratio ratio;
        if (tb_pair_ratio(rounds, cell, (int)arm, op, tb_twin(rounds, arm), op, &ratio))
            worst = fmax(worst, reach(&ratio));
    }
    return worst;
}

double tb_rounds_resolution(const struct tb_rounds *rounds, uint32_t cell)
{
    double worst = -1;
    if (!rounds->bench)
        return tb_resolution(rounds, cell, TB_LAP);
    for (int op = 0; op < TB_BENCH_COUNT; op++)
        worst = fmax(worst, tb_resolution(rounds, cell, op));
    return worst;
}

int tb_visible(const struct tb_ratio *ratio, double resolution)
{
    double size = fmax(ratio->estimate, 1 / ratio->estimate) - 1;
    if (!ratio->bounded || (isfinite(resolution) && size <= resolution))
        return 0;
    return ratio->low > 1 ? 1 : ratio->high < 1 ? -1 : 0;
}

// Where a control does not agree with itself, "no difference" says more than is known.
static bool controls_noisy(const struct tb_rounds *rounds, uint32_t cell, int op)
{
    bool noisy = false;
    for (uint32_t arm = 0; arm < rounds->arms_count && !noisy; arm++) {
        struct tb_ratio ratio;
        struct tb_row row, twin_row;
        int twin = tb_twin(rounds, arm);
        if (!tb_pair_ratio(rounds, cell, (int)arm, op, twin, op, &ratio))
            continue;
        tb_row_alone(rounds, cell, arm, &row);
        tb_row_alone(rounds, cell, (uint32_t)twin, &twin_row);
        noisy = tb_noise_of(&row, op) || tb_noise_of(&twin_row, op) || tb_interval_wide(&ratio);
    }
    return noisy;
}

enum tb_told tb_pair_tell(const struct tb_rounds *rounds, uint32_t cell, int over, int over_op, int under, int under_op,
                          struct tb_ratio *out)
{
    struct tb_row first, second;
    if (!tb_pair_ratio(rounds, cell, over, over_op, under, under_op, out))
        return TB_TOLD_ABSENT;
    if (!out->bounded)
        return TB_TOLD_FEW;
    tb_row_alone(rounds, cell, (uint32_t)over, &first);
    tb_row_alone(rounds, cell, (uint32_t)under, &second);
    if (tb_noise_of(&first, over_op) || tb_noise_of(&second, under_op) || tb_interval_wide(out))
        return TB_TOLD_NOISY;
    double resolution = tb_resolution(rounds, cell, under_op);
    if (over_op != under_op)
        resolution = fmax(resolution, tb_resolution(rounds, cell, over_op));
    int side = tb_visible(out, resolution);
    if (side == 0 && (controls_noisy(rounds, cell, under_op) || controls_noisy(rounds, cell, over_op)))
        return TB_TOLD_BLIND;
    return side > 0 ? TB_TOLD_ABOVE : side < 0 ? TB_TOLD_BELOW : TB_TOLD_SAME;
}

// --- the first of several ---

// The best of the rounds in which the arm had its CPU; 0 when it had it in none, so that nothing is known of it.
static double fastest_round(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, int op)
{
    double *ns = tb_times(rounds, cell, arm, op), fastest = INFINITY;
    for (uint32_t round = 0; ns && round < rounds->count; round++)
        if (!tb_waited(tb_rounds_sample(rounds, cell, arm, round)))
            fastest = fmin(fastest, ns[round]);
    free(ns);
    return isfinite(fastest) ? fastest : 0;
}

struct tb_fastest tb_fastest(const struct tb_rounds *rounds, uint32_t cell, int op, bool (*among)(const struct tb_arm *))
{
    struct tb_fastest out = {-1, -1};
    bool noisy[TB_ARMS_MAX] = {false};
    double best_ns = INFINITY;
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
        struct tb_row row;
        tb_row_alone(rounds, cell, arm, &row);
        double ns = op == TB_LAP ? row.ns_median : row.bench_ns[op];
        if (!among(row.arm) || tb_twin(rounds, arm) >= 0 || !row.valid || !(ns > 0))
            continue;
        noisy[arm] = tb_noise_of(&row, op) != TB_NOISE_NONE;
        if (!noisy[arm] && ns < best_ns) {
            out.arm = (int)arm;
            best_ns = ns;
        }
    }
    for (uint32_t arm = 0; arm < rounds->arms_count && out.rival < 0; arm++)
        if (noisy[arm] && fastest_round(rounds, cell, arm, op) < best_ns)
            out.rival = (int)arm;
    return out;
}

bool tb_is_malloc(const struct tb_arm *arm)
{
    return arm->contender->is_malloc && arm->fault == TB_FAULT_NONE;
}

struct tb_fastest tb_best_malloc(const struct tb_rounds *rounds, uint32_t cell, int op)
{
    return tb_fastest(rounds, cell, op, tb_is_malloc);
}
