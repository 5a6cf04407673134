// SPDX-License-Identifier: Apache-2.0
//
// process: mappings become a handful of regions, threads become shares of nodes, and what cannot be seen is said, from files of a
// machine of two nodes. The second witness is asked of made-up pages.
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "testbed/host/process/maps.h"
#include "testbed/host/process/threads.h"
#include "testbed/host/tests/process_fixture.h"

#define MIB (UINT64_C(1) << 20)

TestSuite(process, .init = process_open, .fini = tree_close);

static void looks(void)
{
    int error = process_look();
    cr_assert_eq(error, 0, "%d: %s", error, process_why);
}

static const struct tb_region *region(const char *name)
{
    for (unsigned r = 0; r < process.regions_count; r++)
        if (strcmp(process.regions[r].name, name) == 0)
            return &process.regions[r];
    cr_assert_fail("no region %s", name);
    return NULL;
}

static void is_on(const char *name, const char *policy, uint64_t mib_0, uint64_t mib_1)
{
    const struct tb_region *found = region(name);
    cr_expect_str_eq(found->policy, policy);
    cr_expect(found->on_bytes[0] == mib_0 * MIB && found->on_bytes[1] == mib_1 * MIB, "%s: %" PRIu64 " and %" PRIu64, name,
              found->on_bytes[0], found->on_bytes[1]);
}

// --- regions -------------------------------------------------------------------------------------------------------------------

Test(process, pages_by_node_and_policy)
{
    process_file("numa_maps", "10000000 bind:0 anon=2048 dirty=2048 active=0 N0=2048 kernelpagesize_kB=4\n"
                              "20000000 interleave:0-1 anon=4096 dirty=4096 N0=2048 N1=2048 kernelpagesize_kB=4\n"
                              "30000000 prefer (many):0-1 anon=2048 N1=2048 kernelpagesize_kB=4\n"
                              "40000000 weighted interleave:0-1 anon=2048 N0=1024 N1=1024 kernelpagesize_kB=4\n"
                              "50000000 bind=static|balancing:0-1 anon=2048 N1=2048 kernelpagesize_kB=4\n"
                              "60000000 default heap anon=2048 N0=2048 kernelpagesize_kB=4\n");
    looks();
    is_on("at 10000000", "bind:0", 8, 0);
    is_on("at 20000000", "interleave:0-1", 8, 8);
    is_on("at 30000000", "prefer (many):0-1", 0, 8);
    is_on("at 40000000", "weighted interleave:0-1", 4, 4);
    is_on("at 50000000", "bind=static|balancing:0-1", 0, 8);
    is_on("[heap]", "default", 8, 0);
    cr_expect_eq(process.lines_bad, 0);
}

Test(process, hugetlb_is_counted_in_huge_pages)
{
    process_file("smaps", "10000000-11000000 rw-p 00000000 00:0f 1 /anon_hugepage (deleted)\nRss: 0 kB\nKernelPageSize: 2048 kB\n"
                          "Private_Hugetlb: 16384 kB\n"
                          "20000000-20800000 rw-p 00000000 00:00 0 \nRss: 8192 kB\nKernelPageSize: 4 kB\nAnonHugePages: 4096 kB\n");
    process_file("numa_maps", "10000000 bind:1 file=/anon_hugepage\\040(deleted) huge anon=8 dirty=8 N1=8 kernelpagesize_kB=2048\n"
                              "20000000 default anon=2048 dirty=2048 N0=2048 kernelpagesize_kB=4\n");
    looks();
    is_on("at 10000000", "bind:1", 0, 16);
    is_on("at 20000000", "default", 8, 0);
    cr_expect_eq(region("at 10000000")->huge_bytes, 16 * MIB);
    cr_expect_eq(region("at 10000000")->page_bytes, 2 * MIB);
    cr_expect_eq(region("at 20000000")->huge_bytes, 4 * MIB);
    cr_expect_str_eq(process.thp, "madvise");
}

