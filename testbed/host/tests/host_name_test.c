// SPDX-License-Identifier: Apache-2.0
//
// What the record calls a machine.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "testbed/host/head.h"

Test(host_name, a_hosts_name_is_a_folders_name)
{
    char name[64], own[64];
    setenv("LOCUS_HOST", "node-3.example_1", 1);
    cr_assert_eq(tb_host_name(name, sizeof name), 0);
    cr_assert_str_eq(name, "node-3.example_1");
    setenv("LOCUS_HOST", "abcdefgh", 1);
    cr_assert_eq(tb_host_name(name, 8), -ENAMETOOLONG);
    setenv("LOCUS_HOST", "", 1);
    cr_assert_eq(tb_host_name(name, sizeof name), 0);
    unsetenv("LOCUS_HOST");
    cr_assert_eq(tb_host_name(own, sizeof own), 0);
    cr_assert_str_eq(name, own);
    cr_assert(own[0]);
}

// "my host" and "my/host" would be one host if anything were replaced.
Test(host_name, what_cannot_name_a_folder_is_refused_and_not_replaced)
{
    static const char *const none[] = {"my host", "my/host",           "../up", "..",  ".hidden", "-n",
                                       "--",      "\xc3\xa9t\xc3\xa9", "///",   "a\nb"};
    char name[64];
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        setenv("LOCUS_HOST", none[i], 1);
        cr_expect_eq(tb_host_name(name, sizeof name), -EINVAL, "'%s' became '%s'", none[i], name);
        cr_expect_not(tb_host_name_valid(none[i]), "'%s'", none[i]);
    }
}
