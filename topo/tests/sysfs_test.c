// SPDX-License-Identifier: Apache-2.0
//
// sysfs: the readers, over trees that stand for machines with sparse nodes, without NUMA, and with damaged files.
#include "topo/sysfs.h"

#include <errno.h>

#include "topo/tests/tree.h"

static const struct topo_idset nobody; // another machine

TestSuite(sysfs, .init = tree_open, .fini = tree_close);

Test(sysfs, reads_node_memory)
{
    struct locus_node_memory memory;
    tree_file(NODE_DIRECTORY "/online", "4-5\n");
    tree_node(4, "0-3\n", "10 21\n", 1000, 600);
    cr_assert_eq(topo_sysfs_node_memory(tree_root, 4, &memory), 0);
    cr_assert_eq(memory.total_bytes, 1000u * 1024u);
    cr_assert_eq(memory.free_bytes, 600u * 1024u);
    cr_assert_eq(memory.reclaimable_bytes, 123u * 1024u, "file pages and SReclaimable, no anonymous page");
}

Test(sysfs, says_no_such_node)
{
    struct locus_node_memory memory;
    struct topo_idset cpus;
    tree_file(NODE_DIRECTORY "/online", "4-5\n");
    tree_node(4, "0-3\n", "10 21\n", 1000, 600);
    cr_assert_eq(topo_sysfs_node_memory(tree_root, 0, &memory), -ENODEV);
    cr_assert_eq(topo_sysfs_node_memory(tree_root, -1, &memory), -ENODEV);
    cr_assert_eq(topo_sysfs_node_cpus(tree_root, 0, &nobody, &cpus), -ENODEV);
    cr_assert_eq(topo_sysfs_node_cpus(tree_root, 5, &nobody, &cpus), -ENODEV, "online, but its directory is gone");
    cr_assert_eq(topo_sysfs_node_cpus(tree_root, 4, &nobody, &cpus), 0);
    cr_assert_eq(topo_idset_count(&cpus), 4);
}

Test(sysfs, answers_for_a_kernel_without_numa)
{
    struct locus_node_memory memory;
    struct topo_idset set;
    tree_file("/proc/meminfo", "MemTotal:        2048 kB\nMemFree:         1024 kB\nActive(file):      7 kB\n");
    tree_file("/sys/devices/system/cpu/online", "0-1\n");
    cr_assert_eq(topo_sysfs_nodes(tree_root, &set), 0);
    cr_assert(topo_idset_count(&set) == 1 && topo_idset_has(&set, 0));
    cr_assert_eq(topo_sysfs_node_cpus(tree_root, 0, &nobody, &set), 0);
    cr_assert_eq(topo_idset_count(&set), 2);
    cr_assert_eq(topo_sysfs_node_memory(tree_root, 0, &memory), 0);
    cr_assert_eq(memory.total_bytes, 2048u * 1024u);
    cr_assert_eq(memory.reclaimable_bytes, 7u * 1024u);
    cr_assert_eq(topo_sysfs_node_memory(tree_root, 1, &memory), -ENODEV);
}

// tar pads a file of /sys to the size that the kernel had given, a page.
Test(sysfs, reads_copies_that_are_padded)
{
    static const char padded[65536] = "2-3\n";
    struct topo_idset set;
    tree_bytes(NODE_DIRECTORY "/online", padded, 4096);
    cr_assert_eq(topo_sysfs_nodes(tree_root, &set), 0);
    cr_assert(topo_idset_count(&set) == 2 && topo_idset_has(&set, 2) && topo_idset_has(&set, 3));
    tree_bytes(NODE_DIRECTORY "/online", padded, sizeof(padded));
    cr_assert_eq(topo_sysfs_nodes(tree_root, &set), 0, "pages of 64 KiB");
}

