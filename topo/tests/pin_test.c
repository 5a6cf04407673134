// SPDX-License-Identifier: Apache-2.0
//
// pin: threads end up where they were sent, never where the process may not be, and can be sent elsewhere afterwards.
#include "topo/pin.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "topo/allowed.h"
#include "topo/sysfs.h"
#include "topo/tests/tree.h"

TestSuite(pin, .init = tree_open, .fini = tree_close);

static unsigned affinity_count(void)
{
    struct topo_idset now = {{0}};
    cr_assert_eq(sched_getaffinity(0, sizeof(now.words), (cpu_set_t *)now.words), 0);
    return topo_idset_count(&now);
}

Test(pin, lists_allowed_cpus_ascending)
{
    unsigned cpus[TOPO_ID_MAX] = {0};
    unsigned count = 0;
    unsigned again = 0;
    cr_assert_eq(locus_pin_allowed(cpus, TOPO_ID_MAX, &count), 0);
    cr_assert_eq(count, affinity_count());
    for (unsigned i = 1; i < count; i++)
        cr_assert_lt(cpus[i - 1], cpus[i]);
    cr_assert_eq(locus_pin_allowed(NULL, 0, &again), 0);
    cr_assert_eq(again, count, "the count does not depend on the room");
}

Test(pin, moves_a_thread_from_cpu_to_cpu_and_back)
{
    unsigned cpus[TOPO_ID_MAX];
    unsigned count = 0;
    cr_assert_eq(locus_pin_allowed(cpus, TOPO_ID_MAX, &count), 0);
    for (unsigned i = 0; i < count; i++) {
        cr_assert_eq(locus_pin_cpu((int)cpus[i]), 0);
        cr_assert_eq(affinity_count(), 1);
        cr_assert_eq((unsigned)sched_getcpu(), cpus[i]);
    }
}

Test(pin, widens_to_a_node_after_a_pin_to_a_cpu)
{
    unsigned cpus[TOPO_ID_MAX];
    unsigned count = 0;
    struct topo_idset nodes;
    struct topo_idset node_cpus;
    cr_assert_eq(locus_pin_allowed(cpus, TOPO_ID_MAX, &count), 0);
    cr_assert_eq(locus_pin_cpu((int)cpus[0]), 0);
    cr_assert_eq(topo_sysfs_nodes("", &nodes), 0);
    int node = 0;
    while (topo_sysfs_node_cpus("", (unsigned)node, &(struct topo_idset){{0}}, &node_cpus) != 0 ||
           !topo_idset_has(&node_cpus, cpus[0]))
        node++;
    cr_assert_eq(locus_pin_node(node), 0);
    unsigned expected = 0;
    for (unsigned i = 0; i < count; i++)
        expected += topo_idset_has(&node_cpus, cpus[i]);
    cr_assert_eq(affinity_count(), expected);
}

Test(pin, never_leaves_what_the_process_was_given)
{
    unsigned cpus[TOPO_ID_MAX];
    unsigned count = 0;
    struct topo_idset only = {{0}};
    struct topo_idset all = {{0}};
    sched_getaffinity(0, sizeof(all.words), (cpu_set_t *)all.words);
    if (topo_idset_count(&all) < 2)
        cr_skip_test("needs >= 2 CPUs");
    unsigned first = 0;
    while (!topo_idset_has(&all, first))
        first++;
    topo_idset_add(&only, first);
    // The first call of the library in this process comes after this restriction, as under taskset.
    cr_assert_eq(sched_setaffinity(getpid(), sizeof(only.words), (cpu_set_t *)only.words), 0);
    cr_assert_eq(locus_pin_allowed(cpus, TOPO_ID_MAX, &count), 0);
    cr_assert(count == 1 && cpus[0] == first);
    unsigned other = first + 1;
    while (!topo_idset_has(&all, other))
        other++;
    cr_assert_eq(locus_pin_cpu((int)other), -EPERM);
    cr_assert_eq(affinity_count(), 1);
    for (int node = 0; node < 1024; node++) {
        cr_assert_neq(locus_pin_node(node), -EINVAL);
        cr_assert(affinity_count() == 1 && sched_getcpu() == (int)first, "not even on node %d", node);
    }
}

Test(pin, refuses_what_does_not_exist)
{
    cr_assert_eq(locus_pin_cpu(-1), -EINVAL);
    cr_assert_eq(locus_pin_cpu(8191), -ENODEV);
    cr_assert_eq(locus_pin_cpu(1 << 30), -ENODEV);
    cr_assert_eq(locus_pin_node(-1), -EINVAL);
    cr_assert_eq(locus_pin_node(1023), -ENODEV);
    cr_assert_eq(locus_pin_node(1 << 30), -ENODEV);
}

static void *pin_and_count(void *out)
{
    unsigned cpus[1];
    unsigned count = 0;
    locus_pin_allowed(cpus, 1, &count);
    locus_pin_cpu((int)cpus[0]);
    *(unsigned *)out = affinity_count();
    return NULL;
}

