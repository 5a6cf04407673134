// SPDX-License-Identifier: Apache-2.0
//
// pages: an arena's memory and table that are not there, and the node that a config names.
#include "locus/pages.h"
#include "locus/region.h"
#include "placement/memory/tests/group.h"

static struct locus_pages_config arena_of(uint32_t pages)
{
    return (struct locus_pages_config){.size = sizeof(struct locus_pages_config), .pages = pages, .node = LOCUS_NODE_ANY};
}

static int open_short_of_address_space(void *argument)
{
    struct locus_pages_config config = arena_of(128);
    struct locus_pages *pages;
    char why[400];
    (void)argument;
    if (!leave_address_space(64 * MIB))
        return CANNOT;
    if (locus_pages_open(&pages, &config) != -ENOMEM)
        return 3;
    locus_pages_why(&config, -ENOMEM, why, sizeof why);
    return strstr(why, "RLIMIT_AS") == NULL;
}

static int open_in_a_small_group(void *argument)
{
    struct locus_pages_config config = arena_of(32);
    struct locus_pages *pages;
    char why[400];
    (void)argument;
    config.populate = true;
    if (!enter_group("memory", "memory.max", "memory.limit_in_bytes", "33554432"))
        return CANNOT;
    if (locus_pages_open(&pages, &config) != -ENOMEM)
        return 3;
    locus_pages_why(&config, -ENOMEM, why, sizeof why);
    return strstr(why, "the cgroup's limit leaves") == NULL;
}

Test(pages_open, a_limit_of_the_process_is_named)
{
    cr_assert_eq(in_child(open_short_of_address_space, NULL), 0);
}

Test(pages_open, an_arena_populated_beyond_the_groups_limit_is_refused)
{
    int status = in_group(open_in_a_small_group, NULL, "memory");
    if (status == CANNOT)
        cr_skip_test("needs root and a memory cgroup that can be made");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

Test(pages_open, huge_pages_that_nobody_reserved_are_named)
{
    struct locus_pages_config config = arena_of(4000);
    struct locus_pages *pages;
    char why[400];
    config.page = LOCUS_PAGE_2M;
    int error = locus_pages_open(&pages, &config);
    if (!error)
        cr_skip_test("4000 huge pages are reserved here");
    cr_assert_eq(error, -ENOMEM);
    locus_pages_why(&config, error, why, sizeof why);
    cr_assert(strstr(why, "LOCUS_PAGE_THP"), "%s", why);
}

Test(pages_open, a_node_that_is_named_without_a_policy_has_the_arena)
{
    skip_unless_available(LOCUS_POLICY_BIND);
    for (int node = next_node(0, true); node < NODES; node = next_node(node + 1, true)) {
        struct locus_pages_config config = arena_of(2);
        struct locus_pages *pages;
        config.node = node;
        config.populate = true;
        cr_assert_eq(locus_pages_open(&pages, &config), 0);
        struct locus_placement placement = must_verify(locus_pages_region(pages));
        cr_expect(placement.granted.policy == LOCUS_POLICY_BIND && placement.granted.node == node);
        cr_expect_eq(placement.verified.pages_elsewhere, 0);
        locus_pages_close(pages);
    }
}
