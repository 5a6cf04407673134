// SPDX-License-Identifier: Apache-2.0
//
// unpaired: the rank-sum interval, see unpaired.h.
//
// There are m values a and n values b; U counts the pairs with b < a. If both come from the same distribution, up to a shift,
// every order of the m + n values is equally likely, whatever the distribution is. The interval between the k-th differences b -
// a from either end misses the shift exactly when U is below k or above its mirror image: with probability 2 P(U <= k - 1). The
// largest value is an a with probability m / (m + n), and then it exceeds all n values b; otherwise it adds nothing:
//
//     P(m, n, u) = m / (m + n) P(m - 1, n, u - n) + n / (m + n) P(m, n - 1, u)
//
// One row of that table per n is kept while m grows. Its size grows with the third power of the counts, so beyond EXACT_PAIRS
// pairs the normal approximation takes over; there it is off by a rank or two in thousands.
#include "testbed/stats/unpaired.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define EXACT_PAIRS 10000 // 100 rounds in both runs: a table of 4 MB

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_of_sorted(const double sorted[], size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// rows[j][u] = P(i, j, u) for u < width, for i = 1 .. m one after the other.
static void rank_sum_distribution(double *rows, size_t m, size_t n, size_t width)
{
    for (size_t j = 0; j <= n; j++) // P(0, j): U is 0
        for (size_t u = 0; u < width; u++)
            rows[j * width + u] = u == 0;
    for (size_t i = 1; i <= m; i++) { // P(i, 0) stays P(0, 0)
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

static bool has_logarithm(const double values[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(values[i] > 0) || isinf(values[i]))
            return false;
    return count > 0;
}

int tb_ratio_unpaired(const double a[], size_t a_count, const double b[], size_t b_count, double confidence, struct tb_ratio *out)
{
    size_t pairs = a_count * b_count, k = 0;
    double achieved = 0;
    if (!has_logarithm(a, a_count) || !has_logarithm(b, b_count) || !(confidence > 0 && confidence < 1))
        return -EINVAL;
    double *d = malloc(pairs * sizeof *d);
    int rc = d ? tb_rank_sum_k(a_count, b_count, confidence, &k, &achieved) : -ENOMEM;
    if (rc < 0)
        goto out;
    for (size_t i = 0; i < a_count; i++)
        for (size_t j = 0; j < b_count; j++)
            d[i * b_count + j] = log(b[j]) - log(a[i]);
    qsort(d, pairs, sizeof *d, compare_doubles);
    *out = (struct tb_ratio){
        .estimate = exp(median_of_sorted(d, pairs)),
        .low = k > 0 ? exp(d[k - 1]) : 0,
        .high = k > 0 ? exp(d[pairs - k]) : INFINITY,
        .confidence = achieved,
        .n = a_count < b_count ? a_count : b_count,
        .bounded = k > 0,
    };
out:
    free(d);
    return rc;
}