Test(process, files_go_by_their_names)
{
    process_file("smaps", "10000000-10400000 r--s 00000000 08:01 7      /models/my model.gguf\n"
                          "20000000-20400000 r--s 00400000 08:01 7      /models/my model.gguf\n"
                          "30000000-30800000 rw-s 00000000 00:01 9      /dev/shm/psm_1\n"
                          "40000000-40001000 r-xp 00000000 08:01 8      /usr/lib/libggml-base.so.0\n");
    process_file("numa_maps", "10000000 default file=/models/my\\040model.gguf mapped=1024 N0=1024 kernelpagesize_kB=4\n"
                              "20000000 default file=/models/my\\040model.gguf mapped=1024 N1=1024 kernelpagesize_kB=4\n"
                              "30000000 default file=/dev/shm/psm_1 dirty=2048 N0=2048 kernelpagesize_kB=4\n"
                              "40000000 default file=/usr/lib/libggml-base.so.0 mapped=1 N0=1 kernelpagesize_kB=4\n");
    looks();
    is_on("my model.gguf", "default", 4, 4);
    cr_expect_eq(region("my model.gguf")->kind, TB_REGION_FILE);
    cr_expect_eq(region("my model.gguf")->mappings, 2);
    cr_expect_eq(region("psm_1")->kind, TB_REGION_ANONYMOUS);
    cr_expect(process.llama);
    cr_expect_eq(region("rest")->present_bytes, 4096);
}

Test(process, names_are_read_from_numa_maps_alone)
{
    process_file("numa_maps", "10000000 default file=/a\\040b\\134c mapped=2048 N0=2048 kernelpagesize_kB=4\n"
                              "20000000 default file=/cut\\04 mapped=2048 N0=2048 kernelpagesize_kB=4\n");
    looks();
    is_on("a b\\c", "default", 8, 0);
    is_on("cut\\04", "default", 8, 0);
    cr_expect_not(process.llama);
}

// Guards keep regions apart; addresses that are only reserved are nobody's memory.
Test(process, neighbours_merge)
{
    process_file("smaps", "10000000-10200000 rw-p 00000000 00:00 0 \nKernelPageSize: 4 kB\n"
                          "10200000-10400000 r--p 00000000 00:00 0 \nKernelPageSize: 4 kB\n"
                          "10400000-10401000 ---p 00000000 00:00 0 \nKernelPageSize: 4 kB\n"
                          "10401000-10801000 rw-p 00000000 00:00 0 \nKernelPageSize: 4 kB\n"
                          "20000000-90000000 ---p 00000000 00:00 0 \nKernelPageSize: 4 kB\n");
    process_file("numa_maps", "10000000 default anon=512 N0=512 kernelpagesize_kB=4\n10200000 default anon=512 N1=512 "
                              "kernelpagesize_kB=4\n10400000 default\n10401000 default anon=1024 N1=1024 kernelpagesize_kB=4\n"
                              "20000000 default\n");
    looks();
    is_on("at 10000000", "default", 2, 2);
    is_on("at 10401000", "default", 0, 4);
    cr_expect_eq(region("at 10000000")->size_bytes, 4 * MIB);
    cr_expect_eq(region("rest")->size_bytes, 0);
}

Test(process, other_policies_are_other_regions)
{
    process_file("smaps", "10000000-10800000 rw-p 00000000 00:00 0 \n10800000-11000000 rw-p 00000000 00:00 0 \n");
    process_file("numa_maps", "10000000 bind:0 anon=2048 N0=2048 kernelpagesize_kB=4\n"
                              "10800000 bind:1 anon=2048 N1=2048 kernelpagesize_kB=4\n");
    looks();
    is_on("at 10000000", "bind:0", 8, 0);
    is_on("at 10800000", "bind:1", 0, 8);
}

Test(process, lines_that_are_none_are_counted)
{
    process_file("numa_maps", "\nnonsense\n10000000\n10000000 \n10000000 7\n20000000 default anon=2048 N0=2048 N9=512 N1 N=3 Nx=4 "
                              "kernelpagesize_kB=4 =\n30000000 bind:0 anon=1");
    looks();
    cr_expect_eq(process.lines_bad, 5, "%" PRIu64, process.lines_bad);
    is_on("at 20000000", "default", 8, 0);
    cr_expect_eq(region("at 20000000")->unplaced_bytes, 2 * MIB, "node 9 is not of this machine");
    cr_expect_eq(region("rest")->present_bytes, 0);
}

