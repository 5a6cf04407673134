// SPDX-License-Identifier: Apache-2.0
//
// sum: the arithmetic of a prediction that needs no measurement, such as "ceil(1000 / 16)": numbers, + - * / with their usual
// precedence, a leading minus, parentheses, floor() and ceil(). No names: what a number stands for is said by the claim.
#ifndef TB_SUM_H
#define TB_SUM_H

#include <stddef.h>

// Rounded to twelve digits, so that 0.1 * 3 is 0.3; what is left of a difference by round-off is 0. 0; -EINVAL: why says at which
// character it ends, or that it divides by 0.
int tb_sum(const char *text, double *out, char *why, size_t why_bytes);

#endif
