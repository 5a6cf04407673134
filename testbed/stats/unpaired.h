// SPDX-License-Identifier: Apache-2.0
//
// unpaired: the ratio of two arms that were not run in the same rounds.
//
// Within a run arms are compared round by round (tb_ratio), so that disturbances of a round cancel. Between two runs nothing
// cancels: the interval covers the scatter of the samples within both runs, but not what changed between them. Pure functions,
// deterministic, any thread.
#ifndef TB_UNPAIRED_H
#define TB_UNPAIRED_H

#include "testbed/stats/stats.h"

// Ratio b over a of unrelated samples: the Hodges-Lehmann estimate for two samples on logarithms (the median of all ln b - ln a)
// with the interval of the rank-sum test. As in tb_ratio, the interval is unbounded if there are too few samples; out->n is the
// smaller count. 0, -EINVAL (a count is 0, a value is not positive and finite), -ENOMEM.
int tb_ratio_unpaired(const double a[], size_t a_count, const double b[], size_t b_count, double confidence, struct tb_ratio *out);

// The largest k for which the open interval between the k-th smallest and the k-th largest of the m * n differences has at least
// `confidence`, and the confidence achieved; 0 if even k = 1 has less. 0 or -ENOMEM.
int tb_rank_sum_k(size_t m, size_t n, double confidence, size_t *k, double *achieved);

#endif
