// SPDX-License-Identifier: Apache-2.0
//
// neon: four floats at a time, with what every 64-bit Arm processor has. See vector_body.h.

#include "testbed/decode/kernels/kernels.h"

#if defined(__aarch64__)

#include <math.h>

#include "testbed/decode/kernels/neon_ops.h"
#include "testbed/decode/kernels/vector_body.h"

static bool usable(void)
{
    return true;
}

const struct tb_kernel tb_kernel_neon = {"neon", usable, {attend_f32, attend_f16, attend_bf16}, TWINS};

#endif
