// SPDX-License-Identifier: Apache-2.0
//
// What counts as a number or a size, and that none wraps or is cut to what fits.
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "testbed/base/cli.h"

#define NONE UINT64_MAX // no number: there is none so large

static uint64_t number(const char *text)
{
    uint64_t out;
    return tb_cli_u64(text, 0, UINT64_MAX, &out) ? out : NONE;
}

static uint64_t size(const char *text)
{
    uint64_t out;
    return tb_cli_bytes(text, 0, UINT64_MAX, &out) ? out : NONE;
}

Test(number, has_plain_digits)
{
    cr_expect_eq(number("0"), 0);
    cr_expect_eq(number("0042"), 42);
    static const char *const none[] = {"", " 5", "5 ", "+5", "-5", " -5", "\t-1", "0x5", "5.", "1e3", "five"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        cr_expect_eq(number(none[i]), NONE, "'%s'", none[i]);
        cr_expect_eq(size(none[i]), NONE, "'%s'", none[i]);
    }
}

Test(number, of_two_to_the_63_is_refused)
{
    cr_expect_eq(number("9223372036854775807"), INT64_MAX);
    static const char *const none[] = {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                                       "18446744073709551621", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        cr_expect_eq(number(none[i]), NONE, "'%s'", none[i]);
        cr_expect_eq(size(none[i]), NONE, "'%s'", none[i]);
    }
}

Test(number, sizes_have_units_and_the_same_end)
{
    cr_expect_eq(size("4KiB"), 4096);
    cr_expect_eq(size("2M"), 2 << 20);
    cr_expect_eq(size("1GB"), 1 << 30);
    cr_expect_eq(size("7B"), 7);
    cr_expect_eq(size("8388607T"), UINT64_C(8388607) << 40);
    static const char *const none[] = {"8388608T", "8388608TiB", "16777216T", "9007199254740992K", "18014398509481985K", "K", "4iB",
                                       "4KB ",     "4Ki",        "4 K"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_eq(size(none[i]), NONE, "'%s'", none[i]);
}

Test(number, stands_between_words)
{
    uint64_t out = 7;
    cr_expect(tb_number_word("16t", "", "t", 1, 100, &out) && out == 16);
    cr_expect(tb_number_word("first6000", "first", "", 1, 6000, &out) && out == 6000);
    static const char *const none[] = {"t", "16", "16tt", "-16t", "101t", "0t", "18446744073709551632t"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_not(tb_number_word(none[i], "", "t", 1, 100, &out), "'%s'", none[i]);
    cr_expect_eq(out, 6000, "a refused word changes nothing");
}

Test(number, ends_where_its_digits_end)
{
    const char *text = "12-34", *at = text;
    uint64_t out;
    cr_expect(tb_number_take(&at, 100, &out) && out == 12 && at == text + 2);
    at = "120";
    cr_expect_not(tb_number_take(&at, 100, &out));
    cr_expect_str_eq(at, "120");
}
