// SPDX-License-Identifier: Apache-2.0
//
// avx2: eight floats at a time, sixteen registers. See lora_body.h.

#include "testbed/decode/kernels/kernels.h"
#include "testbed/decode/lora/lora.h"

#if defined(__x86_64__)

#include "testbed/decode/kernels/avx2_ops.h"

#define TOGETHER 2u

#include "testbed/decode/lora/lora_body.h"

const struct tb_lora_kernel tb_lora_avx2 = {&tb_kernel_avx2, shrink, expand};

#endif
