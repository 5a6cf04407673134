// SPDX-License-Identifier: Apache-2.0
//
// live: CPUs and nodes as a kernel lists them, from a tree of files. Nodes that hwloc would drop must still show.
#include <errno.h>

#include "topo/model.h"
#include "topo/tests/tree.h"

TestSuite(live, .init = tree_open, .fini = tree_close);

static char why_text[256];
static const struct topo_why why = {why_text, sizeof(why_text), NULL};

// Eight CPUs: 0-3 on node 4, 4-5 on the memory-less node 6, 6-7 on node 9; node 7 is memory only.
static void odd_machine(void)
{
    tree_file(NODE_DIRECTORY "/online", "4,6-7,9\n");
    tree_file(NODE_DIRECTORY "/has_memory", "4,7,9\n");
    tree_node(4, "0-3\n", "10 20 30 40\n", 1000, 500);
    tree_node(6, "4-5\n", "20 10 30 40\n", 0, 0);
    tree_node(7, "\n", "30 30 10 17\n", 8000, 7000);
    tree_node(9, "6-7\n", "40 40 17 10\n", 2000, 1500);
    tree_file("/proc/self/status", "Mems_allowed_list:\t4,6-7\n");
}

static int load(struct locus_topo *topo, const char *allowed_digits)
{
    struct topo_idset allowed = {{0}};
    for (const char *at = allowed_digits; *at; at++)
        topo_idset_add(&allowed, (unsigned)(*at - '0'));
    int error = topo_model_live(topo, tree_root, &allowed, &why);
    return error ? error : topo_model_finish(topo, &why);
}

static struct locus_topo *loaded(const char *allowed_digits)
{
    struct locus_topo *topo = calloc(1, sizeof(*topo));
    cr_assert_eq(load(topo, allowed_digits), 0, "%s", why_text);
    return topo;
}

Test(live, shows_sparse_memory_only_and_memory_less_nodes)
{
    odd_machine();
    struct locus_topo *topo = loaded("01234567");
    cr_assert_eq(topo->info.nodes_count, 4);
    cr_assert_eq(locus_topo_node(topo, 4)->kind, LOCUS_NODE_DRAM);
    cr_assert_eq(locus_topo_node(topo, 6)->kind, LOCUS_NODE_CPU_ONLY);
    cr_assert_eq(locus_topo_node(topo, 7)->kind, LOCUS_NODE_MEMORY_ONLY);
    cr_assert_eq(locus_topo_node(topo, 6)->cpus[1], 5);
    cr_assert_eq(locus_topo_cpu(topo, 7)->node, 9);
    cr_assert_eq(locus_topo_distance(topo, 7, 9), 17);
    cr_assert_eq(topo->info.memory_total_bytes, 11000u * 1024u);
    cr_assert_eq(locus_topo_node(topo, 9)->memory.reclaimable_bytes, 123u * 1024u);
    locus_topo_close(topo);
}

Test(live, knows_what_the_process_may_use)
{
    odd_machine();
    struct locus_topo *topo = loaded("136");
    cr_assert(locus_topo_node(topo, 4)->allowed);
    cr_assert_not(locus_topo_node(topo, 6)->allowed, "in the mask, but it has no memory");
    cr_assert(locus_topo_node(topo, 7)->allowed);
    cr_assert_not(locus_topo_node(topo, 9)->allowed);
    cr_assert_eq(locus_topo_node(topo, 4)->cpus_allowed_count, 2);
    cr_assert_not(locus_topo_cpu(topo, 0)->allowed);
    cr_assert(locus_topo_cpu(topo, 6)->allowed);
    locus_topo_close(topo);
}