Test(sysfs, finds_nodes_by_their_folders_where_there_is_no_list)
{
    struct topo_idset set;
    tree_file(NODE_DIRECTORY "/node4/meminfo", "Node 4 MemTotal: 8 kB\n");
    tree_file(NODE_DIRECTORY "/node11/cpumap", "00000000,00000300\n");
    tree_file(NODE_DIRECTORY "/nodes", "");
    tree_file(NODE_DIRECTORY "/node1x", "");
    cr_assert_eq(topo_sysfs_nodes(tree_root, &set), 0);
    cr_assert(topo_idset_count(&set) == 2 && topo_idset_has(&set, 4) && topo_idset_has(&set, 11));
    cr_assert_eq(topo_sysfs_node_cpus(tree_root, 11, &nobody, &set), 0, "by its mask, where it has no list");
    cr_assert(topo_idset_count(&set) == 2 && topo_idset_has(&set, 8) && topo_idset_has(&set, 9));
    cr_assert_eq(topo_sysfs_node_cpus(tree_root, 4, &nobody, &set), -ENODEV, "neither");
}

Test(sysfs, finds_cpus_by_their_folders_where_there_is_no_list)
{
    struct topo_idset set;
    tree_file("/sys/devices/system/cpu/cpu0/topology/core_id", "0\n");
    tree_file("/sys/devices/system/cpu/cpu1/online", "0\n");
    tree_file("/sys/devices/system/cpu/cpu12/online", "1\n");
    tree_file("/sys/devices/system/cpu/cpufreq/boost", "1\n");
    cr_assert_eq(topo_sysfs_node_cpus(tree_root, 0, &nobody, &set), 0);
    cr_assert(topo_idset_count(&set) == 2 && topo_idset_has(&set, 0) && topo_idset_has(&set, 12));
}

Test(sysfs, reads_the_memory_of_a_copy_that_says_no_more)
{
    uint64_t bytes = 0;
    tree_file(NODE_DIRECTORY "/node3/meminfo", "Node 3 MemTotal:       1048576 kB\n");
    cr_assert_eq(topo_sysfs_node_total_bytes(tree_root, 3, &bytes), 0);
    cr_assert_eq(bytes, UINT64_C(1) << 30);
    cr_assert_eq(topo_sysfs_node_total_bytes(tree_root, 2, &bytes), -ENODEV);
}

Test(sysfs, refuses_malformed_meminfo)
{
    static const char *const bad[] = {"",
                                      "Node 0 MemTotal: 5 kB\n",
                                      "Node 0 MemTotal: x kB\nNode 0 MemFree: 1 kB\n",
                                      "Node 0 MemTotal: 5 MB\nNode 0 MemFree: 1 kB\n",
                                      "Node 0 MemTotal: -5 kB\nNode 0 MemFree: 1 kB\n",
                                      "Node 0 MemTotal: 99999999999999999999 kB\nNode 0 MemFree: 1 kB\n",
                                      "Node 0 MemTotal: 18446744073709551615 kB\nNode 0 MemFree: 1 kB\n",
                                      "Node 0 MemTotal: 5 kB\nNode 0 MemFree: 1 kB\nNode 0 SReclaimable: ? kB\n"};
    tree_file(NODE_DIRECTORY "/online", "0\n");
    tree_file("/proc/sys/number", "9223372036854775808\n");
    uint64_t number;
    cr_assert_eq(topo_sysfs_u64(tree_root, "/proc/sys/number", &number), -EINVAL, "2^63 is no figure of a machine");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct locus_node_memory memory;
        tree_file(NODE_DIRECTORY "/node0/meminfo", bad[i]);
        cr_assert_eq(topo_sysfs_node_memory(tree_root, 0, &memory), -EINVAL, "accepted: %s", bad[i]);
    }
}

