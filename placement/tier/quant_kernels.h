// SPDX-License-Identifier: Apache-2.0
//
// quant_kernels: whole groups of quant.h, once for each kind of instructions, with the same bits. Not installed.
//
// Each operation is one that IEEE 754 defines to the last bit, in the same order, so nothing here may be fused: x times a constant
// is no sum, and no kernel adds.
//
// Levels are looked at only where a -128 would become infinite: to look at all costs a twentieth of a conversion within the caches.
#ifndef LOCUS_QUANT_KERNELS_H
#define LOCUS_QUANT_KERNELS_H

#include <stdbool.h>

#include "locus/int8.h"

#define QUANT_MAGNITUDE 0x7fffu // of an f16's bits
#define QUANT_INFINITE 0x7c00u  // magnitudes from here on are infinite or NaN
#define QUANT_LEVELS 127.0f
#define QUANT_NEVER INT8_MIN    // is not written: 127 is the greatest magnitude
#define QUANT_EDGE 0x7bf0u      // largest magnitudes from here on, 65,520 * 127 / 128, make such a q infinite
#define QUANT_STEP (1 / 127.0f) // the scale of a group whose largest magnitude is 1

#define QUANT_AHEAD_BYTES 4096u // fetched so far ahead where nothing is kept in the caches

struct quant_kernel {
    const char *name;           // "avx512", "avx2", "neon", "scalar"
    bool (*usable)(void);
    // False: as -ERANGE and -EBADMSG of quant.h.
    bool (*from_f16)(char *to, const uint16_t *from, size_t groups);
    bool (*to_f16)(uint16_t *to, const char *from, size_t groups);
    bool (*stream_f16)(uint16_t *to, const char *from, size_t groups); // past the caches, where the instructions can
};

#if defined(__x86_64__)
extern const struct quant_kernel quant_avx512, quant_avx2;
#elif defined(__aarch64__)
extern const struct quant_kernel quant_neon;
#endif
extern const struct quant_kernel quant_scalar;

// Those that this CPU can run, best first; NULL after the last.
const struct quant_kernel *quant_kernel_at(size_t i);

#endif
