// SPDX-License-Identifier: Apache-2.0
//
// root: another machine by a copy of its /sys and /proc, as hwloc-gather-topology makes it.
#include <errno.h>

#include "topo/tests/tree.h"
#include "topo/topo.h"

TestSuite(root, .init = tree_open, .fini = tree_close);

static char why[256];

static void cpu(int id, const char *siblings, int package)
{
    char path[128], text[32];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings", id);
    tree_file(path, siblings);
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/core_siblings", id);
    tree_file(path, package ? "000000f0\n" : "0000000f\n");
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", id);
    snprintf(text, sizeof(text), "%d\n", package);
    tree_file(path, text);
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/core_id", id);
    snprintf(text, sizeof(text), "%d\n", id % 4 / 2);
    tree_file(path, text);
}

static void node(int id, const char *map, const char *distances, unsigned long mib)
{
    char path[128], text[128];
    snprintf(path, sizeof(path), NODE_DIRECTORY "/node%d/cpumap", id);
    tree_file(path, map);
    snprintf(path, sizeof(path), NODE_DIRECTORY "/node%d/distance", id);
    tree_file(path, distances);
    snprintf(path, sizeof(path), NODE_DIRECTORY "/node%d/meminfo", id);
    snprintf(text, sizeof(text), "Node %d MemTotal: %lu kB\n", id, mib * 1024);
    tree_file(path, text);
}

// Two packages of two cores with two threads each; node 3 has memory alone, node 4 CPUs alone.
static void machine(void)
{
    static const char *const siblings[] = {"00000003\n", "0000000c\n", "00000030\n", "000000c0\n"};
    for (int id = 0; id < 8; id++)
        cpu(id, siblings[id / 2], id / 4);
    node(2, "00000000,0000000f\n", "10 17 32\n", 512);
    node(3, "00000000,00000000\n", "17 10 32\n", 2048);
    node(4, "00000000,000000f0\n", "32 32 10\n", 0);
}

static int opened(struct locus_topo **topo)
{
    *why = '\0';
    return locus_topo_open(topo, tree_root, why, sizeof(why));
}

Test(root, is_another_machine)
{
    struct locus_topo *topo = NULL;
    machine();
    setenv("HWLOC_SYNTHETIC", "pack:2 pu:64", 1);       // has nothing to say about it
    cr_assert_eq(opened(&topo), 0, "%s", why);
    const struct locus_topo_info *info = locus_topo_info(topo);
    cr_assert_eq(info->source, LOCUS_TOPO_ROOT);
    cr_assert(info->nodes_count == 3 && info->cpus_count == 8 && info->cores_count == 4 && info->smt_max == 2);
    cr_assert_eq(locus_topo_node(topo, 2)->kind, LOCUS_NODE_DRAM);
    cr_assert_eq(locus_topo_node(topo, 3)->kind, LOCUS_NODE_MEMORY_ONLY);
    cr_assert_eq(locus_topo_node(topo, 3)->memory.total_bytes, UINT64_C(2) << 30);
    cr_assert_eq(locus_topo_node(topo, 4)->kind, LOCUS_NODE_CPU_ONLY);
    cr_assert(locus_topo_node(topo, 4)->cpus_count == 4 && locus_topo_node(topo, 4)->cpus[0] == 4);
    cr_assert_eq(locus_topo_distance(topo, 3, 4), 32);
    const struct locus_topo_cpu *seventh = locus_topo_cpu(topo, 7);
    cr_assert(seventh->node == 4 && seventh->package == 1 && seventh->core == 6 && seventh->smt_rank == 1);
    locus_topo_close(topo);
}

Test(root, says_nothing_of_a_process_and_of_this_moment)
{
    struct locus_topo *topo = NULL;
    machine();
    tree_file(NODE_DIRECTORY "/node2/meminfo", "Node 2 MemTotal: 4096 kB\nNode 2 MemFree: 1024 kB\n");
    tree_file("/proc/self/status", "Mems_allowed_list:\tnonsense\n"); // of whoever made the copy
    cr_assert_eq(opened(&topo), 0, "%s", why);
    const struct locus_topo_node *second = locus_topo_node(topo, 2);
    cr_assert_not(second->memory_live);
    cr_assert(second->memory.total_bytes == 4096 * 1024 && second->memory.free_bytes == 0);
    cr_assert(!second->allowed && second->cpus_allowed_count == 0 && !locus_topo_cpu(topo, 0)->allowed);
    cr_assert(locus_topo_info(topo)->pages_count == 0 && locus_topo_info(topo)->cgroup_limit_bytes == UINT64_MAX);
    locus_topo_close(topo);
}

Test(root, names_what_a_copy_lacks)
{
    struct locus_topo *topo = NULL;
    char path[128];
    cr_assert_eq(opened(&topo), -EINVAL);
    cr_assert(strstr(why, "it lacks sys/devices/system/cpu"), "%s", why);
    cr_assert(strstr(why, tree_root), "%s", why);
    machine();
    snprintf(path, sizeof(path), "%s" NODE_DIRECTORY "/node3/meminfo", tree_root);
    unlink(path);
    cr_assert_eq(opened(&topo), -EIO);
    cr_assert(strstr(why, "lacks the memory of node 3"), "%s", why);
}

Test(root, of_a_kernel_without_nodes_is_one_node)
{
    struct locus_topo *topo = NULL;
    cpu(0, "00000001\n", 0);
    cpu(1, "00000002\n", 0);
    tree_file("/proc/meminfo", "MemTotal:        2048 kB\n");
    cr_assert_eq(opened(&topo), 0, "%s", why);
    cr_assert_eq(locus_topo_info(topo)->nodes_count, 1);
    cr_assert_eq(locus_topo_node(topo, 0)->cpus_count, 2);
    cr_assert_eq(locus_topo_info(topo)->memory_total_bytes, 2048 * 1024);
    locus_topo_close(topo);
}
