// SPDX-License-Identifier: Apache-2.0
//
// why: each cause has its own words, with the figures and the remedy. What can be provoked in a child is: open fails there, and is
// asked why. What would change the host (its promises, its huge pages) is shown to locus_region_why() by files mounted over the
// kernel's. policy_test.c has limits of cgroups, policy_nodes_test.c huge pages of nodes.
#include "placement/memory/tests/policy_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define WHY_BYTES 400u
#define NOBODY 65534

// Open must fail with `error`, and the reason have all the words.
static int fails_with(const struct locus_region_config *config, int error, const char *first, const char *second)
{
    struct locus_region *region;
    char why[WHY_BYTES];
    int result = locus_region_open(&region, config);
    if (result != -error)
        return 3;
    locus_region_why(config, result, why, sizeof why);
    if (strstr(why, first) && strstr(why, second))
        return 0;
    fprintf(stderr, "why: %s\n", why);
    return 4;
}

struct limit {
    int resource;
    const char *name, *remedy;
    enum locus_page page;
};

static int open_beyond_a_limit(void *argument)
{
    const struct limit *limit = argument;
    struct locus_region_config config = plain(512 * MIB);
    struct locus_region *region;
    config.page = limit->page;
    if (locus_region_open(&region, &config)) // else it would be for another reason
        return CANNOT;
    locus_region_close(region);
    if (setrlimit(limit->resource, &(struct rlimit){512 * MIB, 512 * MIB}))
        return CANNOT;
    return fails_with(&config, ENOMEM, limit->name, limit->remedy);
}

Test(why, a_limit_of_the_process_is_named)
{
    struct limit limits[] = {{RLIMIT_AS, "RLIMIT_AS", "ulimit -v", LOCUS_PAGE_4K},
                             {RLIMIT_AS, "RLIMIT_AS", "MiB are needed", LOCUS_PAGE_THP},
                             {RLIMIT_DATA, "RLIMIT_DATA", "ulimit -d", LOCUS_PAGE_4K}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int status = in_child(open_beyond_a_limit, &limits[i]);
        if (status == CANNOT)
            cr_skip_test("limits are not available here");
        cr_assert_eq(status, 0, "%s: the child ended with %d", limits[i].name, status);
    }
}

static int open_when_all_is_locked(void *argument)
{
    (void)argument;
    struct locus_region_config config = plain(64 * MIB);
    if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY)) // root may lock without limit
        return CANNOT;
    if (setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){1 * MIB, 1 * MIB}) || mlockall(MCL_FUTURE))
        return CANNOT;
    if (mmap(NULL, config.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) // a sanitizer locks nothing
        return CANNOT;
    return fails_with(&config, ENOMEM, "RLIMIT_MEMLOCK", "1 MiB");
}

