// SPDX-License-Identifier: Apache-2.0
//
// stats: Hodges-Lehmann and Wilcoxon's signed ranks, exactly; then medians with their intervals, outliers, tails, equivalence.
//
// The Walsh averages of d[0..n) are all (d[i] + d[j]) / 2 with i <= j, n(n+1)/2 of them. Their median estimates the centre of
// the distribution of d, and the number of them above a value v is Wilcoxon's statistic of d - v. So an interval that ends at the
// k-th Walsh average from either side fails to cover the centre exactly when the statistic is below k or above its mirror image:
// with probability 2 P(T <= k - 1), whatever the distribution of d is, as long as it is symmetric about its centre. Differences
// of two arms measured side by side are: swap the arms' names and nothing but the sign changes.
//
// P(T = t) is the share of subsets of {1..n} that sum to t. It is computed by adding one rank after the other, as probabilities
// in doubles: counts would pass 2^64 at n = 64, while each probability is a sum of positive terms and keeps its relative
// precision. A normal approximation would be wrong in the second digit of the error rate at the 20 to 30 rounds of a campaign.
//
// Sign interval. The number of values below the true median is binomial (n, 1/2), whatever the distribution. So the interval from
// the k-th smallest to the k-th largest value misses it with probability 2 P(X <= k - 1).
//
// Bootstrap. The interval's ends are quantiles of the medians of resamples. It shows one arm at a time. Two arms are compared by
// the paired ratio, because drift widens each arm's interval but cancels in a pair.
//
// Tails. The largest of n values is below the quantile q with probability q^n. If that is more than 5 %, the sample may well have
// missed the tail; so n >= ln 0.05 / ln q is required.
#include "testbed/stats/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_of_sorted(const double sorted[], size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// Median of |value - centre|, or of the values themselves when centre is NULL. NAN if memory runs out or a value is NAN: to the
// caller both mean "unknown", and neither may look like a time.
static double median_about(const double values[], size_t n, const double *centre)
{
    double *sorted = n > 0 ? malloc(n * sizeof *sorted) : NULL;
    double median = NAN;
    if (!sorted)
        return NAN;
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i]))
            goto out;
        sorted[i] = centre ? fabs(values[i] - *centre) : values[i];
    }
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    median = median_of_sorted(sorted, n);
out:
    free(sorted);
    return median;
}

double tb_median(const double values[], size_t n)
{
    return median_about(values, n, NULL);
}

double tb_mad(const double values[], size_t n)
{
    double centre = tb_median(values, n);
    return isnan(centre) ? NAN : median_about(values, n, &centre);
}

// probability[t] = P(T = t) for t in [0, n(n+1)/2].
static void signed_rank_distribution(double probability[], size_t n)
{
    size_t top = 0;
    probability[0] = 1;
    for (size_t rank = 1; rank <= n; rank++) {
        memset(probability + top + 1, 0, rank * sizeof *probability);
        top += rank;
        for (size_t t = top + 1; t-- > 0;) // downwards: probability[t - rank] is still without this rank
            probability[t] = (probability[t] + (t >= rank ? probability[t - rank] : 0)) / 2;
    }
}

static int signed_rank_k(size_t n, double confidence, size_t *k, double *achieved)
{
    size_t walsh_count = n * (n + 1) / 2;
    double *probability = malloc((walsh_count + 1) * sizeof *probability);
    if (!probability)
        return -ENOMEM;
    signed_rank_distribution(probability, n);
    *k = 0;
    *achieved = 0;
    double below = 0; // P(T <= k)
    for (size_t t = 0; t < walsh_count / 2; t++) {
        below += probability[t];
        double covered = 1 - 2 * below;
        if (covered < confidence)
            break;
        *k = t + 1;
        *achieved = covered;
    }
    free(probability);
    return 0;
}

// If memory runs out the answer is "no such interval", the cautious one.
size_t tb_signed_rank_k(size_t n, double confidence, double *achieved)
{
    size_t k = 0;
    if (signed_rank_k(n, confidence, &k, achieved) < 0)
        *achieved = 0;
    return k;
}

