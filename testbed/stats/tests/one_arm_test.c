// SPDX-License-Identifier: Apache-2.0
//
// one_arm: medians, outliers, tails, equivalence and spread, against R's binomial quantiles, enumeration and simulation.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "testbed/stats/stats.h"

#define NEAR(actual, expected, tolerance)                                                                                          \
    cr_assert(fabs((actual) - (expected)) <= (tolerance), "%s is %.12g, not %.12g", #actual, (double)(actual), (double)(expected))

static double uniform(uint64_t *state) // splitmix64, in (0, 1)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 12) + 0.5) / 4503599627370496.0;
}

// --- sign interval -------------------------------------------------------------------------------------------------------------

Test(one_arm, sign_interval_has_the_critical_values_of_r)
{
    void *rmath = dlopen("libRmath.so.1", RTLD_NOW);
    if (!rmath)
        cr_skip_test("needs libRmath.so.1 (package r-mathlib)");
    double (*qbinom)(double, double, double, int, int) = (double (*)(double, double, double, int, int))dlsym(rmath, "qbinom");
    double (*pbinom)(double, double, double, int, int) = (double (*)(double, double, double, int, int))dlsym(rmath, "pbinom");
    cr_assert(qbinom && pbinom);
    const double confidences[] = {0.90, 0.95, 0.975, 0.99, 0.999};
    for (size_t n = 1; n <= 200; n++) {
        for (size_t c = 0; c < sizeof confidences / sizeof *confidences; c++) {
            double achieved;
            size_t k = tb_sign_k(n, confidences[c], &achieved);
            cr_assert_eq(k, (size_t)qbinom((1 - confidences[c]) / 2, (double)n, 0.5, 1, 0), "n = %zu, %g", n, confidences[c]);
            if (k > 0)
                NEAR(achieved, 1 - 2 * pbinom((double)k - 1, (double)n, 0.5, 1, 0), 1e-11);
            else
                NEAR(achieved, 0, 0);
        }
    }
    dlclose(rmath);
}

Test(one_arm, sign_interval_of_a_median_says_what_it_reaches)
{
    const double values[] = {7, 1, 5, 3, 9, 2, 8, 4, 6, 10};
    struct tb_ratio median;
    cr_assert_eq(tb_median_sign(values, 10, 0.95, &median), 0);
    NEAR(median.estimate, 5.5, 0);
    NEAR(median.low, 2, 0); // the second smallest and largest: 1 - 2 (1 + 10) / 1024
    NEAR(median.high, 9, 0);
    NEAR(median.confidence, 1 - 22.0 / 1024, 1e-12);
    cr_assert(median.bounded && median.n == 10);
    cr_assert_eq(tb_median_sign(values, 5, 0.95, &median), 0);
    cr_assert(!median.bounded && isinf(median.low) && isinf(median.high) && median.low < 0 && median.confidence == 0);
    NEAR(median.estimate, 5, 0);
}

Test(one_arm, sign_ratio_is_that_of_the_logs)
{
    double a[11], b[11], ratios[11];
    uint64_t state = 3;
    for (size_t i = 0; i < 11; i++) {
        a[i] = 100 * (1 + uniform(&state));
        ratios[i] = 1 + uniform(&state);
        b[i] = a[i] * ratios[i];
    }
    struct tb_ratio ratio;
    struct tb_ratio plain;
    cr_assert_eq(tb_ratio_sign(a, b, 11, 0.95, &ratio), 0);
    cr_assert_eq(tb_median_sign(ratios, 11, 0.95, &plain), 0);
    NEAR(ratio.estimate, plain.estimate, 1e-12);
    NEAR(ratio.low, plain.low, 1e-12);
    NEAR(ratio.high, plain.high, 1e-12);
    NEAR(ratio.confidence, plain.confidence, 0);
    cr_assert_eq(tb_ratio_sign(a, b, 5, 0.95, &ratio), 0);
    cr_assert(!ratio.bounded && ratio.low == 0 && isinf(ratio.high));
}

