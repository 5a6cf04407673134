// SPDX-License-Identifier: Apache-2.0
//
// report_text: figures at the edges of their formats, foreign bytes, and lines that are too long.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "testbed/measure/tests/rounds_fixture.h"
#include "testbed/report/board/board.h"

static char buffer[64];

Test(report_text, numbers_have_three_digits)
{
    cr_assert_str_eq(tb_text_number(buffer, 1.9649), "1.96");
    cr_assert_str_eq(tb_text_number(buffer, 9.994), "9.99");
    cr_assert_str_eq(tb_text_number(buffer, 9.996), "10.0");
    cr_assert_str_eq(tb_text_number(buffer, 99.96), "100");
    cr_assert_str_eq(tb_text_number(buffer, 0.182), "0.182");
    cr_assert_str_eq(tb_text_number(buffer, 0.9996), "1.00");
    cr_assert_str_eq(tb_text_ratio(buffer, 0.0823), "0.08");
    cr_assert_str_eq(tb_text_ratio(buffer, 12.34), "12.3");
    cr_assert_str_eq(tb_text_number(buffer, 123456), "123456");
    cr_assert_str_eq(tb_text_number(buffer, 3e12), "3e+12");
}

Test(report_text, a_percentage_that_bounds_is_rounded_up)
{
    cr_assert_str_eq(tb_text_percent_up(buffer, 0.0078), "0.8");
    cr_assert_str_eq(tb_text_percent_up(buffer, 0.0071), "0.8");
    cr_assert_str_eq(tb_text_percent_up(buffer, 0.008), "0.8");
    cr_assert_str_eq(tb_text_percent_up(buffer, 0), "0.1");
    cr_assert_str_eq(tb_text_percent_up(buffer, 0.123), "13");
}

Test(report_text, one_unit_fits_the_smallest_and_the_largest)
{
    cr_assert_str_eq(tb_text_unit(358000, 912000).name, "us");
    cr_assert_eq(tb_text_unit(358000, 912000).decimals, 0);
    cr_assert_str_eq(tb_text_unit(12.3, 40).name, "ns");
    cr_assert_eq(tb_text_unit(12.3, 40).decimals, 1);
    cr_assert_str_eq(tb_text_unit(5e6, 6e6).name, "us");
    cr_assert_str_eq(tb_text_unit(20000, 2e8).name, "ms", "200000 us would not fit its column");
    cr_assert_eq(tb_text_unit(20000, 2e8).decimals, TB_DIGITS, "nor would one number of decimals do");
    cr_assert_str_eq(tb_text_unit(1e12, 1e13).name, "s");
}

Test(report_text, cleaning_leaves_utf8_and_nothing_that_drives_a_terminal)
{
    tb_text_clean("a\033[31m\n\x7f\xc2\x9b", false, buffer, sizeof buffer);
    cr_assert_str_eq(buffer, "a?[31m????");
    tb_text_clean("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", false, buffer, sizeof buffer);
    cr_assert_str_eq(buffer, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    tb_text_clean("\xc3\xa9!", true, buffer, sizeof buffer);
    cr_assert_str_eq(buffer, "?!");
    tb_text_clean("\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82", false, buffer, sizeof buffer);
    cr_assert_str_eq(buffer,
                     "?"
                     "?|?"
                     "?"
                     "?|?"
                     "?"
                     "?"
                     "?|?"
                     "?",
                     "overlong, surrogate, beyond Unicode, cut short");
    tb_text_clean("ab\xc3\xa9", false, buffer, 4);
    cr_assert_str_eq(buffer, "ab", "half a character is none");
}

Test(report_text, shortening_keeps_both_ends)
{
    snprintf(buffer, sizeof buffer, "malloc:/usr/lib/libjemalloc.so.2");
    tb_text_shorten(buffer, 24);
    cr_assert_str_eq(buffer, "malloc:..ibjemalloc.so.2");
    tb_text_shorten(buffer, 24);
    cr_assert_eq(strlen(buffer), 24);
    snprintf(buffer, sizeof buffer, "short");
    tb_text_shorten(buffer, 5);
    cr_assert_str_eq(buffer, "short");
}

static char *wrapped(int columns, int start, int indent, const char *text)
{
    static char out[256];
    FILE *stream = fmemopen(out, sizeof out, "w");
    tb_text_wrap(stream, columns, start, indent, text);
    fclose(stream);
    return out;
}

Test(report_text, wrapping_breaks_at_spaces_and_inside_what_has_none)
{
    cr_assert_str_eq(wrapped(10, 0, 2, "one two three four"), "one two\n  three\n  four\n");
    cr_assert_str_eq(wrapped(10, 6, 2, "one two"), "one\n  two\n");
    cr_assert_str_eq(wrapped(12, 0, 2, "abcdefghijklmnopqrstuvwxyz"), "abcdefghij\n  klmnopqrst\n  uvwxyz\n");
    cr_assert_str_eq(wrapped(10, 0, 0, ""), "\n");
}

Test(report_text, settings_are_said_as_they_were)
{
    static struct fixture f;
    static const struct fixture_arm one[] = {{"locus", 1000}};
    struct tb_rounds *rounds = FIXTURE(f, one, 20);
    char text[192];
    rounds->dispatch = TB_DISPATCH_FUTEX;
    rounds->workers = 4;
    tb_rounds_sample(rounds, 0, 0, 7)->workers_pinned = false;
    tb_text_settings(rounds, text, sizeof text);
    cr_assert_str_eq(text, "futex dispatch, 4 workers not pinned, 20 rounds (seed 41)");
    rounds->dispatch = TB_DISPATCH_INLINE;
    tb_text_settings(rounds, text, sizeof text);
    cr_assert_str_eq(text, "inline dispatch, 20 rounds (seed 41)");
    tb_text_cell(rounds, 0, text, sizeof text);
    cr_assert_str_eq(text, "steady-decode, full touch");
    f.cells[0].schedule = NULL;
    rounds->bench = true;
    tb_text_cell(rounds, 0, text, sizeof text);
    cr_assert_str_eq(text, "single operations");
}
