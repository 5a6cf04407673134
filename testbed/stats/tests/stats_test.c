// SPDX-License-Identifier: Apache-2.0
//
// stats: against R's signed-rank quantiles, naive enumeration, and a simulation with a known truth.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "testbed/stats/stats.h"

#define NEAR(actual, expected, tolerance)                                                                                          \
    cr_assert(fabs((actual) - (expected)) <= (tolerance), "%s is %.12g, not %.12g", #actual, (double)(actual), (double)(expected))

static size_t signed_rank_k(size_t n, double confidence, double *achieved)
{
    size_t k = 99;
    cr_assert_eq(tb_signed_rank_k(n, confidence, &k, achieved), 0);
    return k;
}

Test(stats, median_of_odd_even_and_nothing)
{
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2};
    NEAR(tb_median(odd, 3), 5, 0);
    NEAR(tb_median(even, 4), 2.5, 0);
    cr_assert(isnan(tb_median(odd, 0)));
    cr_assert(odd[0] == 9 && odd[1] == 1 && odd[2] == 5, "the input was reordered");
}

Test(stats, median_of_something_unknown_is_unknown)
{
    double values[] = {1, NAN, 3};
    cr_assert(isnan(tb_median(values, 3)));
    cr_assert(isnan(tb_mad(values, 3)));
}

Test(stats, mad_ignores_one_wild_value)
{
    double values[] = {1, 2, 3, 4, 1000};
    NEAR(tb_mad(values, 5), 1, 0);
    cr_assert(isnan(tb_mad(values, 0)));
}

Test(stats, six_rounds_reach_96_9_percent_and_five_reach_no_95)
{
    double achieved = -1;
    cr_assert_eq(signed_rank_k(5, 0.95, &achieved), 0);
    cr_assert_eq(achieved, 0);
    cr_assert_eq(signed_rank_k(6, 0.95, &achieved), 1);
    NEAR(achieved, 0.96875, 0);
    cr_assert_eq(signed_rank_k(6, 0.97, &achieved), 0, "more than six rounds can give");
    cr_assert_eq(signed_rank_k(0, 0.95, &achieved), 0);
}

// R: the smallest x with P(T <= x) >= p. Our k is one more than the largest t with P(T <= t) <= p, which is the same number
// unless p is hit exactly (the confidences here are not dyadic fractions, so it never is).
Test(stats, critical_values_are_those_of_r)
{
    void *rmath = dlopen("libRmath.so.1", RTLD_NOW);
    if (!rmath)
        cr_skip_test("needs libRmath.so.1 (package r-mathlib)");
    double (*qsignrank)(double, double, int, int) = (double (*)(double, double, int, int))dlsym(rmath, "qsignrank");
    double (*psignrank)(double, double, int, int) = (double (*)(double, double, int, int))dlsym(rmath, "psignrank");
    void (*signrank_free)(void) = (void (*)(void))dlsym(rmath, "signrank_free");
    cr_assert(qsignrank && psignrank && signrank_free);
    const double confidences[] = {0.90, 0.95, 0.975, 1 - 0.05 / 3, 0.99, 0.999}; // two and three predictions share 0.05
    for (size_t n = 1; n <= 60; n++) {
        for (size_t c = 0; c < sizeof confidences / sizeof *confidences; c++) {
            double achieved;
            size_t k = signed_rank_k(n, confidences[c], &achieved);
            cr_assert_eq(k, (size_t)qsignrank((1 - confidences[c]) / 2, (double)n, 1, 0), "n = %zu, %g", n, confidences[c]);
            if (k > 0)
                NEAR(achieved, 1 - 2 * psignrank((double)k - 1, (double)n, 1, 0), 1e-12);
        }
    }
    signrank_free();
    dlclose(rmath);
}

Test(stats, hundreds_of_rounds_keep_their_precision)
{
    double achieved;
    size_t k = signed_rank_k(400, 0.95, &achieved);
    double mean = 400.0 * 401 / 4, sd = sqrt(400.0 * 401 * 801 / 24);
    NEAR((double)k, mean - 1.959964 * sd, 3); // the normal approximation is good to a few ranks here
    cr_assert(achieved >= 0.95 && achieved < 0.9502);
}

static double uniform(uint64_t *state) // splitmix64, in (0, 1)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 12) + 0.5) / 4503599627370496.0;
}

static double normal(uint64_t *state)
{
    return sqrt(-2 * log(uniform(state))) * cos(2 * acos(-1) * uniform(state));
}

// The rank-th smallest Walsh average, found by counting instead of sorting.
static double naive_walsh(const double d[], size_t n, size_t rank)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) {
            double candidate = (d[i] + d[j]) / 2;
            size_t below = 0, equal = 0;
            for (size_t x = 0; x < n; x++) {
                for (size_t y = x; y < n; y++) {
                    below += (d[x] + d[y]) / 2 < candidate;
                    equal += (d[x] + d[y]) / 2 == candidate;
                }
            }
            if (below <= rank && rank < below + equal)
                return candidate;
        }
    }
    return NAN;
}

// P(T <= t) by looking at every subset of the ranks.
static double naive_cumulative(size_t n, size_t t)
{
    size_t hits = 0;
    for (uint32_t subset = 0; subset < 1u << n; subset++) {
        size_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += subset >> i & 1 ? i + 1 : 0;
        hits += sum <= t;
    }
    return (double)hits / (double)(1u << n);
}