Test(one_arm, sign_interval_covers_a_skewed_median_under_drift)
{
    uint64_t state = 20260801;
    const int trials = 4000;
    int covered = 0;
    for (int trial = 0; trial < trials; trial++) {
        double a[20], b[20];
        for (int i = 0; i < 20; i++) {
            double drift = 1 + 0.05 * i / 19;
            a[i] = 100 * drift;
            b[i] = 110 * drift * (0.98 - 0.02 * log(uniform(&state)) / log(2)); // exponential, its median moved to 1
        }
        struct tb_ratio ratio;
        cr_assert_eq(tb_ratio_sign(a, b, 20, 0.95, &ratio), 0);
        covered += ratio.low < 1.10 && 1.10 < ratio.high;
    }
    double share = (double)covered / trials; // 95.86 % by the binomial
    cr_assert(share > 0.945 && share < 0.97, "covered in %.2f %% of the trials", 100 * share);
}

// --- bootstrap -----------------------------------------------------------------------------------------------------------------

// The bootstrap distribution of the median of three is known: its values are the three, with 7, 13 and 7 of 27.
Test(one_arm, bootstrap_has_the_quantiles_of_all_resamples)
{
    const double values[] = {30, 10, 20};
    struct tb_ratio median;
    cr_assert_eq(tb_median_bootstrap(values, 3, 0.95, 1, &median), 0);
    NEAR(median.estimate, 20, 0);
    NEAR(median.low, 10, 0);
    NEAR(median.high, 30, 0);
    cr_assert_eq(tb_median_bootstrap(values, 3, 0.60, 1, &median), 0); // 7 of 27 are 26 %, on either side
    cr_assert(median.low == 10 && median.high == 30);
    cr_assert_eq(tb_median_bootstrap(values, 3, 0.40, 1, &median), 0); // 13 of 27 are 48 %
    NEAR(median.low, 20, 0);
    NEAR(median.high, 20, 0);
    NEAR(median.confidence, 0.40, 0);
}

Test(one_arm, bootstrap_is_as_wide_as_the_median_wavers)
{
    const int trials = 200;
    uint64_t state = 5;
    int covered = 0;
    for (int trial = 0; trial < trials; trial++) {
        double values[30];
        struct tb_ratio median;
        for (size_t i = 0; i < 30; i++)
            values[i] = uniform(&state);
        cr_assert_eq(tb_median_bootstrap(values, 30, 0.95, (uint64_t)trial, &median), 0);
        covered += median.low < 0.5 && 0.5 < median.high;
    }
    cr_assert(covered >= 180 && covered <= 198, "covered in %d of %d", covered, trials);
}

Test(one_arm, bootstrap_repeats_with_its_seed_and_differs_with_another)
{
    double values[30];
    uint64_t state = 11;
    struct tb_ratio first, again, other;
    for (size_t i = 0; i < 30; i++)
        values[i] = uniform(&state);
    cr_assert_eq(tb_median_bootstrap(values, 30, 0.95, 7, &first), 0);
    cr_assert_eq(tb_median_bootstrap(values, 30, 0.95, 7, &again), 0);
    cr_assert_eq(tb_median_bootstrap(values, 30, 0.80, 8, &other), 0);
    cr_assert(first.low == again.low && first.high == again.high);
    cr_assert(other.low > first.low && other.high < first.high);
}

// --- outliers and tails --------------------------------------------------------------------------------------------------------