Test(pin, touches_the_calling_thread_only)
{
    unsigned before = affinity_count();
    unsigned there = 0;
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, pin_and_count, &there), 0);
    pthread_join(thread, NULL);
    cr_assert_eq(there, 1);
    cr_assert_eq(affinity_count(), before);
}

static void *ask_first_when_pinned_by_others(void *out)
{
    struct topo_idset now = {{0}};
    struct topo_idset only = {{0}};
    sched_getaffinity(0, sizeof(now.words), (cpu_set_t *)now.words);
    for (unsigned id = 0; topo_idset_count(&only) == 0; id++)
        if (topo_idset_has(&now, id))
            topo_idset_add(&only, id);
    sched_setaffinity(0, sizeof(only.words), (cpu_set_t *)only.words);
    locus_pin_allowed(NULL, 0, out);
    return NULL;
}

Test(pin, takes_the_process_for_its_main_thread_whoever_asks_first)
{
    unsigned count = 0;
    pthread_t thread;
    if (affinity_count() < 2)
        cr_skip_test("needs >= 2 CPUs");
    cr_assert_eq(pthread_create(&thread, NULL, ask_first_when_pinned_by_others, &count), 0);
    pthread_join(thread, NULL);
    cr_assert_eq(count, affinity_count());
}

static struct topo_idset set_of(unsigned first, unsigned last)
{
    struct topo_idset set = {{0}};
    for (unsigned id = first; id <= last; id++)
        topo_idset_add(&set, id);
    return set;
}

static void three_nodes(const char *memory_only_row)
{
    tree_file(NODE_DIRECTORY "/online", "0,2,5\n");
    tree_node(0, "0-3\n", "10 20 40\n", 1000, 500);
    tree_node(2, "4-7\n", "20 10 17\n", 1000, 500);
    tree_node(5, "\n", memory_only_row, 1000, 500);
}

Test(pin, serves_a_memory_only_node_from_the_nearest_cpus)
{
    struct topo_idset cpus;
    struct topo_idset allowed = set_of(0, 7);
    three_nodes("40 17 10\n");
    cr_assert_eq(topo_allowed_node_cpus(tree_root, 5, &allowed, &cpus), 0);
    cr_assert(topo_idset_count(&cpus) == 4 && topo_idset_has(&cpus, 4) && topo_idset_has(&cpus, 7));
    allowed = set_of(0, 2);
    cr_assert_eq(topo_allowed_node_cpus(tree_root, 5, &allowed, &cpus), 0);
    cr_assert(topo_idset_count(&cpus) == 3 && topo_idset_has(&cpus, 2), "the nearest that are allowed");
    allowed = set_of(100, 101);
    cr_assert_eq(topo_allowed_node_cpus(tree_root, 5, &allowed, &cpus), -EPERM);
    three_nodes("17 17 10\n");
    allowed = set_of(0, 7);
    cr_assert_eq(topo_allowed_node_cpus(tree_root, 5, &allowed, &cpus), 0);
    cr_assert_eq(topo_idset_count(&cpus), 8, "all that are equally near");
}

Test(pin, keeps_to_the_nodes_own_cpus)
{
    struct topo_idset cpus;
    struct topo_idset allowed = set_of(2, 5);
    three_nodes("40 17 10\n");
    cr_assert_eq(topo_allowed_node_cpus(tree_root, 0, &allowed, &cpus), 0);
    cr_assert(topo_idset_count(&cpus) == 2 && topo_idset_has(&cpus, 2) && topo_idset_has(&cpus, 3));
    allowed = set_of(6, 7);
    cr_assert_eq(topo_allowed_node_cpus(tree_root, 0, &allowed, &cpus), -EPERM, "never quietly another node's");
    cr_assert_eq(topo_allowed_node_cpus(tree_root, 1, &allowed, &cpus), -ENODEV);
}

Test(pin, the_only_node_has_the_cpus_that_the_process_may_use)
{
    struct topo_idset cpus;
    struct topo_idset allowed = set_of(1, 2);
    tree_file("/sys/devices/system/cpu/online", "0-1\n"); // another numbering than the kernel's, as lxcfs shows
    cr_assert_eq(topo_allowed_node_cpus(tree_root, 0, &allowed, &cpus), 0);
    cr_assert(topo_idset_count(&cpus) == 2 && topo_idset_has(&cpus, 1) && topo_idset_has(&cpus, 2));
}

Test(pin, runs_on_a_cpu_of_several_nodes_for_each_of_them)
{
    struct topo_idset allowed = set_of(1, 1);
    tree_file(NODE_DIRECTORY "/online", "0-1\n");
    tree_node(0, "0-3\n", "10 10\n", 1000, 500);
    tree_node(1, "0-3\n", "10 10\n", 1000, 500);
    for (unsigned node = 0; node < 2; node++) {
        struct topo_idset cpus;
        cr_assert_eq(topo_allowed_node_cpus(tree_root, node, &allowed, &cpus), 0);
        cr_assert(topo_idset_count(&cpus) == 1 && topo_idset_has(&cpus, 1));
    }
}
