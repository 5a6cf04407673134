// SPDX-License-Identifier: Apache-2.0
//
// quant_avx2: eight numbers at a time (AVX2 and F16C). See quant_kernels.h.

#include "quant_kernels.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2,f16c")))
#define OP TARGET static inline __attribute__((always_inline))
#define WIDTH 8u

OP __m256 halves(const uint16_t *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)from));
}

OP uint16_t largest(const uint16_t *from)
{
    __m256i most = _mm256_setzero_si256(), mask = _mm256_set1_epi16(QUANT_MAGNITUDE);
    for (unsigned i = 0; i < LOCUS_INT8_GROUP; i += 2 * WIDTH)
        most = _mm256_max_epu16(most, _mm256_and_si256(mask, _mm256_loadu_si256((const __m256i *)(const void *)(from + i))));
    __m128i half = _mm_max_epu16(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    return (uint16_t)~_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(half, _mm_set1_epi16(-1)))); // there is only a minimum
}

OP __m256i levels(const uint16_t *from, __m256 inverse)
{
    return _mm256_cvtps_epi32(_mm256_mul_ps(halves(from), inverse));
}

TARGET static bool from_f16(char *to, const uint16_t *from, size_t groups)
{
    // What two packs leave in each half: four numbers of each of four vectors.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (; groups-- > 0; from += LOCUS_INT8_GROUP, to += LOCUS_INT8_GROUP_BYTES) {
        uint16_t most = largest(from);
        if (most >= QUANT_INFINITE)
            return false;
        __m256 inverse = _mm256_set1_ps(most ? QUANT_LEVELS / _cvtsh_ss(most) : 0);
        memcpy(to, &most, sizeof most);
        for (unsigned i = 0; i < LOCUS_INT8_GROUP; i += 4 * WIDTH) {
            __m256i low = _mm256_packs_epi32(levels(from + i, inverse), levels(from + i + WIDTH, inverse));
            __m256i high = _mm256_packs_epi32(levels(from + i + 2 * WIDTH, inverse), levels(from + i + 3 * WIDTH, inverse));
            __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
            _mm256_storeu_si256((__m256i *)(void *)(to + sizeof most + i), bytes);
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
        __m256 scale = _mm256_set1_ps(_cvtsh_ss(most) * QUANT_STEP);
        for (unsigned i = 0; i < LOCUS_INT8_GROUP; i += WIDTH) {
            __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(from + sizeof most + i));
            __m256 number = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), scale);
            __m128i half = _mm256_cvtps_ph(number, _MM_FROUND_TO_NEAREST_INT);
            if (streamed)
                _mm_stream_si128((__m128i *)(void *)(to + i), half);
            else
                _mm_storeu_si128((__m128i *)(void *)(to + i), half);
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
    if ((uintptr_t)to % sizeof(__m128i) != 0)
        return convert(to, from, groups, false);
    bool good = convert(to, from, groups, true);
    _mm_sfence();
    return good;
}

static bool usable(void) // the compiler's test asks the system, too; not all compilers' know F16C
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

const struct quant_kernel quant_avx2 = {"avx2", usable, from_f16, to_f16, stream_f16};

#endif
