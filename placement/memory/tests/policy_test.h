// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of policies. Spans have 512 base pages, whatever the size of these.
#ifndef LOCUS_TESTS_POLICY_TEST_H
#define LOCUS_TESTS_POLICY_TEST_H

#include "placement/memory/tests/region_child.h"

#include <fcntl.h>
#include <stdio.h>

#define PAGES 512u
#define NEEDS_TWO "needs >= 2 NUMA nodes"

static inline struct locus_nodes set_of(int first, int second)
{
    struct locus_nodes nodes = {{0}};
    locus_nodes_add(&nodes, first);
    if (second != LOCUS_NODE_ANY)
        locus_nodes_add(&nodes, second);
    return nodes;
}

static inline struct locus_region_config on_nodes(enum locus_policy policy, struct locus_nodes nodes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (struct locus_region_config){.size = sizeof(struct locus_region_config),
                                        .bytes = PAGES * page,
                                        .policy = policy,
                                        .node = LOCUS_NODE_ANY,
                                        .nodes = nodes,
                                        .populate = true};
}

static inline uint64_t units(uint64_t pages)
{
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / UNIT;
}

// The first two nodes that may be used; false: there are no two.
static inline bool two_nodes(int *first, int *second)
{
    *first = next_node(0, true);
    *second = next_node(*first + 1, true);
    return *second < NODES;
}

static inline uint64_t pages_on(const struct locus_placement *placement, int node)
{
    for (unsigned i = 0; i < placement->verified.nodes; i++)
        if (placement->verified.on[i].node == node)
            return placement->verified.on[i].pages;
    return 0;
}

static inline void skip_unless_available(enum locus_policy policy)
{
    int probe = locus_policy_probe(policy);
    if (probe)
        cr_skip_test("%s: %s", locus_policy_name(policy), locus_policy_why(policy, probe));
    struct locus_region_config config = plain(UNIT);
    struct locus_region *region = must_open(&config);
    struct locus_placement placement = must_verify(region);
    locus_region_close(region);
    if (placement.verified.verify_errno || placement.granted.policy_errno || !placement.verified.numa_maps_read)
        cr_skip_test("move_pages, get_mempolicy or numa_maps is missing here");
}

// Requested, granted and verified are one, and both witnesses say so.
static inline struct locus_placement must_hold(const struct locus_region *region, const struct locus_region_config *config)
{
    struct locus_placement placement = must_verify(region);
    cr_assert_eq(placement.granted.policy_errno, 0);
    cr_assert_eq(placement.granted.policy, config->policy, "%s", locus_policy_name(config->policy));
    cr_assert_eq(memcmp(&placement.granted.nodes, &config->nodes, sizeof(config->nodes)), 0);
    cr_assert_eq(placement.verified.pages_present, placement.verified.pages);
    cr_assert_eq(placement.verified.pages_allowed, placement.verified.pages);
    cr_assert_eq(placement.verified.pages_elsewhere, 0);
    cr_assert(placement.verified.numa_maps_agrees);
    return placement;
}

static inline void assert_as_expected(const struct locus_placement *placement)
{
    cr_assert(placement->verified.expected_exact);
    for (unsigned i = 0; i < placement->verified.nodes; i++)
        cr_assert_eq(placement->verified.on[i].pages, placement->verified.on[i].pages_expected, "node %d",
                     placement->verified.on[i].node);
}

static inline bool put(const char *folder, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return done;
}

#endif
