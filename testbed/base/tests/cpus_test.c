// SPDX-License-Identifier: Apache-2.0
//
// The CPUs to measure on: the rule, by masks of machines that nobody here has, and what this machine grants.
#include "testbed/base/cpus/cpus.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/pin.h"

static const struct {
    const char *given, *reach, *isolated, *chosen;
} rules[] = {
    {"0-3", "0-3", "", "0-3"},          // nothing is isolated
    {"0,2", "0-3", "1,3", "1,3"},       // as the kernel starts a process
    {"0", "0-3", "1-3", "1-3"},         // a node without any other
    {"0-3", "0-3", "1,3", "1,3"},       // in a cpuset that has all CPUs
    {"1-3", "1-3", "1,3", "1,3"},       // in a cpuset that has some
    {"2", "1-3", "1,3", "1,3"},         // the same, as the kernel starts it
    {"0,2", "0,2", "1,3", "0,2"},       // in a cpuset without isolated ones
    {"0", "0-3", "1,3", "0"},           // taskset -c 0
    {"1", "0-3", "1,3", "1"},           // taskset -c 1
    {"0-1", "0-3", "1,3", "0-1"},       // numactl --cpunodebind=0
    {"0-3", "0-3", "0-3", "0-3"},       // no CPU for anything else
    {"0-3", "0-3", "8-9", "0-3"},       // those are not there
};

Test(cpus, are_the_isolated_ones_unless_somebody_chose)
{
    hwloc_bitmap_t sets[4], out = hwloc_bitmap_alloc();
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const char *const texts[] = {rules[i].given, rules[i].reach, rules[i].isolated, rules[i].chosen};
        for (size_t k = 0; k < 4; k++) {
            sets[k] = hwloc_bitmap_alloc();
            cr_assert_eq(tb_id_list(texts[k], sets[k]), 0);
        }
        tb_cpus_choose(sets[0], sets[1], sets[2], out);
        cr_expect(hwloc_bitmap_isequal(out, sets[3]), "given %s of %s, isolated %s", texts[0], texts[1], texts[2]);
        for (size_t k = 0; k < 4; k++)
            hwloc_bitmap_free(sets[k]);
    }
    hwloc_bitmap_free(out);
}

// The first and the last CPU of this machine, and how many it has.
static int ends(unsigned *first, unsigned *last)
{
    cpu_set_t mask;
    cr_assert_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    *first = CPU_SETSIZE;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask)) {
            *first = cpu < *first ? cpu : *first;
            *last = cpu;
        }
    return CPU_COUNT(&mask);
}

static void is_on(unsigned cpu, const char *when)
{
    cpu_set_t mask;
    cr_assert_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    cr_expect(CPU_COUNT(&mask) == 1 && CPU_ISSET(cpu, &mask) && sched_getcpu() == (int)cpu, "%s: not on CPU %u alone", when, cpu);
}

static unsigned usable(void)
{
    unsigned cpu[1], count = 0;
    cr_assert_eq(locus_pin_allowed(cpu, 1, &count), 0);
    return count == 1 ? cpu[0] : CPU_SETSIZE;
}

Test(cpus, that_are_named_are_what_this_process_may_use_and_its_children_are_told)
{
    char why[300], list[16];
    unsigned first, last;
    unsetenv(TB_CPUS_VARIABLE);
    if (ends(&first, &last) != 2)
        cr_skip_test("needs two CPUs");
    snprintf(list, sizeof list, "%u", last);
    cr_assert_eq(tb_cpus_ask(list, true, why, sizeof why), 0, "%s", why);
    is_on(last, "asked");
    cr_expect_eq(usable(), last);
    cr_expect_str_eq(getenv(TB_CPUS_VARIABLE), list);
    cr_expect_str_eq(tb_cpus_asked(), list);
    tb_cpus_leave();
    is_on(first, "left");
    cr_expect_eq(usable(), last, "who waits elsewhere pins others there still");
    cr_expect_eq(locus_pin_cpu((int)first), -EPERM);
}

Test(cpus, of_the_environment_reach_beyond_the_mask)
{
    char why[300], list[16];
    cpu_set_t mask;
    unsigned first, last;
    if (ends(&first, &last) < 2)
        cr_skip_test("needs two CPUs");
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    cr_assert_eq(sched_setaffinity(0, sizeof mask, &mask), 0); // as a parent that waits
    snprintf(list, sizeof list, "%u", last);
    setenv(TB_CPUS_VARIABLE, list, 1);
    cr_assert_eq(tb_cpus_ask(NULL, false, why, sizeof why), 0, "%s", why);
    is_on(last, "asked");
    tb_cpus_leave();
    is_on(first, "left");
}

Test(cpus, of_a_mask_that_was_chosen_stay)
{
    char why[300];
    cpu_set_t mask;
    unsigned first, last;
    unsetenv(TB_CPUS_VARIABLE);
    ends(&first, &last);
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    cr_assert_eq(sched_setaffinity(0, sizeof mask, &mask), 0);
    cr_assert_eq(tb_cpus_ask(NULL, true, why, sizeof why), 0, "%s", why);
    cr_expect_eq(usable(), first);
    cr_expect_null(tb_cpus_asked());
    cr_expect_null(getenv(TB_CPUS_VARIABLE));
    tb_cpus_leave();
    is_on(first, "there is nowhere else");
}

Test(cpus, that_are_not_granted_are_said_and_nothing_changes)
{
    static const char *const bad[] = {"x", "1-", "0 1", "8191", "0,8191"};
    char why[300];
    unsigned first, last;
    int count = ends(&first, &last);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int error = tb_cpus_ask(bad[i], true, why, sizeof why);
        cr_expect_eq(error, i < 3 ? -EINVAL : -EPERM, "%s: %d", bad[i], error);
        cr_expect(strncmp(why, "--cpus: ", 8) == 0 && strstr(why, i < 3 ? bad[i] : "CPU 8191:"), "%s: %s", bad[i], why);
        cr_expect_eq(ends(&first, &last), count, "%s", bad[i]);
        cr_expect_null(tb_cpus_asked());
    }
}

Test(cpus, are_asked_for_before_anything_is_pinned)
{
    char why[300], list[16];
    unsigned first, last;
    if (ends(&first, &last) < 2)
        cr_skip_test("needs two CPUs");
    cr_assert_eq(locus_pin_allowed(NULL, 0, &first), 0);
    snprintf(list, sizeof list, "%u", last);
    cr_expect_eq(tb_cpus_ask(list, true, why, sizeof why), -EBUSY);
}
