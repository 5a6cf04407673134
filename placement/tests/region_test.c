// SPDX-License-Identifier: Apache-2.0
//
// region: what it promises about its edges, its pages and its placement, on whatever machine this runs. Nodes are looked up, not
// assumed; a test that needs a second one, or a system call that a container may forbid, says so and is skipped. What would end
// the process, or change it for good (a guard page, a seccomp filter, a memory policy), happens in a forked child.
#include "placement/region.h"
#include "topo/topo.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define UNIT 4096u          // verify counts in these
#define NODES 1024

#define SEGV_STATUS 42      // exit status of a child that faulted
#define CANNOT 2            // of one that could not prepare what it was to try

static struct locus_region_config plain(size_t bytes)
{
    return (struct locus_region_config){.bytes = bytes, .node = LOCUS_NODE_ANY};
}

static struct locus_region_config bound(size_t bytes, int node, bool populate)
{
    return (struct locus_region_config){.bytes = bytes, .policy = LOCUS_POLICY_BIND, .node = node, .populate = populate};
}

static struct locus_region *must_open(const struct locus_region_config *config)
{
    struct locus_region *region;
    int result = locus_region_open(&region, config);
    cr_assert_eq(result, 0, "open answered %s", strerror(-result));
    return region;
}

static struct locus_placement must_verify(const struct locus_region *region)
{
    struct locus_placement placement;
    cr_assert_eq(locus_region_verify(region, &placement), 0);
    return placement;
}

static bool bind_forbidden(int result)
{
    return result == -EPERM || result == -ENOSYS;
}

// Next node from `node` on that this process may, or may not, use; NODES if there is none.
static int next_node(int node, bool allowed)
{
    while (node < NODES && locus_node_allowed(node) != allowed)
        node++;
    return node;
}

