// SPDX-License-Identifier: Apache-2.0
//
// kernels: one file for each kind of instructions (../kernel.h). A file of a kind that the compiler's machine does not have is
// empty.
#ifndef TB_DECODE_KERNELS_H
#define TB_DECODE_KERNELS_H

#include "testbed/decode/kernel.h"

#if defined(__x86_64__)
extern const struct tb_kernel tb_kernel_avx512, tb_kernel_avx2;
#elif defined(__aarch64__)
extern const struct tb_kernel tb_kernel_neon;
#endif
extern const struct tb_kernel tb_kernel_scalar;

#endif
