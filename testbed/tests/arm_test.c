// SPDX-License-Identifier: Apache-2.0
//
// arm: a contender as the command line names it, with a share of requests that cross and a fault.
#include "testbed/contender.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct tb_arm arm;
static char why[512];

static int parse(const char *text)
{
    why[0] = '\0';
    int error = tb_arm_parse(text, &arm, why, sizeof why);
    cr_expect(error == 0 || (why[0] && !strchr(why, '\n')), "'%s': no word about it", text);
    return error;
}

Test(arm, a_name_alone_crosses_nothing_and_has_no_fault)
{
    cr_assert_eq(parse("home-steered"), 0);
    cr_expect_str_eq(arm.contender->name, "home-steered");
    cr_expect_str_eq(arm.label, "home-steered");
    cr_expect_eq(arm.cross_percent, 0);
    cr_expect_eq(arm.fault, TB_FAULT_NONE);
    cr_expect_str_eq(arm.library, "");
}

Test(arm, a_share_is_a_whole_number_up_to_a_hundred)
{
    const struct {
        const char *text;
        uint32_t share;
    } good[] = {{"glibc%0", 0}, {"glibc%1", 1}, {"glibc%50", 50}, {"glibc%050", 50}, {"glibc%100", 100}};
    const char *const bad[] = {"glibc%",
                               "glibc%101",
                               "glibc%-1",
                               "glibc%+1",
                               "glibc% 1",
                               "glibc%5x",
                               "glibc%50%%",
                               "glibc%1.5",
                               "glibc%0x10",
                               "glibc%%50%",
                               "glibc%99999999999999999999"};
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        cr_assert_eq(parse(good[i].text), 0, "%s: %s", good[i].text, why);
        cr_expect_str_eq(arm.contender->name, "glibc");
        cr_expect_str_eq(arm.label, good[i].text);
        cr_expect_eq(arm.cross_percent, good[i].share);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(parse(bad[i]), -EINVAL, "%s", bad[i]);
        cr_expect_not_null(strstr(why, "0 to 100"), "%s", why);
    }
    cr_expect_eq(parse("glibc%50%50"), -ENOENT, "there is no contender of the name glibc%%50");
}

Test(arm, a_fault_follows_the_share)
{
    cr_assert_eq(parse("cross-node%25@misplace"), 0, "%s", why);
    cr_expect_str_eq(arm.contender->name, "cross-node");
    cr_expect_eq(arm.cross_percent, 25);
    cr_expect_eq(arm.fault, TB_FAULT_MISPLACE);
    cr_assert_eq(parse("unsteered%100@delay:2.5"), 0, "%s", why);
    cr_expect_eq(arm.fault, TB_FAULT_DELAY);
    cr_expect_float_eq(arm.fault_percent, 2.5, 1e-9);
    cr_assert_eq(parse("unsteered@double-free"), 0);
    cr_expect_eq(arm.fault, TB_FAULT_DOUBLE_FREE);
    const char *const bad[] = {"glibc@misplace%50", "glibc@", "glibc@misplac", "glibc@misplaced", "glibc@delay", "glibc@delay:0"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(parse(bad[i]), -EINVAL, "%s", bad[i]);
        cr_expect_not_null(strstr(why, "misplace)"), "all faults are named: %s", why);
    }
}

Test(arm, a_path_may_hold_a_percent_sign_of_its_own)
{
    cr_expect_eq(parse("malloc:/no/such/100%lib.so"), -ENODEV);
    cr_expect_eq(arm.cross_percent, 0);
    cr_expect_not_null(strstr(why, "/no/such/100%lib.so"), "%s", why);
    cr_expect_eq(parse("malloc:/no/such/100%lib.so%75"), -ENODEV);
    cr_expect_eq(arm.cross_percent, 75);
    cr_expect_eq(parse("malloc"), -ENOENT);
    cr_expect_eq(parse("malloc%50"), -ENOENT);
    cr_expect_eq(parse("home"), -ENOENT);
    cr_expect_eq(parse(""), -ENOENT);
}

Test(arm, the_same_arm_twice_is_a_control_and_another_share_is_another_arm)
{
    struct tb_arm arms[TB_ARMS_MAX];
    uint32_t count = 0;
    const char *const texts[] = {"glibc%50", "glibc", "glibc%50", "glibc%5", "glibc%50"};
    const char *const labels[] = {"glibc%50", "glibc", "glibc%50#2", "glibc%5", "glibc%50#3"};
    for (unsigned i = 0; i < 5; i++) {
        cr_assert_eq(tb_arms_add(arms, &count, texts[i], why, sizeof why), 0, "%s", why);
        cr_expect_str_eq(arms[i].label, labels[i]);
    }
}

Test(arm, what_needs_several_nodes_is_not_for_one)
{
    const struct {
        const char *text;
        bool on_one_node;
    } cases[] = {{"glibc", true},           {"glibc%0", true},       {"glibc@delay:3", true}, {"glibc%1", false},
                 {"glibc@misplace", false}, {"home-steered", false}, {"unsteered%50", false}, {"glibc-tuned", true}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(parse(cases[i].text), 0, "%s", why);
        cr_expect_eq(tb_arm_on_one_node(&arm), cases[i].on_one_node, "%s", cases[i].text);
    }
}