// Runs `body` in a forked child; its exit status, or 128 + signal. _exit keeps the harness's own exit handlers out of it.
static int in_child(int (*body)(void *), void *argument)
{
    pid_t child = fork();
    if (child == 0)
        _exit(body(argument));
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static uint64_t resident_pages(const struct locus_region *region)
{
    static unsigned char resident[32768]; // 128 MiB
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = locus_region_bytes(region) / page;
    uint64_t count = 0;
    cr_assert_leq(pages, sizeof(resident));
    cr_assert_eq(mincore(locus_region_base(region), locus_region_bytes(region), resident), 0);
    for (size_t i = 0; i < pages; i++)
        count += resident[i] & 1;
    return count;
}

static void on_segv(int signal_number)
{
    (void)signal_number;
    _exit(SEGV_STATUS);
}

static int write_byte(void *address)
{
    signal(SIGSEGV, on_segv);
    *(volatile char *)address = 1;
    return 0;
}

Test(region, guards_fault_on_both_sides_and_nothing_between_does)
{
    static const struct { enum locus_page page; size_t bytes; } cases[] = {
        {LOCUS_PAGE_4K, 1}, {LOCUS_PAGE_4K, 5 * UNIT}, {LOCUS_PAGE_4K, 3 * MIB + 1}, {LOCUS_PAGE_THP, 2 * MIB},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct locus_region_config config = plain(cases[i].bytes);
        config.page = cases[i].page;
        struct locus_region *region = must_open(&config);
        char *base = locus_region_base(region);
        size_t bytes = locus_region_bytes(region);
        cr_assert_eq(in_child(write_byte, base - 1), SEGV_STATUS);
        cr_assert_eq(in_child(write_byte, base + bytes), SEGV_STATUS);
        cr_assert_eq(in_child(write_byte, base), 0);
        cr_assert_eq(in_child(write_byte, base + bytes - 1), 0);
        memset(base, 0x5a, bytes);
        locus_region_close(region);
    }
}

static uint64_t mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    cr_assert(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

Test(region, base_is_aligned_and_bytes_are_rounded_and_nothing_else_is_kept)
{
    uint64_t before = mapped_bytes(), usable = 0;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct locus_region *regions[32];
    for (size_t i = 0; i < 32; i++) { // odd sizes between them, or the kernel would place each as luckily as the first
        bool thp = i % 2;
        size_t align = thp ? 2 * MIB : page;
        struct locus_region_config config = plain(i * 300 * KIB + i + 1);
        config.page = thp ? LOCUS_PAGE_THP : LOCUS_PAGE_4K;
        regions[i] = must_open(&config);
        size_t bytes = locus_region_bytes(regions[i]);
        cr_assert_eq((uintptr_t)locus_region_base(regions[i]) % align, 0);
        cr_assert_eq(bytes % align, 0);
        cr_assert(bytes >= config.bytes && bytes - config.bytes < align);
        usable += bytes;
    }
    cr_assert_lt(mapped_bytes() - before - usable, MIB, "what was reserved for alignment must have been given back");
    for (size_t i = 0; i < 32; i++)
        locus_region_close(regions[i]);
}

Test(region, close_unmaps_span_and_guards)
{
    locus_region_close(NULL);
    uint64_t before = mapped_bytes();
    for (int i = 0; i < 64; i++) {
        struct locus_region_config config = plain(2 * MIB);
        config.page = i % 2 ? LOCUS_PAGE_THP : LOCUS_PAGE_4K;
        config.populate = true;
        locus_region_close(must_open(&config));
    }
    cr_assert_lt(mapped_bytes() - before, 16 * MIB, "one leak per close would be 128 MiB");
}

Test(region, verify_of_an_untouched_span_finds_nothing_and_faults_nothing_in)
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

Test(region, verify_counts_the_touched_pages_and_not_the_zero_page)
{
    struct locus_region_config config = plain(64 * KIB);
    struct locus_region *region = must_open(&config);
    volatile char *base = locus_region_base(region);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (must_verify(region).verified.verify_errno)
        cr_skip_test("move_pages is not permitted here");
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

Test(region, populate_backs_every_page_and_both_witnesses_agree)
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

Test(region, numa_maps_counts_a_span_that_its_user_has_split)
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
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("/dev/null", "/proc/self/numa_maps", NULL, MS_BIND, NULL) != 0)
        return CANNOT;
    if (locus_region_open(&region, &config) != 0 || locus_region_verify(region, &placement) != 0)
        return 3;
    return placement.verified.numa_maps_agrees || !placement.verified.numa_maps_read;
}

Test(region, witnesses_that_differ_do_not_agree)
{
    int status = in_child(verify_beside_a_false_witness, NULL);
    if (status == CANNOT)
        cr_skip_test("needs root: mounts over /proc/self/numa_maps in a private namespace");
    cr_assert_eq(status, 0);
}

Test(region, bind_puts_every_page_on_each_node_that_is_allowed)
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

Test(region, a_page_that_was_moved_away_from_its_bind_is_elsewhere)
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

Test(region, bind_to_a_node_that_may_not_be_used_is_einval)
{
    const int nodes[] = {next_node(0, false), NODES - 1, NODES, INT_MAX, LOCUS_NODE_ANY, INT_MIN};
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        struct locus_region_config config = bound(UNIT, nodes[i], false);
        struct locus_region *region = (void *)&config;
        cr_assert_eq(locus_region_open(&region, &config), -EINVAL, "node %d", nodes[i]);
        cr_assert_null(region);
    }
}

Test(region, a_field_out_of_its_range_is_einval)
{
    for (int field = 0; field < 7; field++) {
        struct locus_region_config config = plain(field == 0 ? 0 : UNIT);
        int wrong = field % 2 ? -1 : 99;
        if (field == 1 || field == 2)
            config.memory_class = (enum locus_memory_class)wrong;
        else if (field == 3 || field == 4)
            config.page = (enum locus_page)wrong;
        else if (field > 4)
            config.policy = (enum locus_policy)wrong;
        struct locus_region *region;
        cr_assert_eq(locus_region_open(&region, &config), -EINVAL, "case %d", field);
        cr_assert_null(region);
    }
}

Test(region, sizes_beyond_the_address_space_are_enomem)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - UNIT, SIZE_MAX - 2 * GIB, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int page = LOCUS_PAGE_4K; page <= LOCUS_PAGE_1G; page++) {
            struct locus_region_config config = plain(sizes[i]);
            struct locus_region *region;
            config.page = (enum locus_page)page;
            cr_assert_eq(locus_region_open(&region, &config), -ENOMEM);
        }
    }
}

