// SPDX-License-Identifier: Apache-2.0
//
// quant_avx512: sixteen numbers at a time (AVX-512 F alone). See quant_kernels.h.

#include "quant_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx512f")))
#define OP TARGET static inline __attribute__((always_inline))
#define WIDTH 16u

OP __m512 all(uint16_t half)
{
    return _mm512_cvtph_ps(_mm256_set1_epi16((short)half));
}

// The largest of the magnitudes of two, as bits; 16 bits at a time need AVX2 only.
OP __m256i larger(__m256i a, const uint16_t *from)
{
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)from);
    return _mm256_max_epu16(a, _mm256_and_si256(_mm256_set1_epi16(QUANT_MAGNITUDE), b));
}

OP uint16_t largest(const uint16_t *from)
{
    __m256i most = _mm256_setzero_si256();
    for (unsigned i = 0; i < LOCUS_INT8_GROUP; i += WIDTH)
        most = larger(most, from + i);
    __m128i half = _mm_max_epu16(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    return (uint16_t)~_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(half, _mm_set1_epi16(-1)))); // there is only a minimum
}

TARGET static bool from_f16(char *to, const uint16_t *from, size_t groups)
{
    for (; groups-- > 0; from += LOCUS_INT8_GROUP, to += LOCUS_INT8_GROUP_BYTES) {
        uint16_t most = largest(from);
        if (most >= QUANT_INFINITE)
            return false;
        __m512 inverse = most ? _mm512_div_ps(_mm512_set1_ps(QUANT_LEVELS), all(most)) : _mm512_setzero_ps();
        memcpy(to, &most, sizeof most);
        for (unsigned i = 0; i < LOCUS_INT8_GROUP; i += WIDTH) {
            __m512 number = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
            __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(number, inverse)));
            _mm_storeu_si128((__m128i *)(void *)(to + sizeof most + i), bytes);
        }
    }
    return true;
}

// Out of the way of the loop, whose code it would change.
TARGET static __attribute__((cold, noinline)) bool has_never(const char *levels)
{
    __m256i never = _mm256_set1_epi8(QUANT_NEVER);
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)levels);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(levels + LOCUS_INT8_GROUP / 2));
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epi8(low, high), never)) != 0;
}

OP bool convert(uint16_t *to, const char *from, size_t groups, bool streamed)
{
    for (; groups-- > 0; from += LOCUS_INT8_GROUP_BYTES, to += LOCUS_INT8_GROUP) {
        uint16_t most;
        if (streamed) {
            _mm_prefetch(from + QUANT_AHEAD_BYTES, _MM_HINT_T0);
            _mm_prefetch(from + QUANT_AHEAD_BYTES + 64, _MM_HINT_T0);
        }
        memcpy(&most, from, sizeof most);
        if (most >= QUANT_EDGE && (most >= QUANT_INFINITE || has_never(from + sizeof most)))
            return false;
        __m512 scale = _mm512_mul_ps(all(most), _mm512_set1_ps(QUANT_STEP));
        for (unsigned i = 0; i < LOCUS_INT8_GROUP; i += WIDTH) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(from + sizeof most + i));
            __m512 number = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)), scale);
            __m256i half = _mm512_cvtps_ph(number, _MM_FROUND_TO_NEAREST_INT);
            if (streamed)
                _mm256_stream_si256((__m256i *)(void *)(to + i), half);
            else
                _mm256_storeu_si256((__m256i *)(void *)(to + i), half);
        }
    }
    return true;
}

TARGET static bool to_f16(uint16_t *to, const char *from, size_t groups)
{
    return convert(to, from, groups, false);
}

// The fence: what was stored past the caches is in order before all that the caller stores next.
TARGET static bool stream_f16(uint16_t *to, const char *from, size_t groups)
{
    if ((uintptr_t)to % sizeof(__m256i) != 0)
        return convert(to, from, groups, false);
    bool good = convert(to, from, groups, true);
    _mm_sfence();
    return good;
}

static bool usable(void) // compilers add what each such CPU has: all of them AVX2
{
    return __builtin_cpu_supports("avx512f") && quant_avx2.usable();
}

const struct quant_kernel quant_avx512 = {"avx512", usable, from_f16, to_f16, stream_f16};

#endif
