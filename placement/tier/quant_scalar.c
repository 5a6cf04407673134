// SPDX-License-Identifier: Apache-2.0
//
// quant_scalar: the kernel that every CPU can run, and the one to read first (quant_kernels.h). It says what the others must
// compute.

#include <string.h>

#include "quant_kernels.h"

static float float_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

// pre: finite. A half's exponent is moved to a float's place and its bias corrected by a multiplication, which is exact.
static float half_load(uint16_t half)
{
    float magnitude = float_of((uint32_t)(half & QUANT_MAGNITUDE) << 13) * 0x1p112f;
    return float_of((uint32_t)(half & 0x8000) << 16 | bits_of(magnitude));
}

// To the nearest, ties to even. pre: below 65,520, from where on it would be infinite.
static uint16_t half_store(float number)
{
    uint32_t bits = bits_of(number), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest < 0x38800000) // below the least normal half: the addition of 0.5 rounds to a multiple of 2^-24
        return (uint16_t)(sign | (bits_of(float_of(rest) + 0.5f) - bits_of(0.5f)));
    return (uint16_t)(sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13));
}

// To the nearest integer, ties to even: in this range a float's last bit is 1.
static int8_t nearest(float number)
{
    return (int8_t)((number + 0x1.8p23f) - 0x1.8p23f);
}

static bool from_f16(char *to, const uint16_t *from, size_t groups)
{
    for (; groups-- > 0; from += LOCUS_INT8_GROUP, to += LOCUS_INT8_GROUP_BYTES) {
        uint16_t most = 0;
        for (unsigned i = 0; i < LOCUS_INT8_GROUP; i++)
            if (most < (from[i] & QUANT_MAGNITUDE))
                most = from[i] & QUANT_MAGNITUDE;
        if (most >= QUANT_INFINITE)
            return false;
        float inverse = most ? QUANT_LEVELS / half_load(most) : 0;
        memcpy(to, &most, sizeof most);
        for (unsigned i = 0; i < LOCUS_INT8_GROUP; i++)
            to[sizeof most + i] = (char)nearest(half_load(from[i]) * inverse);
    }
    return true;
}

static bool to_f16(uint16_t *to, const char *from, size_t groups)
{
    for (; groups-- > 0; from += LOCUS_INT8_GROUP_BYTES, to += LOCUS_INT8_GROUP) {
        uint16_t most;
        memcpy(&most, from, sizeof most);
        if (most >= QUANT_EDGE && (most >= QUANT_INFINITE || memchr(from + sizeof most, QUANT_NEVER, LOCUS_INT8_GROUP)))
            return false;
        float scale = half_load(most) * QUANT_STEP;
        for (unsigned i = 0; i < LOCUS_INT8_GROUP; i++)
            to[i] = half_store((float)(int8_t)from[sizeof most + i] * scale);
    }
    return true;
}

static bool usable(void)
{
    return true;
}

const struct quant_kernel quant_scalar = {"scalar", usable, from_f16, to_f16, to_f16};
