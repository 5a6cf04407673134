// SPDX-License-Identifier: Apache-2.0
//
// simulation: how often the rules of judgement are wrong, where the truth is known because it was drawn.
//
// Each trial draws the rounds of a pair of arms: a common factor that drifts, and noise of each arm, a tenth of whose processes
// are slow ones. The counts asserted are binomial: their bounds are wide enough that a correct rule fails one seed in
// thousands, and the seed is fixed.
#include "testbed/judge/figure.h"

#include <criterion/criterion.h>
#include <math.h>

#include "placement/base/tests/sanitized.h"
#include "testbed/stats/looks.h"
#include "testbed/stats/random.h"
#include "testbed/stats/stats.h"

#define TRIALS 1000u
#define ROUNDS_MAX 240u

// The other tests of this room call the same functions; so many trials would show a sanitizer nothing new, in most of a minute.
#ifdef SANITIZED
TestSuite(simulation, .disabled = true);
#endif

struct truth {
    double ratio, noise;        // of the arms; sd of the logarithm of one process
    double step;                // the ratio is that many times as large in the second half
};

static double uniform(uint64_t *seed)
{
    return ((double)(tb_random_next(seed) >> 11) + 0.5) / 9007199254740992.0;
}

// Normal by Box and Muller; a tenth of the processes are slow ones, by an exponential time.
static double process_noise(uint64_t *seed, double sd)
{
    double normal = sqrt(-2 * log(uniform(seed))) * cos(2 * M_PI * uniform(seed));
    return sd * normal + (uniform(seed) < 0.1 ? -2 * sd * log(uniform(seed)) : 0);
}

static void draw(const struct truth *truth, size_t n, uint64_t *seed, double over[], double under[])
{
    for (size_t i = 0; i < n; i++) {
        double host = 1 + 0.05 * (double)i / (double)n; // pairing removes it
        double ratio = truth->ratio * (i >= n / 2 && truth->step > 0 ? truth->step : 1);
        under[i] = 1000 * host * exp(process_noise(seed, truth->noise));
        over[i] = 1000 * host * ratio * exp(process_noise(seed, truth->noise));
    }
}

// A claim judged on n rounds.
static struct tb_part judged(const struct tb_prediction *claim, double over[], double under[], size_t n, double confidence)
{
    struct tb_pair pair = {.over = over, .under = under, .n = n};
    struct tb_part part = {.figure = {.confidence = confidence}};
    cr_assert_eq(tb_figure_estimate(TB_STAT_HL_RATIO, 2, &pair, confidence, &part.figure), 0);
    tb_part_judge(claim, &part);
    return part;
}

struct outcome {
    unsigned covered, unstable, drifted, of[TB_VERDICT_COUNT];
};

static struct outcome simulate(const struct truth *truth, const struct tb_prediction *claim, size_t n, uint64_t seed)
{
    double over[ROUNDS_MAX], under[ROUNDS_MAX];
    struct outcome out = {0};
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        draw(truth, n, &seed, over, under);
        struct tb_part part = judged(claim, over, under, n, 0.95);
        out.covered += part.figure.seen.low <= truth->ratio && truth->ratio <= part.figure.seen.high;
        out.drifted += part.figure.drifted;
        out.of[part.verdict]++;
    }
    return out;
}

static struct tb_prediction at_least(double value)
{
    return (struct tb_prediction){.metric = "time_ns", .stat = TB_STAT_HL_RATIO, .op = TB_CLAIM_GE, .low = value};
}

static double percent(unsigned count)
{
    return 100.0 * count / TRIALS;
}

Test(simulation, intervals_cover_and_noise_is_not_unstable)
{
    static const size_t rounds[] = {20, 30, 60};
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        const struct truth truth = {.ratio = 1.1, .noise = 0.09}; // the A/A sd of one of our hosts
        const struct tb_prediction on_the_threshold = at_least(1.1); // where halves lie on two sides most easily
        struct outcome seen = simulate(&truth, &on_the_threshold, rounds[i], 11 + i);
        cr_log_info("%zu rounds: coverage %.1f %%, drifted %.1f %%, unstable %.1f %%\n", rounds[i], percent(seen.covered),
                    percent(seen.drifted), percent(seen.of[TB_VERDICT_UNSTABLE]));
        cr_expect(percent(seen.covered) >= 93 && percent(seen.covered) <= 97, "%.1f %%", percent(seen.covered));
        cr_expect(percent(seen.of[TB_VERDICT_UNSTABLE]) <= 5, "%.1f %%", percent(seen.of[TB_VERDICT_UNSTABLE]));
        cr_expect(percent(seen.of[TB_VERDICT_SURVIVED] + seen.of[TB_VERDICT_FALSIFIED]) <= 6, "wrong either way");
    }
}

