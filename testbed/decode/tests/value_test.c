// SPDX-License-Identifier: Apache-2.0
//
// value: all halves and all bf16, both ways. What lies between two of them goes to the nearer one, and from the middle to the even
// one. The references are ldexp() and the neighbours themselves, not bits.

#include <criterion/criterion.h>
#include <math.h>

#include "testbed/decode/dtype.h"

#define WORDS 65536u

static const enum tb_dtype two_bytes[] = {TB_DTYPE_F16, TB_DTYPE_BF16};

static double exact(enum tb_dtype value, uint16_t word)
{
    int fraction_bits = value == TB_DTYPE_F16 ? 10 : 7, bias = value == TB_DTYPE_F16 ? 15 : 127;
    int exponent = (word & 0x7fff) >> fraction_bits, fraction = word & ((1 << fraction_bits) - 1);
    double magnitude = exponent == 0              ? ldexp(fraction, 1 - bias - fraction_bits)
                       : exponent == 2 * bias + 1 ? (fraction ? NAN : INFINITY)
                                                  : ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return word & 0x8000 ? -magnitude : magnitude;
}

static uint16_t stored(enum tb_dtype value, float number)
{
    uint16_t word;
    tb_dtype_store(value, &word, number);
    return word;
}

Test(value, all_halves_and_all_bf16_are_loaded_as_they_are)
{
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0; n < WORDS; n++) {
            uint16_t word = (uint16_t)n;
            double number = tb_dtype_load(two_bytes[i], &word), expected = exact(two_bytes[i], word);
            cr_assert(isnan(expected) ? isnan(number) : number == expected && !signbit(number) == !signbit(expected), "%s %04x",
                      tb_dtype_name(two_bytes[i]), n);
        }
}

Test(value, what_is_stored_comes_back)
{
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0; n < WORDS; n++) {
            uint16_t word = (uint16_t)n;
            float number = tb_dtype_load(two_bytes[i], &word);
            cr_assert(isnan(number) || stored(two_bytes[i], number) == word, "%s %04x", tb_dtype_name(two_bytes[i]), n);
        }
}

// Between each value and the next: a little below the middle, the middle, and a little above it. The middle of two neighbours is
// exact as a float. Behind the largest value comes infinity, whose place is that of the next power of two.
Test(value, the_nearest_is_stored_and_of_two_the_even_one)
{
    for (int i = 0; i < 2; i++) {
        uint16_t infinity = two_bytes[i] == TB_DTYPE_F16 ? 0x7c00 : 0x7f80;
        for (uint16_t n = 0; n < infinity; n++) {
            double low = exact(two_bytes[i], n);
            double high =
                n + 1 < infinity ? exact(two_bytes[i], (uint16_t)(n + 1)) : 2 * low - exact(two_bytes[i], (uint16_t)(n - 1));
            float middle = (float)((low + high) / 2);
            cr_assert_eq((double)middle, (low + high) / 2);
            uint16_t even = (uint16_t)(n % 2 ? n + 1 : n);
            cr_assert_eq(stored(two_bytes[i], nextafterf(middle, 0)), n, "below the middle of %04x", n);
            cr_assert_eq(stored(two_bytes[i], middle), even, "in the middle of %04x", n);
            cr_assert_eq(stored(two_bytes[i], nextafterf(middle, INFINITY)), n + 1, "above the middle of %04x", n);
            cr_assert_eq(stored(two_bytes[i], -middle), even | 0x8000, "in the middle of -%04x", n);
        }
    }
}

Test(value, too_large_numbers_are_infinite)
{
    cr_expect_eq(stored(TB_DTYPE_F16, 65504), 0x7bff);
    cr_expect_eq(stored(TB_DTYPE_F16, 1e30f), 0x7c00);
    cr_expect_eq(stored(TB_DTYPE_F16, -INFINITY), 0xfc00);
    cr_expect_eq(stored(TB_DTYPE_BF16, INFINITY), 0x7f80);
    cr_expect_eq(stored(TB_DTYPE_BF16, -3.4e38f), 0xff80);
}

Test(value, names)
{
    enum tb_dtype found;
    for (int i = 0; i < TB_DTYPES_COUNT; i++) {
        cr_expect(tb_dtype_parse(tb_dtype_name((enum tb_dtype)i), &found));
        cr_expect_eq((int)found, i);
    }
    cr_expect_not(tb_dtype_parse("f8", &found));
    float number = 0.1f, back;
    tb_dtype_store(TB_DTYPE_F32, &back, number);
    cr_expect_eq(tb_dtype_load(TB_DTYPE_F32, &back), number);
}
