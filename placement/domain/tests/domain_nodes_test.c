// SPDX-License-Identifier: Apache-2.0
//
// domain: homes of different sizes, and blocks over several nodes while the home's own memory stays at home; also for pools.
// testbed/tests/guest.sh runs these on machines with several nodes.
#include "placement/domain/tests/domain_test.h"

#include "locus/region.h"
#include "placement/blocks/pool_internal.h"
#include "topo/tests/tree.h"

#include <sched.h>
#include <sys/mount.h>

#define PAGE 4096u

TestSuite(domain_nodes, .timeout = 60);

// --- sizes ---------------------------------------------------------------------------------------------------------------------

Test(domain_nodes, each_home_has_its_own_number_of_blocks)
{
    const uint32_t blocks_of_home[HOMES] = {3, 7, 5};
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_REFUSE);
    config.blocks = 0; // is not looked at
    config.blocks_of = blocks_of_home;
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    for (uint32_t i = 0; i < HOMES; i++) {
        cr_expect_eq(pool_of(domain, i).blocks, blocks_of_home[i]);
        cr_expect_eq(locus_domain_grow(domain, i, table, blocks_of_home[i] + 1), -ENOMEM);
        cr_expect_eq(locus_domain_grow(domain, i, table, blocks_of_home[i]), 0);
        send(domain, i, table);
        drain_all(domain);
        cr_expect_eq(locus_domain_next_reclaimed(domain, i), table);
    }
    closed(domain);
    free(table);
}

Test(domain_nodes, the_callers_arrays_are_not_kept)
{
    uint32_t blocks_of_home[HOMES] = {3, 7, 5};
    int nodes[HOMES];
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    memcpy(nodes, config.nodes, sizeof nodes);
    config.nodes = nodes;
    config.blocks_of = blocks_of_home;
    struct locus_domain *domain = opened(&config);
    memset(blocks_of_home, 0xff, sizeof blocks_of_home);
    memset(nodes, 0xff, sizeof nodes);
    cr_expect_null(domain->config.nodes);
    cr_expect_null(domain->config.blocks_of);
    for (uint32_t i = 0; i < HOMES; i++)
        cr_expect_eq(locus_domain_node(domain, i), some_node());
    closed(domain);
}

Test(domain_nodes, sizes_that_make_no_sense_are_refused)
{
    const uint32_t none[HOMES] = {3, 0, 5}, few[HOMES] = {3, 7, 1};
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain;
    config.blocks_of = none;
    cr_expect_eq(locus_domain_open(&domain, &config), -EINVAL, "a home without blocks");
    config.blocks_of = few;
    config.spare = 2;
    cr_expect_eq(locus_domain_open(&domain, &config), -EINVAL, "the last home is smaller than what it is to spare");
    config.spare = 1;
    cr_assert_eq(locus_domain_open(&domain, &config), 0);
    locus_domain_close(domain);
    config.nodes = NULL;
    config.nodes_count = 0;
    cr_expect_eq(locus_domain_open(&domain, &config), -EINVAL, "sizes of how many homes?");
}

// --- nodes ---------------------------------------------------------------------------------------------------------------------

// From here on this machine's files say that the node has no CPUs and that a device works from there, and that the next one has
// all CPUs. False: they cannot be covered here.
static bool shown_as_a_gpus(int node)
{
    char text[32], path[128];
    tree_open();
    snprintf(text, sizeof text, "%d-%d\n", node, node + 1);
    tree_file(NODE_DIRECTORY "/online", text);
    tree_file(NODE_DIRECTORY "/has_memory", text);
    snprintf(text, sizeof text, "%d\n", node);
    tree_file(NODE_DIRECTORY "/has_generic_initiator", text);
    tree_node(node, "\n", "10 20\n", 1 << 20, 1 << 20);
    tree_node(node + 1, "0-8191\n", "20 10\n", 1 << 20, 1 << 20);
    snprintf(path, sizeof path, "%s" NODE_DIRECTORY, tree_root);
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(path, NODE_DIRECTORY, NULL, MS_BIND, NULL) == 0;
}

Test(domain_nodes, a_gpus_memory_is_a_home_only_if_it_is_named, .fini = tree_close)
{
    int node = some_node();
    uint32_t home;
    struct locus_domain *domain = NULL;
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_REFUSE);
    config.nodes = &node;
    config.nodes_count = 1;
    if (!shown_as_a_gpus(node))
        cr_skip_test("needs root: mounts over /sys in a private namespace");
    cr_assert_eq(locus_domain_open(&domain, &config), 0, "named");
    cr_expect_eq(locus_domain_home_of_node(domain, node, &home), 0);
    closed(domain);
    config.nodes_count = 0;
    int error = locus_domain_open(&domain, &config); // the other node may be there and allowed, or not
    if (error)
        cr_expect_eq(error, -EINVAL);
    else {
        cr_expect_eq(locus_domain_home_of_node(domain, node, &home), -ENODEV, "by default");
        closed(domain);
    }
}

