// SPDX-License-Identifier: Apache-2.0
//
// arm: a contender as the command line names it, with a share of requests that cross and a fault.
#include "testbed/measure/contender.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/contenders/malloc.h"
#include "testbed/measure/peers/peer.h"

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
    cr_assert_eq(parse("unsteered@no-attend"), 0);
    cr_expect_eq(arm.fault, TB_FAULT_ACT);
    cr_expect_str_eq(arm.act, "no-attend");
    const char *const bad[] = {"glibc@misplace%50", "glibc@", "glibc@misplac", "glibc@misplaced", "glibc@delay", "glibc@delay:0"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(parse(bad[i]), -EINVAL, "%s", bad[i]);
        cr_expect(strstr(why, "misplace,") && strstr(why, "no-attend,"), "all faults and acts are named: %s", why);
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

// --- libraries with a name -----------------------------------------------------------------------------------------------------

#define LIBRARY "/proc/self/exe" // an ELF file, which is all that is asked here

Test(arm, a_library_may_be_given_a_name)
{
    cr_assert_eq(parse("fast=malloc:" LIBRARY), 0, "%s", why);
    cr_expect_str_eq(arm.contender->name, "malloc");
    cr_expect_str_eq(arm.label, "fast");
    cr_expect(arm.library[0] == '/' && strcmp(arm.library, LIBRARY), "not resolved: %s", arm.library);
    cr_expect_eq(arm.workers, 0);
    cr_assert_eq(parse("Fast-3.6_rc.1+4w%50@delay:3=malloc:" LIBRARY), 0, "%s", why);
    cr_expect_str_eq(arm.label, "Fast-3.6_rc.1+4w%50@delay:3");
    cr_expect_eq(arm.workers, 4);
    cr_expect_eq(arm.cross_percent, 50);
    cr_expect_eq(arm.fault, TB_FAULT_DELAY);
}

// After a name everything is the path, whatever it looks like.
Test(arm, the_path_of_a_named_library_has_no_suffixes)
{
    cr_expect_eq(parse("a=malloc:/no/x+4w%50@drop-chunk"), -ENODEV);
    cr_expect_not_null(strstr(why, "malloc:/no/x+4w%50@drop-chunk: No such file"), "%s", why);
    cr_expect_eq(arm.fault, TB_FAULT_NONE);
    cr_expect_eq(parse("malloc:/no/a=malloc:/b"), -ENODEV);
    cr_expect_not_null(strstr(why, "malloc:/no/a=malloc:/b: No such file"), "%s", why);
}

Test(arm, a_name_that_is_none_or_another_contenders_is_refused)
{
    const struct {
        const char *text, *says;
    } bad[] = {{"=malloc:" LIBRARY, "not a name"},
               {"-a=malloc:" LIBRARY, "not a name"},
               {"a b=malloc:" LIBRARY, "not a name"},
               {"a/b=malloc:" LIBRARY, "not a name"},
               {"a:b=malloc:" LIBRARY, "not a name"},
               {"a#2=malloc:" LIBRARY, "not a name"},
               {"glibc=malloc:" LIBRARY, "already"},
               {"mimalloc=malloc:" LIBRARY, "already"},
               {"malloc=malloc:" LIBRARY, "already"},
               {"unsteered@delay:3=malloc:" LIBRARY, "already"},
               {"dpdk-ring=malloc:" LIBRARY, "already"},
               {"a=" LIBRARY, "after ="},
               {"a=mimalloc", "after ="},
               {"a=", "after ="},
               {"a%101=malloc:" LIBRARY, "0 to 100"},
               {"a+0w=malloc:" LIBRARY, "workers"}};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(parse(bad[i].text), -EINVAL, "%s", bad[i].text);
        cr_expect_not_null(strstr(why, bad[i].says), "%s: %s", bad[i].text, why);
    }
}

Test(arm, a_name_stands_for_its_library_from_then_on)
{
    struct tb_arm arms[TB_ARMS_MAX];
    uint32_t count = 0;
    const char *const texts[] = {"glibc", "a=malloc:" LIBRARY, "a", "a+4w", "a=malloc:" LIBRARY, "a@delay:5", "a+4w"};
    const char *const labels[] = {"glibc", "a", "a#2", "a+4w", "a#3", "a@delay:5", "a+4w#2"};
    for (unsigned i = 0; i < 7; i++) {
        cr_assert_eq(tb_arms_add(arms, &count, texts[i], why, sizeof why), 0, "%s: %s", texts[i], why);
        cr_expect_str_eq(arms[i].label, labels[i]);
        cr_expect(i == 0 || strcmp(arms[i].library, arms[1].library) == 0, "%s", texts[i]);
    }
    cr_expect_eq(tb_arms_add(arms, &count, "b", why, sizeof why), -ENOENT);
    cr_expect_eq(tb_arms_add(arms, &count, "a=malloc:/bin/sh", why, sizeof why), -EINVAL);
    cr_expect_not_null(strstr(why, "already"), "%s", why);
    cr_expect_eq(count, 7);
}

// --- peers ---------------------------------------------------------------------------------------------------------------------

static char folder[] = "/tmp/arm_test.XXXXXX";

static void peers_open(void)
{
    char path[128];
    const char *const links[] = {"mimalloc-9.8.7.so", "jemalloc-9.1.refused"};
    cr_assert_not_null(mkdtemp(folder));
    setenv("LOCUS_PEERS", folder, 1);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, links[i]);
        cr_assert_eq(symlink("/bin/sh", path), 0);
    }
}

static void peers_close(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_expect_eq(system(command), 0);
}

