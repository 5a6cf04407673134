// SPDX-License-Identifier: Apache-2.0
//
// neon: four floats at a time, 32 registers. See lora_body.h.

#include "testbed/decode/kernels/kernels.h"
#include "testbed/decode/lora/lora.h"

#if defined(__aarch64__)

#include "testbed/decode/kernels/neon_ops.h"

#define TOGETHER 2u

#include "testbed/decode/lora/lora_body.h"

const struct tb_lora_kernel tb_lora_neon = {&tb_kernel_neon, shrink, expand};

#endif
