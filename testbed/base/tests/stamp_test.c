// SPDX-License-Identifier: Apache-2.0
//
// stamp: the two forms of a time, and digits that differ.
#include "testbed/base/stamp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

Test(stamp, a_time_is_told_in_utc_in_both_forms)
{
    char text[TB_STAMP_BYTES], stamp[TB_STAMP_BYTES];
    cr_expect_str_eq(tb_time_text(1700000000, text), "2023-11-14T22:13:20Z");
    cr_expect_str_eq(tb_time_stamp(1700000000, stamp), "20231114T221320Z");
    struct tm back = {0};
    cr_expect_not_null(strptime(text, TB_TIME_FORMAT, &back));
    cr_expect_eq(timegm(&back), 1700000000);
}

Test(stamp, random_digits_are_as_many_as_asked_for_and_differ)
{
    char first[33], second[33], few[7];
    cr_assert_eq(tb_random_digits(first, 32), 0);
    cr_assert_eq(tb_random_digits(second, 32), 0);
    cr_assert_eq(tb_random_digits(few, 6), 0);
    cr_expect(strlen(first) == 32 && strspn(first, "0123456789abcdef") == 32);
    cr_expect(strlen(few) == 6 && strspn(few, "0123456789abcdef") == 6);
    cr_expect_str_neq(first, second);
    cr_expect_eq(tb_random_digits(first, 34), -EIO);
}