Test(arm, a_peer_is_a_malloc_by_name_and_version, .init = peers_open, .fini = peers_close)
{
    cr_assert_eq(parse("mimalloc-9.8.7@delay:5"), 0, "%s", why);
    cr_expect_str_eq(arm.contender->name, "malloc");
    cr_expect_str_eq(arm.label, "mimalloc-9.8.7@delay:5");
    cr_expect_eq(arm.library[0], '/');
    cr_expect_eq(parse("jemalloc-9.1"), -ENODEV);
    cr_expect_not_null(strstr(why, "jemalloc-9.1"), "%s", why);
    cr_expect_not_null(strstr(why, "make peers"), "%s", why);
    cr_expect_eq(parse("mimalloc-9.8"), -ENODEV);
    cr_expect_not_null(strstr(why, "make peers"), "%s", why);
    cr_expect_eq(parse("mimalloc-tune"), -ENOENT);
    cr_expect_eq(parse("mimalloc-"), -ENOENT);
    cr_expect_eq(parse("../mimalloc-9.8.7"), -ENOENT);
    cr_expect_eq(parse("mimalloc-9.8.7=malloc:/bin/sh"), -EINVAL);
    cr_expect_eq(parse("jemalloc-9.1=malloc:/bin/sh"), -EINVAL, "what is refused has its name all the same");
    cr_expect_eq(parse("mimalloc-9.8=malloc:/bin/sh"), 0, "%s", why);
}

Test(arm, a_tuned_peer_is_its_library_with_the_settings_of_the_tuned_contender, .init = peers_open, .fini = peers_close)
{
    struct tb_arm arms[TB_ARMS_MAX];
    uint32_t count = 0;
    const char *const texts[] = {"mimalloc-9.8.7", "mimalloc-9.8.7-tuned", "mimalloc-9.8.7-tuned", "mimalloc-9.8.7-tuned@delay:5"};
    const char *const labels[] = {"mimalloc-9.8.7", "mimalloc-9.8.7-tuned", "mimalloc-9.8.7-tuned#2",
                                  "mimalloc-9.8.7-tuned@delay:5"};
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(tb_arms_add(arms, &count, texts[i], why, sizeof why), 0, "%s: %s", texts[i], why);
        cr_expect_str_eq(arms[i].label, labels[i]);
        cr_expect_str_eq(arms[i].library, arms[0].library);
        cr_expect_str_eq(arms[i].contender->name, i == 0 ? "malloc" : "mimalloc-tuned", "%s", texts[i]);
    }
    cr_expect_neq(arms[0].library[0], '\0');
    cr_expect_eq(parse("jemalloc-9.1-tuned"), -ENODEV);
    cr_expect_not_null(strstr(why, "jemalloc-9.1-tuned: this machine's libraries refuse it (make peers"), "%s", why);
    cr_expect_eq(parse("tcmalloc-9.8-tuned"), -ENODEV);
    cr_expect_not_null(strstr(why, "tcmalloc-9.8-tuned is missing: make peers"), "%s", why);
    const char *const unknown[] = {"mimalloc--tuned", "mimalloc-9.8.7-tune", "mimalloc-9.8.7-tunedx", "mimalloc-9.8.7-tuned-tuned"};
    for (unsigned i = 0; i < sizeof unknown / sizeof *unknown; i++)
        cr_expect_eq(parse(unknown[i]), -ENOENT, "%s", unknown[i]);
    cr_expect_eq(parse("mimalloc-9.8.7-tuned=malloc:/bin/sh"), -EINVAL, "the name is the peer's");
    for (unsigned i = 0; i < 2; i++) { // a library that has such a name has no settings
        cr_assert_eq(tb_arms_add(arms, &count, i ? "mimalloc-9.8-tuned" : "mimalloc-9.8-tuned=malloc:/bin/sh", why, sizeof why), 0);
        cr_expect_str_eq(arms[count - 1].contender->name, "malloc");
    }
}

Test(arm, each_family_of_peers_has_a_tuned_contender_of_the_same_family)
{
    const char *const families[] = {"mimalloc", "jemalloc", "tcmalloc"};
    for (unsigned i = 0; i < 3; i++) {
        char name[64], wanted[64];
        snprintf(name, sizeof name, "%s-9.8-tuned", families[i]);
        snprintf(wanted, sizeof wanted, "%s-tuned", families[i]);
        cr_expect_str_eq(tb_peer_contender(name), wanted);
        const struct tb_contender *tuned = tb_contender_find(wanted);
        cr_expect(tuned && tuned->environment, "%s has no settings", wanted);
    }
    cr_expect_str_eq(tb_peer_contender("mimalloc-9.8"), "malloc");
    cr_expect_str_eq(tb_peer_contender("glibc-9.8-tuned"), "malloc");
}

Test(arm, peers_are_listed_by_their_versions, .init = peers_open, .fini = peers_close)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    tb_contender_list(out);
    cr_assert_eq(fclose(out), 0);
    cr_expect_not_null(strstr(text, "\n  mimalloc-9.8.7 "), "%s", text);
    cr_expect_not_null(strstr(text, "\n  NAME-VERSION-tuned "), "%s", text);
    cr_expect_null(strstr(text, "jemalloc-9.1"), "it does not load");
    cr_expect_null(strstr(text, "run make peers"));
    free(text);
}

Test(arm, versions_of_mimalloc_have_had_three_digits_and_have_five)
{
    const struct {
        int number;
        const char *version;
    } cases[] = {{209, "mimalloc 2.0.9"}, {301, "mimalloc 3.0.1"}, {30600, "mimalloc 3.6.0"}, {31207, "mimalloc 3.12.7"}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char version[64] = "";
        tb_mimalloc_version(cases[i].number, version, sizeof version);
        cr_expect_str_eq(version, cases[i].version);
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
