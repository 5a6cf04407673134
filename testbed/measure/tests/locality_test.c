// SPDX-License-Identifier: Apache-2.0
//
// locality: exact matrices from an injected machine of two nodes, and this machine asked without disturbing it.
#include "testbed/measure/locality/locality.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "testbed/measure/locality/cpu_node.h"
#include "topo/pin.h"

#define PAGE 4096u
#define LINES_A_PAGE 64u

// A machine of two nodes, numbered 0 and 1, with CPUs 0-1 and 2-3. Its page map is a table that the tests write.
static struct {
    int cpu, refusal;
    int node_of[8];             // of the pages of `memory`
    size_t asked;
} fake;

static _Alignas(PAGE) char memory[8 * PAGE];
static struct tb_locality *counts;
static struct locus_topo *topo;

static int fake_cpu(void *context)
{
    (void)context;
    return fake.cpu;
}

static int fake_page_nodes(void *context, size_t count, void *const pages[], int nodes[])
{
    (void)context;
    fake.asked = count;
    for (size_t i = 0; i < count && !fake.refusal; i++)
        nodes[i] = fake.node_of[((char *)pages[i] - memory) / PAGE];
    return fake.refusal;
}

static struct tb_locality_world world = {fake_cpu, fake_page_nodes, NULL};

static struct tb_locality *open_counts(const struct tb_locality_world *with, uint32_t pages, uint32_t pending, uint32_t points)
{
    struct tb_locality *opened;
    struct tb_locality_config config = {
        .topo = topo, .pages_max = pages, .pending_max = pending, .points_max = points, .world = with};
    cr_assert_eq(tb_locality_open(&opened, &config), 0);
    return opened;
}

static void two_nodes(void)
{
    char why[256];
    if ((size_t)sysconf(_SC_PAGESIZE) != PAGE)
        cr_skip_test("written for pages of 4 KiB");
    cr_assert_eq(locus_topo_open(&topo, "pack:2 [numa(memory=1GB)] core:2 pu:1", why, sizeof why), 0, "%s", why);
    memset(&fake, 0, sizeof fake);
    for (int i = 0; i < 8; i++)
        fake.node_of[i] = i / 4; // pages 0-3 on node 0, 4-7 on node 1
    counts = open_counts(&world, 8, 16, 4);
}

static void this_machine(void)
{
    char why[256];
    cr_assert_eq(locus_topo_open(&topo, NULL, why, sizeof why), 0, "%s", why);
    if (syscall(SYS_move_pages, 0, 0ul, NULL, NULL, NULL, 0) != 0)
        cr_skip_test("move_pages is forbidden here");
    counts = open_counts(NULL, 64, 64, 4);
}

static void end(void)
{
    tb_locality_close(counts);
    locus_topo_close(topo);
}

TestSuite(locality, .init = two_nodes, .fini = end);
TestSuite(locality_here, .init = this_machine, .fini = end);

static void expect(enum tb_locality_what what, int from, int to, uint64_t count)
{
    cr_assert_eq(tb_locality_count(counts, what, from, to), count, "%d->%d: %llu", from, to,
                 (unsigned long long)tb_locality_count(counts, what, from, to));
}

static void expect_sums(enum tb_locality_what what, uint64_t local, uint64_t remote, uint64_t unknown)
{
    struct tb_locality_sums sums = tb_locality_sums(counts, what);
    cr_assert(sums.local == local && sums.remote == remote && sums.unknown == unknown, "local %llu remote %llu unknown %llu",
              (unsigned long long)sums.local, (unsigned long long)sums.remote, (unsigned long long)sums.unknown);
}

static void refresh(void)
{
    cr_assert_eq(tb_locality_refresh(counts), 0);
}