// The power of the rule for stability: a step of 5 % half-way, with the threshold in its middle, on hosts of three sorts.
Test(simulation, a_drift_of_five_percent_is_seen)
{
    static const struct {
        double noise;
        size_t rounds;
        double least;
    } hosts[] = {{0.005, 30, 99}, {0.02, 30, 90}, {0.02, 120, 99}};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        const struct truth truth = {.ratio = 1.0, .noise = hosts[i].noise, .step = 1.05};
        const struct tb_prediction between = at_least(1.025);
        struct outcome seen = simulate(&truth, &between, hosts[i].rounds, 21 + i);
        cr_log_info("noise %.3f, %zu rounds: unstable %.1f %%\n", hosts[i].noise, hosts[i].rounds,
                    percent(seen.of[TB_VERDICT_UNSTABLE]));
        cr_expect(percent(seen.of[TB_VERDICT_UNSTABLE]) >= hosts[i].least, "%.1f %%", percent(seen.of[TB_VERDICT_UNSTABLE]));
    }
}

// With both halves on one side of a claim a drift does not hide it.
Test(simulation, a_drift_far_from_the_threshold_leaves_the_verdict)
{
    const struct truth truth = {.ratio = 1.4, .noise = 0.01, .step = 1.05};
    const struct tb_prediction far = at_least(1.25);
    struct outcome seen = simulate(&truth, &far, 30, 31);
    cr_expect(percent(seen.drifted) > 99 && percent(seen.of[TB_VERDICT_SURVIVED]) > 99, "%.1f %% survived",
              percent(seen.of[TB_VERDICT_SURVIVED]));
}

// A zone decides what sits on its threshold, once the interval is narrower than the zone.
Test(simulation, a_zone_decides_what_sits_on_its_threshold)
{
    const struct truth truth = {.ratio = 1.0, .noise = 0.02};
    struct tb_prediction claim = at_least(1.0);
    struct outcome without = simulate(&truth, &claim, 60, 41);
    claim.zone = 0.97;
    struct outcome with = simulate(&truth, &claim, 60, 41);
    cr_log_info("open on the threshold: %.1f %% without a zone, %.1f %% with\n", percent(without.of[TB_VERDICT_INCONCLUSIVE]),
                percent(with.of[TB_VERDICT_INCONCLUSIVE]));
    cr_expect(percent(without.of[TB_VERDICT_INCONCLUSIVE]) > 80);
    cr_expect(percent(with.of[TB_VERDICT_INCONCLUSIVE] + with.of[TB_VERDICT_UNSTABLE]) < 10);
    cr_expect_eq(with.of[TB_VERDICT_FALSIFIED], 0);
}

// Rounds until decided: all looks together are as often wrong as one look alone may be, and what is plain ends early.
Test(simulation, all_looks_together_cover)
{
    const struct truth truth = {.ratio = 1.1, .noise = 0.05};
    const struct tb_prediction on_the_threshold = at_least(1.1), plain = at_least(1.0);
    uint64_t looks[TB_LOOKS_MAX], seed = 51;
    size_t count = tb_looks(30, ROUNDS_MAX, looks);
    double over[ROUNDS_MAX], under[ROUNDS_MAX];
    unsigned covered = 0, wrong = 0, early = 0, trials = TRIALS / 4;
    for (unsigned trial = 0; trial < trials; trial++) {
        bool all = true, decided = false;
        draw(&truth, ROUNDS_MAX, &seed, over, under);
        for (size_t look = 0; look < count; look++) {
            double confidence = tb_look_confidence(0.95, looks, count, look);
            struct tb_part part = judged(&on_the_threshold, over, under, looks[look], confidence);
            all = all && part.figure.seen.low <= truth.ratio && truth.ratio <= part.figure.seen.high;
            decided = decided || part.verdict == TB_VERDICT_SURVIVED || part.verdict == TB_VERDICT_FALSIFIED;
            early += look == 0 && judged(&plain, over, under, looks[look], confidence).verdict == TB_VERDICT_SURVIVED;
        }
        covered += all;
        wrong += decided;
    }
    cr_log_info("looks: coverage %.1f %%, decided wrongly %.1f %%, plain claims decided at the first look %.1f %%\n",
                100.0 * covered / trials, 100.0 * wrong / trials, 100.0 * early / trials);
    cr_expect(covered >= 0.93 * trials);
    cr_expect(wrong <= 0.07 * trials);
    cr_expect(early >= 0.9 * trials);
}