static int log_ratios(const double a[], const double b[], size_t n, double **out)
{
    for (size_t i = 0; i < n; i++)
        if (!(isfinite(a[i]) && a[i] > 0 && isfinite(b[i]) && b[i] > 0))
            return -EINVAL;
    double *d = n > 0 ? malloc(n * sizeof *d) : NULL;
    if (!d)
        return n > 0 ? -ENOMEM : -EINVAL;
    for (size_t i = 0; i < n; i++)
        d[i] = log(b[i]) - log(a[i]);
    *out = d;
    return 0;
}

static void walsh_averages(const double d[], size_t n, double walsh[])
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            walsh[count++] = (d[i] + d[j]) / 2;
    qsort(walsh, count, sizeof *walsh, compare_doubles);
}

int tb_ratio(const double a[], const double b[], size_t n, double confidence, struct tb_ratio *out)
{
    if (n == 0 || n > UINT32_MAX || !(confidence > 0 && confidence < 1))
        return -EINVAL;
    size_t walsh_count = n * (n + 1) / 2, k = 0;
    double achieved = 0, *d = NULL, *walsh = NULL;
    int rc = log_ratios(a, b, n, &d);
    if (rc < 0)
        goto out;
    walsh = malloc(walsh_count * sizeof *walsh);
    rc = walsh ? 0 : -ENOMEM;
    if (rc < 0)
        goto out;
    rc = signed_rank_k(n, confidence, &k, &achieved);
    if (rc < 0)
        goto out;
    walsh_averages(d, n, walsh);
    *out = (struct tb_ratio){
        .estimate = exp(median_of_sorted(walsh, walsh_count)),
        .low = k > 0 ? exp(walsh[k - 1]) : 0,
        .high = k > 0 ? exp(walsh[walsh_count - k]) : INFINITY,
        .confidence = achieved,
        .n = n,
        .bounded = k > 0,
    };
out:
    free(walsh);
    free(d);
    return rc;
}

// --- one arm -------------------------------------------------------------------------------------------------------------------

#define BOOTSTRAP_RESAMPLES 2000 // arbitrary: the ends of a 95 % interval then rest on fifty resamples each

// A sorted copy, malloc'd. 0, -EINVAL (no values, or a NAN, which has no order), -ENOMEM.
static int sorted_copy(const double values[], size_t n, double **out)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(values[i]))
            return -EINVAL;
    if (n == 0)
        return -EINVAL;
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    *out = sorted;
    return 0;
}

// A quantile by R's type 7.
static double quantile_of_sorted(const double sorted[], size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t below = (size_t)at;
    double share = at - (double)below;
    return share > 0 ? sorted[below] + share * (sorted[below + 1] - sorted[below]) : sorted[below];
}

size_t tb_sign_k(size_t n, double confidence, double *achieved)
{
    size_t k = 0;
    double below = 0; // P(X <= k)
    *achieved = 0;
    for (size_t x = 0; x < n / 2; x++) {
        below += exp(lgamma((double)n + 1) - lgamma((double)x + 1) - lgamma((double)(n - x) + 1) - (double)n * M_LN2);
        double covered = 1 - 2 * below;
        if (covered < confidence)
            break;
        k = x + 1;
        *achieved = covered;
    }
    return k;
}

int tb_median_sign(const double values[], size_t n, double confidence, struct tb_interval *out)
{
    double *sorted = NULL, achieved;
    int rc = confidence > 0 && confidence < 1 ? sorted_copy(values, n, &sorted) : -EINVAL;
    if (rc < 0)
        return rc;
    size_t k = tb_sign_k(n, confidence, &achieved);
    *out = (struct tb_interval){
        .estimate = quantile_of_sorted(sorted, n, 0.5),
        .low = k > 0 ? sorted[k - 1] : -INFINITY,
        .high = k > 0 ? sorted[n - k] : INFINITY,
        .confidence = achieved,
        .n = n,
        .bounded = k > 0,
    };
    free(sorted);
    return 0;
}