Test(locality, counts_touches_by_cpu_node_and_page_node)
{
    cr_assert_eq(tb_locality_watch(counts, memory, sizeof memory), 0);
    refresh();
    fake.cpu = 1;
    tb_locality_note_write(counts, memory, PAGE);               // 0 -> 0
    tb_locality_note_write(counts, memory + 4 * PAGE, 2 * PAGE); // 0 -> 1
    fake.cpu = 2;
    tb_locality_note_write(counts, memory + 3 * PAGE, 2 * PAGE); // 1 -> 0, 1 -> 1
    tb_locality_note_write(counts, memory + 7 * PAGE, 64);      // 1 -> 1
    cr_assert_eq(tb_locality_map(counts).pending, 0);
    expect(TB_LOCALITY_TOUCHES, 0, 0, LINES_A_PAGE);
    expect(TB_LOCALITY_TOUCHES, 0, 1, 2 * LINES_A_PAGE);
    expect(TB_LOCALITY_TOUCHES, 1, 0, LINES_A_PAGE);
    expect(TB_LOCALITY_TOUCHES, 1, 1, LINES_A_PAGE + 1);
    expect_sums(TB_LOCALITY_TOUCHES, 2 * LINES_A_PAGE + 1, 3 * LINES_A_PAGE, 0);
}

Test(locality, settles_first_touches_at_the_next_refresh)
{
    fake.cpu = 2;
    tb_locality_note_write(counts, memory, PAGE);
    tb_locality_note_write(counts, memory, PAGE);
    tb_locality_note_write(counts, memory + 5 * PAGE, 128);
    expect_sums(TB_LOCALITY_TOUCHES, 0, 0, 0);
    cr_assert_eq(tb_locality_map(counts).pending, 2, "the two writes to one page are one event");
    refresh();
    cr_assert_eq(tb_locality_map(counts).pending, 0);
    expect(TB_LOCALITY_TOUCHES, 1, 0, 2 * LINES_A_PAGE);
    expect(TB_LOCALITY_TOUCHES, 1, 1, 2);
    refresh();
    expect_sums(TB_LOCALITY_TOUCHES, 2, 2 * LINES_A_PAGE, 0);
}

Test(locality, absent_pages_and_strange_nodes_and_cpus_are_unknown)
{
    fake.node_of[0] = -ENOENT;
    fake.node_of[1] = -EFAULT;
    fake.node_of[2] = 7; // a node that the topology does not have
    tb_locality_note_write(counts, memory, 3 * PAGE);
    fake.cpu = 99;
    tb_locality_note_write(counts, memory + 4 * PAGE, PAGE);
    refresh();
    expect(TB_LOCALITY_TOUCHES, 0, TB_LOCALITY_UNKNOWN, 3 * LINES_A_PAGE);
    expect(TB_LOCALITY_TOUCHES, TB_LOCALITY_UNKNOWN, 1, LINES_A_PAGE);
    expect_sums(TB_LOCALITY_TOUCHES, 0, 0, 4 * LINES_A_PAGE);
    cr_assert_eq(tb_locality_map(counts).pages_absent, 2);
    cr_assert_eq(tb_locality_page_node(counts, memory + PAGE + 5), -EFAULT);
    cr_assert_eq(tb_locality_page_node(counts, memory + 7 * PAGE), -ENOENT);
    expect(TB_LOCALITY_TOUCHES, 7, 0, 0);
}

Test(locality, refresh_sees_pages_that_moved)
{
    tb_locality_note_write(counts, memory, 2 * PAGE);
    refresh();
    fake.node_of[0] = 1;
    tb_locality_note_write(counts, memory, PAGE); // the map is as old as the last refresh
    expect(TB_LOCALITY_TOUCHES, 0, 0, 3 * LINES_A_PAGE);
    refresh();
    cr_assert_eq(tb_locality_map(counts).pages_moved, 1);
    cr_assert_eq(tb_locality_page_node(counts, memory), 1);
    tb_locality_note_write(counts, memory, PAGE);
    expect(TB_LOCALITY_TOUCHES, 0, 1, LINES_A_PAGE);
    refresh();
    cr_assert_eq(tb_locality_map(counts).pages_moved, 1);
    cr_assert_eq(fake.asked, 2, "each page once");
}

