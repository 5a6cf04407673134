// SPDX-License-Identifier: Apache-2.0
//
// avx2: eight floats at a time (AVX2, FMA and F16C). Sixteen registers hold eight sums. See vector_body.h.

#include "testbed/decode/kernels/kernels.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <math.h>

#include "testbed/decode/kernels/avx2_ops.h"
#include "testbed/decode/kernels/vector_body.h"

static bool usable(void) // the compiler's test asks the system, too; not all compilers' know F16C
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

const struct tb_kernel tb_kernel_avx2 = {"avx2", usable, {attend_f32, attend_f16, attend_bf16}, TWINS};

#endif