// A mapping that only one of the files has: it came, or went, between them.
Test(process, files_that_disagree)
{
    process_file("smaps", "10000000-10800000 rw-p 00000000 00:00 0 \nRss: 8192 kB\nKernelPageSize: 4 kB\n"
                          "30000000-30800000 rw-p 00000000 00:00 0 \nRss: 8192 kB\n");
    process_file("numa_maps", "20000000 default anon=2048 N0=2048 kernelpagesize_kB=4\n30000000 default anon=2048 N1=2048 "
                              "kernelpagesize_kB=4\n");
    looks();
    is_on("at 10000000", "", 0, 0);
    cr_expect_eq(region("at 10000000")->unplaced_bytes, 8 * MIB);
    is_on("at 20000000", "default", 8, 0);
    is_on("at 30000000", "default", 0, 8);
}

Test(process, a_kernel_without_nodes)
{
    process_file("smaps", "10000000-10800000 rw-p 00000000 00:00 0 \nRss: 8192 kB\n");
    looks();
    cr_expect_eq(process.maps_errno, 0);
    cr_expect_eq(process.placed_errno, ENOENT);
    cr_expect_eq(region("at 10000000")->present_bytes, 8 * MIB);
}

Test(process, a_kernel_without_smaps)
{
    process_file("maps", "10000000-11000000 rw-p 00000000 00:00 0 \n");
    process_file("numa_maps", "10000000 default anon=2048 N0=2048 kernelpagesize_kB=4\n");
    looks();
    is_on("at 10000000", "default", 8, 0);
    cr_expect_eq(region("at 10000000")->size_bytes, 16 * MIB);
}

Test(process, memory_that_may_not_be_seen)
{
    looks();
    cr_expect_eq(process.maps_errno, ENOENT);
    cr_expect_eq(process.regions_count, 0);
    cr_expect_eq(process.threads, 1);
    cr_expect_eq(process.rss_bytes, 2 * MIB);
}

// Ten thousand mappings, of which twenty are large of either kind.
Test(process, thousands_of_mappings_are_a_handful_of_regions)
{
    char path[256];
    snprintf(path, sizeof path, "/proc/%d/numa_maps", FIXTURE_PID);
    tree_file(path, "");
    snprintf(path, sizeof path, "%s/proc/%d/numa_maps", tree_root, FIXTURE_PID);
    FILE *file = fopen(path, "w");
    for (unsigned m = 0; m < 10000; m++) {
        unsigned pages = m % 500 ? 1 : 8192 + m;
        fprintf(file, "%x default %s%s%.0u anon=%u N%u=%u kernelpagesize_kB=4\n", 0x10000000 + 0x10000 * m,
                m % 1000 ? "" : "file=/f", m % 1000 ? "" : "", m % 1000 ? 0 : m, pages, m % 2, pages);
    }
    fclose(file);
    looks();
    cr_expect_eq(process.regions_count, 15);
    cr_expect_str_eq(process.regions[6].name, "4 other regions");
    cr_expect_str_eq(process.regions[13].name, "4 other files");
    cr_expect_str_eq(process.regions[14].name, "rest");
    cr_expect_eq(process.regions[14].mappings, 9980);
    cr_expect_eq(process.regions[0].present_bytes, (8192 + 9500) * UINT64_C(4096));
    for (unsigned r = 1; r < 6; r++)
        cr_expect_leq(process.regions[r].present_bytes, process.regions[r - 1].present_bytes);
}

// --- threads -------------------------------------------------------------------------------------------------------------------

static const struct tb_thread_group *group(int only_node)
{
    for (unsigned g = 0; g < process.groups_count; g++)
        if (locus_nodes_count(&process.groups[g].may) == 1 && locus_nodes_has(&process.groups[g].may, only_node))
            return &process.groups[g];
    cr_assert_fail("no group on node %d alone", only_node);
    return NULL;
}

static bool near(double value, double wanted)
{
    return fabs(value - wanted) < 1e-9;
}

Test(process, threads_where_they_ran_and_may_run)
{
    process_thread(4712, "1", 20, 1, 1);
    process_thread(4713, "2-3,5", 20, 2, 3);
    process_thread(4714, "8-15", 10, 9, 9);
    process_thread(4715, "8-15", 1, 9, 9);
    looks();
    cr_expect_eq(process.threads, 5);
    cr_expect_eq(process.busy, 3);
    cr_expect_eq(process.groups_count, 3);
    cr_expect_str_eq(group(0)->cpus, "1-3,5");
    cr_expect_str_eq(group(1)->cpus, "8-15");
    cr_expect_eq(group(1)->threads, 2);
    cr_expect_eq(group(1)->busy, 1);
    double ticks = (double)sysconf(_SC_CLK_TCK);
    cr_expect(near(process.ran_on[0], 40 / ticks) && near(process.ran_on[1], 11 / ticks));
    cr_expect(near(group(1)->ran_on[1], 11 / ticks));
}

