// SPDX-License-Identifier: Apache-2.0
//
// quant_neon: eight numbers at a time, with what every 64-bit Arm processor has. See quant_kernels.h.

#include "quant_kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <string.h>

#define OP static inline __attribute__((always_inline))
#define WIDTH 8u

OP float number_of(uint16_t half)
{
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
}

OP uint16_t largest(const uint16_t *from)
{
    uint16x8_t most = vdupq_n_u16(0);
    for (unsigned i = 0; i < LOCUS_INT8_GROUP; i += WIDTH)
        most = vmaxq_u16(most, vandq_u16(vdupq_n_u16(QUANT_MAGNITUDE), vld1q_u16(from + i)));
    return vmaxvq_u16(most);
}

OP int16x4_t levels(uint16x4_t from, float inverse)
{
    return vmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(vcvt_f32_f16(vreinterpret_f16_u16(from)), inverse)));
}

static bool from_f16(char *to, const uint16_t *from, size_t groups)
{
    for (; groups-- > 0; from += LOCUS_INT8_GROUP, to += LOCUS_INT8_GROUP_BYTES) {
        uint16_t most = largest(from);
        if (most >= QUANT_INFINITE)
            return false;
        float inverse = most ? QUANT_LEVELS / number_of(most) : 0;
        memcpy(to, &most, sizeof most);
        for (unsigned i = 0; i < LOCUS_INT8_GROUP; i += WIDTH) {
            uint16x8_t eight = vld1q_u16(from + i);
            int16x8_t q = vcombine_s16(levels(vget_low_u16(eight), inverse), levels(vget_high_u16(eight), inverse));
            vst1_s8((int8_t *)to + sizeof most + i, vmovn_s16(q));
        }
    }
    return true;
}

// Out of the way of the loop, whose code it would change.
static __attribute__((cold, noinline)) bool has_never(const char *levels)
{
    int8x16_t least = vld1q_s8((const int8_t *)levels);
    for (unsigned i = sizeof least; i < LOCUS_INT8_GROUP; i += sizeof least)
        least = vminq_s8(least, vld1q_s8((const int8_t *)levels + i));
    return vminvq_s8(least) == QUANT_NEVER;
}

OP uint16x4_t numbers(int16x4_t levels, float scale)
{
    return vreinterpret_u16_f16(vcvt_f16_f32(vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(levels)), scale)));
}

static bool to_f16(uint16_t *to, const char *from, size_t groups)
{
    for (; groups-- > 0; from += LOCUS_INT8_GROUP_BYTES, to += LOCUS_INT8_GROUP) {
        uint16_t most;
        memcpy(&most, from, sizeof most);
        if (most >= QUANT_EDGE && (most >= QUANT_INFINITE || has_never(from + sizeof most)))
            return false;
        float scale = number_of(most) * QUANT_STEP;
        for (unsigned i = 0; i < LOCUS_INT8_GROUP; i += WIDTH) {
            int16x8_t q = vmovl_s8(vld1_s8((const int8_t *)from + sizeof most + i));
            vst1q_u16(to + i, vcombine_u16(numbers(vget_low_s16(q), scale), numbers(vget_high_s16(q), scale)));
        }
    }
    return true;
}

static bool usable(void)
{
    return true;
}

const struct quant_kernel quant_neon = {"neon", usable, from_f16, to_f16, to_f16};

#endif
