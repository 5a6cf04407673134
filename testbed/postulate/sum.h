// SPDX-License-Identifier: Apache-2.0
//
// sum: the arithmetic of a prediction that needs no measurement, such as "ceil(1000 / 16)": numbers, + - * / with their usual
// precedence, a leading minus, parentheses, floor() and ceil(). No names: what a number stands for is said by the claim.
#ifndef TB_SUM_H
#define TB_SUM_H

#include <stddef.h>

// Rounded by tb_sum_rounded(), and so is what floor() and ceil() take: 0.1 * 3 is 0.3, and floor(0.57 * 100) is 57. What round-off
// leaves of a difference is 0. 0; -EINVAL: why says at which character it ends, or that it divides by 0.
int tb_sum(const char *text, double *out, char *why, size_t why_bytes);

// To twelve digits, but for whole numbers up to 2^53. What a sum is compared with is rounded in the same way.
double tb_sum_rounded(double value);

#endif
