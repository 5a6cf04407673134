// SPDX-License-Identifier: Apache-2.0
//
// pool: memory that is not there. Limits of the process, of its cgroup and of the host, each refused by open and named; and the
// node that a config names.
#include "placement/blocks/pool_internal.h"
#include "placement/memory/tests/group.h"

static struct locus_pool_config config_of(uint32_t blocks)
{
    return (struct locus_pool_config){.size = sizeof(struct locus_pool_config),
                                      .blocks = blocks,
                                      .block_bytes = 256,
                                      .node = LOCUS_NODE_ANY};
}

static int open_short_of_address_space(void *argument)
{
    struct locus_pool_config *config = argument;
    struct locus_pool *pool;
    char why[400];
    if (!leave_address_space(72 * MIB))
        return CANNOT;
    if (locus_pool_open(&pool, config) != -ENOMEM)
        return 3;
    locus_pool_why(config, -ENOMEM, why, sizeof why);
    return !strstr(why, "RLIMIT_AS") || !strstr(why, "are needed");
}

// Too large are the blocks; or they fit, and the pool's own arrays beside them do not.
Test(pool_open, the_limit_that_was_met_is_named_for_the_blocks_and_for_the_pools_own_arrays)
{
    struct locus_pool_config large = config_of(1u << 20), many = large;
    many.block_bytes = 64;
    many.tags = true;
    cr_assert_eq(in_child(open_short_of_address_space, &large), 0);
    cr_assert_eq(in_child(open_short_of_address_space, &many), 0);
}

Test(pool_open, a_pool_of_huge_pages_that_nobody_reserved_says_how_to_reserve_them)
{
    for (int page = LOCUS_PAGE_2M; page <= LOCUS_PAGE_1G; page++) {
        struct locus_pool_config config = config_of(1u << 16);
        struct locus_pool *pool;
        char why[400];
        config.block_bytes = page == LOCUS_PAGE_2M ? 64 * KIB : 32 * MIB;
        config.page = (enum locus_page)page;
        int error = locus_pool_open(&pool, &config);
        if (!error)
            cr_skip_test("%d huge pages are reserved here", page == LOCUS_PAGE_2M ? 2048 : 1);
        cr_assert_eq(error, -ENOMEM);
        locus_pool_why(&config, error, why, sizeof why);
        cr_assert(strstr(why, "nr_hugepages") || strstr(why, "has no huge pages"), "%s", why);
        cr_assert(strstr(why, "LOCUS_PAGE_THP"), "%s", why);
    }
}

static int populate_heap_in_a_small_group(void *argument)
{
    struct locus_pool_config config = config_of(48);
    struct locus_pool *pool;
    char why[400];
    (void)argument;
    config.block_bytes = MIB;
    config.backing = LOCUS_BACKING_HEAP;
    config.populate = true;
    if (!enter_group("memory", "memory.max", "memory.limit_in_bytes", "33554432"))
        return CANNOT;
    if (locus_pool_open(&pool, &config) != -ENOMEM)
        return 3;
    locus_pool_why(&config, -ENOMEM, why, sizeof why);
    if (!strstr(why, "the cgroup's limit leaves"))
        return 4;
    config.blocks = 8;
    return locus_pool_open(&pool, &config);
}

Test(pool_open, a_heap_that_is_populated_beyond_the_groups_limit_is_refused)
{
    int status = in_group(populate_heap_in_a_small_group, NULL, "memory");
    if (status == CANNOT)
        cr_skip_test("needs root and a memory cgroup that can be made");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

Test(pool_open, a_node_that_is_named_without_a_policy_has_the_blocks_and_the_pools_own_arrays)
{
    skip_unless_available(LOCUS_POLICY_BIND);
    for (int node = next_node(0, true); node < NODES; node = next_node(node + 1, true)) {
        struct locus_pool_config config = config_of(8);
        struct locus_pool *pool;
        config.node = node;
        config.populate = true;
        cr_assert_eq(locus_pool_open(&pool, &config), 0);
        const struct locus_region *regions[] = {pool->region, pool->metadata};
        for (unsigned i = 0; i < 2; i++) {
            struct locus_placement placement = must_verify(regions[i]);
            cr_expect(placement.granted.policy == LOCUS_POLICY_BIND && placement.granted.node == node);
            cr_expect_eq(placement.verified.pages_elsewhere, 0);
        }
        locus_pool_close(pool);
    }
    struct locus_pool_config absent = config_of(8);
    struct locus_pool *pool;
    absent.node = next_node(0, false);
    cr_assert_eq(locus_pool_open(&pool, &absent), -EINVAL);
}