// numa=fake=2, and Xeons whose firmware describes them so.
Test(live, a_cpu_that_several_nodes_list_is_on_each)
{
    tree_file(NODE_DIRECTORY "/online", "0-1\n");
    tree_node(0, "0-3\n", "10 10\n", 1000, 500);
    tree_node(1, "0-3\n", "10 10\n", 1000, 500);
    struct locus_topo *topo = loaded("12");
    for (int n = 0; n < 2; n++) {
        const struct locus_topo_node *node = locus_topo_node(topo, n);
        cr_expect_eq(node->kind, LOCUS_NODE_DRAM, "node %d", n);
        cr_expect_eq(node->cpus_count, 4, "node %d", n);
        cr_expect_eq(node->cpus_allowed_count, 2, "node %d", n);
        cr_expect(locus_topo_node_has_cpu(node, 3) && !locus_topo_node_has_cpu(node, 4));
    }
    cr_expect_eq(topo->info.cpus_count, 4);
    cr_expect_eq(locus_topo_cpu(topo, 3)->node, 0, "the lowest");
    locus_topo_close(topo);
}

Test(live, leaves_out_cpus_that_are_offline)
{
    tree_file(NODE_DIRECTORY "/online", "0\n");
    tree_node(0, "0-3\n", "10\n", 1000, 500);
    tree_file("/sys/devices/system/cpu/online", "0,2-3\n");
    struct locus_topo *topo = loaded("02");
    cr_expect(topo->info.cpus_count == 3 && !locus_topo_cpu(topo, 1) && locus_topo_node(topo, 0)->cpus_count == 3);
    locus_topo_close(topo);
}

static void check_kind(const struct locus_topo *topo, int node, enum locus_node_kind kind)
{
    cr_expect_eq(locus_topo_node(topo, node)->kind, kind, "node %d is %d", node, locus_topo_node(topo, node)->kind);
}

Test(live, calls_memory_that_is_as_far_as_a_gpus_so)
{
    tree_file(NODE_DIRECTORY "/online", "0,8,252-254\n"); // Power9 with V100; 253 as if it were nearer
    tree_node(0, "0-3\n", "10 40 80 79 80\n", 1000, 500);
    tree_node(8, "4-7\n", "40 10 80 90 80\n", 1000, 500);
    tree_node(252, "\n", "80 80 10 80 80\n", 1000, 500);
    tree_node(253, "\n", "79 90 80 10 80\n", 1000, 500);
    tree_node(254, "\n", "80 80 80 80 10\n", 0, 0);
    struct locus_topo *topo = loaded("0");
    check_kind(topo, 8, LOCUS_NODE_DRAM);
    check_kind(topo, 252, LOCUS_NODE_GPU_MEMORY);
    check_kind(topo, 253, LOCUS_NODE_MEMORY_ONLY);
    check_kind(topo, 254, LOCUS_NODE_EMPTY);
    locus_topo_close(topo);
}

Test(live, believes_the_driver_and_the_firmware_what_is_a_gpus)
{
    tree_file(NODE_DIRECTORY "/online", "0-4\n");
    tree_file(NODE_DIRECTORY "/has_generic_initiator", "0,2,4\n");
    tree_file("/proc/driver/nvidia/gpus/0004:05:00.0/numa_status", "Node:\t1\nStatus:\tonline\n");
    tree_file("/proc/driver/nvidia/gpus/0004:06:00.0/information", "Model: none\n");
    tree_node(0, "0-3\n", "10 20 20 20 20\n", 1000, 500);
    tree_node(1, "\n", "20 10 20 20 20\n", 1000, 500);
    tree_node(2, "\n", "20 20 10 20 20\n", 1000, 500);
    tree_node(3, "\n", "20 20 20 10 20\n", 1000, 500);
    tree_node(4, "\n", "20 20 20 20 10\n", 0, 0);
    struct locus_topo *topo = loaded("0");
    check_kind(topo, 0, LOCUS_NODE_DRAM);
    check_kind(topo, 1, LOCUS_NODE_GPU_MEMORY);
    check_kind(topo, 2, LOCUS_NODE_GPU_MEMORY);
    check_kind(topo, 3, LOCUS_NODE_MEMORY_ONLY);
    check_kind(topo, 4, LOCUS_NODE_EMPTY);
    cr_expect_str_eq(locus_topo_node(topo, 1)->tier, "GPUMemory");
    locus_topo_close(topo);
}

