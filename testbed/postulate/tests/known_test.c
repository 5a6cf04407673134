// SPDX-License-Identifier: Apache-2.0
//
// The words of a postulate that are known, and those that only look like it.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "testbed/postulate/known.h"

#define ARRAY(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool need_known(const char *need)
{
    uint64_t least;
    return tb_need_name(need, &least) != NULL;
}

Test(known, needs_are_known_as_they_are_written_and_not_otherwise)
{
    for (const char *const *need = ARRAY("cpus >= 2", "numa_nodes >= 1", "cpu_nodes >= 16", "hardware", "mbind_ok", "move_pages_ok",
                                         "policies", "workers_pinned", "libraries", "traces");
         *need; need++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*need, " "), *need);
        cr_expect(need_known(*need), "%s", *need);
        cr_expect_not_null(strstr(TB_NEEDS, name), "%s is not in the list that people read", name);
    }
    for (const char *const *need =
             ARRAY("", "cpu >= 2", "cpus", "cpus >=", "cpus >= ", "cpus >= two", "cpus > 2", "cpus >= 0", "cpus >= -1",
                   "cpus >= 2 3", "cpus == 2", "cpus>=2", "cpus >= 02", "cpus >= 99999999999999999999", "mbind_ok >= 1",
                   "librariess", "workers_pinned 2", "hardware ", " traces");
         *need; need++) {
        cr_expect_not(need_known(*need), "'%s'", *need);
    }
}

Test(known, a_need_says_how_many)
{
    uint64_t least = 0;
    cr_assert_str_eq(tb_need_name("cpus >= 16", &least), "cpus");
    cr_assert_eq(least, 16);
    cr_assert_str_eq(tb_need_name("hardware", &least), "hardware");
    cr_assert_eq(least, 1);
}

Test(known, gates)
{
    cr_assert(tb_gate_known("throttle == 0") && tb_gate_known("handles home") && !tb_gate_known("moon == full"));
    cr_assert_not_null(tb_gate_at(0));
    for (unsigned i = 0; tb_gate_at(i); i++)
        cr_expect_not_null(strstr(TB_GATES, tb_gate_at(i)), "%s is not in the list that people read", tb_gate_at(i));
}
