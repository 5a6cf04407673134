// SPDX-License-Identifier: Apache-2.0
//
// neon: four floats at a time, with what every 64-bit Arm processor has. See vector_body.h.

#include "testbed/decode/kernels/kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <math.h>

#define KERNEL_TARGET
#define WIDTH 4u
#define SUMS 16u
#define TWINS 0
#define OP static inline __attribute__((always_inline))

typedef float32x4_t vector;
typedef int32_t words __attribute__((vector_size(16)));

OP vector load_f32(const void *from)
{
    return vld1q_f32(from);
}

OP vector load_f16(const void *from)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
}

OP vector load_bf16(const void *from)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from), 16));
}

OP void store(float *to, vector v)
{
    vst1q_f32(to, v);
}

OP vector all(float number)
{
    return vdupq_n_f32(number);
}

OP vector muladd(vector a, vector b, vector c)
{
    return vfmaq_f32(c, a, b);
}

OP vector most(vector a, vector b)
{
    return vmaxq_f32(a, b);
}

OP vector swap(vector v, uint32_t distance)
{
    return distance == 1 ? vrev64q_f32(v) : vextq_f32(v, v, 2);
}

OP vector sums(const vector v[])
{
    return vpaddq_f32(vpaddq_f32(v[0], v[1]), vpaddq_f32(v[2], v[3]));
}

#include "testbed/decode/kernels/vector_body.h"

static bool usable(void)
{
    return true;
}

const struct tb_kernel tb_kernel_neon = {"neon", usable, {attend_f32, attend_f16, attend_bf16}, TWINS};

#endif
