// SPDX-License-Identifier: Apache-2.0
//
// stats: the few statistics that a paired comparison needs.
//
// A ratio of two arms is estimated from d = ln(B / A) of each round, so that whatever disturbs a whole round cancels. The estimate
// is Hodges and Lehmann's (the median of all Walsh averages); the interval is the exact one of Wilcoxon's signed-rank
// distribution. n rounds can only reach certain confidences: the one achieved is reported, and when n is too small for the one
// asked for, the interval is unbounded instead of invented. Nothing is dropped as an outlier. Pure functions, any thread.
#ifndef TB_STATS_H
#define TB_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tb_ratio {
    double estimate;            // exp(Hodges-Lehmann of ln ratios)
    double low, high;           // 0 and INFINITY when unbounded
    double confidence;          // achieved, e.g. 0.9516; 0 when unbounded
    size_t n;
    bool bounded;
};

// Median of n values (mean of the middle two). NAN for n == 0. Does not change the input.
double tb_median(const double values[], size_t n);

// Median absolute deviation from the median, unscaled.
double tb_mad(const double values[], size_t n);

// Ratio b over a, round by round. confidence in (0, 1). 0, -EINVAL (n == 0, a value that is not positive and finite), -ENOMEM.
int tb_ratio(const double a[], const double b[], size_t n, double confidence, struct tb_ratio *out);

// Largest k such that the open interval between the k-th smallest and the k-th largest Walsh average has at least `confidence`; 0
// when even k = 1 has less. *achieved is that interval's exact confidence.
size_t tb_signed_rank_k(size_t n, double confidence, double *achieved);

#endif
