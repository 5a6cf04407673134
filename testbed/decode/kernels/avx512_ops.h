// SPDX-License-Identifier: Apache-2.0
//
// avx512_ops: sixteen floats at a time (AVX-512 F alone): what vector_body.h, and lora's, are made of.
#ifndef TB_KERNELS_AVX512_OPS_H
#define TB_KERNELS_AVX512_OPS_H

#include <immintrin.h>

#define KERNEL_TARGET __attribute__((target("avx512f")))
#define WIDTH 16u
#define SUMS 16u
#define TWINS (2 * WIDTH)
#define OP KERNEL_TARGET static inline __attribute__((always_inline))

typedef __m512 vector;
typedef int32_t words __attribute__((vector_size(64)));

OP vector load_f32(const void *from)
{
    return _mm512_loadu_ps(from);
}

OP vector load_f16(const void *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(from));
}

OP vector load_bf16(const void *from)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(from)), 16));
}

OP void load_twins(const void *from, vector to[2])
{
    __m512i both = _mm512_loadu_si512(from);
    to[0] = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
    to[1] = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000)));
}

OP void store(float *to, vector v)
{
    _mm512_storeu_ps(to, v);
}

OP vector all(float number)
{
    return _mm512_set1_ps(number);
}

OP vector muladd(vector a, vector b, vector c)
{
    return _mm512_fmadd_ps(a, b, c);
}

OP vector most(vector a, vector b)
{
    return _mm512_max_ps(a, b);
}

OP vector swap(vector v, uint32_t distance)
{
    switch (distance) {
    case 1: return _mm512_permute_ps(v, 0xb1);
    case 2: return _mm512_permute_ps(v, 0x4e);
    case 4: return _mm512_shuffle_f32x4(v, v, 0xb1);
    default: return _mm512_shuffle_f32x4(v, v, 0x4e);
    }
}

// Four vectors to one: in each quarter, lane i has the sum of v[i] over that quarter.
OP vector quarters(const vector v[])
{
    vector a = _mm512_unpacklo_ps(v[0], v[1]) + _mm512_unpackhi_ps(v[0], v[1]);
    vector b = _mm512_unpacklo_ps(v[2], v[3]) + _mm512_unpackhi_ps(v[2], v[3]);
    __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b));
    __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b));
    return _mm512_castpd_ps(low) + _mm512_castpd_ps(high);
}

// The even and the odd quarters of both.
OP vector fold(vector a, vector b)
{
    return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
}

OP vector sums(const vector v[])
{
    return fold(fold(quarters(v), quarters(v + 4)), fold(quarters(v + 8), quarters(v + 12)));
}

#endif