Test(locality, frees_go_home_or_stay_abroad)
{
    cr_assert_eq(tb_locality_watch(counts, memory, 7 * PAGE), 0);
    refresh();
    tb_locality_note_free(counts, memory, TB_LOCALITY_HERE);            // 0 -> 0, home
    tb_locality_note_free(counts, memory + 4 * PAGE, TB_LOCALITY_HERE); // 0 -> 1, kept on 0
    tb_locality_note_free(counts, memory + 4 * PAGE, 1);                // 0 -> 1, sent home
    tb_locality_note_free(counts, memory + 7 * PAGE, 0);                // the same, on a page not seen yet, sent to the wrong home
    fake.cpu = 3;
    tb_locality_note_free(counts, memory, 1);                           // 1 -> 0, kept on 1
    tb_locality_note_free(counts, memory + 4 * PAGE, 0);                // 1 -> 1, sent abroad
    refresh();
    expect(TB_LOCALITY_FREES, 0, 0, 1);
    expect(TB_LOCALITY_FREES, 0, 1, 3);
    expect(TB_LOCALITY_FREES, 1, 0, 1);
    expect(TB_LOCALITY_FREES, 1, 1, 1);
    expect(TB_LOCALITY_FREES_ABROAD, 0, 0, 0);
    expect(TB_LOCALITY_FREES_ABROAD, 0, 1, 2);
    expect(TB_LOCALITY_FREES_ABROAD, 1, 0, 1);
    expect(TB_LOCALITY_FREES_ABROAD, 1, 1, 1);
}

static void expect_point(uint32_t step, uint64_t allocated, uint64_t wandered, uint64_t unknown)
{
    uint32_t count;
    const struct tb_locality_point *point = &tb_locality_drift(counts, &count)[step];
    cr_assert_lt(step, count);
    cr_assert(point->allocated == allocated && point->wandered == wandered && point->unknown == unknown, "%llu %llu %llu",
              (unsigned long long)point->allocated, (unsigned long long)point->wandered, (unsigned long long)point->unknown);
}

Test(locality, drift_is_a_curve_over_steps)
{
    for (int page = 0; page < 4; page++) // step 0: new blocks on their own node
        tb_locality_note_alloc(counts, memory + page * (int)PAGE + 100);
    refresh();
    fake.cpu = 3;                        // step 1: a thread of node 1 gets one of them, and one of its own
    tb_locality_note_alloc(counts, memory + 2 * PAGE);
    tb_locality_note_alloc(counts, memory + 6 * PAGE);
    refresh();
    fake.node_of[7] = -ENOENT;           // step 2: a block never touched
    tb_locality_note_alloc(counts, memory + 7 * PAGE);
    refresh();
    for (int step = 3; step < 6; step++) { // from step 3 on all in the last point
        tb_locality_note_alloc(counts, memory);
        refresh();
    }
    expect_point(0, 4, 0, 0);
    expect_point(1, 2, 1, 0);
    expect_point(2, 1, 0, 1);
    expect_point(3, 3, 3, 0);
    expect(TB_LOCALITY_ALLOCATIONS, 1, 0, 4);
    expect(TB_LOCALITY_ALLOCATIONS, 1, TB_LOCALITY_UNKNOWN, 1);
}

Test(locality, full_tables_count_as_unknown_and_say_so)
{
    struct tb_locality *small = open_counts(&world, 2, 1, 1);
    tb_locality_note_write(small, memory, 3 * PAGE); // one page pending, one refused as pending, one refused as a page
    cr_assert_eq(tb_locality_map(small).pages, 2);
    cr_assert_eq(tb_locality_map(small).pages_refused, 1);
    cr_assert_eq(tb_locality_map(small).pending_refused, 1);
    cr_assert_eq(tb_locality_watch(small, memory + 5 * PAGE, 1), -ENOSPC);
    cr_assert_eq(tb_locality_refresh(small), 0);
    cr_assert_eq(tb_locality_count(small, TB_LOCALITY_TOUCHES, 0, 0), LINES_A_PAGE);
    cr_assert_eq(tb_locality_count(small, TB_LOCALITY_TOUCHES, 0, TB_LOCALITY_UNKNOWN), 2 * LINES_A_PAGE);
    tb_locality_close(small);
}

