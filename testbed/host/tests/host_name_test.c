// SPDX-License-Identifier: Apache-2.0
//
// What the record calls a machine.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "testbed/host/head.h"

Test(host_name, a_hosts_name_is_a_folders_name)
{
    static const struct {
        const char *wanted, *name;
    } cases[] = {{"node-3.example_1", "node-3.example_1"},
                 {"my host/x", "my-host-x"},
                 {"../up", "-.-up"},
                 {"\xc3\xa9t\xc3\xa9", "--t--"}};
    char name[64], own[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("LOCUS_HOST", cases[i].wanted, 1);
        cr_assert_eq(tb_host_name(name, sizeof name), 0);
        cr_assert_str_eq(name, cases[i].name);
    }
    setenv("LOCUS_HOST", "///", 1);
    cr_assert_eq(tb_host_name(name, sizeof name), -EINVAL);
    setenv("LOCUS_HOST", "abcdefgh", 1);
    cr_assert_eq(tb_host_name(name, 8), -ENAMETOOLONG);
    setenv("LOCUS_HOST", "", 1);
    cr_assert_eq(tb_host_name(name, sizeof name), 0);
    unsetenv("LOCUS_HOST");
    cr_assert_eq(tb_host_name(own, sizeof own), 0);
    cr_assert_str_eq(name, own);
    cr_assert(own[0]);
}
