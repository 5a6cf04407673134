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

const struct tb_kernel *tb_kernel_at(size_t i)
{
    for (size_t k = 0; k < sizeof best_first / sizeof *best_first; k++)
        if (best_first[k]->usable() && i-- == 0)
            return best_first[k];
    return NULL;
}