Test(stats, estimate_and_interval_are_those_of_enumeration)
{
    uint64_t state = 7;
    for (size_t n = 6; n <= 14; n++) {
        double a[14], b[14], d[14], achieved;
        for (size_t i = 0; i < n; i++) {
            a[i] = 100 + uniform(&state);
            b[i] = 150 + 40 * uniform(&state);
            d[i] = log(b[i]) - log(a[i]);
        }
        struct tb_ratio ratio;
        cr_assert_eq(tb_ratio(a, b, n, 0.95, &ratio), 0);
        size_t count = n * (n + 1) / 2, k = signed_rank_k(n, 0.95, &achieved);
        double middle = (naive_walsh(d, n, (count - 1) / 2) + naive_walsh(d, n, count / 2)) / 2;
        NEAR(ratio.estimate, exp(middle), 1e-12);
        NEAR(ratio.low, exp(naive_walsh(d, n, k - 1)), 1e-12);
        NEAR(ratio.high, exp(naive_walsh(d, n, count - k)), 1e-12);
        NEAR(ratio.confidence, 1 - 2 * naive_cumulative(n, k - 1), 1e-12);
        cr_assert(1 - 2 * naive_cumulative(n, k) < 0.95, "a narrower interval would have done at n = %zu", n);
        cr_assert(ratio.bounded && ratio.n == n);
    }
}

Test(stats, five_rounds_give_an_estimate_and_no_interval)
{
    double a[] = {1, 1, 1, 1, 1}, b[] = {2, 2, 2, 2, 2};
    struct tb_ratio ratio;
    cr_assert_eq(tb_ratio(a, b, 5, 0.95, &ratio), 0);
    NEAR(ratio.estimate, 2, 1e-12);
    cr_assert(!ratio.bounded && ratio.low == 0 && isinf(ratio.high) && ratio.confidence == 0 && ratio.n == 5);
}

Test(stats, ratio_is_b_over_a_and_cancels_what_a_whole_round_suffers)
{
    double a[12], b[12];
    for (size_t i = 0; i < 12; i++) {
        a[i] = 100 * (double)(i + 1);
        b[i] = 1.25 * a[i];
    }
    struct tb_ratio ratio;
    cr_assert_eq(tb_ratio(a, b, 12, 0.95, &ratio), 0);
    NEAR(ratio.estimate, 1.25, 1e-12);
    NEAR(ratio.low, 1.25, 1e-12);
    NEAR(ratio.high, 1.25, 1e-12);
}

Test(stats, ratio_refuses_what_has_no_logarithm)
{
    double good[] = {1, 2}, zero[] = {1, 0}, negative[] = {1, -2}, infinite[] = {1, INFINITY}, unknown[] = {1, NAN};
    struct tb_ratio ratio;
    cr_assert_eq(tb_ratio(good, good, 0, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio(good, zero, 2, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio(negative, good, 2, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio(infinite, good, 2, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio(good, unknown, 2, 0.95, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio(good, good, 2, 1.0, &ratio), -EINVAL);
    cr_assert_eq(tb_ratio(good, good, 2, 0.0, &ratio), -EINVAL);
}

// Two arms whose true ratio is 1.10, noise of 2 % each, while the whole machine gets slower by 5 % over the measurement.
Test(stats, interval_covers_the_truth_as_often_as_it_says_under_drift)
{
    uint64_t state = 20260731;
    const int trials = 4000;
    int covered = 0;
    for (int trial = 0; trial < trials; trial++) {
        double a[20], b[20];
        for (int i = 0; i < 20; i++) {
            double drift = 1 + 0.05 * i / 19;
            a[i] = 100 * drift * exp(0.02 * normal(&state));
            b[i] = 110 * drift * exp(0.02 * normal(&state));
        }
        struct tb_ratio ratio;
        cr_assert_eq(tb_ratio(a, b, 20, 0.95, &ratio), 0);
        covered += ratio.low < 1.10 && 1.10 < ratio.high;
    }
    double share = (double)covered / trials;
    cr_assert(share > 0.93 && share < 0.97, "covered in %.2f %% of the trials", 100 * share);
}

// By hand: of 1, 2, ..., 6 and 36 the Walsh averages' median is 4, and k is 3.
Test(stats, difference_is_the_centre_of_the_differences)
{
    double a[] = {10, 20, 30, 40, 50, 60, 70}, b[] = {11, 22, 33, 44, 55, 66, 106}, below[7];
    struct tb_ratio difference;
    cr_assert_eq(tb_difference(a, b, 7, 0.95, &difference), 0);
    NEAR(difference.estimate, 4, 0);
    NEAR(difference.low, 2, 0);
    NEAR(difference.high, 20.5, 0);
    cr_assert(difference.bounded && difference.n == 7);
    cr_assert_eq(tb_difference(b, a, 7, 0.95, &difference), 0);
    NEAR(difference.estimate, -4, 0);
    NEAR(difference.high, -2, 0);
    for (int i = 0; i < 7; i++)
        below[i] = -a[i];
    cr_assert_eq(tb_difference(below, a, 7, 0.95, &difference), 0, "signs are as they are");
    NEAR(difference.estimate, 80, 0);
}

Test(stats, difference_of_few_is_unbounded_and_of_what_is_no_number_none)
{
    double a[] = {1, 2, 3}, b[] = {2, 3, NAN};
    struct tb_ratio difference;
    cr_assert_eq(tb_difference(a, b, 2, 0.95, &difference), 0);
    NEAR(difference.estimate, 1, 0);
    cr_assert(!difference.bounded && isinf(difference.low) && difference.low < 0 && isinf(difference.high));
    cr_assert_eq(tb_difference(a, b, 3, 0.95, &difference), -EINVAL);
    cr_assert_eq(tb_difference(a, b, 0, 0.95, &difference), -EINVAL);
    cr_assert_eq(tb_difference(a, b, 2, 1, &difference), -EINVAL);
}