Test(process, a_thread_that_goes_to_another_node_counts_on_both)
{
    process_thread(4712, "0-15", 20, 1, 9);
    looks();
    cr_expect(near(process.ran_on[0], process.ran_on[1]) && process.ran_on[0] > 0);
}

Test(process, without_load_the_time_since_they_began_counts)
{
    process_thread(4712, "0-15", 0, 9, 9);
    looks();
    cr_expect_eq(process.watched_s, 0);
    cr_expect_eq(process.busy, 0);
    cr_expect(near(process.ran_on[0], process.ran_on[1]) && process.ran_on[0] > 0);
}

Test(process, a_thread_whose_number_is_used_again_did_not_run)
{
    process_thread(4712, "0-15", 20, 1, 1);
    process_file("task/4712/stat.later",
                 "4712 (new) R 1 1 1 0 -1 0 0 0 0 0 5000 0 0 0 20 0 3 0 9999 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 17 "
                 "9 0 0 0\n");
    looks();
    cr_expect_eq(process.watched_s, 0);
}

Test(process, names_with_parentheses_and_blanks)
{
    process_stat("stat", "a) R (b c", 'S', 0, 1000, 0);
    looks();
    cr_expect_str_eq(process.name, "a) R (b c");
    struct tb_stat stat;
    cr_expect(tb_stat_parse("1 () S 1 1 1 0 -1 64 0 0 0 0 3 4 0 0 20 0 3 0 77 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 17 9 0 0 0\n", &stat));
    cr_expect(stat.ticks == 7 && stat.start_ticks == 77 && stat.cpu == 9 && stat.flags == 64 && !*stat.name);
    cr_expect_not(tb_stat_parse("1 (x) S 1 1 1 0 -1 64 0 0", &stat));
    cr_expect_not(tb_stat_parse("1 )x( S 1", &stat));
    cr_expect_not(tb_stat_parse("", &stat));
}

// A program may call itself anything.
Test(process, a_name_that_looks_like_another_line)
{
    process_file("status", "Name:\tTgid: 1\nTgid:\t4711\nVmRSS:\t  2048 kB\nMems_allowed_list:\t0-1\n");
    looks();
    cr_expect_eq(process.pid, 4711);
}

Test(process, lists_of_numbers)
{
    cr_expect(tb_list_has("0-3,8", 0) && tb_list_has("0-3,8", 3) && tb_list_has("0-3,8\n", 8));
    cr_expect_not(tb_list_has("0-3,8", 4) || tb_list_has("0-3,8", 9) || tb_list_has("", 0) || tb_list_has("ABSENT", 0));
}

// --- what there is to look at --------------------------------------------------------------------------------------------------

static void refuses(int error, const char *words)
{
    cr_expect_eq(process_look(), error);
    cr_expect(strstr(process_why, words), "%s", process_why);
}

Test(process, kernel_threads_have_no_memory)
{
    process_stat("stat", "kswapd0", 'S', 0x00200000, 1000, 0);
    refuses(-EINVAL, "4711 (kswapd0) is a thread of the kernel");
}

Test(process, zombies_have_none_any_more)
{
    process_stat("stat", "engine", 'Z', 0, 1000, 0);
    refuses(-EINVAL, "process 4711 (engine) has ended");
}

Test(process, a_process_that_is_not_there)
{
    struct locus_topo *topo = process_machine(FIXTURE_MACHINE);
    cr_expect_eq(tb_process_look(tree_root, 4712, topo, &process, process_why, sizeof process_why), -ESRCH);
    cr_expect(strstr(process_why, "there is no process 4712"), "%s", process_why);
    locus_topo_close(topo);
}

