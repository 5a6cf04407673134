// SPDX-License-Identifier: Apache-2.0
//
// count: the plugin's line is read whole or not at all.
#include <criterion/criterion.h>
#include <string.h>

#include "testbed/counters/count.h"

#define LINE "counts: marks 2 instructions 1200 locked 30 exchanges 20 failed 3 untold 1"

Test(count, reads_the_plugins_line_after_what_the_program_said)
{
    struct tb_count count;
    cr_assert(tb_count_read("a warning\nno newline" LINE "\n", &count));
    cr_expect(count.known);
    cr_expect_eq(count.marks, 2);
    cr_expect_eq(count.instructions, 1200);
    cr_expect_eq(count.locked, 30);
    cr_expect_eq(count.exchanges, 20);
    cr_expect_eq(count.failed, 3);
    cr_expect_eq(count.untold, 1);
    cr_expect_str_eq(count.why, "");
}

Test(count, without_a_whole_line_nothing_is_known)
{
    static const char *const texts[] = {"", "qemu: uncaught target signal 11\n", LINE, "counts: marks 2 instructions 12\n",
                                        "counts: marks 0 instructions 0 locked 0 exchanges 0 failed 0 untold 0\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tb_count count;
        cr_expect_not(tb_count_read(texts[i], &count), "%s", texts[i]);
        cr_expect(!count.known && count.instructions == 0 && count.marks == 0, "%s", texts[i]);
        cr_expect_neq(count.why[0], '\0', "%s", texts[i]);
    }
}

Test(count, says_what_the_emulator_said)
{
    struct tb_count count;
    tb_count_read("qemu: uncaught target signal 11\nmore\n", &count);
    cr_expect_str_eq(count.why, "the emulator counted nothing: qemu: uncaught target signal 11");
    tb_count_read("counts: marks 0 instructions 0 locked 0 exchanges 0 failed 0 untold 0\n", &count);
    cr_expect_str_eq(count.why, "the process passed no mark");
}

static void lacks(struct tb_count count, bool alone, const char *wanted)
{
    char why[256];
    tb_count_lacks(&count, alone, why, sizeof why);
    cr_expect_str_eq(why, wanted);
}

Test(count, what_is_no_figure_has_its_reason)
{
    lacks((struct tb_count){.known = true}, true, "");
    lacks((struct tb_count){.known = true}, false, "threads that wait for each other execute instructions meanwhile");
    lacks((struct tb_count){.known = true, .untold = 2}, true, "of 2 exchanges nobody saw whether they failed");
    lacks((struct tb_count){.known = true, .untold = 2}, false,
          "threads that wait for each other execute instructions meanwhile; of 2 exchanges nobody saw whether they failed");
    lacks((struct tb_count){.why = "hung"}, true, "hung");
    lacks((struct tb_count){.why = "hung"}, false, "hung");
}
