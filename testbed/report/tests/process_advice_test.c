// SPDX-License-Identifier: Apache-2.0
//
// process_advice: the page of an engine on a machine of two nodes, from files that are made up, and what its cures would leave.
#include <errno.h>
#include <math.h>

#include "testbed/base/tests/golden.h"
#include "testbed/host/tests/process_fixture.h"
#include "testbed/report/advise/process_advice.h"
#include "testbed/report/tests/doc_says.h"

static struct tb_process_advice advice;

// Weights and a KV cache on node 0; four busy threads, half of them on either node.
static void engine_open(void)
{
    process_open();
    process_file("smaps", "10000000-50000000 r--s 00000000 08:01 7      /models/llama.gguf\n"
                          "60000000-80000000 rw-p 00000000 00:00 0 \nRss: 524288 kB\nAnonHugePages: 262144 kB\n"
                          "90000000-90001000 r-xp 00000000 08:01 8      /usr/lib/libllama.so\n");
    process_file("numa_maps", "10000000 default file=/models/llama.gguf mapped=262144 N0=262144 kernelpagesize_kB=4\n"
                              "60000000 default anon=131072 dirty=131072 N0=131072 kernelpagesize_kB=4\n"
                              "90000000 default file=/usr/lib/libllama.so mapped=1 N1=1 kernelpagesize_kB=4\n");
    for (int t = 1; t <= 4; t++)
        process_thread(FIXTURE_PID + t, t % 2 ? "0-7" : "8-15", 20, t % 2 ? t : 8 + t, t % 2 ? t : 8 + t);
}

TestSuite(process_advice, .init = engine_open, .fini = tree_close);

static struct locus_topo *machine;

static void advised(const char *description)
{
    machine = process_machine(description);
    int error = tb_process_look(tree_root, FIXTURE_PID, machine, &process, process_why, sizeof process_why);
    cr_assert_eq(error, 0, "%s", process_why);
    tb_process_advise(&process, machine, &advice);
}

static void says(const char *words, bool expected)
{
    doc_says(tb_process_doc(NULL, NULL, &process, machine), words, expected);
}

static double leaves(const char *name)
{
    for (unsigned c = 0; c < advice.cures_count; c++)
        if (strcmp(advice.cures[c].name, name) == 0)
            return advice.cures[c].remote;
    return -1;
}

Test(process_advice, page_of_an_engine_of_which_half_is_remote)
{
    advised(FIXTURE_MACHINE);
    cr_expect_eq(advice.remote, 0.5);
    char *text = doc_shown(tb_process_doc(NULL, NULL, &process, machine), false);
    golden("testbed/report/tests/golden/process_half.txt", text);
    free(text);
}

Test(process_advice, each_cure_says_what_it_leaves)
{
    advised(FIXTURE_MACHINE);
    cr_expect(leaves("bind") == 0 && leaves("one-each") == 0 && leaves("backend") == 0 && leaves("interleave") == 0.5);
    cr_expect(leaves("distribute") == 0.5 && leaves("isolate") == 0 && leaves("taskset") == 0);
}

// Three quarters of the pages and of the time are on node 1: 1 - (1/4 * 1/4 + 3/4 * 3/4).
Test(process_advice, shares_are_multiplied)
{
    process_file("numa_maps", "10000000 default file=/models/llama.gguf mapped=262144 N0=65536 N1=196608 kernelpagesize_kB=4\n");
    process_file("smaps", "10000000-50000000 r--s 00000000 08:01 7      /models/llama.gguf\n");
    process_thread(FIXTURE_PID + 1, "0-7", 0, 1, 1);
    process_thread(FIXTURE_PID + 3, "8-15", 10, 9, 9);
    process_thread(FIXTURE_PID + 4, "8-15", 20, 9, 9);
    process_thread(FIXTURE_PID + 2, "0-7", 10, 1, 1);
    advised(FIXTURE_MACHINE);
    cr_expect(fabs(advice.remote - (1 - 10.0 / 16)) < 1e-9, "%f", advice.remote);
    cr_expect_eq(process.node[advice.best], 1);
    cr_expect_eq(leaves("taskset"), 0.25);
    cr_expect_eq(leaves("backend"), -1, "it is not llama.cpp");
    says("Least would be 0 %, by numactl --cpunodebind=1 --membind=1 ENGINE", true);
    says("taskset -a -c -p 8-15 4711", true);
    says("AllowedCPUs=8-15", true);
}

Test(process_advice, where_nothing_is_remote_there_is_nothing_to_gain)
{
    for (int t = 1; t <= 4; t++)
        process_thread(FIXTURE_PID + t, "0-7", 20, t, t);
    advised(FIXTURE_MACHINE);
    cr_expect_eq(advice.remote, 0);
    cr_expect_eq(advice.cures_count, 1);
    says("0 % of the reads must come from another node", true);
    says("There is next to nothing to gain.", true);
}

