// SPDX-License-Identifier: Apache-2.0
//
// What a log's environment says of the arms.
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/measure/contender.h"
#include "testbed/run/run_lines.h"

static struct tb_arm arm(const char *text)
{
    struct tb_arm arm;
    char why[512];
    int error = tb_arm_parse(text, &arm, why, sizeof why);
    cr_assert(error == 0 || error == -ENODEV, "%s", why);
    return arm;
}

Test(environment_line, names_each_library_and_says_where_there_is_none)
{
    struct tb_arm arms[] = {arm("locus"), arm("mimalloc"), arm("jemalloc")};
    snprintf(arms[1].library, sizeof arms[1].library, "/proc/self/exe");
    arms[2].library[0] = '\0';
    json_t *environment = tb_line_environment("", arms, 3);
    cr_expect_str_eq(tb_member_text(environment, "arms.mimalloc.contender"), "mimalloc");
    cr_expect_str_eq(tb_member_text(environment, "arms.mimalloc.library"), "/proc/self/exe");
    cr_expect_eq(strlen(tb_member_text(environment, "arms.mimalloc.sha256")), 64);
    cr_expect_str_eq(tb_member_text(environment, "arms.locus.library"), "none");
    cr_expect_str_eq(tb_member_text(environment, "arms.jemalloc.sha256"), "ABSENT");
    cr_expect_neq(tb_member_text(environment, "kernel.release")[0], '\0');
    json_decref(environment);
}