Test(process, the_number_of_a_thread_is_its_process)
{
    tree_file("/proc/4712/stat", "4712 (worker) S 1 1 1 0 -1 0 0 0 0 0 3 4 0 0 20 0 3 0 77 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 17 9 0\n");
    tree_file("/proc/4712/status", "Name:\tworker\nTgid:\t4711\nMems_allowed_list:\t1\n");
    struct locus_topo *topo = process_machine(FIXTURE_MACHINE);
    cr_expect_eq(tb_process_look(tree_root, 4712, topo, &process, process_why, sizeof process_why), 0);
    cr_expect_eq(process.pid, 4711);
    cr_expect_str_eq(process.name, "engine");
    cr_expect(locus_nodes_has(&process.mems, 1) && !locus_nodes_has(&process.mems, 0));
    locus_topo_close(topo);
}

// --- the second witness --------------------------------------------------------------------------------------------------------

static unsigned long asked;

// Pages in turn on both nodes, and one in eight is not there.
static int in_turn(uint64_t pid, unsigned long count, void *const addresses[], int status[])
{
    cr_assert_eq(pid, FIXTURE_PID);
    for (unsigned long i = 0; i < count; i++) {
        uint64_t page = (uint64_t)(uintptr_t)addresses[i] / 4096;
        cr_assert(i == 0 || addresses[i] > addresses[i - 1]);
        status[i] = page / 2 % 8 ? (int)(page % 2) : -ENOENT;
    }
    asked += count;
    return 0;
}

static int refused(uint64_t pid, unsigned long count, void *const addresses[], int status[])
{
    (void)pid, (void)count, (void)addresses, (void)status;
    return -EPERM;
}

static struct tb_maps maps_of(const char *numa_maps, const char *smaps)
{
    const struct tb_host host = {.root = tree_root};
    struct tb_maps maps;
    process_file("numa_maps", "%s", numa_maps);
    process_file("smaps", "%s", smaps);
    process = (struct tb_process){.pid = FIXTURE_PID, .node = {0, 1}, .nodes_count = 2};
    cr_assert_eq(tb_maps_read(&host, FIXTURE_PID, &process, &maps), 0);
    cr_assert_eq(tb_regions_make(&maps, &process), 0);
    return maps;
}

// Two files of one name are a region with a hole.
Test(process, a_sample_of_pages_in_turn_is_half_and_half)
{
    struct tb_maps maps = maps_of("10000000 default file=/f N0=8192 N1=8192 kernelpagesize_kB=4\n"
                                  "20000000 default file=/f N0=4096 N1=4096 kernelpagesize_kB=4\n"
                                  "30000000 default\n",
                                  "10000000-14000000 r--s 00000000 08:01 7 /f\n20000000-22000000 r--s 00000000 08:01 7 /f\n"
                                  "30000000-f0000000 r--s 00000000 08:01 7 /f\n");
    asked = 0;
    cr_assert_eq(tb_witness(&maps, &process, in_turn), 0);
    const struct tb_region_witness *witness = &region("f")->witness;
    double share = (double)witness->on[0] / (double)witness->present;
    cr_expect(asked == 4096 && witness->asked == asked && !witness->whole);
    cr_expect(fabs(share - 0.5) < 0.03, "%f", share);
    cr_expect(fabs((double)witness->present / 4096 - 7.0 / 8) < 0.03, "%" PRIu64, witness->present);
    tb_maps_close(&maps);
}

Test(process, of_a_smaller_region_every_page_is_asked)
{
    struct tb_maps maps = maps_of("10000000 bind:0 anon=1024 N0=1024 kernelpagesize_kB=4\n20000000 default anon=1 N0=1\n",
                                  "10000000-10400000 rw-p 00000000 00:00 0 \n20000000-20001000 rw-p 00000000 00:00 0 \n");
    asked = 0;
    cr_assert_eq(tb_witness(&maps, &process, in_turn), 0);
    const struct tb_region_witness *witness = &region("at 10000000")->witness;
    cr_expect(witness->whole && witness->asked == 1024 && asked == 1024, "not of the rest");
    cr_expect(witness->on[0] == 448 && witness->on[1] == 448 && witness->present == 896);
    tb_maps_close(&maps);
}

Test(process, a_witness_that_refuses)
{
    struct tb_maps maps =
        maps_of("10000000 bind:0 anon=1024 N0=1024 kernelpagesize_kB=4\n", "10000000-10400000 rw-p 00000000 00:00 0 \n");
    cr_expect_eq(tb_witness(&maps, &process, refused), -EPERM);
    cr_expect_eq(region("at 10000000")->witness.asked, 0);
    tb_maps_close(&maps);
}
