// SPDX-License-Identifier: Apache-2.0
//
// region: requested, granted and verified. Two witnesses that count alike on whatever machine this runs, and what is said where
// one of them may not speak.
#include "region_child.h"

#include <linux/mempolicy.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

Test(region_verify, verify_of_an_untouched_span_finds_nothing_and_faults_nothing_in)
{
    struct locus_region_config config = plain(8 * MIB);
    struct locus_region *region = must_open(&config);
    for (int look = 0; look < 2; look++) {
        struct locus_placement placement = must_verify(region);
        cr_assert_eq(placement.verified.pages, 8 * MIB / UNIT);
        cr_assert_eq(placement.verified.pages_present, 0);
        cr_assert_eq(placement.verified.nodes, 0);
        cr_assert_eq(placement.verified.numa_maps_agrees, placement.verified.numa_maps_read && !placement.verified.verify_errno);
    }
    cr_assert_eq(resident_pages(region), 0);
    locus_region_close(region);
}

// Some guests' kernels give a page of its own to a read, too.
static bool read_takes_a_page(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *base = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *address = (void *)(uintptr_t)base;
    int status = -1;
    cr_assert_neq(address, MAP_FAILED);
    cr_assert(base[0] == 0 && syscall(SYS_move_pages, 0, 1ul, &address, NULL, &status, 0) == 0);
    munmap(address, page);
    return status >= 0;
}

Test(region_verify, verify_counts_the_touched_pages_and_not_the_zero_page)
{
    struct locus_region_config config = plain(64 * KIB);
    struct locus_region *region = must_open(&config);
    volatile char *base = locus_region_base(region);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (must_verify(region).verified.verify_errno)
        cr_skip_test("move_pages is not permitted here");
    if (read_takes_a_page())
        cr_skip_test("this kernel has no zero page");
    cr_assert_eq(base[0], 0); // a read maps the zero page, which is nobody's memory
    cr_assert_eq(must_verify(region).verified.pages_present, 0);
    base[page] = 1;
    base[64 * KIB - 1] = 1;
    struct locus_placement placement = must_verify(region);
    cr_assert_eq(placement.verified.pages_present, 2 * page / UNIT);
    cr_assert_eq(placement.verified.numa_maps_agrees, placement.verified.numa_maps_read);
    locus_region_close(region);
}

// Every page there, on known nodes, the rows add up, and both witnesses say so.
static void assert_all_present(const struct locus_placement *placement)
{
    uint64_t sum = 0;
    cr_assert_eq(placement->verified.pages_present, placement->verified.pages);
    for (unsigned i = 0; i < placement->verified.nodes; i++) {
        cr_assert(locus_node_allowed(placement->verified.on[i].node));
        cr_assert(i == 0 || placement->verified.on[i].node > placement->verified.on[i - 1].node);
        sum += placement->verified.on[i].pages;
    }
    cr_assert_eq(sum, placement->verified.pages);
    cr_assert(placement->verified.numa_maps_agrees || !placement->verified.numa_maps_read);
}

Test(region_verify, populate_backs_every_page_and_both_witnesses_agree)
{
    static const enum locus_page pages[] = {LOCUS_PAGE_4K, LOCUS_PAGE_THP};
    for (size_t i = 0; i < 2; i++) {
        struct locus_region_config config = plain(66 * MIB); // more than one step
        config.page = pages[i];
        config.memory_class = LOCUS_CLASS_SCRATCH;
        config.populate = true;
        struct locus_region *region = must_open(&config);
        cr_assert_eq(resident_pages(region), 66 * MIB / (size_t)sysconf(_SC_PAGESIZE));
        struct locus_placement placement = must_verify(region);
        cr_assert_eq(placement.requested.memory_class, LOCUS_CLASS_SCRATCH);
        cr_assert_eq(placement.granted.page_bytes, (size_t)sysconf(_SC_PAGESIZE));
        cr_assert_eq(placement.granted.thp_advised, pages[i] == LOCUS_PAGE_THP);
        if (!placement.verified.verify_errno)
            assert_all_present(&placement);
        cr_assert_eq(placement.verified.pages_elsewhere, 0);
        locus_region_close(region);
    }
}

static char *late;

static void touch_late(int signal)
{
    (void)signal;
    *late = 1;
}

// As when the kernel moves a page. The timer ends long before verify has looked for the last time, however busy the host is.
Test(region_verify, a_page_that_is_absent_for_a_moment_is_looked_for_again)
{
    struct locus_region_config config = plain(1 * MIB);
    config.populate = true;
    struct locus_region *region = must_open(&config);
    if (must_verify(region).verified.verify_errno)
        cr_skip_test("move_pages is not permitted here");
    late = locus_region_base(region);
    cr_assert_neq(signal(SIGALRM, touch_late), SIG_ERR);
    cr_assert_eq(madvise(late, (size_t)sysconf(_SC_PAGESIZE), MADV_DONTNEED), 0);
    cr_assert_eq(setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 500}, NULL), 0);
    struct locus_placement placement = must_verify(region);
    assert_all_present(&placement);
    locus_region_close(region);
}

Test(region_verify, numa_maps_counts_a_span_that_its_user_has_split)
{
    struct locus_region_config config = plain(1 * MIB);
    config.populate = true;
    struct locus_region *region = must_open(&config);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    cr_assert_eq(mprotect((char *)locus_region_base(region) + 3 * page, page, PROT_READ), 0);
    struct locus_placement placement = must_verify(region);
    if (placement.verified.verify_errno || !placement.verified.numa_maps_read)
        cr_skip_test("move_pages or numa_maps is missing here");
    cr_assert(placement.verified.numa_maps_agrees);
    locus_region_close(region);
}