Test(locality, refused_question_makes_every_page_unknown)
{
    cr_assert_eq(tb_locality_watch(counts, memory, PAGE), 0);
    refresh();
    fake.refusal = -EPERM;
    cr_assert_eq(tb_locality_refresh(counts), -EPERM);
    tb_locality_note_write(counts, memory, PAGE);
    cr_assert_eq(tb_locality_refresh(counts), -EPERM);
    expect_sums(TB_LOCALITY_TOUCHES, 0, 0, LINES_A_PAGE);
    cr_assert_eq(tb_locality_map(counts).refresh_error, -EPERM);
}

Test(locality, instances_of_threads_are_summed)
{
    struct tb_locality *other = open_counts(&world, 8, 16, 4), *one = open_counts(&world, 1, 1, 1);
    tb_locality_note_write(counts, memory, PAGE);
    tb_locality_note_alloc(counts, memory);
    refresh();
    fake.cpu = 2;
    tb_locality_note_write(other, memory, 2 * PAGE);
    tb_locality_note_alloc(other, memory);
    cr_assert_eq(tb_locality_refresh(other), 0);
    cr_assert_eq(tb_locality_add(counts, other), 0);
    cr_assert_eq(tb_locality_add(one, other), -EINVAL, "two points do not go into one");
    expect(TB_LOCALITY_TOUCHES, 0, 0, LINES_A_PAGE);
    expect(TB_LOCALITY_TOUCHES, 1, 0, 2 * LINES_A_PAGE);
    expect_point(0, 2, 1, 0);
    cr_assert_eq(tb_locality_map(counts).pages, 3);
    fake.cpu = 0;
    tb_locality_note_write(counts, memory + PAGE, PAGE); // it goes on as it was
    refresh();
    cr_assert_eq(fake.asked, 2);
    expect(TB_LOCALITY_TOUCHES, 0, 0, 2 * LINES_A_PAGE);
    tb_locality_close(other);
    tb_locality_close(one);
}

Test(locality, touch_stores_once_to_each_line_and_the_note_counts_the_same)
{
    static const struct {
        unsigned offset, bytes, stores;
    } cases[] = {{0, 64, 1},  {0, 65, 1}, {0, 72, 2},  {0, PAGE, 64}, {16, PAGE, 65},   {60, 8, 0},
                 {57, 15, 1}, {3, 4, 0},  {56, 16, 2}, {0, 0, 0},     {PAGE - 8, 16, 2}};
    cr_assert_eq(tb_locality_watch(counts, memory, 2 * PAGE), 0);
    refresh();
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t before = tb_locality_sums(counts, TB_LOCALITY_TOUCHES).local, written = 0, word;
        memset(memory, 0, 2 * PAGE);
        cr_assert_eq(tb_locality_touch(memory + cases[i].offset, cases[i].bytes, 1), cases[i].stores, "case %u", i);
        tb_locality_note_write(counts, memory + cases[i].offset, cases[i].bytes);
        cr_assert_eq(tb_locality_sums(counts, TB_LOCALITY_TOUCHES).local - before, cases[i].stores, "case %u", i);
        for (unsigned at = 0; at < 2 * PAGE; at += 8) {
            memcpy(&word, memory + at, 8);
            written += word;
            cr_assert(word == 0 || (at >= cases[i].offset && at + 8 <= cases[i].offset + cases[i].bytes), "case %u at %u", i, at);
        }
        cr_assert_eq(written, cases[i].stores, "case %u", i);
    }
}

