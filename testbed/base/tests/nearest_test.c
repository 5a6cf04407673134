// SPDX-License-Identifier: Apache-2.0

#include "testbed/base/nearest.h"

#include <criterion/criterion.h>

static const char *meant(const char *word)
{
    static const char *const names[] = {"eval", "replay", "report", "record", "list", "scoreboard", "mimalloc", "jemalloc"};
    struct tb_nearest nearest = {.word = word};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tb_nearest_try(&nearest, names[i]);
    return nearest.best ? nearest.best : "";
}

Test(nearest, finds_what_a_slip_of_the_finger_meant)
{
    static const struct {
        const char *word, *name;
    } cases[] = {
        {"evall", "eval"},
        {"eal", "eval"},
        {"evak", "eval"},
        {"veal", "eval"},
        {"lsit", "list"},
        {"recrod", "record"},
        {"reporrt", "report"},
        {"scoer", ""},
        {"score", "scoreboard"},
        {"mimaloc", "mimalloc"},
        {"jmalloc", "jemalloc"},
        {"eval", "eval"},
        {"scorebaord", "scoreboard"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(meant(cases[i].word), cases[i].name, "%s: %s", cases[i].word, meant(cases[i].word));
}

Test(nearest, guesses_nothing_far_away)
{
    static const char *const words[] = {"",
                                        "x",
                                        "ev",
                                        "xyzzy",
                                        "guest",
                                        "evaluate-this",
                                        "a-word-that-is-longer-than-the-sixty-four-letters-that-fit-into-the-table-of-distances"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cr_expect_str_empty(meant(words[i]), "%s: %s", words[i], meant(words[i]));
}

Test(nearest, takes_the_nearest_and_the_first_of_equals)
{
    cr_assert_str_eq(meant("repord"), "report"); // record is two letters away, report one
}

Test(nearest, says_it_or_nothing)
{
    char text[64];
    struct tb_nearest near = {.word = "evall"}, far = {.word = "evall"};
    tb_nearest_try(&near, "eval");
    tb_nearest_try(&far, "report");
    cr_assert_str_eq(tb_nearest_say(&near, "--", text, sizeof text), ", did you mean '--eval'?");
    cr_assert_str_empty(tb_nearest_say(&far, "--", text, sizeof text));
}
