// SPDX-License-Identifier: Apache-2.0
//
// stats_parts: what stats.c and stats_more.c share.
#ifndef TB_STATS_PARTS_H
#define TB_STATS_PARTS_H

#include "testbed/stats.h"

int tb_compare_doubles(const void *left, const void *right); // for qsort

// ln(b / a) of each round, malloc'd. 0, -EINVAL (n == 0, a value that is not positive and finite), -ENOMEM.
int tb_log_ratios(const double a[], const double b[], size_t n, double **out);

#endif
