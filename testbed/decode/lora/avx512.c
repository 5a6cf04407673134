// SPDX-License-Identifier: Apache-2.0
//
// avx512: sixteen floats at a time, 32 registers. See lora_body.h.

#include "testbed/decode/kernels/kernels.h"
#include "testbed/decode/lora/lora.h"

#if defined(__x86_64__)

#include "testbed/decode/kernels/avx512_ops.h"

#define TOGETHER 4u

#include "testbed/decode/lora/lora_body.h"

const struct tb_lora_kernel tb_lora_avx512 = {&tb_kernel_avx512, shrink, expand};

#endif