// All nodes with memory that this process may use, but for tiny ones that cannot hold what these tests want.
static struct locus_nodes roomy_nodes(void)
{
    struct locus_nodes nodes = {0};
    struct locus_node_memory memory;
    for (int node = 0; node < 1024; node++)
        if (locus_node_allowed(node) && !locus_node_memory_read(node, &memory) && memory.free_bytes > 32u << 20)
            locus_nodes_add(&nodes, node);
    if (locus_nodes_count(&nodes) < 2)
        cr_skip_test("needs two nodes with memory: make test runs this in the guest");
    return nodes;
}

static uint64_t pages_on(const struct locus_placement *placement, int node)
{
    for (unsigned i = 0; i < placement->verified.nodes; i++)
        if (placement->verified.on[i].node == node)
            return placement->verified.on[i].pages;
    return 0;
}

static struct locus_placement verified(const struct locus_region *region)
{
    struct locus_placement placement;
    cr_assert_eq(locus_region_verify(region, &placement), 0);
    cr_assert_eq(placement.verified.verify_errno, 0);
    return placement;
}

static void expect_spread(const struct locus_region *region, const struct locus_nodes *nodes)
{
    struct locus_placement placement = verified(region);
    unsigned count = locus_nodes_count(nodes);
    cr_expect_eq(placement.verified.pages_present, placement.verified.pages);
    for (int node = locus_nodes_next(nodes, 0); node >= 0; node = locus_nodes_next(nodes, node + 1)) {
        uint64_t share = placement.verified.pages / count;
        cr_expect(pages_on(&placement, node) - share <= 1, "node %d: %lu of %lu pages", node,
                  (unsigned long)pages_on(&placement, node), (unsigned long)placement.verified.pages);
    }
}

static void expect_whole_on(const struct locus_region *region, int node)
{
    struct locus_placement placement = verified(region);
    cr_expect_eq(pages_on(&placement, node), placement.verified.pages, "%lu of %lu pages on node %d",
                 (unsigned long)pages_on(&placement, node), (unsigned long)placement.verified.pages, node);
}

Test(domain_nodes, blocks_among_all_nodes_and_the_homes_own_memory_at_home)
{
    struct locus_nodes among = roomy_nodes();
    int nodes[LOCUS_HOMES_MAX];
    uint32_t count = 0;
    for (int node = locus_nodes_next(&among, 0); node >= 0; node = locus_nodes_next(&among, node + 1))
        nodes[count++] = node;
    struct locus_domain_config config = {.size = sizeof config,
                                         .nodes = nodes,
                                         .nodes_count = count,
                                         .lanes = 1,
                                         .blocks = 120,
                                         .block_bytes = PAGE,
                                         .policy = LOCUS_POLICY_INTERLEAVE,
                                         .among = among,
                                         .populate = true};
    struct locus_domain *domain = opened(&config);
    for (uint32_t home = 0; home < count; home++) {
        expect_spread(domain->homes[home]->pool->region, &among);
        expect_whole_on(domain->homes[home]->pool->metadata, nodes[home]);
        expect_whole_on(domain->homes[home]->region, nodes[home]);
    }
    closed(domain);
    config.among = (struct locus_nodes){0};
    domain = opened(&config);
    for (uint32_t home = 0; home < count; home++)
        expect_whole_on(domain->homes[home]->pool->region, nodes[home]); // interleaved over one
    closed(domain);
}

Test(domain_nodes, a_pool_lies_on_its_nodes_and_its_books_on_its_node)
{
    struct locus_nodes among = roomy_nodes();
    int first = locus_nodes_next(&among, 0), second = locus_nodes_next(&among, first + 1);
    struct locus_pool_config config = {.size = sizeof config,
                                       .blocks = 120,
                                       .block_bytes = PAGE,
                                       .policy = LOCUS_POLICY_INTERLEAVE,
                                       .node = second,
                                       .nodes = among,
                                       .populate = true};
    struct locus_pool *pool;
    cr_assert_eq(locus_pool_open(&pool, &config), 0);
    expect_spread(locus_pool_region(pool), &among);
    expect_whole_on(pool->metadata, second);
    locus_pool_close(pool);
    config.policy = LOCUS_POLICY_BIND;
    config.nodes = (struct locus_nodes){0};
    locus_nodes_add(&config.nodes, first); // where the two differ, `nodes` has the blocks
    cr_assert_eq(locus_pool_open(&pool, &config), 0);
    expect_whole_on(locus_pool_region(pool), first);
    expect_whole_on(pool->metadata, second);
    locus_pool_close(pool);
}
