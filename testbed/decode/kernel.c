// SPDX-License-Identifier: Apache-2.0
//
// kernel: which kernels this CPU can run. See kernel.h.

#include "testbed/decode/kernels/kernels.h"

static const struct tb_kernel *const best_first[] = {
#if defined(__x86_64__)
    &tb_kernel_avx512,
    &tb_kernel_avx2,
#elif defined(__aarch64__)
    &tb_kernel_neon,
#endif
    &tb_kernel_scalar,
};

// With all lines fetched ahead a Zen 4 CPU read contiguous K and V at 0.75 of a stream's pace, and with none at 1.08; an Emerald
// Rapids CPU at 0.88 with, and 0.6 without (one query for a KV head, bf16). Of other AMD CPUs it is assumed.
bool tb_kernel_streams(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amd");
#else
    return false;
#endif
}

const struct tb_kernel *tb_kernel_at(size_t i)
{
    for (size_t k = 0; k < sizeof best_first / sizeof *best_first; k++)
        if (best_first[k]->usable() && i-- == 0)
            return best_first[k];
    return NULL;
}