// With an empty file mounted over numa_maps the second witness has seen nothing.
static int verify_beside_a_false_witness(void *argument)
{
    (void)argument;
    struct locus_region_config config = plain(16 * KIB);
    struct locus_region *region;
    struct locus_placement placement;
    config.populate = true;
    if (!cover("/proc/self/numa_maps", "/dev/null"))
        return CANNOT;
    if (locus_region_open(&region, &config) != 0 || locus_region_verify(region, &placement) != 0)
        return 3;
    return placement.verified.numa_maps_agrees || !placement.verified.numa_maps_read;
}

Test(region_verify, witnesses_that_differ_do_not_agree)
{
    int status = in_child(verify_beside_a_false_witness, NULL);
    if (status == CANNOT)
        cr_skip_test("needs root: mounts over /proc/self/numa_maps in a private namespace");
    cr_assert_eq(status, 0);
}

Test(region_verify, bind_puts_every_page_on_each_node_that_is_allowed)
{
    unsigned tried = 0;
    for (int node = next_node(0, true); node < NODES; node = next_node(node + 1, true)) {
        struct locus_region_config config = bound(4 * MIB, node, true);
        struct locus_region *region;
        int result = locus_region_open(&region, &config);
        if (bind_forbidden(result))
            cr_skip_test("mbind is not permitted here");
        cr_assert_eq(result, 0);
        struct locus_placement placement = must_verify(region);
        cr_assert_eq(placement.granted.policy_errno, 0);
        cr_assert_eq(placement.granted.policy, LOCUS_POLICY_BIND);
        cr_assert_eq(placement.granted.node, node);
        assert_all_present(&placement);
        cr_assert_eq(placement.verified.pages_elsewhere, 0);
        cr_assert_eq(placement.verified.on[0].node, node);
        locus_region_close(region);
        tried++;
    }
    cr_assert_gt(tried, 0);
}

Test(region_verify, a_page_that_was_moved_away_from_its_bind_is_elsewhere)
{
    int home = next_node(0, true);
    int away = next_node(home + 1, true);
    if (away >= NODES)
        cr_skip_test("needs >= 2 NUMA nodes");
    struct locus_region_config config = bound(1 * MIB, home, true);
    struct locus_region *region = must_open(&config);
    void *page = (char *)locus_region_base(region) + 64 * KIB;
    int status = -1;
    cr_assert_eq(syscall(SYS_move_pages, 0, 1ul, &page, &away, &status, MPOL_MF_MOVE), 0);
    cr_assert_eq(status, away);
    struct locus_placement placement = must_verify(region);
    assert_all_present(&placement);
    cr_assert_eq(placement.verified.pages_elsewhere, (size_t)sysconf(_SC_PAGESIZE) / UNIT);
    cr_assert_eq(placement.verified.nodes, 2);
    locus_region_close(region);
}

static int verify_without_move_pages(void *argument)
{
    int error = *(int *)argument;
    struct locus_region_config config = plain(16 * KIB);
    struct locus_region *region;
    struct locus_placement placement;
    config.populate = true;
    if (!forbid(SYS_move_pages, ANY_THIRD, error) || !forbid(SYS_get_mempolicy, ANY_THIRD, error))
        return CANNOT;
    if (locus_region_open(&region, &config) != 0 || locus_region_verify(region, &placement) != 0)
        return 3;
    bool said = placement.verified.verify_errno == error && placement.granted.policy_errno == error;
    return !(said && placement.verified.pages == 4 && placement.verified.pages_present == 0 &&
             !placement.verified.numa_maps_agrees);
}

Test(region_verify, verify_where_move_pages_is_forbidden_says_why)
{
    each_error(verify_without_move_pages, EPERM, ENOSYS);
}

// A span without a policy of its own is ruled by the thread's, and "granted" must not call that first touch.
static int thread_policy_is_seen(void *argument)
{
    int mode = *(int *)argument;
    int node = next_node(0, true);
    unsigned long mask[NODES / (8 * sizeof(unsigned long))] = {0};
    struct locus_region_config config = plain(UNIT);
    struct locus_region *region;
    struct locus_placement placement;
    mask[(size_t)node / (8 * sizeof(unsigned long))] = 1ul << ((size_t)node % (8 * sizeof(unsigned long)));
    if (syscall(SYS_set_mempolicy, mode, mask, NODES + 1ul) != 0)
        return CANNOT;
    if (locus_region_open(&region, &config) != 0 || locus_region_verify(region, &placement) != 0)
        return 3;
    enum locus_policy policy = mode == MPOL_BIND ? LOCUS_POLICY_BIND : LOCUS_POLICY_INTERLEAVE;
    return !(placement.granted.policy_errno == 0 && placement.granted.policy == policy && placement.granted.node == node);
}

Test(region_verify, granted_is_the_policy_in_force_even_if_it_is_the_threads)
{
    struct locus_region_config config = plain(UNIT);
    struct locus_region *region = must_open(&config);
    struct locus_placement placement = must_verify(region);
    if (placement.granted.policy_errno)
        cr_skip_test("get_mempolicy is not permitted here");
    cr_assert_eq(placement.granted.policy, LOCUS_POLICY_FIRST_TOUCH);
    cr_assert_eq(placement.granted.node, LOCUS_NODE_ANY);
    locus_region_close(region);
    each_error(thread_policy_is_seen, MPOL_BIND, MPOL_INTERLEAVE);
}
