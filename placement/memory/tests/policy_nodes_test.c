// SPDX-License-Identifier: Apache-2.0
//
// policy: policies over several nodes, and repair. On one node all tests are skipped; they run on emulated machines with several
// (testbed/guest). Figures are exact, by both witnesses.
#include "placement/memory/tests/group.h"

#include <linux/mempolicy.h>
#include <stdio.h>

#define WEIGHTS "/sys/kernel/mm/mempolicy/weighted_interleave/"

Test(policy, several_nodes_are_granted_as_a_set_and_no_page_is_outside)
{
    int first, second;
    if (!two_nodes(&first, &second))
        cr_skip_test(NEEDS_TWO);
    static const enum locus_policy sets[] = {LOCUS_POLICY_BIND, LOCUS_POLICY_BIND_BALANCING, LOCUS_POLICY_PREFERRED_MANY};
    for (size_t i = 0; i < 3; i++) {
        skip_unless_available(sets[i]);
        for (int last = second; last < NODES; last = next_node(last + 1, true)) {
            struct locus_region_config config = on_nodes(sets[i], set_of(first, last));
            struct locus_region *region = must_open(&config);
            cr_assert_eq(must_hold(region, &config).granted.node, LOCUS_NODE_ANY);
            locus_region_close(region);
        }
    }
}

// Such a process has all pages of a span at the moment at which it may be touched.
Test(policy, what_is_locked_as_it_is_mapped_lies_on_the_node_that_was_named)
{
    int first, second;
    if (!two_nodes(&first, &second))
        cr_skip_test(NEEDS_TWO);
    skip_unless_available(LOCUS_POLICY_BIND);
    if (mlockall(MCL_FUTURE) != 0)
        cr_skip_test("this process may not lock what it maps");
    for (int node = first; node < NODES; node = next_node(node + 1, true)) {
        struct locus_region_config config = on_nodes(LOCUS_POLICY_BIND, set_of(node, node));
        config.populate = false;
        struct locus_region *region = must_open(&config);
        struct locus_placement placement = must_hold(region, &config);
        cr_assert_eq(pages_on(&placement, node), units(PAGES));
        locus_region_close(region);
    }
    cr_assert_eq(munlockall(), 0);
}

Test(policy, interleave_gives_256_of_512_pages_to_each_of_two_nodes)
{
    int first, second;
    if (!two_nodes(&first, &second))
        cr_skip_test(NEEDS_TWO);
    skip_unless_available(LOCUS_POLICY_INTERLEAVE);
    for (; second < NODES; second = next_node(second + 1, true)) {
        struct locus_region_config config = on_nodes(LOCUS_POLICY_INTERLEAVE, set_of(first, second));
        struct locus_region *region = must_open(&config);
        struct locus_placement placement = must_hold(region, &config);
        assert_as_expected(&placement);
        cr_assert_eq(pages_on(&placement, first), units(PAGES / 2));
        cr_assert_eq(pages_on(&placement, second), units(PAGES / 2));
        locus_region_close(region);
    }
}

// Over all nodes, with a number of pages that no number of nodes divides, and then every other page only: with two nodes these all
// belong to one of them.
Test(policy, interleave_is_expected_page_by_page_and_of_touched_pages_only)
{
    int first, second;
    if (!two_nodes(&first, &second))
        cr_skip_test(NEEDS_TWO);
    skip_unless_available(LOCUS_POLICY_INTERLEAVE);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct locus_region_config config = on_nodes(LOCUS_POLICY_INTERLEAVE, (struct locus_nodes){{0}});
    for (int node = first; node < NODES; node = next_node(node + 1, true))
        locus_nodes_add(&config.nodes, node);
    config.bytes = (PAGES - 1) * page;
    struct locus_region *region = must_open(&config);
    struct locus_placement placement = must_hold(region, &config);
    assert_as_expected(&placement);
    locus_region_close(region);
    config.populate = false;
    config.nodes = set_of(first, second);
    region = must_open(&config);
    for (size_t at = 0; at < config.bytes; at += 2 * page)
        ((volatile char *)locus_region_base(region))[at] = 1;
    placement = must_verify(region);
    assert_as_expected(&placement);
    cr_assert_eq(placement.verified.pages_present, units(PAGES / 2));
    cr_assert_eq(placement.verified.nodes, 1);
    locus_region_close(region);
}

static unsigned long free_huge_pages(int node)
{
    char path[120];
    unsigned long pages = 0;
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/free_hugepages", node);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages;
}