// A device whose driver makes a node of its memory.
static void dax(const char *name, const char *parent, const char *node)
{
    char path[256], target[512];
    snprintf(path, sizeof path, "/sys/devices/%s/%s/target_node", parent, name);
    tree_file(path, node);
    snprintf(target, sizeof target, "../../../devices/%s/%s", parent, name);
    snprintf(path, sizeof path, "/sys/bus/dax/devices/none");
    tree_file(path, "");
    char link[512];
    snprintf(link, sizeof link, "%s/sys/bus/dax/devices/%s", tree_root, name);
    cr_assert_eq(symlink(target, link), 0);
}

static void check_tier(const struct locus_topo *topo, int node, const char *tier)
{
    const char *said = locus_topo_node(topo, node)->tier;
    cr_expect(tier ? said && strcmp(said, tier) == 0 : !said, "node %d: %s", node, said ? said : "none");
}

Test(live, names_tiers_by_the_bus_of_their_device)
{
    tree_file(NODE_DIRECTORY "/online", "0-5\n");
    tree_file(NODE_DIRECTORY "/has_cpu", "0\n");
    tree_node(0, "0-3\n", "10 20 20 20 20 20\n", 1000, 500);
    for (int node = 1; node < 6; node++)
        tree_node(node, "\n", "20 20 20 20 20 20\n", 1000, 500);
    tree_file(NODE_DIRECTORY "/node0/access0/initiators/read_bandwidth", "100000\n");
    tree_file(NODE_DIRECTORY "/node3/access0/initiators/read_bandwidth", "200000\n");
    tree_file(NODE_DIRECTORY "/node4/access0/initiators/read_bandwidth", "200001\n");
    dax("dax1.0", "LNXSYSTM:00/ACPI0012:00/ndbus0/region2", "1\n");
    dax("dax2.0", "platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0", "2\n");
    dax("dax3.0", "platform/hmem.0", "3\n");
    dax("dax4.0", "platform/hmem.1", "4\n");
    struct locus_topo *topo = loaded("0");
    check_tier(topo, 0, NULL);
    check_tier(topo, 1, "NVM");
    check_tier(topo, 2, "CXL");
    check_tier(topo, 3, "SPM");
    check_tier(topo, 4, "HBM");
    check_tier(topo, 5, NULL);
    locus_topo_close(topo);
}

Test(live, finds_cores_packages_and_siblings)
{
    static const char *const files[][2] = {
        {"cpu0/topology/core_cpus_list", "0,2\n"},     {"cpu0/topology/physical_package_id", "3\n"},
        {"cpu2/topology/core_cpus_list", "0,2,9\n"},   {"cpu2/topology/physical_package_id", "-1\n"},
        {"cpu1/topology/thread_siblings_list", "1\n"}, {"cpu3/topology/core_cpus_list", "0\n"},
    };
    tree_file(NODE_DIRECTORY "/online", "0\n");
    tree_node(0, "0-3\n", "10\n", 1000, 500);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/%s", files[i][0]);
        tree_file(path, files[i][1]);
    }
    struct locus_topo *topo = loaded("0");
    const struct locus_topo_cpu *cpu = topo->cpus;
    cr_expect(cpu[0].core == 0 && cpu[0].smt_rank == 0 && cpu[0].package == 3);
    cr_expect(cpu[1].core == 1 && cpu[1].smt_rank == 0 && cpu[1].package == -1);
    cr_expect(cpu[2].core == 0 && cpu[2].smt_rank == 1 && cpu[2].package == -1);
    cr_expect(cpu[3].core == -1 && cpu[3].smt_rank == -1, "its list is of another core");
    cr_expect(topo->info.cores_count == 2 && topo->info.smt_max == 2);
    locus_topo_close(topo);
}

// An empty folder (a tmpfs over it), or none (gVisor).
Test(live, is_one_node_where_nodes_are_hidden)
{
    tree_file(NODE_DIRECTORY "/x", "");
    tree_file("/sys/devices/system/cpu/online", "0-1\n");
    tree_file("/proc/meminfo", "MemTotal:        2048 kB\nMemFree:         1024 kB\n");
    struct locus_topo *topo = loaded("1");
    cr_expect(topo->info.nodes_hidden && topo->info.nodes_count == 1 && topo->info.cpus_count == 2);
    check_kind(topo, 0, LOCUS_NODE_DRAM);
    cr_expect_eq(topo->info.kernel_total_bytes, 2048u * 1024u);
    cr_expect_eq(locus_topo_node(topo, 0)->cpus_allowed_count, 1);
    cr_expect_eq(locus_topo_node(topo, 0)->memory.total_bytes, 2048u * 1024u);
    locus_topo_close(topo);
}

