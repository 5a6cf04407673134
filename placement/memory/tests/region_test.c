// SPDX-License-Identifier: Apache-2.0
//
// region: its edges, its sizes, and everything that open refuses.
#include "region_child.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define SEGV_STATUS 42 // exit status of a child that faulted

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
    static const struct {
        enum locus_page page;
        size_t bytes;
    } cases[] = {
        {LOCUS_PAGE_4K, 1},
        {LOCUS_PAGE_4K, 5 * UNIT},
        {LOCUS_PAGE_4K, 3 * MIB + 1},
        {LOCUS_PAGE_THP, 2 * MIB},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct locus_region_config config = plain(cases[i].bytes);
        config.page = cases[i].page;
        struct locus_region *region = must_open(&config);
        char *base = locus_region_base(region);
        size_t bytes = locus_region_bytes(region);
        cr_assert_eq(in_child(write_byte, base - 1), SEGV_STATUS);
        cr_assert_eq(in_child(write_byte, base + bytes), SEGV_STATUS);
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

static uint64_t peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

// Should open let it through, the kernel's killer is to choose this child.
static int populate_beyond_the_host(void *argument)
{
    struct locus_region_config config = plain(16 * MIB);
    struct locus_region *region;
    char why[300];
    (void)argument;
    FILE *first = fopen("/proc/self/oom_score_adj", "we");
    if (!first || fputs("1000", first) < 0 || fclose(first))
        return CANNOT;
    for (int node = next_node(0, true); node < NODES; node = next_node(node + 1, true)) {
        struct locus_node_memory memory;
        if (locus_node_memory_read(node, &memory))
            return CANNOT;
        config.bytes += (size_t)(memory.free_bytes + memory.reclaimable_bytes);
    }
    config.populate = true;
    uint64_t before = peak_bytes();
    if (locus_region_open(&region, &config) != -ENOMEM || peak_bytes() - before >= 8 * MIB)
        return 3;
    locus_region_why(&config, -ENOMEM, why, sizeof why);
    return strstr(why, "are needed") == NULL;
}

// First touch leaves the kernel all nodes, and they have not so much.
Test(region, first_touch_beyond_what_the_host_holds_is_refused_before_populating)
{
    int status = in_child(populate_beyond_the_host, NULL);
    if (status == CANNOT)
        cr_skip_test("the kernel's killer, or the nodes' memory, is not to be seen here");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

// The kernel would kill this process half-way, so the refusal must come before anything is populated.
Test(region, bind_beyond_what_the_node_holds_is_refused_before_populating)
{
    int node = next_node(0, true);
    struct locus_node_memory memory;
    cr_assert_eq(locus_node_memory_read(node, &memory), 0);
    struct locus_region_config config = bound((size_t)(memory.free_bytes + memory.reclaimable_bytes) + 16 * MIB, node, true);
    struct locus_region *region;
    uint64_t before = peak_bytes();
    int result = locus_region_open(&region, &config);
    if (bind_forbidden(result))
        cr_skip_test("mbind is not permitted here");
    cr_assert_eq(result, -ENOMEM);
    cr_assert_lt(peak_bytes() - before, 8 * MIB);
    char why[256], named[16];
    unsigned long long there, kept, needed;
    locus_region_why(&config, result, why, sizeof(why));
    snprintf(named, sizeof(named), "node %d has ", node);
    cr_assert_eq(strncmp(why, named, strlen(named)), 0, "%s", why);
    cr_assert_eq(sscanf(why + strlen(named), "%llu MiB free and reclaimable, of which the kernel keeps back %llu MiB, and %llu MiB",
                        &there, &kept, &needed),
                 3, "%s", why);
    cr_assert(needed > config.bytes / MIB && there + 8 > memory.free_bytes / MIB && there < needed && kept < there, "%s", why);
    config.populate = false; // then nothing was asked, and it is for another reason
    locus_region_why(&config, result, why, sizeof(why));
    cr_assert_null(strstr(why, "reclaimable"), "%s", why);
}

#define ZONE "Node %d, zone Any\n  pages free     %lu\n        high     1\n        protection: (0, 0, 888888888)\n"

// One zone of the node and one of another, with that many free pages, all of them protected. 0: there is no such zone.
struct false_zones {
    unsigned long own_free, other_free;
    int expected;
};

// With the account of the zones replaced, a bind of one page; and without any account, one of almost all that is free.
static int bind_beside_false_zones(void *argument)
{
    const struct false_zones *zones = argument;
    int node = next_node(0, true);
    struct locus_region_config config = bound(UNIT, node, true);
    struct locus_node_memory memory;
    struct locus_region *region;
    char path[] = "/tmp/locus_zoneinfo_XXXXXX";
    int file = mkstemp(path);
    if (file < 0)
        return CANNOT;
    if (zones->own_free)
        dprintf(file, ZONE, node, zones->own_free);
    if (zones->other_free)
        dprintf(file, ZONE, node + 1, zones->other_free);
    bool mounted = cover("/proc/zoneinfo", path);
    unlink(path);
    if (!mounted)
        return CANNOT;
    int result = locus_region_open(&region, &config);
    if (bind_forbidden(result))
        return CANNOT;
    if (result != zones->expected || zones->own_free || locus_node_memory_read(node, &memory) != 0)
        return result != zones->expected;
    uint64_t little = memory.total_bytes / 16 < 64 * MIB ? memory.total_bytes / 16 : 64 * MIB;
    config.bytes = (size_t)(memory.free_bytes + memory.reclaimable_bytes - little);
    uint64_t before = peak_bytes();
    return locus_region_open(&region, &config) != -ENOMEM || peak_bytes() - before > 8 * MIB;
}

Test(region, what_the_zones_keep_back_is_not_room)
{
    static const struct false_zones cases[] = {
        {0, 0, 0},               // no account: a part of the node is kept back
        {999999999, 0, -ENOMEM}, // more is kept back than there is
        {1, 999999999, 0},       // a small protected zone, and another node's
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int status = in_child(bind_beside_false_zones, (void *)&cases[i]);
        if (status == CANNOT)
            cr_skip_test("needs root and mbind: mounts over /proc/zoneinfo in a private namespace");
        cr_assert_eq(status, 0, "case %zu ended with %d", i, status);
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
    static const struct {
        enum locus_page page;
        const char *name;
        size_t bytes;
    } cases[] = {
        {LOCUS_PAGE_2M, "2048kB", 2 * MIB},
        {LOCUS_PAGE_1G, "1048576kB", GIB},
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

static int open_huge_on_demand(void *argument)
{
    int error = *(int *)argument;
    struct locus_region_config config = plain(2 * MIB);
    struct locus_region *region;
    char why[300];
    config.page = LOCUS_PAGE_2M;
    if (!forbid(SYS_madvise, MADV_POPULATE_WRITE, error))
        return CANNOT;
    int result = locus_region_open(&region, &config);
    locus_region_why(&config, result, why, sizeof why);
    return result != (error == EFAULT ? -ENOMEM : -ENOSYS) || (error == EINVAL && !strstr(why, "LOCUS_PAGE_THP"));
}

// A page that is missing at the first touch ends the program (SIGBUS), so open touches all.
Test(region, hugetlb_span_is_populated_without_being_asked_or_refused)
{
    if (hugetlb_pages("2048kB", "free_hugepages") < 2 + hugetlb_pages("2048kB", "resv_hugepages"))
        cr_skip_test("needs 2 free huge pages: echo 2 > /proc/sys/vm/nr_hugepages");
    each_error(open_huge_on_demand, EFAULT, EINVAL);
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
    struct locus_placement placement = must_verify(region);
    cr_assert_eq(placement.granted.page_bytes, 2 * MIB);
    if (!placement.verified.verify_errno) {
        cr_assert_eq(placement.verified.pages, 4 * MIB / UNIT);
        cr_assert_eq(placement.verified.pages_present, 4 * MIB / UNIT, "open populates huge pages");
        cr_assert_eq(placement.verified.numa_maps_agrees, placement.verified.numa_maps_read);
    }
    locus_region_close(region);
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
    if (!forbid(SYS_madvise, MADV_HUGEPAGE, error) || !forbid(SYS_madvise, MADV_NOHUGEPAGE, error))
        return CANNOT;
    int base_result = locus_region_open(&base_pages, &config);
    config.page = LOCUS_PAGE_THP;
    int thp_result = locus_region_open(&thp, &config);
    if (error == EINVAL)
        return !(base_result == 0 && thp_result == -ENOSYS);
    return !(base_result == -error && thp_result == -error);
}

Test(region, bind_where_mbind_is_forbidden_is_its_error_and_first_touch_still_works)
{
    each_error(open_without_mbind, EPERM, ENOSYS);
}

Test(region, populate_touches_where_madvise_cannot_and_reports_a_full_node)
{
    each_error(populate_without_madvise, EINVAL, EFAULT);
}

Test(region, thp_where_the_kernel_has_none_is_an_error_and_base_pages_are_not)
{
    each_error(advise_without_thp, EINVAL, ENOMEM);
}
