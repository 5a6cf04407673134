// SPDX-License-Identifier: Apache-2.0
//
// stats: Hodges-Lehmann and Wilcoxon's signed ranks and rank sums, exactly; then medians with their intervals, outliers.
//
// The Walsh averages of d[0..n) are all (d[i] + d[j]) / 2 with i <= j, n(n+1)/2 of them. Their median estimates the centre of
// the distribution of d, and the number of them above a value v is Wilcoxon's statistic of d - v. So an interval that ends at the
// k-th Walsh average from either side fails to cover the centre exactly when the statistic is below k or above its mirror image:
// with probability 2 P(T <= k - 1), whatever the distribution of d is, as long as it is symmetric about its centre. Differences
// of two arms measured side by side are: swap the arms' names and nothing but the sign changes.
//
// P(T = t) is the share of subsets of {1..n} that sum to t. It is computed by adding one rank after the other, as probabilities
// in doubles: counts would pass 2^64 at n = 64, while each probability is a sum of positive terms and keeps its relative
// precision. A normal approximation would be wrong in the second digit of the error rate at the 20 to 30 rounds of a measurement.
//
// Sign interval. The number of values below the true median is binomial (n, 1/2), whatever the distribution. So the interval from
// the k-th smallest to the k-th largest value misses it with probability 2 P(X <= k - 1).
//
// Bootstrap. The interval's ends are quantiles of the medians of resamples. It shows one arm at a time. Two arms are compared by
// the paired ratio, because drift widens each arm's interval but cancels in a pair.
//
// Tails. The largest of n values is below the quantile q with probability q^n. If that is more than 5 %, the sample may well have
// missed the tail; so n >= ln 0.05 / ln q is required.
//
// Rank sum. Of m values a and n values b, U counts the pairs with b < a. When both come from one distribution, up to a shift,
// every order of the m + n values is equally likely, whatever that distribution is. The interval between the k-th differences b -
// a from either end misses the shift exactly when U is below k or above its mirror image: with probability 2 P(U <= k - 1). The
// largest value is one of the a with probability m / (m + n), and then it is above all n of b; otherwise it adds nothing:
//
//     P(m, n, u) = m / (m + n) P(m - 1, n, u - n) + n / (m + n) P(m, n - 1, u)
//
// One row of that table per n is kept while m grows. Its size grows with the third power of the counts, so beyond EXACT_PAIRS pairs
// the normal approximation takes over; there it is right to a rank or two of thousands.
#include "testbed/stats/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/stats/random.h"

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_of_sorted(const double sorted[], size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// From the k-th smallest to the k-th largest of the values; unbounded when k is 0.
static struct tb_ratio interval_of(const double sorted[], size_t count, double estimate, size_t k, double achieved, size_t n)
{
    return (struct tb_ratio){
        .estimate = estimate,
        .low = k > 0 ? sorted[k - 1] : -INFINITY,
        .high = k > 0 ? sorted[count - k] : INFINITY,
        .confidence = achieved,
        .n = n,
        .bounded = k > 0,
    };
}

static void of_logarithms(struct tb_ratio *interval)
{
    interval->estimate = exp(interval->estimate);
    interval->low = exp(interval->low);
    interval->high = exp(interval->high);
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

int tb_signed_rank_k(size_t n, double confidence, size_t *k, double *achieved)
{
    size_t walsh_count = n * (n + 1) / 2;
    double *probability = malloc((walsh_count + 1) * sizeof *probability);
    *k = 0;
    *achieved = 0;
    if (!probability)
        return -ENOMEM;
    signed_rank_distribution(probability, n);
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

static bool have_logarithms(const double values[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(isfinite(values[i]) && values[i] > 0))
            return false;
    return n > 0;
}

static int log_ratios(const double a[], const double b[], size_t n, double **out)
{
    if (!have_logarithms(a, n) || !have_logarithms(b, n))
        return -EINVAL;
    double *d = *out = malloc(n * sizeof *d);
    for (size_t i = 0; d && i < n; i++)
        d[i] = log(b[i]) - log(a[i]);
    return d ? 0 : -ENOMEM;
}

static void walsh_averages(const double d[], size_t n, double walsh[])
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            walsh[count++] = (d[i] + d[j]) / 2;
    qsort(walsh, count, sizeof *walsh, compare_doubles);
}

// Hodges and Lehmann's estimate of the centre of d, with its interval. 0, -EINVAL (n == 0), -ENOMEM.
static int centre_of(const double d[], size_t n, double confidence, struct tb_ratio *out)
{
    if (n == 0 || n > UINT32_MAX || !(confidence > 0 && confidence < 1))
        return -EINVAL;
    size_t walsh_count = n * (n + 1) / 2, k = 0;
    double achieved = 0;
    int rc = tb_signed_rank_k(n, confidence, &k, &achieved);
    if (rc < 0)
        return rc;
    double *walsh = malloc(walsh_count * sizeof *walsh);
    if (!walsh)
        return -ENOMEM;
    walsh_averages(d, n, walsh);
    *out = interval_of(walsh, walsh_count, median_of_sorted(walsh, walsh_count), k, achieved, n);
    free(walsh);
    return 0;
}

int tb_ratio(const double a[], const double b[], size_t n, double confidence, struct tb_ratio *out)
{
    double *d = NULL;
    int rc = log_ratios(a, b, n, &d);
    if (rc == 0)
        rc = centre_of(d, n, confidence, out);
    if (rc == 0)
        of_logarithms(out);
    free(d);
    return rc;
}

int tb_difference(const double a[], const double b[], size_t n, double confidence, struct tb_ratio *out)
{
    double *d = n > 0 ? malloc(n * sizeof *d) : NULL;
    int rc = n == 0 ? -EINVAL : d ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        d[i] = b[i] - a[i];
        rc = isfinite(d[i]) ? 0 : -EINVAL;
    }
    if (rc == 0)
        rc = centre_of(d, n, confidence, out);
    free(d);
    return rc;
}

// --- unrelated rounds ----------------------------------------------------------------------------------------------------------

#define EXACT_PAIRS 10000 // 100 rounds in both runs: a table of 4 MB

// rows[j][u] = P(i, j, u) for u < width, for i = 1 .. m one after the other.
static void rank_sum_distribution(double *rows, size_t m, size_t n, size_t width)
{
    for (size_t j = 0; j <= n; j++) // P(0, j): U is 0
        for (size_t u = 0; u < width; u++)
            rows[j * width + u] = u == 0;
    for (size_t i = 1; i <= m; i++) { // P(i, 0) is P(0, 0), and stays
        for (size_t j = 1; j <= n; j++) {
            double *row = rows + j * width, *before = row - width, a_last = (double)i / (double)(i + j);
            for (size_t u = width; u-- > 0;) // downwards: row[u - j] is still that of i - 1
                row[u] = a_last * (u >= j ? row[u - j] : 0) + (1 - a_last) * before[u];
        }
    }
}

static double normal_cumulative(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

int tb_rank_sum_k(size_t m, size_t n, double confidence, size_t *k, double *achieved)
{
    size_t pairs = m * n, width = pairs / 2 + 1;
    bool exact = pairs <= EXACT_PAIRS;
    double mean = (double)pairs / 2, sd = sqrt((double)pairs * (double)(m + n + 1) / 12), below = 0;
    double *rows = exact ? malloc((n + 1) * width * sizeof *rows) : NULL;
    *k = 0;
    *achieved = 0;
    if (exact && !rows)
        return -ENOMEM;
    if (exact)
        rank_sum_distribution(rows, m, n, width);
    for (size_t u = 0; u < width; u++) {
        below = exact ? below + rows[n * width + u] : normal_cumulative(((double)u + 0.5 - mean) / sd);
        if (1 - 2 * below < confidence)
            break;
        *k = u + 1;
        *achieved = 1 - 2 * below;
    }
    free(rows);
    return 0;
}

int tb_ratio_unpaired(const double a[], size_t a_count, const double b[], size_t b_count, double confidence, struct tb_ratio *out)
{
    size_t pairs = a_count * b_count, k = 0;
    double achieved = 0;
    if (!have_logarithms(a, a_count) || !have_logarithms(b, b_count) || !(confidence > 0 && confidence < 1))
        return -EINVAL;
    double *d = malloc(pairs * sizeof *d);
    int rc = d ? tb_rank_sum_k(a_count, b_count, confidence, &k, &achieved) : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < pairs; i++)
        d[i] = log(b[i % b_count]) - log(a[i / b_count]);
    if (rc == 0) {
        qsort(d, pairs, sizeof *d, compare_doubles);
        *out = interval_of(d, pairs, median_of_sorted(d, pairs), k, achieved, a_count < b_count ? a_count : b_count);
        of_logarithms(out);
    }
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

int tb_median_sign(const double values[], size_t n, double confidence, struct tb_ratio *out)
{
    double *sorted = NULL, achieved;
    int rc = confidence > 0 && confidence < 1 ? sorted_copy(values, n, &sorted) : -EINVAL;
    if (rc < 0)
        return rc;
    size_t k = tb_sign_k(n, confidence, &achieved);
    *out = interval_of(sorted, n, quantile_of_sorted(sorted, n, 0.5), k, achieved, n);
    free(sorted);
    return 0;
}

int tb_ratio_sign(const double a[], const double b[], size_t n, double confidence, struct tb_ratio *out)
{
    double *d = NULL;
    int rc = log_ratios(a, b, n, &d);
    if (rc == 0)
        rc = tb_median_sign(d, n, confidence, out);
    if (rc == 0)
        of_logarithms(out);
    free(d);
    return rc;
}

int tb_median_bootstrap(const double values[], size_t n, double confidence, uint64_t seed, struct tb_ratio *out)
{
    double *sorted = NULL;
    int rc = confidence > 0 && confidence < 1 ? sorted_copy(values, n, &sorted) : -EINVAL;
    if (rc < 0)
        return rc;
    double *resample = malloc(n * sizeof *resample), *medians = malloc(BOOTSTRAP_RESAMPLES * sizeof *medians);
    rc = resample && medians ? 0 : -ENOMEM;
    for (size_t r = 0; rc == 0 && r < BOOTSTRAP_RESAMPLES; r++) {
        for (size_t i = 0; i < n; i++)
            resample[i] = sorted[tb_random_next(&seed) % n];
        qsort(resample, n, sizeof *resample, compare_doubles);
        medians[r] = quantile_of_sorted(resample, n, 0.5);
    }
    if (rc == 0) {
        qsort(medians, BOOTSTRAP_RESAMPLES, sizeof *medians, compare_doubles);
        *out = (struct tb_ratio){
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

bool tb_equivalent(const struct tb_ratio *ratio, double margin)
{
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
