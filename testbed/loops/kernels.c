// SPDX-License-Identifier: Apache-2.0
//
// kernels: one set for each width of register that a CPU may have, chosen when the program runs, because a binary that is built
// for the oldest CPU must still draw what the newest can. See kernels.h and kernels_body.h.
#include "testbed/loops/kernels.h"

#include <stdbool.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SETTLE(value) __asm__ volatile("" : "+r"(value) : : "memory")
#define BYTES(begin, end) ((uint64_t)((const char *)(end) - (const char *)(begin)))

#if defined(__clang__)
#define UNROLL // it does by itself
#else
#define UNROLL _Pragma("GCC unroll 4")
#endif

#if defined(__x86_64__)

#define FENCE() _mm_sfence()
#define KERNEL_NT_LINE                                                                                                             \
    do {                                                                                                                           \
        UNROLL                                                                                                                     \
        for (unsigned i = 0; i < PARTS; i++)                                                                                       \
            KERNEL_NT(at + i, a[i]);                                                                                               \
    } while (0)
#define LOADED(vector) __asm__ volatile("" : "+v"(vector))

#define KERNEL(name) avx512_##name
#define KERNEL_NAME "avx512"
#define KERNEL_TARGET __attribute__((target("avx512f")))
#define KERNEL_BYTES 64
#define KERNEL_NT(to, value) _mm512_stream_si512((void *)(to), (__m512i)(value))
#include "testbed/loops/kernels_body.h"

#define KERNEL(name) avx2_##name
#define KERNEL_NAME "avx2"
#define KERNEL_TARGET __attribute__((target("avx2")))
#define KERNEL_BYTES 32
#define KERNEL_NT(to, value) _mm256_stream_si256((void *)(to), (__m256i)(value))
#include "testbed/loops/kernels_body.h"

#define KERNEL_NT(to, value) _mm_stream_si128((void *)(to), (__m128i)(value))

#elif defined(__aarch64__)

// stnp stores a pair of registers, and both halves of the pair are the same here: every other turn stores for two.
#define LOADED(vector) __asm__ volatile("" : "+w"(vector))
#define FENCE() __asm__ volatile("dmb ishst" ::: "memory")
#define KERNEL_NT(to, value)                                                                                                       \
    do {                                                                                                                           \
        if (i % 2 == 0)                                                                                                            \
            __asm__ volatile("stnp %q1, %q1, [%0]" : : "r"(to), "w"(value) : "memory");                                            \
    } while (0)
#define KERNEL_NT_LINE                                                                                                             \
    do {                                                                                                                           \
        UNROLL                                                                                                                     \
        for (unsigned i = 0; i < PARTS; i += 2)                                                                                    \
            __asm__ volatile("stnp %q1, %q2, [%0]" : : "r"(at + i), "w"(a[i]), "w"(a[i + 1]) : "memory");                          \
    } while (0)

#else
#error "kernels: no store that passes the caches by is known for this machine"
#endif

#define KERNEL(name) base_##name
#define KERNEL_NAME "base"
#define KERNEL_TARGET
#define KERNEL_BYTES 16
#include "testbed/loops/kernels_body.h"

void tb_nt_fence(void)
{
    FENCE();
}

// The compiler's test asks the system, too: registers that it does not save are as good as missing.
static bool usable(const struct tb_kernels *kernels)
{
#if defined(__x86_64__)
    if (kernels == &avx512_kernels)
        return __builtin_cpu_supports("avx512f");
    if (kernels == &avx2_kernels)
        return __builtin_cpu_supports("avx2");
#endif
    return kernels == &base_kernels;
}

static const struct tb_kernels *const widest_first[] = {
#if defined(__x86_64__)
    &avx512_kernels,
    &avx2_kernels,
#endif
    &base_kernels,
};

const struct tb_kernels *tb_kernels_at(unsigned index)
{
    for (size_t i = 0; i < sizeof widest_first / sizeof *widest_first; i++)
        if (usable(widest_first[i]) && index-- == 0)
            return widest_first[i];
    return NULL;
}

const struct tb_kernels *tb_kernels_best(void)
{
    return tb_kernels_at(0);
}
