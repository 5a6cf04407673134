// SPDX-License-Identifier: Apache-2.0
//
// Lists as the kernel writes them, and what only looks like one.
#include <criterion/criterion.h>
#include <errno.h>

#include "testbed/host/host.h"

Test(id_list, counts)
{
    cr_expect_eq(tb_id_list_count(""), 0);
    cr_expect_eq(tb_id_list_count("0"), 1);
    cr_expect_eq(tb_id_list_count("0-3,8,10-11"), 7);
    cr_expect_eq(tb_id_list_common("0-3,8", "2-9"), 3);
    cr_expect_eq(tb_id_list_common("0-1", ""), 0);
}

Test(id_list, what_is_none_is_refused)
{
    static const char *const bad[] = {"a", "0-", "-1", "0,,1", "0,", "1 ", "0x3", "0-1-2", "ABSENT"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(tb_id_list_count(bad[i]), -EINVAL, "'%s'", bad[i]);
        cr_expect_eq(tb_id_list_common("0", bad[i]), -EINVAL, "'%s'", bad[i]);
    }
}
