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
    time_t back = 0;
    cr_expect(tb_time_read(text, &back));
    cr_expect_eq(back, 1700000000);
}

Test(stamp, what_is_no_time_is_not_read)
{
    static const char *const none[] = {"",
                                       "yesterday",
                                       "2023-11-14",
                                       "2023-11-14T22:13:20",
                                       "2023-11-14T22:13:20z",
                                       "2023-11-14T22:13:20Z ",
                                       " 2023-11-14T22:13:20Z",
                                       "2023-02-30T22:13:20Z",
                                       "2023-13-14T22:13:20Z",
                                       "2023-11-14T25:13:20Z",
                                       "2023-11-14T22:13:60Z",
                                       "2023-1-14T22:13:20Z",
                                       "1700000000"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        time_t out = 7;
        cr_expect_not(tb_time_read(none[i], &out), "'%s'", none[i]);
    }
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
