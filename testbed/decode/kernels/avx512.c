// SPDX-License-Identifier: Apache-2.0
//
// avx512: sixteen floats at a time (AVX-512 F alone). See vector_body.h.

#include "testbed/decode/kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>

#define KERNEL_TARGET __attribute__((target("avx512f")))
#define WIDTH 16u
#define SUMS 16u
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

// Of two vectors one, with the sums of neighbours `distance` apart: those of b where the lane's number has that bit.
OP vector fold(vector a, vector b, uint32_t distance)
{
    switch (distance) {
    case 1: return _mm512_mask_permute_ps(a, 0xaaaa, b, 0xb1) + _mm512_mask_permute_ps(b, 0x5555, a, 0xb1);
    case 2: return _mm512_mask_permute_ps(a, 0xcccc, b, 0x4e) + _mm512_mask_permute_ps(b, 0x3333, a, 0x4e);
    case 4: return _mm512_mask_shuffle_f32x4(a, 0xf0f0, b, b, 0xb1) + _mm512_mask_shuffle_f32x4(b, 0x0f0f, a, a, 0xb1);
    default: return _mm512_mask_shuffle_f32x4(a, 0xff00, b, b, 0x4e) + _mm512_mask_shuffle_f32x4(b, 0x00ff, a, a, 0x4e);
    }
}

OP vector sums(const vector v[])
{
    vector a = fold(fold(v[0], v[1], 1), fold(v[2], v[3], 1), 2), b = fold(fold(v[4], v[5], 1), fold(v[6], v[7], 1), 2);
    vector c = fold(fold(v[8], v[9], 1), fold(v[10], v[11], 1), 2), d = fold(fold(v[12], v[13], 1), fold(v[14], v[15], 1), 2);
    return fold(fold(a, b, 4), fold(c, d, 4), 8);
}

#include "testbed/decode/kernels/vector_body.h"

static bool usable(void)
{
    return __builtin_cpu_supports("avx512f");
}

const struct tb_kernel tb_kernel_avx512 = {"avx512", usable, {attend_f32, attend_f16, attend_bf16}};

#endif
