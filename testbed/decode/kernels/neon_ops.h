// SPDX-License-Identifier: Apache-2.0
//
// neon_ops: four floats at a time, with what every 64-bit Arm processor has: what vector_body.h, and lora's, are made of.
#ifndef TB_KERNELS_NEON_OPS_H
#define TB_KERNELS_NEON_OPS_H

#include <arm_neon.h>

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

#endif
