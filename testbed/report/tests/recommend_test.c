// SPDX-License-Identifier: Apache-2.0
//
// recommend: "Use" is only of one that is better; a tie, too few rounds and noise are said instead.
#include <criterion/criterion.h>
#include <string.h>

#include "testbed/report/recommend.h"

static void says(const struct tb_recommend *recommend, const char *expected)
{
    struct tb_words words = {0};
    tb_say_recommend(&words, recommend);
    cr_expect_str_eq(words.text, expected);
    cr_expect_eq(strncmp(words.text, "Use ", 4) == 0, recommend->count == 1 && !recommend->few && !recommend->noisy);
}

Test(recommend, only_one_that_is_better_is_to_be_used)
{
    struct tb_recommend one = {.names = {"paged"}, .count = 1, .because = "half the time"};
    says(&one, "Use paged: half the time.");
    one.few = true;
    says(&one, "Too few rounds to tell, 6 are the least (--rounds). By the medians alone, paged is ahead: half the time.");
    one.few = false;
    one.noisy = true;
    says(&one, "Too noisy to tell: end what else runs, and measure again. By the medians alone, paged is ahead: half the time.");
}

Test(recommend, a_tie_has_its_reason_and_what_would_end_it)
{
    struct tb_recommend tie = {.because = "", .why = "they do the same", .separates = "A smaller pool"};
    tb_recommend_add(&tie, "a");
    tb_recommend_add(&tie, "b");
    says(&tie, "No difference between a and b: they do the same. A smaller pool would tell them apart.");
    for (int i = 0; i < 100; i++)
        tb_recommend_add(&tie, "c");
    tie.separates = NULL;
    tie.because = "d, the next, takes longer";
    tie.few = true;
    says(&tie, "No difference between a, b, c, c and 60 more: they do the same. d, the next, takes longer. Too few rounds to tell, "
               "6 are the least (--rounds).");
}