Test(process_advice, one_node_has_nothing_to_choose)
{
    advised("pack:1 [numa(memory=64GB)] core:16 pu:1");
    cr_expect_eq(advice.cures_count, 0);
    says("this machine has one node. All memory is equally near to all CPUs, and there is nothing to choose.", true);
    says("llama.gguf", true);
    says("256 MiB are in transparent ones (transparent_hugepage: madvise)", true);
    says("numactl", false);
}

// Of a backend with a device for each node, what is bound to a node is read from there alone.
Test(process_advice, devices_read_their_own_memory)
{
    process_file("smaps", "60000000-80000000 rw-p 00000000 00:00 0 \n80001000-a0001000 rw-p 00000000 00:00 0 \n"
                          "b0000000-b0001000 r-xp 00000000 08:01 8      /usr/lib/locus/libggml-locus.so\n");
    process_file("numa_maps", "60000000 bind:0 anon=131072 dirty=131072 N0=131072 kernelpagesize_kB=4\n"
                              "80001000 bind:1 anon=131072 dirty=131072 N0=32768 N1=98304 kernelpagesize_kB=4\n"
                              "b0000000 default file=/usr/lib/locus/libggml-locus.so mapped=1 N1=1 kernelpagesize_kB=4\n");
    advised(FIXTURE_MACHINE);
    cr_expect(process.devices);
    cr_expect_eq(advice.remote, 0.125, "a quarter of one of two is astray, not %g", advice.remote);
    cr_expect_eq(leaves("backend"), -1, "it has it");
    says("what libggml-locus.so has bound to a node only from there", true);
}

// A strict bind of what does not fit is killed.
Test(process_advice, what_does_not_fit_on_a_node_is_not_bound_to_it)
{
    advised("pack:2 [numa(memory=1GB)] core:8 pu:1");
    cr_expect_eq(leaves("bind"), -1);
    cr_expect_eq(leaves("one-each"), -1);
    says("--membind", false);
    says("The large regions do not fit on one node.", true);
}

// What the cpuset keeps from the process is no cure.
Test(process_advice, nodes_that_it_may_not_use)
{
    process_file("status", "Name:\tengine\nTgid:\t4711\nMems_allowed_list:\t0\n");
    advised(FIXTURE_MACHINE);
    cr_expect_eq(leaves("bind"), 0);
    cr_expect_eq(leaves("interleave"), -1);
    cr_expect_eq(leaves("one-each"), -1);
}

Test(process_advice, memory_without_cpus_is_remote_to_all)
{
    process_file("numa_maps", "60000000 bind:2 anon=131072 dirty=131072 N2=131072 kernelpagesize_kB=4\n");
    process_file("smaps", "60000000-80000000 rw-p 00000000 00:00 0 \n");
    process_file("status", "Name:\tengine\nTgid:\t4711\nMems_allowed_list:\t0-2\n");
    advised("topo/tests/fixtures/cxl.xml");
    cr_expect_eq(advice.remote, 1);
    cr_expect_eq(leaves("bind"), 0);
}

Test(process_advice, what_could_not_be_seen_is_said)
{
    advised(FIXTURE_MACHINE);
    process.maps_errno = process.placed_errno = EACCES;
    process.regions_count = 0;
    process.witness_errno = EPERM;
    tb_process_advise(&process, machine, &advice);
    cr_expect(isnan(advice.remote) && advice.cures_count == 0);
    says("where its memory lies could not be seen (Permission denied), so which of its reads are remote is not known. "
         "Run this as the process's user, or with sudo.",
         true);
    says("Not seen: regions and huge pages (/proc/4711/smaps, numa_maps: Permission denied). By its status it has 2 MiB in memory.",
         true);
    says("move_pages: Operation not permitted; it is for the process's user and for root", true);
    says("8-15", true);
    process.witness_barred = true;
    says("EPERM, forbidden by seccomp as in a container", true);
}

Test(process_advice, balancing_moves_pages)
{
    advised(FIXTURE_MACHINE);
    says("NUMA balancing", false);
    process.balancing = 1;
    says("NUMA balancing is on (kernel.numa_balancing): the kernel may move pages at any time", true);
}

Test(process_advice, witnesses_that_disagree)
{
    advised(FIXTURE_MACHINE);
    process.regions[0].witness = (struct tb_region_witness){.asked = 4096, .present = 4096, .on = {4096}};
    says("move_pages, the second witness, was asked about 4096 pages, a sample drawn evenly over each region", true);
    says("are they moving?", false);
    process.regions[0].witness.on[0] = 3072;
    process.regions[0].witness.on[1] = 1024;
    says("at 60000000: move_pages has 25 % of the pages on other nodes than numa_maps: are they moving?", true);
}

Test(process_advice, without_load_it_says_so)
{
    for (int t = 1; t <= 4; t++)
        process_thread(FIXTURE_PID + t, "0-7", 0, 1, 1);
    advised(FIXTURE_MACHINE);
    cr_expect_eq(advice.remote, 0);
    says("No thread ran in the 200 ms that they were watched", true);
}