Test(sysfs, reads_distances_of_exactly_the_online_nodes)
{
    unsigned row[3] = {0};
    tree_file(NODE_DIRECTORY "/node2/distance", "10 21 255\n");
    cr_assert_eq(topo_sysfs_distances(tree_root, 2, row, 3), 0);
    cr_assert(row[0] == 10 && row[1] == 21 && row[2] == 255);
    cr_assert_eq(topo_sysfs_distances(tree_root, 2, row, 2), -EINVAL, "one number too many");
    tree_file(NODE_DIRECTORY "/node2/distance", "10 21\n");
    cr_assert_eq(topo_sysfs_distances(tree_root, 2, row, 3), -EINVAL, "one number too few");
    tree_file(NODE_DIRECTORY "/node2/distance", "10 256 21\n");
    cr_assert_eq(topo_sysfs_distances(tree_root, 2, row, 3), -EINVAL);
    cr_assert_eq(topo_sysfs_distances(tree_root, 3, row, 3), -ENOENT);
}

Test(sysfs, reads_numbers_and_max)
{
    static const char *const bad[] = {"", "\n", "-1\n", "1 2\n", "18446744073709551616\n", "maximum\n", " 1\n"};
    uint64_t value = 0;
    tree_file("/n", "123\n");
    cr_assert(topo_sysfs_u64(tree_root, "/n", &value) == 0 && value == 123);
    tree_file("/n", "max\n");
    cr_assert(topo_sysfs_u64(tree_root, "/n", &value) == 0 && value == UINT64_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tree_file("/n", bad[i]);
        cr_assert_eq(topo_sysfs_u64(tree_root, "/n", &value), -EINVAL, "accepted: %s", bad[i]);
    }
    cr_assert_eq(topo_sysfs_u64(tree_root, "/none", &value), -ENOENT);
}

Test(sysfs, reads_a_figure_by_its_key)
{
    uint64_t bytes = 0;
    tree_file("/proc/self/status", "Name:\tx\nVmSizeX:\t 9 kB\nVmSize:\t    4 kB\nVmData:\t?\n");
    cr_assert_eq(topo_sysfs_bytes(tree_root, "/proc/self/status", "VmSize", &bytes), 0);
    cr_assert_eq(bytes, 4096);
    cr_assert_eq(topo_sysfs_bytes(tree_root, "/proc/self/status", "VmData", &bytes), -EINVAL);
    cr_assert_eq(topo_sysfs_bytes(tree_root, "/proc/self/status", "VmLck", &bytes), -ENOENT);
    cr_assert_eq(topo_sysfs_bytes(tree_root, "/proc/meminfo", "MemTotal", &bytes), -ENOENT);
}

Test(sysfs, refuses_a_file_that_does_not_fit)
{
    char text[4];
    tree_file("/n", "1234");
    cr_assert_eq(topo_sysfs_read(tree_root, "/n", text, sizeof(text), NULL), -EFBIG);
    tree_file("/n", "123");
    cr_assert_eq(topo_sysfs_read(tree_root, "/n", text, sizeof(text), NULL), 0);
    cr_assert_str_eq(text, "123");
}

Test(sysfs, intersects_allowed_nodes_with_nodes_that_have_memory)
{
    struct topo_idset set;
    tree_file(NODE_DIRECTORY "/online", "0-3\n");
    tree_file(NODE_DIRECTORY "/has_memory", "0,2-3\n");
    tree_file("/proc/self/status", "Name:\tx\nMems_allowed:\t07\nMems_allowed_list:\t0-2\n");
    cr_assert_eq(topo_sysfs_mems_allowed(tree_root, &set), 0);
    cr_assert(topo_idset_count(&set) == 2 && topo_idset_has(&set, 0) && topo_idset_has(&set, 2));
}

Test(sysfs, forbids_no_node_where_the_kernel_has_no_cpusets)
{
    struct topo_idset set;
    tree_file(NODE_DIRECTORY "/online", "0-1\n");
    tree_file("/proc/self/status", "Name:\tx\n");
    cr_assert_eq(topo_sysfs_mems_allowed(tree_root, &set), 0);
    cr_assert_eq(topo_idset_count(&set), 2);
    tree_file("/proc/self/status", "Mems_allowed_list:\t1-0\n");
    cr_assert_eq(topo_sysfs_mems_allowed(tree_root, &set), -EINVAL);
}
