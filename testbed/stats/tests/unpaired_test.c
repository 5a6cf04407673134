// SPDX-License-Identifier: Apache-2.0
//
// unpaired: against R's rank-sum quantiles, naive enumeration, and a simulation with a known truth.
#include "testbed/stats/stats.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define NEAR(actual, expected, tolerance)                                                                                          \
    cr_assert(fabs((actual) - (expected)) <= (tolerance), "%s is %.12g, not %.12g", #actual, (double)(actual), (double)(expected))

// As for the signed ranks (stats_test.c): our k is R's quantile.
Test(unpaired, critical_values_are_those_of_r)
{
    void *rmath = dlopen("libRmath.so.1", RTLD_NOW);
    if (!rmath)
        cr_skip_test("needs libRmath.so.1 (package r-mathlib)");
    double (*qwilcox)(double, double, double, int, int) = (double (*)(double, double, double, int, int))dlsym(rmath, "qwilcox");
    double (*pwilcox)(double, double, double, int, int) = (double (*)(double, double, double, int, int))dlsym(rmath, "pwilcox");
    cr_assert(qwilcox && pwilcox);
    for (size_t m = 1; m <= 24; m++) {
        for (size_t n = 1; n <= 24; n += 1 + m % 3) {
            double achieved;
            size_t k;
            cr_assert_eq(tb_rank_sum_k(m, n, 0.951, &k, &achieved), 0);
            cr_assert_eq(k, (size_t)qwilcox(0.0245, (double)m, (double)n, 1, 0), "m = %zu, n = %zu", m, n);
            if (k > 0)
                NEAR(achieved, 1 - 2 * pwilcox((double)k - 1, (double)m, (double)n, 1, 0), 1e-12);
        }
    }
    // the library stays loaded: it keeps its tables, and would leak them
}

Test(unpaired, three_against_three_reach_90_percent_and_no_95)
{
    double achieved;
    size_t k;
    cr_assert_eq(tb_rank_sum_k(3, 3, 0.95, &k, &achieved), 0);
    cr_assert(k == 0 && achieved == 0);
    cr_assert_eq(tb_rank_sum_k(3, 3, 0.90, &k, &achieved), 0);
    cr_assert_eq(k, 1);
    NEAR(achieved, 0.9, 1e-12); // 1 - 2 / (6 over 3)
}

Test(unpaired, approximation_begins_where_it_is_as_good_as_the_exact_one)
{
    double exact, approximate;
    size_t k_exact, k_approximate;
    cr_assert_eq(tb_rank_sum_k(100, 100, 0.95, &k_exact, &exact), 0);
    cr_assert_eq(tb_rank_sum_k(100, 101, 0.95, &k_approximate, &approximate), 0);
    double step = 50 - 1.96 * (sqrt(100 * 101 * 202 / 12.0) - sqrt(100 * 100 * 201 / 12.0)); // of the quantile, from n = 100 to 101
    NEAR((double)k_approximate - (double)k_exact, step, 2);
    NEAR(exact, 0.95, 1e-3);
    NEAR(approximate, 0.95, 1e-3);
}

static double uniform(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 12) + 0.5) / 4503599627370496.0;
}

// The rank-th smallest difference ln b - ln a, found by counting.
static double naive(const double a[], size_t m, const double b[], size_t n, size_t rank)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double candidate = log(b[j]) - log(a[i]);
            size_t below = 0;
            for (size_t x = 0; x < m; x++)
                for (size_t y = 0; y < n; y++)
                    below += log(b[y]) - log(a[x]) < candidate;
            if (below == rank)
                return candidate;
        }
    }
    return NAN;
}

Test(unpaired, estimate_and_interval_are_those_of_enumeration)
{
    uint64_t state = 3;
    double a[7], b[9], achieved;
    size_t k;
    for (size_t i = 0; i < 7; i++)
        a[i] = 100 + 10 * uniform(&state);
    for (size_t i = 0; i < 9; i++)
        b[i] = 150 + 40 * uniform(&state);
    struct tb_ratio ratio;
    cr_assert_eq(tb_ratio_unpaired(a, 7, b, 9, 0.95, &ratio), 0);
    cr_assert_eq(tb_rank_sum_k(7, 9, 0.95, &k, &achieved), 0);
    NEAR(ratio.estimate, exp(naive(a, 7, b, 9, 31)), 1e-12);
    NEAR(ratio.low, exp(naive(a, 7, b, 9, k - 1)), 1e-12);
    NEAR(ratio.high, exp(naive(a, 7, b, 9, 63 - k)), 1e-12);
    NEAR(ratio.confidence, achieved, 0);
    cr_assert(ratio.bounded && ratio.n == 7 && achieved >= 0.95);
}

Test(unpaired, too_few_samples_give_an_estimate_and_no_interval)
{
    double a[] = {1, 1}, b[] = {2, 2, 2};
    struct tb_ratio ratio;
    cr_assert_eq(tb_ratio_unpaired(a, 2, b, 3, 0.95, &ratio), 0);
    NEAR(ratio.estimate, 2, 1e-12);
    cr_assert(!ratio.bounded && ratio.low == 0 && isinf(ratio.high) && ratio.confidence == 0);
}

Test(unpaired, refuses_what_has_no_logarithm)
{
    double good[] = {1, 2}, zero[] = {1, 0}, unknown[] = {1, NAN}, infinite[] = {1, INFINITY};
    struct tb_ratio ratio;
    cr_assert_eq(tb_ratio_unpaired(good, 0, good, 2, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio_unpaired(good, 2, good, 0, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio_unpaired(zero, 2, good, 2, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio_unpaired(good, 2, unknown, 2, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio_unpaired(good, 2, infinite, 2, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio_unpaired(good, 2, good, 2, 1.0, &ratio), -EINVAL);
}

// Skewed samples of different sizes, true ratio 1.10.
Test(unpaired, interval_covers_the_truth_as_often_as_it_says)
{
    uint64_t state = 11;
    int covered = 0;
    for (int i = 0; i < 2000; i++) {
        double a[20], b[12];
        for (int j = 0; j < 20; j++)
            a[j] = 100 * exp(-0.05 * log(uniform(&state)));
        for (int j = 0; j < 12; j++)
            b[j] = 110 * exp(-0.05 * log(uniform(&state)));
        struct tb_ratio ratio;
        cr_assert_eq(tb_ratio_unpaired(a, 20, b, 12, 0.95, &ratio), 0);
        covered += ratio.low < 1.10 && 1.10 < ratio.high;
    }
    cr_assert(covered > 1860 && covered < 1950, "%d of 2000", covered);
}