Test(why, a_limit_of_locked_memory_is_named)
{
    int status = in_child(open_when_all_is_locked, NULL);
    if (status == CANNOT)
        cr_skip_test("memory cannot be locked here");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

static int open_without_mappings_left(void *argument)
{
    (void)argument;
    struct locus_region_config config = plain(UNIT);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), most = 1u << 17;
    char *many = mmap(NULL, most * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (many == MAP_FAILED)
        return CANNOT;
    size_t at = 0; // every second page is another mapping
    while (at < most && mprotect(many + at * page, page, PROT_READ) == 0)
        at += 2;
    if (at >= most)
        return CANNOT;
    return fails_with(&config, ENOMEM, "mappings", "vm.max_map_count");
}

Test(why, the_number_of_mappings_is_named)
{
    int status = in_child(open_without_mappings_left, NULL);
    if (status == CANNOT)
        cr_skip_test("vm.max_map_count is too large here to be met");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

Test(why, sizes_beyond_the_host_and_beyond_any_address_space_differ)
{
    char why[WHY_BYTES];
    struct locus_region_config config = plain((size_t)1 << 62);
    cr_assert_eq(fails_with(&config, ENOMEM, "address space", "take less memory"), 0);
    config.bytes = SIZE_MAX;
    cr_assert_eq(fails_with(&config, ENOMEM, "any address space", ""), 0);
    config.bytes = (size_t)1 << 45; // 32 TiB fit an address space, but hardly a host
    locus_region_why(&config, -ENOMEM, why, sizeof why);
    cr_assert(strstr(why, "host") || strstr(why, "RLIMIT") || strstr(why, "short"), "%s", why);
}

Test(why, huge_pages_that_nobody_reserved_are_named_with_their_remedy_for_every_policy)
{
    static const struct {
        enum locus_page page;
        size_t bytes;
        const char *size;
    } pages[] = {{LOCUS_PAGE_2M, 2 * MIB, "2 MiB"}, {LOCUS_PAGE_1G, GIB, "1024 MiB"}};
    for (unsigned policy = 0; policy < LOCUS_POLICIES; policy++) {
        for (size_t i = 0; i < 2 && !locus_policy_probe((enum locus_policy)policy); i++) {
            struct locus_region_config config = {.size = sizeof config, .page = pages[i].page, .node = next_node(0, true)};
            config.bytes = 1000 * pages[i].bytes;
            config.policy = (enum locus_policy)policy;
            struct locus_region *region;
            char why[WHY_BYTES];
            int result = locus_region_open(&region, &config);
            if (!result)
                cr_skip_test("1000 huge pages are reserved here");
            cr_assert_eq(result, -ENOMEM);
            locus_region_why(&config, result, why, sizeof why);
            cr_assert(strstr(why, pages[i].size) && strstr(why, "LOCUS_PAGE_THP"), "%s", why);
            cr_assert(strstr(why, "nr_hugepages") || strstr(why, "has no huge pages"), "%s", why);
        }
    }
}

Test(why, a_policy_that_lacks_a_node_or_has_too_many_says_so)
{
    struct locus_region_config config = bound(UNIT, LOCUS_NODE_ANY, false);
    cr_assert_eq(fails_with(&config, EINVAL, "bind needs a node", "`nodes`"), 0);
    config.policy = LOCUS_POLICY_PREFERRED;
    config.nodes = set_of(0, 1);
    cr_assert_eq(fails_with(&config, EINVAL, "takes one node", "preferred-many"), 0);
    config = bound(UNIT, -7, false);
    cr_assert_eq(fails_with(&config, EINVAL, "no node -7", ""), 0);
}

// --- files over the kernel's ---------------------------------------------------------------------------------------------------

struct shown {
    const char *path[5], *text[5];
    struct locus_region_config config;
    const char *first, *second;
};

static int why_with_other_files(void *argument)
{
    const struct shown *shown = argument;
    char why[WHY_BYTES];
    for (int i = 0; i < 5 && shown->path[i]; i++) {
        char path[] = "/tmp/locus_why_XXXXXX";
        int file = mkstemp(path);
        if (file < 0)
            return CANNOT;
        dprintf(file, "%s", shown->text[i]);
        close(file);
        bool there = cover(shown->path[i], path);
        unlink(path);
        if (!there)
            return CANNOT;
    }
    locus_region_why(&shown->config, -ENOMEM, why, sizeof why);
    if (strstr(why, shown->first) && strstr(why, shown->second))
        return 0;
    fprintf(stderr, "why: %s\n", why);
    return 3;
}

#define POOL "/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define MODE "/proc/sys/vm/overcommit_memory"

// Each host has this: what it promises, and a pool of huge pages of 2 MiB that are not on any node.
Test(why, what_the_host_promises_and_reserves_is_named)
{
    struct locus_region_config ordinary = plain(512 * MIB), huge = bound(8 * MIB, next_node(0, true), false);
    huge.page = LOCUS_PAGE_2M;
    struct shown cases[] = {
        {{MODE, "/proc/meminfo"},
         {"2\n", "CommitLimit: 409600 kB\nCommitted_AS: 204800 kB\n"},
         ordinary,
         "vm.overcommit_memory is 2",
         "512 MiB are needed"},
        {{MODE, "/proc/meminfo"}, {"0\n", "MemTotal: 102400 kB\nSwapTotal: 102400 kB\n"}, ordinary, "memory and swap", "200 MiB"},
        {{POOL "nr_hugepages", POOL "free_hugepages", POOL "resv_hugepages", "/proc/meminfo"},
         {"6\n", "5\n", "2\n", "Hugepagesize: 2048 kB\n"},
         huge,
         "6 huge pages of 2 MiB are reserved on this host, 3 of them free, and 4 are needed",
         "echo 7 >/proc/sys/vm/nr_hugepages"},
        {{POOL "nr_hugepages", POOL "free_hugepages", "/proc/meminfo"},
         {"2\n", "2\n", "Hugepagesize: 1048576 kB\n"},
         huge,
         "2 huge pages of 2 MiB",
         "echo 4 >" POOL "nr_hugepages"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = in_child(why_with_other_files, &cases[i]);
        if (status == CANNOT)
            cr_skip_test("needs root: mounts over the kernel's files in a private namespace");
        cr_assert_eq(status, 0, "case %zu: the child ended with %d", i, status);
    }
}

Test(why, the_node_without_huge_pages_is_named)
{
    int node = next_node(0, true);
    char there[128], named[64];
    snprintf(there, sizeof there, "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/free_hugepages", node);
    snprintf(named, sizeof named, "node %d has 0 free huge pages of 2 MiB, and 4 are needed", node);
    struct shown shown = {{POOL "nr_hugepages", POOL "free_hugepages", POOL "resv_hugepages", there},
                          {"8\n", "8\n", "0\n", "0\n"},
                          bound(8 * MIB, node, false),
                          named,
                          "kB/nr_hugepages"};
    shown.config.page = LOCUS_PAGE_2M;
    int status = access(there, F_OK) ? CANNOT : in_child(why_with_other_files, &shown);
    if (status == CANNOT)
        cr_skip_test("needs root, and huge pages in the kernel: mounts over its files in a private namespace");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}
