// SPDX-License-Identifier: Apache-2.0
//
// stats: the few statistics that a paired comparison needs.
//
// The ratio of two arms is estimated from d = ln(B / A) of each round, so a disturbance of a whole round cancels. The estimate is
// Hodges and Lehmann's (the median of all Walsh averages); the interval is the exact one of Wilcoxon's signed-rank distribution.
// n rounds reach only certain confidences: the achieved one is reported, and if n is too small for the requested one, the
// interval is unbounded. Nothing is dropped as an outlier. Pure functions, any thread.
#ifndef TB_STATS_H
#define TB_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_CONFIDENCE 0.95 // of every interval shown

struct tb_ratio {               // or a difference, or a median
    double estimate;            // exp(Hodges-Lehmann of ln ratios)
    double low, high;           // 0 (of the others -INFINITY) and INFINITY when unbounded
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

// Difference b - a, round by round, of what adds up: Hodges and Lehmann's estimate of the differences themselves. Values need only
// be finite; unbounded, low is -INFINITY. Results as tb_ratio.
int tb_difference(const double a[], const double b[], size_t n, double confidence, struct tb_ratio *out);

// The largest k for which the open interval between the k-th smallest and the k-th largest Walsh average has at least
// `confidence`; 0 if even k = 1 has less. *achieved is that interval's exact confidence. 0 or -ENOMEM.
int tb_signed_rank_k(size_t n, double confidence, size_t *k, double *achieved);

// Ratio b over a of unrelated samples, of two runs, say: the Hodges-Lehmann estimate for two samples on logarithms (the median of
// all ln b - ln a) with the interval of the rank-sum test. It covers how the samples of both scatter, and not what changed from one
// run to the other. out->n is the smaller count. As tb_ratio.
int tb_ratio_unpaired(const double a[], size_t a_count, const double b[], size_t b_count, double confidence, struct tb_ratio *out);

// As tb_signed_rank_k, of the m * n differences.
int tb_rank_sum_k(size_t m, size_t n, double confidence, size_t *k, double *achieved);

// --- the median, and what surrounds it ---

// As tb_signed_rank_k, for the k-th smallest and k-th largest of the values themselves (sign test).
size_t tb_sign_k(size_t n, double confidence, double *achieved);

// Median with the exact sign interval, which assumes nothing about the distribution. 0, -EINVAL (n == 0, a NAN, a confidence
// outside (0, 1)), -ENOMEM.
int tb_median_sign(const double values[], size_t n, double confidence, struct tb_ratio *out);

// Ratio b over a as tb_ratio, but by median and sign interval of the ln ratios. The same results.
int tb_ratio_sign(const double a[], const double b[], size_t n, double confidence, struct tb_ratio *out);

// Median with a percentile bootstrap interval, of nominal confidence: 2,000 resamples, value number tb_random_next() % n of the
// ordered ones at each draw; quantile q is interpolated at q (count - 1). The same seed gives the same interval. Results as
// tb_median_sign.
int tb_median_bootstrap(const double values[], size_t n, double confidence, uint64_t seed, struct tb_ratio *out);

// Values beyond Tukey's fences, of quartiles interpolated likewise. Severe ones are not counted as mild. 0, -EINVAL, -ENOMEM.
struct tb_outliers {
    size_t mild;                // more than 1.5 interquartile ranges outside the quartiles
    size_t severe;              // more than 3
};
int tb_outliers(const double values[], size_t n, struct tb_outliers *out);

// --- comparisons ---

// Equivalence test: is a ratio's interval inside [1 / (1 + margin), 1 + margin]?
bool tb_equivalent(const struct tb_ratio *ratio, double margin);

// How far the rounds of a pair disagree, in ln ratios: their standard deviation (NAN for n == 1), and the largest distance from
// their median. Results as tb_ratio.
struct tb_spread {
    double sd, extreme;
};
int tb_spread(const double a[], const double b[], size_t n, struct tb_spread *out);

#endif