// Of 0..8 the quartiles are 2 and 6: mild beyond 6 + 6 and 2 - 6, severe beyond 6 + 12 and 2 - 12. An end moves neither.
Test(one_arm, outliers_are_counted_beyond_the_fences_and_not_on_them)
{
    static const struct {
        double top;
        size_t mild, severe;
    } cases[] = {{12, 0, 0}, {12.001, 1, 0}, {18, 1, 0}, {18.001, 0, 1}, {1e9, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double upper[] = {4, 0, 1, 7, cases[i].top, 3, 2, 6, 5}, lower[9];
        struct tb_outliers up, down;
        for (size_t k = 0; k < 9; k++)
            lower[k] = 8 - upper[k];
        cr_assert_eq(tb_outliers(upper, 9, &up), 0);
        cr_assert_eq(tb_outliers(lower, 9, &down), 0);
        cr_expect(up.mild == cases[i].mild && up.severe == cases[i].severe, "top %g: %zu, %zu", cases[i].top, up.mild, up.severe);
        cr_expect(down.mild == cases[i].mild && down.severe == cases[i].severe, "bottom %g", 8 - cases[i].top);
        cr_expect(upper[4] == cases[i].top, "it was dropped");
    }
}

// --- comparisons ---------------------------------------------------------------------------------------------------------------

Test(one_arm, equivalence_is_an_interval_inside_the_margin)
{
    struct tb_ratio ratio = {.estimate = 1, .low = 1 / 1.02, .high = 1.02, .bounded = true};
    cr_assert(tb_equivalent(&ratio, 0.02));
    cr_assert(!tb_equivalent(&ratio, 0.0199) && !tb_equivalent(&ratio, 0));
    ratio.low = 0.9803;
    cr_assert(!tb_equivalent(&ratio, 0.02));
    ratio = (struct tb_ratio){.low = 0, .high = INFINITY};
    cr_assert(!tb_equivalent(&ratio, 1e9));
}

Test(one_arm, spread_is_that_of_the_pairs)
{
    const double a[] = {100, 200, 400, 800}, b[] = {100 * exp(0.1), 200 * exp(0.2), 400 * exp(0.3), 800 * exp(0.8)};
    struct tb_spread spread;
    cr_assert_eq(tb_spread(a, b, 4, &spread), 0);
    NEAR(spread.sd, sqrt((0.0625 + 0.0225 + 0.0025 + 0.2025) / 3), 1e-12); // about their mean, 0.35
    NEAR(spread.extreme, 0.55, 1e-12);                                     // from their median, 0.25
    cr_assert_eq(tb_spread(a, b, 1, &spread), 0);
    cr_assert(isnan(spread.sd) && spread.extreme == 0);
}

Test(one_arm, nothing_is_made_of_nothing_and_of_the_unknown)
{
    const double good[] = {1, 2, 3, 4, 5, 6, 7}, unknown[] = {1, 2, NAN, 4, 5, 6, 7}, zero[] = {1, 2, 0, 4, 5, 6, 7};
    struct tb_ratio interval;
    struct tb_ratio ratio;
    struct tb_outliers outliers;
    struct tb_spread spread;
    cr_assert_eq(tb_median_sign(unknown, 7, 0.95, &interval), -EINVAL);
    cr_assert_eq(tb_median_sign(good, 0, 0.95, &interval), -EINVAL);
    cr_assert_eq(tb_median_sign(good, 7, 1, &interval), -EINVAL);
    cr_assert_eq(tb_median_bootstrap(unknown, 7, 0.95, 1, &interval), -EINVAL);
    cr_assert_eq(tb_median_bootstrap(good, 0, 0.95, 1, &interval), -EINVAL);
    cr_assert_eq(tb_median_bootstrap(good, 7, 0, 1, &interval), -EINVAL);
    cr_assert_eq(tb_outliers(unknown, 7, &outliers), -EINVAL);
    cr_assert_eq(tb_outliers(good, 0, &outliers), -EINVAL);
    cr_assert_eq(tb_ratio_sign(good, zero, 7, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio_sign(good, good, 0, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_spread(zero, good, 7, &spread), -EINVAL);
    cr_assert_eq(tb_spread(good, good, 0, &spread), -EINVAL);
}