// The kernel would kill this process half-way, so the refusal must come before anything is populated.
Test(region, bind_beyond_what_the_node_holds_is_refused_before_populating)
{
    int node = next_node(0, true);
    struct locus_node_memory memory;
    struct rusage before, after;
    cr_assert_eq(locus_node_memory_read(node, &memory), 0);
    struct locus_region_config config = bound((size_t)(memory.free_bytes + memory.reclaimable_bytes) + 16 * MIB, node, true);
    struct locus_region *region;
    getrusage(RUSAGE_SELF, &before);
    int result = locus_region_open(&region, &config);
    getrusage(RUSAGE_SELF, &after);
    if (bind_forbidden(result))
        cr_skip_test("mbind is not permitted here");
    cr_assert_eq(result, -ENOMEM);
    cr_assert_lt((after.ru_maxrss - before.ru_maxrss) * 1024, (long)(8 * MIB));
}

// Stands in for /proc/zoneinfo: argument 0 makes it empty, 1 lets the zone keep back all that is free.
static int bind_beside_false_zones(void *argument)
{
    bool all_kept = *(int *)argument;
    int node = next_node(0, true);
    struct locus_region_config config = bound(UNIT, node, true);
    struct locus_region *region;
    char path[] = "/tmp/locus_zoneinfo_XXXXXX";
    int file = mkstemp(path);
    if (file < 0)
        return CANNOT;
    if (all_kept)
        dprintf(file, "Node %d, zone   Normal\n  pages free     999999999\n        high     1\n        managed  9\n"
                      "        protection: (0, 0, 888888888)\n", node);
    bool mounted = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                   mount(path, "/proc/zoneinfo", NULL, MS_BIND, NULL) == 0;
    unlink(path);
    if (!mounted)
        return CANNOT;
    int result = locus_region_open(&region, &config);
    if (bind_forbidden(result))
        return CANNOT;
    return result != (all_kept ? -ENOMEM : 0);
}

Test(region, what_the_zones_keep_back_is_not_room)
{
    for (int all_kept = 0; all_kept < 2; all_kept++) {
        int status = in_child(bind_beside_false_zones, &all_kept);
        if (status == CANNOT)
            cr_skip_test("needs root and mbind: mounts over /proc/zoneinfo in a private namespace");
        cr_assert_eq(status, 0);
    }
}

static size_t hugetlb_pages(const char *page, const char *figure)
{
    char path[128];
    size_t pages = 0;
    snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%s/%s", page, figure);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%zu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages;
}

Test(region, more_huge_pages_than_are_reserved_is_enomem)
{
    static const struct { enum locus_page page; const char *name; size_t bytes; } cases[] = {
        {LOCUS_PAGE_2M, "2048kB", 2 * MIB}, {LOCUS_PAGE_1G, "1048576kB", GIB},
    };
    for (size_t i = 0; i < 2; i++) {
        size_t most = hugetlb_pages(cases[i].name, "nr_hugepages") + hugetlb_pages(cases[i].name, "nr_overcommit_hugepages");
        struct locus_region_config config = plain((most + 1) * cases[i].bytes);
        struct locus_region *region;
        uint64_t before = mapped_bytes();
        config.page = cases[i].page;
        for (int again = 0; again < 64; again++)
            cr_assert_eq(locus_region_open(&region, &config), -ENOMEM);
        cr_assert_lt(mapped_bytes() - before, 128 * KIB, "one guard left behind each time would be 256 KiB");
    }
}

Test(region, hugetlb_span_is_guarded_placed_and_counted)
{
    if (hugetlb_pages("2048kB", "free_hugepages") < 2 + hugetlb_pages("2048kB", "resv_hugepages"))
        cr_skip_test("needs 2 free huge pages: echo 2 > /proc/sys/vm/nr_hugepages");
    struct locus_region_config config = plain(2 * MIB + 1);
    config.page = LOCUS_PAGE_2M;
    struct locus_region *region = must_open(&config);
    char *base = locus_region_base(region);
    cr_assert_eq((uintptr_t)base % (2 * MIB), 0);
    cr_assert_eq(locus_region_bytes(region), 4 * MIB);
    cr_assert_eq(in_child(write_byte, base - 1), SEGV_STATUS);
    cr_assert_eq(in_child(write_byte, base + 4 * MIB), SEGV_STATUS);
    base[0] = 1; // one of the two huge pages
    struct locus_placement placement = must_verify(region);
    cr_assert_eq(placement.granted.page_bytes, 2 * MIB);
    if (!placement.verified.verify_errno) {
        cr_assert_eq(placement.verified.pages, 4 * MIB / UNIT);
        cr_assert_eq(placement.verified.pages_present, 2 * MIB / UNIT);
        cr_assert_eq(placement.verified.numa_maps_agrees, placement.verified.numa_maps_read);
    }
    locus_region_close(region);
}

