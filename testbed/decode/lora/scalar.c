// SPDX-License-Identifier: Apache-2.0
//
// scalar: the kernel that every CPU can run, and the one to read first (lora.h). It says what the others must compute, but for the
// order of A's sums.

#include "testbed/decode/kernels/kernels.h"
#include "testbed/decode/lora/lora.h"

static void shrink(const struct tb_lora *lora, const float *const x[], uint32_t count, float *t)
{
    for (uint32_t k = 0; k < lora->rank; k++)
        for (uint32_t i = 0; i < count; i++) {
            float sum = 0;
            for (uint32_t in = 0; in < lora->in; in++)
                sum += tb_dtype_load(TB_DTYPE_F16, &lora->a[(size_t)k * lora->in + in]) * x[i][in];
            t[i * lora->rank + k] = sum;
        }
}

static void expand(const struct tb_lora *lora, const float *t, float *const y[], uint32_t count)
{
    const uint16_t *panel = lora->b;
    for (uint32_t out = 0; out < lora->out; out += TB_LORA_PANEL, panel += (size_t)lora->rank * TB_LORA_PANEL)
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < lora->rank; k++)
                for (uint32_t o = 0; o < TB_LORA_PANEL; o++)
                    y[i][out + o] += t[i * lora->rank + k] * tb_dtype_load(TB_DTYPE_F16, &panel[k * TB_LORA_PANEL + o]);
}

const struct tb_lora_kernel tb_lora_scalar = {&tb_kernel_scalar, shrink, expand};