Test(locality, finds_each_of_many_pages_again)
{
    struct tb_locality *many = open_counts(&world, 5000, 1, 1);
    char *span = mmap(NULL, 5000 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // never touched: only addresses matter
    cr_assert_eq(tb_locality_watch(many, span, 5000 * PAGE), 0);
    cr_assert_eq(tb_locality_watch(many, span, 5000 * PAGE), 0);
    cr_assert_eq(tb_locality_map(many).pages, 5000);
    cr_assert_eq(tb_locality_watch(many, span + 5000 * PAGE, 1), -ENOSPC);
    munmap(span, 5000 * PAGE);
    tb_locality_close(many);
}

Test(locality, refuses_senseless_configurations)
{
    struct tb_locality *none;
    struct tb_locality_config config = {.topo = topo, .pages_max = 1, .pending_max = 1, .points_max = 0};
    cr_assert_eq(tb_locality_open(&none, &config), -EINVAL);
    cr_assert_null(none);
    config.points_max = 1;
    config.pages_max = UINT32_MAX;
    cr_assert_eq(tb_locality_open(&none, &config), -EINVAL);
    config = (struct tb_locality_config){.pages_max = 1, .pending_max = 1, .points_max = 1};
    cr_assert_eq(tb_locality_open(&none, &config), -EINVAL);
    tb_locality_close(NULL);
}

// --- this machine --------------------------------------------------------------------------------------------------------------

Test(locality_here, asking_faults_no_page_in)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char present[8];
    char *span = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(span, MAP_FAILED);
    cr_assert_eq(madvise(span, 8 * page, MADV_NOHUGEPAGE), 0);
    tb_locality_touch(span + 2 * page, page, 1);
    cr_assert_eq(tb_locality_watch(counts, span, 8 * page), 0);
    refresh();
    tb_locality_note_write(counts, span, 8 * page); // a note is not a write
    refresh();
    cr_assert_eq(mincore(span, 8 * page, present), 0);
    for (unsigned i = 0; i < 8; i++) {
        cr_assert_eq(present[i] & 1, i == 2, "page %u", i);
        cr_assert_eq(tb_locality_page_node(counts, span + i * page) >= 0, i == 2, "page %u", i);
    }
    cr_assert_eq(tb_locality_map(counts).pages_absent, 7);
    cr_assert_eq(tb_locality_sums(counts, TB_LOCALITY_TOUCHES).unknown, 7 * page / 64);
    munmap(span, 8 * page);
}

Test(locality_here, one_node_is_wholly_local)
{
    if (locus_topo_info(topo)->nodes_count != 1)
        cr_skip_test("needs a machine of one node");
    char *block = aligned_alloc(64, 8192);
    cr_assert_not_null(block);
    tb_locality_note_alloc(counts, block);
    uint64_t stores = tb_locality_touch(block, 8192, 1);
    tb_locality_note_write(counts, block, 8192);
    refresh();
    tb_locality_note_free(counts, block, TB_LOCALITY_HERE);
    free(block);
    refresh();
    cr_assert_eq(stores, 128);
    expect_sums(TB_LOCALITY_TOUCHES, 128, 0, 0);
    expect_sums(TB_LOCALITY_ALLOCATIONS, 1, 0, 0);
    expect_sums(TB_LOCALITY_FREES, 1, 0, 0);
    expect_sums(TB_LOCALITY_FREES_ABROAD, 0, 0, 0);
    expect_point(0, 1, 0, 0);
}

Test(locality_here, rseq_names_the_node_of_every_cpu_as_the_topology_does)
{
    unsigned cpus[1024], count;
    if (!tb_cpu_node_has_rseq())
        cr_skip_test("needs Linux 6.3 and a C library that registers rseq");
    cr_assert_eq(locus_pin_allowed(cpus, 1024, &count), 0);
    for (unsigned i = 0; i < count && i < 1024; i++) {
        cr_assert_eq(locus_pin_cpu((int)cpus[i]), 0);
        cr_assert_eq(tb_cpu_node_rseq(), locus_topo_cpu(topo, cpus[i])->node, "CPU %u", cpus[i]);
    }
}
