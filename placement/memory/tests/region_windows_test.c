// SPDX-License-Identifier: Apache-2.0
//
// region: a span that windows can show, which is a file in memory, is placed, verified and refused as any other.
#include "placement/memory/tests/region_child.h"

#include <stdio.h>
#include <stdlib.h>

#define WHY_BYTES 400

static struct locus_region_config windowed(size_t bytes)
{
    struct locus_region_config config = plain(bytes);
    config.windows = true;
    return config;
}

Test(region_windows, all_pages_are_there_and_both_witnesses_agree)
{
    static const enum locus_page pages[] = {LOCUS_PAGE_4K, LOCUS_PAGE_THP};
    int node = next_node(0, true);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct locus_region_config config = windowed(2 * MIB);
        struct locus_region *region;
        config.node = node;
        config.page = pages[i];
        int error = locus_region_open(&region, &config);
        if (bind_forbidden(error))
            cr_skip_test("mbind is forbidden here");
        cr_assert_eq(error, 0);
        char *base = locus_region_base(region);
        memset(base, 0x5a, 2 * MIB);
        struct locus_placement placement = must_verify(region);
        cr_assert_eq(placement.granted.policy, LOCUS_POLICY_BIND);
        cr_assert_eq(placement.granted.node, node);
        cr_assert_eq(placement.verified.pages_present, 2 * MIB / UNIT);
        cr_assert_eq(placement.verified.pages_elsewhere, 0);
        cr_assert(!placement.verified.numa_maps_read || placement.verified.numa_maps_agrees);
        cr_assert_neq(mremap(base, 0, UNIT, MREMAP_MAYMOVE), MAP_FAILED, "it can be mapped a second time");
        locus_region_close(region);
    }
}

static int opens_with(const struct locus_region_config *config, int error, const char *word)
{
    struct locus_region *region;
    char why[WHY_BYTES];
    int result = locus_region_open(&region, config);
    locus_region_why(config, result, why, sizeof why);
    if (result == -error && strstr(why, word))
        return 0;
    fprintf(stderr, "%s: %s\n", strerror(-result), result ? why : "");
    return 1;
}

static int with_a_small_limit_of_files(void *argument)
{
    (void)argument;
    struct locus_region_config config = windowed(2 * MIB);
    return setrlimit(RLIMIT_FSIZE, &(struct rlimit){MIB, MIB}) ? CANNOT : opens_with(&config, EFBIG, "RLIMIT_FSIZE");
}

static int without_descriptors(void *argument)
{
    (void)argument;
    struct locus_region_config config = windowed(2 * MIB);
    struct rlimit none = {0, 0};
    return setrlimit(RLIMIT_NOFILE, &none) ? CANNOT : opens_with(&config, EMFILE, "RLIMIT_NOFILE");
}

static int without_memfd(void *argument)
{
    const int *error = argument;
    struct locus_region_config config = windowed(2 * MIB);
    return forbid(SYS_memfd_create, ANY_THIRD, *error) ? opens_with(&config, *error, "memfd_create") : CANNOT;
}

Test(region_windows, what_forbids_a_file_in_memory_is_named)
{
    cr_assert_eq(in_child(with_a_small_limit_of_files, NULL), 0);
    cr_assert_eq(in_child(without_descriptors, NULL), 0);
    each_error(without_memfd, EPERM, ENOSYS);
}

Test(region_windows, interleaving_and_reserved_huge_pages_are_refused)
{
    struct locus_region_config config = windowed(UNIT);
    config.node = next_node(0, true);
    config.policy = LOCUS_POLICY_INTERLEAVE;
    cr_assert_eq(opens_with(&config, EINVAL, "interleaving"), 0);
    for (enum locus_page page = LOCUS_PAGE_2M; page <= LOCUS_PAGE_1G; page++) {
        struct locus_region_config huge = windowed(UNIT);
        huge.page = page;
        cr_assert_eq(opens_with(&huge, EINVAL, "reserved huge pages"), 0);
    }
    config.policy = LOCUS_POLICY_WEIGHTED_INTERLEAVE;
    cr_assert_eq(opens_with(&config, EINVAL, "interleaving"), 0);
}

Test(region_windows, a_process_that_locks_its_memory_has_one_too)
{
    if (mlockall(MCL_FUTURE))
        cr_skip_test("mlockall is forbidden here");
    struct locus_region_config config = windowed(2 * MIB);
    struct locus_region *region = must_open(&config);
    struct locus_placement placement = must_verify(region);
    cr_assert_eq(placement.verified.pages_present, 2 * MIB / UNIT);
    locus_region_close(region);
    munlockall();
}
