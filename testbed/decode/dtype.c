// SPDX-License-Identifier: Apache-2.0
//
// dtype: see dtype.h. By bits, because not every compiler here has a type of 16 bits on every machine.

#include "testbed/decode/dtype.h"

static const char *const names[TB_DTYPES_COUNT] = {"f32", "f16", "bf16"};

const char *tb_dtype_name(enum tb_dtype dtype)
{
    return names[dtype];
}

bool tb_dtype_parse(const char *text, enum tb_dtype *out)
{
    for (int i = 0; i < TB_DTYPES_COUNT; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum tb_dtype)i;
            return true;
        }
    return false;
}

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

// A half's exponent is moved to a float's place and its bias corrected by a multiplication, which is exact, also for halves below
// the least normal one.
static float half_load(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
    float magnitude = (half & 0x7c00) == 0x7c00 ? float_of(0x7f800000 | rest) : float_of(rest) * 0x1p112f;
    return float_of(sign | bits_of(magnitude));
}

static uint16_t half_store(float number)
{
    uint32_t bits = bits_of(number), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest >= 0x47800000) // 65,536 and more
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) // below the least normal half: the addition of 0.5 rounds to a multiple of 2^-24
        return (uint16_t)(sign | (bits_of(float_of(rest) + 0.5f) - bits_of(0.5f)));
    return (uint16_t)(sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13));
}

float tb_dtype_load(enum tb_dtype dtype, const void *from)
{
    uint16_t word;
    float number;
    if (dtype == TB_DTYPE_F32) {
        memcpy(&number, from, sizeof number);
        return number;
    }
    memcpy(&word, from, sizeof word);
    return dtype == TB_DTYPE_F16 ? half_load(word) : float_of((uint32_t)word << 16);
}

void tb_dtype_store(enum tb_dtype dtype, void *to, float number)
{
    uint32_t bits = bits_of(number);
    uint16_t word = dtype == TB_DTYPE_F16 ? half_store(number) : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    if (dtype == TB_DTYPE_F32)
        memcpy(to, &number, sizeof number);
    else
        memcpy(to, &word, sizeof word);
}