#define ANY_THIRD (-1)

// From here on `number` answers `error`, as in a container or on a kernel without NUMA. With `third` only if that is the
// call's third argument (its low half, which comes first on the machines that we know).
static bool forbid(long number, long third, int error)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)third, 0, third == ANY_THIRD ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(program) / sizeof(program[0]), .filter = program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static int open_without_mbind(void *argument)
{
    int error = *(int *)argument;
    struct locus_region_config config = bound(UNIT, next_node(0, true), true);
    struct locus_region_config unbound = plain(UNIT);
    struct locus_region *region;
    if (!forbid(SYS_mbind, ANY_THIRD, error))
        return CANNOT;
    bool refused = locus_region_open(&region, &config) == -error && region == NULL;
    config.node = next_node(0, false); // no such node: that is the caller's mistake even where nobody may bind
    refused = refused && locus_region_open(&region, &config) == -EINVAL;
    return !(refused && locus_region_open(&region, &unbound) == 0);
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
    return !(said && placement.verified.pages == 4 && placement.verified.pages_present == 0 && !placement.verified.numa_maps_agrees);
}

// EINVAL is a kernel before 5.14: pages are touched one by one instead. EFAULT is a node that has run out.
static int populate_without_madvise(void *argument)
{
    int error = *(int *)argument;
    struct locus_region_config config = plain(1 * MIB);
    struct locus_region *region;
    config.populate = true;
    if (!forbid(SYS_madvise, MADV_POPULATE_WRITE, error))
        return CANNOT;
    int result = locus_region_open(&region, &config);
    if (error == EFAULT)
        return result != -ENOMEM;
    return !(result == 0 && resident_pages(region) == 1 * MIB / (size_t)sysconf(_SC_PAGESIZE));
}

// A kernel without transparent huge pages cannot be asked for them, and has nothing to turn off.
static int advise_without_thp(void *argument)
{
    int error = *(int *)argument;
    struct locus_region_config config = plain(2 * MIB);
    struct locus_region *base_pages, *thp;
    if (!forbid(SYS_madvise, ANY_THIRD, error))
        return CANNOT;
    int base_result = locus_region_open(&base_pages, &config);
    config.page = LOCUS_PAGE_THP;
    int thp_result = locus_region_open(&thp, &config);
    if (error == EINVAL)
        return !(base_result == 0 && thp_result == -ENOSYS);
    return !(base_result == -error && thp_result == -error);
}

static void each_error(int (*body)(void *), int first, int second)
{
    int errors[] = {first, second};
    for (int i = 0; i < 2; i++) {
        int status = in_child(body, &errors[i]);
        if (status == CANNOT)
            cr_skip_test("seccomp filters are not available here");
        cr_assert_eq(status, 0, "%s: the child ended with %d", strerror(errors[i]), status);
    }
}

Test(region, bind_where_mbind_is_forbidden_is_its_error_and_first_touch_still_works)
{
    each_error(open_without_mbind, EPERM, ENOSYS);
}

Test(region, verify_where_move_pages_is_forbidden_says_why)
{
    each_error(verify_without_move_pages, EPERM, ENOSYS);
}

Test(region, populate_touches_where_madvise_cannot_and_reports_a_full_node)
{
    each_error(populate_without_madvise, EINVAL, EFAULT);
}

Test(region, thp_where_the_kernel_has_none_is_an_error_and_base_pages_are_not)
{
    each_error(advise_without_thp, EINVAL, ENOMEM);
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
    if (mode == MPOL_INTERLEAVE)
        return placement.granted.policy_errno != ERANGE;
    return !(placement.granted.policy_errno == 0 && placement.granted.policy == LOCUS_POLICY_BIND && placement.granted.node == node);
}

Test(region, granted_is_the_policy_in_force_even_if_it_is_the_threads)
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
