// SPDX-License-Identifier: Apache-2.0
//
// live: nodes as a kernel lists them, from a tree of files, with CPUs from a synthetic machine. Nodes that hwloc would drop must
// still show.
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

static int load(struct locus_topo *topo, const char *allowed_words)
{
    hwloc_topology_t topology = NULL;
    struct topo_idset allowed = {{0}};
    for (const char *at = allowed_words; *at; at++)
        topo_idset_add(&allowed, (unsigned)(*at - '0'));
    hwloc_topology_init(&topology);
    cr_assert_eq(hwloc_topology_set_synthetic(topology, "pack:2 core:4 pu:1"), 0);
    cr_assert_eq(hwloc_topology_load(topology), 0);
    int error = topo_model_cpus(topo, topology, &why);
    if (!error)
        error = topo_model_live_nodes(topo, tree_root, topology, &allowed, &why);
    if (!error)
        error = topo_model_finish(topo, &why);
    hwloc_topology_destroy(topology);
    return error;
}

Test(live, shows_sparse_memory_only_and_memory_less_nodes)
{
    struct locus_topo *topo = calloc(1, sizeof(*topo));
    odd_machine();
    cr_assert_eq(load(topo, "01234567"), 0, "%s", why_text);
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
    struct locus_topo *topo = calloc(1, sizeof(*topo));
    odd_machine();
    cr_assert_eq(load(topo, "136"), 0, "%s", why_text);
    cr_assert(locus_topo_node(topo, 4)->allowed);
    cr_assert_not(locus_topo_node(topo, 6)->allowed, "in the mask, but it has no memory");
    cr_assert(locus_topo_node(topo, 7)->allowed);
    cr_assert_not(locus_topo_node(topo, 9)->allowed);
    cr_assert_eq(locus_topo_node(topo, 4)->cpus_allowed_count, 2);
    cr_assert_not(locus_topo_cpu(topo, 0)->allowed);
    cr_assert(locus_topo_cpu(topo, 6)->allowed);
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
    struct locus_topo *topo = calloc(1, sizeof(*topo));
    tree_file(NODE_DIRECTORY "/online", "0\n");
    tree_file(NODE_DIRECTORY "/node0/cpulist", "0-7\n");
    tree_file(NODE_DIRECTORY "/node0/meminfo", "Node 0 MemTotal: 4 kB\nNode 0 MemFree: 4 kB\n");
    tree_file("/proc/self/status", "Mems_allowed_list:\t0\n");
    cr_assert_eq(load(topo, "0"), 0, "%s", why_text);
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
    topo_model_pages(topo, tree_root);
    cr_assert_eq(topo->info.pages_count, 3);
    cr_assert_eq(topo->pages[1].bytes, 2048u * 1024u);
    cr_assert_eq(topo->pages[2].bytes, 1024u * 1024u * 1024u);
    cr_assert(topo->pages[2].reserved_pages == 3 && topo->pages[2].free_pages == 1);
    locus_topo_close(topo);
}
