// SPDX-License-Identifier: Apache-2.0
//
// quant: chooses the kernel, and completes the last group. See quant.h.
//
// Why a second round trip changes nothing. Let m be a group's largest magnitude, s = m / 127, and u = 2^-24, the distance between
// the least f16 numbers. All sums are rounded to float, which is off by less than 2^-21 of the result; that is left out where it
// cannot matter.
//
//   1. The number of magnitude m has q = +-127: 127 / m, times m, is 127 but for float's rounding. It comes back as 127 * s, which
//      is m but for 2^-22 of it, and the nearest f16 to that is m: neighbours of m are at least 2^-11 of it away. No other |q| is
//      more than 127, so no other number comes back greater. Hence the second m is the first one, and s, too.
//   2. A number comes back as x' = q * s + e, where e is f16's rounding, and is stored again as the integer next to q + e / s.
//      That is q as long as |e| < s / 2, by a margin for float's rounding:
//      - x' normal: |e| <= 2^-11 * |q| * s <= 0.062 * s.
//      - x' denormal and m > 127 u: |e| <= u / 2, and s >= 128/127 u, so |e| / s <= 0.4961.
//      - m <= 127 u: x is an integral multiple k of u, and |q * s - k u| <= s / 2 <= u / 2. Below u / 2, k u is the nearest f16, so
//        x' = x, and what is stored the second time is what was stored the first. Only m = 127 u reaches u / 2, and there s = u,
//        q = k, and x' = x again.
//
// tests/quant_test.c walks through every m and every q.

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "quant_kernels.h"

static const struct quant_kernel *const best_first[] = {
#if defined(__x86_64__)
    &quant_avx512,
    &quant_avx2,
#elif defined(__aarch64__)
    &quant_neon,
#endif
    &quant_scalar,
};

const struct quant_kernel *quant_kernel_at(size_t i)
{
    for (size_t k = 0; k < sizeof best_first / sizeof *best_first; k++)
        if (best_first[k]->usable() && i-- == 0)
            return best_first[k];
    return NULL;
}

// CPUID ends in the hypervisor on a virtual machine, and costs more than the conversion of a page, so the answer is kept.
static const struct quant_kernel *best(void)
{
    static _Atomic(const struct quant_kernel *) kept;
    // C1: relaxed, partner itself: threads that ask at once all find the same constant table, and nothing else is published by it.
    const struct quant_kernel *kernel = atomic_load_explicit(&kept, memory_order_relaxed);
    if (!kernel)
        atomic_store_explicit(&kept, kernel = quant_kernel_at(0), memory_order_relaxed);
    return kernel;
}

size_t locus_int8_bytes(size_t count)
{
    if (count > SIZE_MAX / 2)
        return SIZE_MAX;
    return (count / LOCUS_INT8_GROUP + (count % LOCUS_INT8_GROUP != 0)) * LOCUS_INT8_GROUP_BYTES;
}

int locus_int8_from_f16(void *to, const uint16_t *from, size_t count)
{
    const struct quant_kernel *kernel = best();
    size_t groups = count / LOCUS_INT8_GROUP, rest = count % LOCUS_INT8_GROUP;
    uint16_t last[LOCUS_INT8_GROUP] = {0};
    if (!kernel->from_f16(to, from, groups))
        return -ERANGE;
    if (rest == 0)
        return 0;
    memcpy(last, from + groups * LOCUS_INT8_GROUP, rest * sizeof *last);
    return kernel->from_f16((char *)to + groups * LOCUS_INT8_GROUP_BYTES, last, 1) ? 0 : -ERANGE;
}

static int convert(bool groups_to_f16(uint16_t *, const char *, size_t), uint16_t *to, const void *from, size_t count)
{
    size_t groups = count / LOCUS_INT8_GROUP, rest = count % LOCUS_INT8_GROUP;
    uint16_t last[LOCUS_INT8_GROUP];
    if (!groups_to_f16(to, from, groups))
        return -EBADMSG;
    if (rest == 0)
        return 0;
    if (!best()->to_f16(last, (const char *)from + groups * LOCUS_INT8_GROUP_BYTES, 1))
        return -EBADMSG;
    memcpy(to + groups * LOCUS_INT8_GROUP, last, rest * sizeof *last);
    return 0;
}

int locus_int8_to_f16(uint16_t *to, const void *from, size_t count)
{
    return convert(best()->to_f16, to, from, count);
}

int locus_int8_to_f16_streamed(uint16_t *to, const void *from, size_t count)
{
    return convert(best()->stream_f16, to, from, count);
}
