// SPDX-License-Identifier: Apache-2.0
//
// avx512: sixteen floats at a time (AVX-512 F alone). See vector_body.h.
//
// One thread of a busy Sapphire Rapids-class VM, bf16, 8 KV heads of 128, contexts of 4,096 tokens from memory. Against one stream
// of plain reads (14 GB/s): contiguous 0.99 with one query for a KV head, 0.90 with 4, 0.67 with 8, which is bound by arithmetic
// (10 GB/s from the second-level cache). Against plain reads of shuffled blocks of 16 tokens: 0.89, 0.84, 0.67. What is lost there
// is the wait for a new block's first lines: 0.8 us for 64 KiB, of which plain reads lose 0.5. Loops for one size of head alone
// were no faster. VDPBF16PS has a quarter of the pace of an FMA here, and three of them would be needed to keep the precision.
//
// One thread of a Zen 4 VM, the same: against one stream (8 KiB of K and V in 300 ns) contiguous 1.08 with one query, of which the
// arithmetic takes 210 ns; with 4 it takes 570 ns, with 8 1,090 ns, and memory no longer matters. Against plain reads of shuffled
// blocks of 16 tokens 0.85 with one query: a prefetch is dropped while the queues are full, and the CPU's prefetcher starts anew
// with each block, 1.2 us of which plain reads lose 0.5.

#include "testbed/decode/kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>

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

#include "testbed/decode/kernels/vector_body.h"

static bool usable(void) // compilers add what each such CPU has: all of them AVX2, and clang FMA and F16C
{
    return __builtin_cpu_supports("avx512f") && tb_kernel_avx2.usable();
}

const struct tb_kernel tb_kernel_avx512 = {"avx512", usable, {attend_f32, attend_f16, attend_bf16}, TWINS};

#endif
