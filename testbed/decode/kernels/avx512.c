// SPDX-License-Identifier: Apache-2.0
//
// avx512: sixteen floats at a time (AVX-512 F alone). See vector_body.h.
//
// One thread of a busy Sapphire Rapids-class VM, bf16, 8 KV heads of 128, contexts of 4,096 tokens from memory. Against one stream
// of plain reads (14 GB/s): contiguous 0.99 with one query for a KV head, 0.90 with 4, 0.67 with 8, which is bound by arithmetic
// (10 GB/s from the second-level cache). Against plain reads of shuffled blocks of 16 tokens: 0.89, 0.84, 0.67. What is lost there
// is the wait for a new block's first lines: 0.8 us for 64 KiB, of which plain reads lose 0.5. Loops for one size of head alone
// were no faster. VDPBF16PS has a quarter of the pace of an FMA here, and three of them would be needed to keep the precision.
//
// One thread of a Zen 4 VM, the same: against one stream (8 KiB of K and V in 300 ns) contiguous 1.08 with one query, of which the
// arithmetic takes 210 ns; with 4 it takes 570 ns, with 8 1,090 ns, and memory no longer matters. Against plain reads of shuffled
// blocks of 16 tokens 0.85 with one query: a prefetch is dropped while the queues are full, and the CPU's prefetcher starts anew
// with each block, 1.2 us of which plain reads lose 0.5.

#include "testbed/decode/kernels/kernels.h"

#if defined(__x86_64__)

#include <math.h>

#include "testbed/decode/kernels/avx512_ops.h"
#include "testbed/decode/kernels/vector_body.h"

static bool usable(void) // compilers add what each such CPU has: all of them AVX2, and clang FMA and F16C
{
    return __builtin_cpu_supports("avx512f") && tb_kernel_avx2.usable();
}

const struct tb_kernel tb_kernel_avx512 = {"avx512", usable, {attend_f32, attend_f16, attend_bf16}, TWINS};

#endif
