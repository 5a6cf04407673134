// SPDX-License-Identifier: Apache-2.0
//
// stats: Hodges-Lehmann and Wilcoxon's signed ranks, exactly.
//
// The Walsh averages of d[0..n) are all (d[i] + d[j]) / 2 with i <= j, n(n+1)/2 of them. Their median estimates the centre of
// the distribution of d, and the number of them above a value v is Wilcoxon's statistic of d - v. So an interval that ends at the
// k-th Walsh average from either side fails to cover the centre exactly when the statistic is below k or above its mirror image:
// with probability 2 P(T <= k - 1), whatever the distribution of d is, as long as it is symmetric about its centre. Differences
// of two arms measured side by side are: swap the arms' names and nothing but the sign changes.
//
// P(T = t) is the share of subsets of {1..n} that sum to t. It is worked out by adding one rank after the other, in doubles
// of probabilities: counts would pass 2^64 at n = 64, while each probability here is a sum of positive terms and keeps
// its relative precision. No normal approximation: at the 20 to 30 rounds of a campaign it would be wrong in the second digit
// of the error rate.
#include "testbed/stats_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int tb_compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_of_sorted(const double sorted[], size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// Median of |value - centre|, or of the values themselves when centre is NULL. NAN without memory, as for a NAN among the values:
// both are "unknown" to the caller, and neither may pass for a time.
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
    qsort(sorted, n, sizeof *sorted, tb_compare_doubles);
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
        for (size_t t = top + 1; t-- > 0;) // downwards: probability[t - rank] is still that without this rank
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

// Without memory the answer is "no such interval": the careful one.
size_t tb_signed_rank_k(size_t n, double confidence, double *achieved)
{
    size_t k = 0;
    if (signed_rank_k(n, confidence, &k, achieved) < 0)
        *achieved = 0;
    return k;
}

int tb_log_ratios(const double a[], const double b[], size_t n, double **out)
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
    qsort(walsh, count, sizeof *walsh, tb_compare_doubles);
}

int tb_ratio(const double a[], const double b[], size_t n, double confidence, struct tb_ratio *out)
{
    if (n == 0 || n > UINT32_MAX || !(confidence > 0 && confidence < 1))
        return -EINVAL;
    size_t walsh_count = n * (n + 1) / 2, k = 0;
    double achieved = 0, *d = NULL, *walsh = NULL;
    int rc = tb_log_ratios(a, b, n, &d);
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
