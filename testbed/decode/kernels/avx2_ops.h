// SPDX-License-Identifier: Apache-2.0
//
// avx2_ops: eight floats at a time (AVX2, FMA and F16C): what vector_body.h, and lora's, are made of.
#ifndef TB_KERNELS_AVX2_OPS_H
#define TB_KERNELS_AVX2_OPS_H

#include <immintrin.h>

#define KERNEL_TARGET __attribute__((target("avx2,fma,f16c")))
#define WIDTH 8u
#define SUMS 8u
#define TWINS 0
#define OP KERNEL_TARGET static inline __attribute__((always_inline))

typedef __m256 vector;
typedef int32_t words __attribute__((vector_size(32)));

OP vector load_f32(const void *from)
{
    return _mm256_loadu_ps(from);
}

OP vector load_f16(const void *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(from));
}

OP vector load_bf16(const void *from)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(from)), 16));
}

OP void store(float *to, vector v)
{
    _mm256_storeu_ps(to, v);
}

OP vector all(float number)
{
    return _mm256_set1_ps(number);
}

OP vector muladd(vector a, vector b, vector c)
{
    return _mm256_fmadd_ps(a, b, c);
}

OP vector most(vector a, vector b)
{
    return _mm256_max_ps(a, b);
}

OP vector swap(vector v, uint32_t distance)
{
    switch (distance) {
    case 1: return _mm256_permute_ps(v, 0xb1);
    case 2: return _mm256_permute_ps(v, 0x4e);
    default: return _mm256_permute2f128_ps(v, v, 1);
    }
}

OP vector sums(const vector v[])
{
    vector low = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    vector high = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
    return _mm256_permute2f128_ps(low, high, 0x20) + _mm256_permute2f128_ps(low, high, 0x31);
}

#endif