// Three pages each, in turn from the first of the span, wherever that lies.
Test(policy, interleave_of_huge_pages_is_expected_from_the_start_of_the_span)
{
    int first, second;
    if (!two_nodes(&first, &second))
        cr_skip_test(NEEDS_TWO);
    if (free_huge_pages(first) < 4 || free_huge_pages(second) < 4)
        cr_skip_test("needs 4 free huge pages on each of two nodes: echo 16 > /proc/sys/vm/nr_hugepages");
    struct locus_region_config config = on_nodes(LOCUS_POLICY_INTERLEAVE, set_of(first, second));
    struct locus_region *regions[2];
    config.page = LOCUS_PAGE_2M;
    config.bytes = 6 * MIB;
    for (int i = 0; i < 2; i++) {
        regions[i] = must_open(&config);
        struct locus_placement placement = must_hold(regions[i], &config);
        assert_as_expected(&placement);
        cr_assert_eq(pages_on(&placement, first), 4 * MIB / UNIT);
    }
    for (int i = 0; i < 2; i++)
        locus_region_close(regions[i]);
}

// The host's pool has the pages, and the node has not.
Test(policy, huge_pages_that_the_bound_node_lacks_are_enomem_at_open_and_other_nodes_help_out)
{
    int first, second;
    char why[400], named[64];
    if (!two_nodes(&first, &second))
        cr_skip_test(NEEDS_TWO);
    unsigned long there = free_huge_pages(second);
    if (free_huge_pages(first) == 0)
        cr_skip_test("needs a free huge page on the first of two nodes: echo 16 > /proc/sys/vm/nr_hugepages");
    for (unsigned policy = LOCUS_POLICY_BIND; policy < LOCUS_POLICIES; policy++) {
        struct locus_region_config config = on_nodes((enum locus_policy)policy, set_of(second, LOCUS_NODE_ANY));
        struct locus_region *region;
        skip_unless_available(config.policy);
        config.page = LOCUS_PAGE_2M;
        config.bytes = (there + 1) * 2 * MIB;
        config.populate = policy % 2;
        int result = locus_region_open(&region, &config);
        cr_assert_eq(result, locus_policy_strict(config.policy) ? -ENOMEM : 0, "%s: %d", locus_policy_name(config.policy), result);
        if (!result) {
            memset(locus_region_base(region), 1, config.bytes);
            locus_region_close(region);
            continue;
        }
        locus_region_why(&config, result, why, sizeof why);
        snprintf(named, sizeof named, "node %d has %lu free huge pages", second, there);
        cr_assert(strstr(why, named) && strstr(why, "nr_hugepages"), "%s", why);
    }
}

static int take_huge_pages_in_a_small_group(void *argument)
{
    struct locus_region_config config = plain(8 * MIB);
    struct locus_region *region;
    char why[400];
    (void)argument;
    config.page = LOCUS_PAGE_2M;
    if (!enter_group("hugetlb", "hugetlb.2MB.max", "hugetlb.2MB.limit_in_bytes", "4194304"))
        return CANNOT;
    if (locus_region_open(&region, &config) != -ENOMEM)
        return 3;
    locus_region_why(&config, -ENOMEM, why, sizeof why);
    if (!strstr(why, "leaves 4 MiB") || !strstr(why, "hugetlb.2MB.max"))
        return 4;
    config.bytes = 4 * MIB;
    if (locus_region_open(&region, &config) != 0)
        return 5;
    memset(locus_region_base(region), 1, config.bytes);
    return 0;
}