// lxcfs shows a container's only CPU as 0; it runs on CPU 1.
Test(live, believes_the_affinity_more_than_a_list)
{
    tree_file("/proc/meminfo", "MemTotal:        2048 kB\nMemFree:         1024 kB\n");
    tree_file("/sys/devices/system/cpu/online", "0\n");
    struct locus_topo *topo = loaded("1");
    cr_expect(topo->info.cpus_count == 1 && topo->cpus[0].os_index == 1 && topo->cpus[0].allowed && topo->cpus[0].node == 0);
    locus_topo_close(topo);
    tree_file(NODE_DIRECTORY "/online", "0-1\n");
    tree_node(0, "0\n", "10 20\n", 1000, 500);
    tree_node(1, "2\n", "20 10\n", 1000, 500);
    topo = loaded("12"); // with the node folder, the list 0 is a container's all the more
    cr_expect(topo->info.cpus_count == 3 && locus_topo_cpu(topo, 1)->allowed && locus_topo_cpu(topo, 1)->node == -1);
    cr_expect(!topo->info.nodes_hidden && locus_topo_cpu(topo, 2)->node == 1);
    locus_topo_close(topo);
}

static void check_fails(const char *path, const char *text, const char *word)
{
    struct locus_topo *topo = calloc(1, sizeof(*topo));
    odd_machine();
    tree_file(path, text);
    cr_assert_eq(load(topo, "0"), -EIO, "%s: \"%s\" was accepted", path, text);
    cr_assert(strstr(why_text, word), "%s", why_text);
    locus_topo_close(topo);
}

Test(live, refuses_files_that_contradict_each_other)
{
    check_fails(NODE_DIRECTORY "/online", "4-\n", "list of nodes");
    check_fails(NODE_DIRECTORY "/online", "\n", "list of nodes");
    check_fails(NODE_DIRECTORY "/online", "4,6-7,9,11\n", "node 11");
    check_fails(NODE_DIRECTORY "/node4/cpulist", "3-0\n", "CPUs of node 4");
    check_fails(NODE_DIRECTORY "/node7/meminfo", "Node 7 MemTotal: many\n", "memory of node 7");
    check_fails(NODE_DIRECTORY "/node9/distance", "10 20\n", "node 9 ");
}

Test(live, does_without_distances)
{
    tree_file(NODE_DIRECTORY "/online", "0\n");
    tree_file(NODE_DIRECTORY "/node0/cpulist", "0-7\n");
    tree_file(NODE_DIRECTORY "/node0/meminfo", "Node 0 MemTotal: 4 kB\nNode 0 MemFree: 4 kB\n");
    tree_file("/proc/self/status", "Mems_allowed_list:\t0\n");
    struct locus_topo *topo = loaded("0");
    cr_assert_eq(locus_topo_distance(topo, 0, 0), 0);
    locus_topo_close(topo);
}

Test(live, lists_page_sizes_in_order)
{
    struct locus_topo *topo = calloc(1, sizeof(*topo));
    tree_file("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "3\n");
    tree_file("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "1\n");
    tree_file("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n");
    tree_file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
    tree_file("/sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages", "broken\n");
    static const char *const none[] = {"18014398509481985kB", "-64kB", "64KB", "64kBx"}; // the first would be 1 KiB if it wrapped
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%s/nr_hugepages", none[i]);
        tree_file(path, "1\n");
        snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%s/free_hugepages", none[i]);
        tree_file(path, "1\n");
    }
    topo_model_pages(topo, tree_root);
    cr_assert_eq(topo->info.pages_count, 3);
    cr_assert_eq(topo->pages[1].bytes, 2048u * 1024u);
    cr_assert_eq(topo->pages[2].bytes, 1024u * 1024u * 1024u);
    cr_assert(topo->pages[2].reserved_pages == 3 && topo->pages[2].free_pages == 1);
    locus_topo_close(topo);
}