int tb_ratio_sign(const double a[], const double b[], size_t n, double confidence, struct tb_ratio *out)
{
    double *d = NULL;
    struct tb_interval of_logs;
    int rc = log_ratios(a, b, n, &d);
    if (rc == 0)
        rc = tb_median_sign(d, n, confidence, &of_logs);
    if (rc == 0)
        *out = (struct tb_ratio){
            .estimate = exp(of_logs.estimate),
            .low = exp(of_logs.low),
            .high = exp(of_logs.high),
            .confidence = of_logs.confidence,
            .n = n,
            .bounded = of_logs.bounded,
        };
    free(d);
    return rc;
}

static uint64_t random_next(uint64_t *state) // splitmix64
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int tb_median_bootstrap(const double values[], size_t n, double confidence, uint64_t seed, struct tb_interval *out)
{
    double *sorted = NULL;
    int rc = confidence > 0 && confidence < 1 ? sorted_copy(values, n, &sorted) : -EINVAL;
    if (rc < 0)
        return rc;
    double *resample = malloc(n * sizeof *resample), *medians = malloc(BOOTSTRAP_RESAMPLES * sizeof *medians);
    rc = resample && medians ? 0 : -ENOMEM;
    for (size_t r = 0; rc == 0 && r < BOOTSTRAP_RESAMPLES; r++) {
        for (size_t i = 0; i < n; i++)
            resample[i] = sorted[random_next(&seed) % n];
        qsort(resample, n, sizeof *resample, compare_doubles);
        medians[r] = quantile_of_sorted(resample, n, 0.5);
    }
    if (rc == 0) {
        qsort(medians, BOOTSTRAP_RESAMPLES, sizeof *medians, compare_doubles);
        *out = (struct tb_interval){
            .estimate = quantile_of_sorted(sorted, n, 0.5),
            .low = quantile_of_sorted(medians, BOOTSTRAP_RESAMPLES, (1 - confidence) / 2),
            .high = quantile_of_sorted(medians, BOOTSTRAP_RESAMPLES, (1 + confidence) / 2),
            .confidence = confidence,
            .n = n,
            .bounded = true,
        };
    }
    free(medians);
    free(resample);
    free(sorted);
    return rc;
}

int tb_outliers(const double values[], size_t n, struct tb_outliers *out)
{
    double *sorted = NULL;
    int rc = sorted_copy(values, n, &sorted);
    if (rc < 0)
        return rc;
    double lower = quantile_of_sorted(sorted, n, 0.25), upper = quantile_of_sorted(sorted, n, 0.75), range = upper - lower;
    *out = (struct tb_outliers){0};
    for (size_t i = 0; i < n; i++) {
        double outside = fmax(lower - sorted[i], sorted[i] - upper);
        out->severe += outside > 3 * range;
        out->mild += outside > 1.5 * range && !(outside > 3 * range);
    }
    free(sorted);
    return 0;
}

bool tb_equivalent(const struct tb_ratio *ratio, double margin, double *width)
{
    if (width)
        *width = ratio->bounded ? ratio->high / ratio->low - 1 : INFINITY;
    return ratio->bounded && margin > 0 && ratio->low >= 1 / (1 + margin) && ratio->high <= 1 + margin;
}

int tb_spread(const double a[], const double b[], size_t n, struct tb_spread *out)
{
    double *d = NULL, mean = 0, squares = 0, extreme = 0;
    int rc = log_ratios(a, b, n, &d);
    if (rc < 0)
        return rc;
    double centre = tb_median(d, n);
    for (size_t i = 0; i < n; i++) {
        mean += d[i] / (double)n;
        extreme = fmax(extreme, fabs(d[i] - centre));
    }
    for (size_t i = 0; i < n; i++)
        squares += (d[i] - mean) * (d[i] - mean);
    free(d);
    if (isnan(centre)) // out of memory
        return -ENOMEM;
    *out = (struct tb_spread){.sd = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN, .extreme = extreme};
    return 0;
}