Test(policy, huge_pages_beyond_the_groups_limit_are_enomem_at_open)
{
    unsigned long there = 0; // the policy is first touch, which takes them from any node
    for (int node = 0; node < NODES; node++)
        there += free_huge_pages(node);
    if (there < 4)
        cr_skip_test("needs 4 free huge pages: echo 8 > /proc/sys/vm/nr_hugepages");
    int status = in_group(take_huge_pages_in_a_small_group, NULL, "hugetlb");
    if (status == CANNOT)
        cr_skip_test("needs root and a hugetlb cgroup that can be made");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

Test(policy, repair_of_transparent_huge_pages_brings_each_back_whole)
{
    int home, away;
    if (!two_nodes(&home, &away))
        cr_skip_test(NEEDS_TWO);
    struct locus_region_config config = on_nodes(LOCUS_POLICY_BIND, set_of(home, LOCUS_NODE_ANY));
    config.page = LOCUS_PAGE_THP;
    config.bytes = 8 * MIB;
    struct locus_region *region = must_open(&config);
    void *address[4];
    int target[4], status[4];
    uint64_t moved = 0, left = 1;
    memset(locus_region_base(region), 1, config.bytes); // a huge page may be split on its way, which keeps no page of zeros
    for (int i = 0; i < 4; i++) {
        address[i] = (char *)locus_region_base(region) + (size_t)i * 2 * MIB;
        target[i] = away;
    }
    cr_assert_eq(syscall(SYS_move_pages, 0, 4ul, address, target, status, MPOL_MF_MOVE), 0);
    uint64_t astray = must_verify(region).verified.pages_elsewhere;
    cr_assert_geq(astray, 4);
    cr_assert_eq(locus_region_repair(region, &moved, &left), 0);
    cr_assert_eq(moved, astray);
    cr_assert_eq(left, 0);
    must_hold(region, &config);
    locus_region_close(region);
}

static bool set_weights(int first, const char *first_weight, int second, const char *second_weight)
{
    char names[2][16];
    snprintf(names[0], sizeof(names[0]), "node%d", first);
    snprintf(names[1], sizeof(names[1]), "node%d", second);
    return put(WEIGHTS, names[0], first_weight) && put(WEIGHTS, names[1], second_weight);
}

static int interleave_three_to_one(void *argument)
{
    (void)argument;
    int first, second;
    two_nodes(&first, &second);
    struct locus_region_config config = on_nodes(LOCUS_POLICY_WEIGHTED_INTERLEAVE, set_of(first, second));
    struct locus_region *region;
    struct locus_placement placement;
    if (!set_weights(first, "3", second, "1"))
        return CANNOT;
    if (locus_region_open(&region, &config) != 0 || locus_region_verify(region, &placement) != 0)
        return 3;
    if (!placement.verified.numa_maps_agrees || !placement.verified.expected_exact || placement.verified.nodes != 2)
        return 4;
    const uint64_t expected[] = {units(PAGES / 4 * 3), units(PAGES / 4)};
    for (unsigned i = 0; i < 2; i++) {
        if (placement.verified.on[i].weight != (i == 0 ? 3 : 1) || placement.verified.on[i].pages_expected != expected[i])
            return 5;
        if (placement.verified.on[i].pages != expected[i])
            return 6;
    }
    return 0;
}

// The weights are the whole machine's: nothing is tried where they are not the 1 that every node starts with, which they get back.
Test(policy, weights_of_3_and_1_give_384_and_128_of_512_pages)
{
    int first, second;
    if (!two_nodes(&first, &second))
        cr_skip_test(NEEDS_TWO);
    skip_unless_available(LOCUS_POLICY_WEIGHTED_INTERLEAVE);
    struct locus_region_config config = on_nodes(LOCUS_POLICY_WEIGHTED_INTERLEAVE, set_of(first, second));
    struct locus_region *region = must_open(&config);
    struct locus_placement placement = must_hold(region, &config);
    assert_as_expected(&placement);
    locus_region_close(region);
    if (placement.verified.on[0].weight != 1 || placement.verified.on[1].weight != 1 || access(WEIGHTS "auto", F_OK) == 0)
        cr_skip_test("this machine's weights are in use");
    int status = in_child(interleave_three_to_one, NULL);
    set_weights(first, "1", second, "1");
    if (status == CANNOT)
        cr_skip_test("needs root: weights cannot be set");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

// --- repair --------------------------------------------------------------------------------------------------------------------

// Moves `count` pages from page `from` on to the node, behind the region's back. A page that the kernel holds at this moment, to
// reclaim it on a node that is nearly full, stays; it is asked for again.
static void lead_astray(const struct locus_region *region, unsigned from, unsigned count, int node)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *address[PAGES];
    int target[PAGES], status[PAGES];
    cr_assert_leq(count, PAGES);
    for (unsigned i = 0; i < count; i++) {
        address[i] = (char *)locus_region_base(region) + (from + i) * page;
        target[i] = node;
    }
    unsigned there = 0;
    for (int tries = 0; there < count && tries < 200; tries++) {
        if (tries > 0)
            usleep(5000);
        cr_assert_geq(syscall(SYS_move_pages, 0, (unsigned long)count, address, target, status, MPOL_MF_MOVE), 0);
        there = 0;
        for (unsigned i = 0; i < count; i++)
            there += status[i] == node;
    }
    cr_assert_eq(there, count, "%u of %u pages went to node %d", there, count, node);
}

Test(policy, repair_brings_back_what_was_moved_away_and_touches_nothing_else)
{
    int home, away;
    if (!two_nodes(&home, &away))
        cr_skip_test(NEEDS_TWO);
    for (unsigned policy = LOCUS_POLICY_BIND; policy < LOCUS_POLICIES; policy++) {
        skip_unless_available((enum locus_policy)policy);
        for (int other = away; other < NODES; other = next_node(other + 1, true)) {
            struct locus_region_config config = on_nodes((enum locus_policy)policy, set_of(home, LOCUS_NODE_ANY));
            struct locus_region *region = must_open(&config);
            uint64_t moved = 0, left = 1;
            lead_astray(region, 100, 77, other);
            struct locus_placement placement = must_verify(region);
            cr_assert_eq(placement.verified.pages_elsewhere, units(77));
            cr_assert_eq(placement.verified.pages_allowed, units(PAGES - 77));
            cr_assert_eq(pages_on(&placement, other), units(77));
            cr_assert(placement.verified.numa_maps_agrees);
            cr_assert_eq(locus_region_repair(region, &moved, &left), 0);
            cr_assert_eq(moved, units(77));
            cr_assert_eq(left, 0);
            must_hold(region, &config);
            locus_region_close(region);
        }
    }
}

Test(policy, repair_of_an_interleaved_span_gives_each_page_to_the_node_whose_turn_it_was)
{
    int first, second;
    if (!two_nodes(&first, &second))
        cr_skip_test(NEEDS_TWO);
    int third = next_node(second + 1, true);
    if (third == NODES)
        cr_skip_test("needs >= 3 NUMA nodes");
    struct locus_region_config config = on_nodes(LOCUS_POLICY_INTERLEAVE, set_of(first, second));
    struct locus_region *region = must_open(&config);
    uint64_t moved, left;
    lead_astray(region, 5, 301, third);
    cr_assert_eq(must_verify(region).verified.pages_elsewhere, units(301));
    cr_assert_eq(locus_region_repair(region, &moved, &left), 0);
    cr_assert(moved == units(301) && left == 0);
    struct locus_placement placement = must_hold(region, &config);
    assert_as_expected(&placement);
    cr_assert_eq(pages_on(&placement, first), units(PAGES / 2));
    locus_region_close(region);
}

static int repair_what_is_shared(void *argument)
{
    uint64_t moved = 1, left = 0;
    int result = locus_region_repair(argument, &moved, &left);
    return !(result == 0 && moved == 0 && left == units(9));
}

Test(policy, repair_leaves_pages_shared_with_a_forked_process_and_says_so)
{
    int home, away;
    if (!two_nodes(&home, &away))
        cr_skip_test(NEEDS_TWO);
    struct locus_region_config config = on_nodes(LOCUS_POLICY_BIND, set_of(home, LOCUS_NODE_ANY));
    struct locus_region *region = must_open(&config);
    lead_astray(region, 3, 9, away);
    cr_assert_eq(madvise(locus_region_base(region), locus_region_bytes(region), MADV_DOFORK), 0);
    cr_assert_eq(in_child(repair_what_is_shared, region), 0);
    locus_region_close(region);
}

// Fills the node in steps, each of which is led away, so that more is astray than has room at home.
Test(policy, repair_to_a_full_node_counts_what_moved_although_the_kernel_says_none)
{
    int home = next_node(0, true), away = LOCUS_NODE_ANY;
    struct locus_node_memory memory, largest = {0};
    for (; home < NODES; home = next_node(home + 1, true))
        if (locus_node_memory_read(home, &memory) == 0 && memory.total_bytes <= 64 * MIB)
            break;
    if (home == NODES)
        cr_skip_test("needs a node of 64 MiB or less");
    uint64_t small_bytes = memory.free_bytes + memory.reclaimable_bytes;
    for (int node = next_node(0, true); node < NODES; node = next_node(node + 1, true))
        if (locus_node_memory_read(node, &memory) == 0 && memory.free_bytes > largest.free_bytes) {
            largest = memory;
            away = node;
        }
    struct locus_region_config config = on_nodes(LOCUS_POLICY_BIND, set_of(home, LOCUS_NODE_ANY));
    unsigned pages = (unsigned)((small_bytes + 16 * MIB) / UNIT), step = 512;
    config.populate = false;
    config.bytes = (size_t)pages * UNIT;
    struct locus_region *region = must_open(&config);
    for (unsigned from = 0; from + step <= pages; from += step) {
        memset((char *)locus_region_base(region) + (size_t)from * UNIT, 1, (size_t)step * UNIT);
        lead_astray(region, from, step, away);
    }
    uint64_t astray = must_verify(region).verified.pages_elsewhere, moved = 0, left = 0;
    int result = locus_region_repair(region, &moved, &left);
    cr_log_info("%llu of %llu pages astray came back", (unsigned long long)moved, (unsigned long long)astray);
    cr_assert_eq(result, -ENOMEM, "repair answered %s", strerror(-result));
    cr_assert_gt(moved, 0);
    cr_assert_gt(left, 0);
    cr_assert_eq(moved + left, astray);
    cr_assert_eq(must_verify(region).verified.pages_elsewhere, left);
    locus_region_close(region);
}
