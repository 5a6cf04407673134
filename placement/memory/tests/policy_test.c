// SPDX-License-Identifier: Apache-2.0
//
// policy: every policy on every node, the reasons if one is unavailable, and the room on a set of nodes. policy_nodes_test.c
// tests several nodes together.
#include "placement/memory/region_internal.h"
#include "placement/memory/tests/group.h"

#include <stdio.h>
#include <stdlib.h>

#define MODE_WEIGHTED 6 // MPOL_WEIGHTED_INTERLEAVE, which is newer than some headers

// --- any host ------------------------------------------------------------------------------------------------------------------

Test(policy, names_differ_and_end_where_the_policies_do)
{
    unsigned count = 0, migrate = 0, strict = 0;
    for (; locus_policy_name((enum locus_policy)count); count++) {
        migrate += locus_policy_migrates((enum locus_policy)count);
        strict += locus_policy_strict((enum locus_policy)count);
        for (unsigned other = 0; other < count; other++)
            cr_assert_str_neq(locus_policy_name((enum locus_policy)count), locus_policy_name((enum locus_policy)other));
    }
    cr_assert_eq(count, LOCUS_POLICIES);
    cr_assert_eq(migrate, 1);
    cr_assert_eq(strict, 2);
    cr_assert_eq(LOCUS_POLICY_BY_NODE, 0);
    cr_assert(locus_policy_migrates(LOCUS_POLICY_BIND_BALANCING) && locus_policy_strict(LOCUS_POLICY_BIND_BALANCING));
    cr_assert_null(locus_policy_name((enum locus_policy) - 1));
    cr_assert_eq(locus_policy_probe((enum locus_policy)LOCUS_POLICIES), -EINVAL);
}

Test(policy, every_cause_has_a_sentence_of_its_own_for_every_policy)
{
    static const int causes[] = {0, ENOSYS, EPERM, EINVAL, ENODEV, ENOMEM, EIO};
    for (unsigned policy = 0; policy <= LOCUS_POLICIES; policy++) {
        for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
            const char *why = locus_policy_why((enum locus_policy)policy, causes[i]);
            cr_assert_eq(why, locus_policy_why((enum locus_policy)policy, -causes[i]));
            cr_assert_gt(strlen(why), 20);
            for (size_t other = 0; other < i && policy < LOCUS_POLICIES; other++)
                cr_assert_str_neq(why, locus_policy_why((enum locus_policy)policy, causes[other]));
        }
    }
    cr_assert(strstr(locus_policy_why(LOCUS_POLICY_WEIGHTED_INTERLEAVE, ENOSYS), "6.9"));
    cr_assert(strstr(locus_policy_why(LOCUS_POLICY_BIND, EPERM), "seccomp"));
}

Test(policy, a_set_of_nodes_counts_and_walks_to_its_last_number)
{
    struct locus_nodes nodes = set_of(0, 1023);
    locus_nodes_add(&nodes, 64);
    cr_assert_eq(locus_nodes_count(&nodes), 3);
    cr_assert_eq(locus_nodes_next(&nodes, 0), 0);
    cr_assert_eq(locus_nodes_next(&nodes, 1), 64);
    cr_assert_eq(locus_nodes_next(&nodes, 65), 1023);
    cr_assert_eq(locus_nodes_next(&nodes, 1024), LOCUS_NODE_ANY);
    cr_assert(!locus_nodes_has(&nodes, 1024) && !locus_nodes_has(&nodes, -1) && !locus_nodes_has(&nodes, 63));
}

Test(policy, each_policy_on_each_node_is_granted_and_every_page_is_there)
{
    skip_unless_available(LOCUS_POLICY_BIND);
    for (unsigned policy = LOCUS_POLICY_BIND; policy < LOCUS_POLICIES; policy++) {
        for (int node = next_node(0, true); node < NODES; node = next_node(node + 1, true)) {
            struct locus_region_config config = on_nodes((enum locus_policy)policy, set_of(node, LOCUS_NODE_ANY));
            struct locus_region_config single = config;
            struct locus_region *region;
            int result = locus_region_open(&region, &config);
            cr_assert_eq(result, locus_policy_probe((enum locus_policy)policy));
            if (result)
                continue;
            struct locus_placement placement = must_hold(region, &config);
            cr_assert_eq(placement.granted.node, node);
            cr_assert_eq(pages_on(&placement, node), placement.verified.pages);
            if (policy >= LOCUS_POLICY_INTERLEAVE)
                assert_as_expected(&placement);
            cr_assert_eq(placement.verified.on[0].weight > 0, policy == LOCUS_POLICY_WEIGHTED_INTERLEAVE);
            locus_region_close(region);
            single.nodes = (struct locus_nodes){{0}};
            single.node = node;
            region = must_open(&single);
            must_hold(region, &config);
            locus_region_close(region);
        }
    }
}

Test(policy, a_node_that_is_named_binds_if_no_policy_is_and_none_is_first_touch)
{
    skip_unless_available(LOCUS_POLICY_BIND);
    for (int node = next_node(0, true); node < NODES; node = next_node(node + 1, true)) {
        struct locus_region_config config = {.size = sizeof config, .bytes = PAGES * UNIT, .node = node, .populate = true};
        struct locus_region_config as_set = config, bound_there = bound(config.bytes, node, true);
        as_set.node = LOCUS_NODE_ANY;
        as_set.nodes = bound_there.nodes = set_of(node, LOCUS_NODE_ANY);
        for (int i = 0; i < 2; i++) {
            struct locus_region *region = must_open(i ? &as_set : &config);
            cr_assert_eq(must_hold(region, &bound_there).requested.policy, LOCUS_POLICY_BIND);
            locus_region_close(region);
        }
    }
    struct locus_region_config unnamed = plain(UNIT);
    struct locus_region *region = must_open(&unnamed);
    cr_assert_eq(must_verify(region).granted.policy, LOCUS_POLICY_FIRST_TOUCH);
    cr_assert_eq(must_verify(region).requested.policy, LOCUS_POLICY_FIRST_TOUCH);
    locus_region_close(region);
    const int wrong[] = {next_node(0, false), NODES, -2};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        unnamed.node = wrong[i];
        cr_assert_eq(locus_region_open(&region, &unnamed), -EINVAL, "node %d", wrong[i]);
    }
}

// Where the process has one node only, its pages cannot lie elsewhere.
static int name_a_node_without_mbind(void *argument)
{
    int error = *(int *)argument, second;
    struct locus_region_config config = {.size = sizeof config, .bytes = UNIT};
    struct locus_region *region;
    char why[400];
    int expected = two_nodes(&config.node, &second) ? -error : 0;
    if (!forbid(SYS_mbind, ANY_THIRD, error))
        return CANNOT;
    if (locus_region_open(&region, &config) != expected)
        return 3;
    locus_region_why(&config, -error, why, sizeof why);
    if (expected && !strstr(why, "LOCUS_NODE_ANY"))
        return 4;
    config.policy = LOCUS_POLICY_BIND;
    if (locus_region_open(&region, &config) != -error)
        return 5;
    config = (struct locus_region_config){.size = sizeof config, .bytes = UNIT, .node = LOCUS_NODE_ANY};
    return locus_region_open(&region, &config);
}

Test(policy, a_named_node_without_mbind_is_refused_unless_it_is_the_only_one)
{
    each_error(name_a_node_without_mbind, EPERM, ENOSYS);
}

Test(policy, nodes_that_cannot_be_had_are_einval_and_the_node_is_named)
{
    int usable = next_node(0, true), missing = next_node(1000, false);
    for (unsigned policy = LOCUS_POLICY_BIND; policy < LOCUS_POLICIES; policy++) {
        struct locus_nodes sets[] = {{{0}}, set_of(missing, LOCUS_NODE_ANY), set_of(usable, missing)};
        for (size_t i = 0; i < 3; i++) {
            struct locus_region_config config = on_nodes((enum locus_policy)policy, sets[i]);
            struct locus_region *region;
            char why[200], name[32];
            cr_assert_eq(locus_region_open(&region, &config), -EINVAL, "%s %zu", locus_policy_name(config.policy), i);
            locus_region_why(&config, -EINVAL, why, sizeof(why));
            snprintf(name, sizeof(name), "no node %d", missing);
            if (i > 0 && policy != LOCUS_POLICY_PREFERRED)
                cr_assert(strstr(why, name), "%s", why);
            locus_region_why(&config, -EPERM, why, sizeof(why));
            cr_assert(strstr(why, "seccomp"));
        }
    }
}

static int open_all_without_mbind(void *argument)
{
    int error = *(int *)argument;
    struct locus_region *region;
    if (!forbid(SYS_mbind, ANY_THIRD, error))
        return CANNOT;
    int expected = error == EINVAL ? -ENOSYS : -error; // of nodes that are there, EINVAL is a kernel without the mode
    for (unsigned policy = LOCUS_POLICY_BIND; policy < LOCUS_POLICIES; policy++) {
        struct locus_region_config config = on_nodes((enum locus_policy)policy, set_of(next_node(0, true), LOCUS_NODE_ANY));
        if (locus_region_open(&region, &config) != expected || locus_policy_probe((enum locus_policy)policy) != expected)
            return 3;
    }
    struct locus_region_config config = plain(UNIT);
    return locus_region_open(&region, &config) != 0;
}

Test(policy, where_mbind_is_forbidden_every_policy_says_so_and_first_touch_works)
{
    each_error(open_all_without_mbind, EPERM, ENOSYS);
    each_error(open_all_without_mbind, EINVAL, EPERM);
}

static int open_on_an_older_kernel(void *argument)
{
    struct locus_region_config config = on_nodes(LOCUS_POLICY_WEIGHTED_INTERLEAVE, set_of(next_node(0, true), LOCUS_NODE_ANY));
    struct locus_region *region;
    if (!forbid(SYS_mbind, MODE_WEIGHTED, EINVAL))
        return CANNOT;
    (void)argument;
    if (locus_region_open(&region, &config) != -ENOSYS)
        return 3;
    config.policy = LOCUS_POLICY_INTERLEAVE;
    return locus_region_open(&region, &config);
}

Test(policy, a_mode_that_the_kernel_does_not_know_is_enosys_and_the_others_remain)
{
    skip_unless_available(LOCUS_POLICY_INTERLEAVE);
    int status = in_child(open_on_an_older_kernel, NULL);
    if (status == CANNOT)
        cr_skip_test("seccomp filters are not available here");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

static int repair_without_move_pages(void *argument)
{
    int error = *(int *)argument;
    struct locus_region_config config = on_nodes(LOCUS_POLICY_BIND, set_of(next_node(0, true), LOCUS_NODE_ANY));
    struct locus_region *region;
    struct locus_placement placement;
    uint64_t moved = 1, left = 1;
    if (locus_region_open(&region, &config) || !forbid(SYS_move_pages, ANY_THIRD, error) ||
        !forbid(SYS_get_mempolicy, ANY_THIRD, error))
        return CANNOT;
    if (locus_region_repair(region, &moved, &left) != -error || moved || left)
        return 3;
    return locus_region_verify(region, &placement) || placement.verified.verify_errno != error ||
           placement.granted.policy_errno != error || placement.verified.pages_allowed;
}

Test(policy, where_move_pages_is_forbidden_repair_and_verify_say_so)
{
    skip_unless_available(LOCUS_POLICY_BIND);
    each_error(repair_without_move_pages, EPERM, ENOSYS);
}

Test(policy, repair_of_what_is_in_order_moves_nothing_and_faults_nothing_in)
{
    skip_unless_available(LOCUS_POLICY_BIND);
    for (unsigned policy = 0; policy <= LOCUS_POLICY_BIND; policy++) {
        struct locus_region_config config = on_nodes((enum locus_policy)policy, set_of(next_node(0, true), LOCUS_NODE_ANY));
        config.populate = false;
        struct locus_region *region = must_open(&config);
        uint64_t moved = 1, left = 1;
        ((volatile char *)locus_region_base(region))[0] = 1;
        cr_assert_eq(locus_region_repair(region, &moved, &left), 0);
        cr_assert(moved == 0 && left == 0);
        cr_assert_eq(resident_pages(region), 1);
        locus_region_close(region);
    }
}

// --- cpusets, limits and room --------------------------------------------------------------------------------------------------

// What the kernel answers to MPOL_F_MEMS_ALLOWED is forbidden, and /proc/self/status names another node.
static int open_beside_a_false_cpuset(void *argument)
{
    (void)argument;
    int node = next_node(0, true);
    struct locus_region_config config = on_nodes(LOCUS_POLICY_BIND, set_of(node, LOCUS_NODE_ANY));
    struct locus_region *region;
    char path[] = "/tmp/locus_status_XXXXXX", why[200];
    int file = mkstemp(path);
    if (file < 0)
        return CANNOT;
    dprintf(file, "Mems_allowed_list:\t1023\n");
    bool mounted = cover("/proc/self/status", path);
    unlink(path);
    if (!mounted || !forbid(SYS_get_mempolicy, ANY_THIRD, EPERM))
        return CANNOT;
    if (locus_region_open(&region, &config) != -EINVAL)
        return 3;
    locus_region_why(&config, -EINVAL, why, sizeof(why));
    return strstr(why, "cpuset") == NULL;
}

Test(policy, a_node_outside_the_cpuset_is_einval_and_the_cpuset_is_named)
{
    int status = in_child(open_beside_a_false_cpuset, NULL);
    if (status == CANNOT)
        cr_skip_test("needs root: mounts over /proc/self/status in a private namespace");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

// Under 32 MiB. The last policy is one of malloc's memory, which has none.
static int open_in_a_small_group(void *argument)
{
    unsigned policy = *(unsigned *)argument;
    struct locus_region_config config = on_nodes((enum locus_policy)policy, (struct locus_nodes){{0}});
    struct locus_region *region;
    for (int node = next_node(0, true); node < NODES; node = next_node(node + 1, true))
        if (policy != LOCUS_POLICY_PREFERRED || locus_nodes_count(&config.nodes) == 0)
            locus_nodes_add(&config.nodes, node);
    if (!enter_group("memory", "memory.max", "memory.limit_in_bytes", "33554432"))
        return CANNOT;
    if (policy == LOCUS_POLICIES)
        return region_process_holds(8 * MIB) != 0 || region_process_holds(48 * MIB) != -ENOMEM;
    if (locus_region_open(&region, &config) != 0)
        return 3;
    config.bytes = 48 * MIB;
    if (locus_region_open(&region, &config) != -ENOMEM)
        return 4;
    char why[300];
    locus_region_why(&config, -ENOMEM, why, sizeof(why));
    return strstr(why, "the cgroup's limit leaves") == NULL || strstr(why, "49 MiB are needed") == NULL;
}

Test(policy, what_is_populated_beyond_the_groups_limit_is_refused_whatever_the_policy)
{
    skip_unless_available(LOCUS_POLICY_BIND);
    for (unsigned policy = 0; policy <= LOCUS_POLICIES; policy++) {
        if (policy < LOCUS_POLICIES && locus_policy_probe((enum locus_policy)policy))
            continue;
        int status = in_group(open_in_a_small_group, &policy, "memory");
        if (status == CANNOT)
            cr_skip_test("needs root and a memory cgroup that can be made");
        cr_assert_eq(status, 0, "policy %u: the child ended with %d", policy, status);
    }
}

// Is what is mapped from now on locked? AddressSanitizer's mlockall() does nothing.
static bool locks_all(void)
{
    if (mlockall(MCL_FUTURE) != 0)
        return false;
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED && msync(page, 4096, MS_INVALIDATE) != 0 && errno == EBUSY;
}

// Under 32 MiB, in a process that has all pages of a span as soon as it may be touched: killed, unless open looks first.
static int open_locked_in_a_small_group(void *argument)
{
    struct locus_region_config config = on_nodes(LOCUS_POLICY_FIRST_TOUCH, (struct locus_nodes){{0}});
    struct locus_region *region;
    config.populate = *(unsigned *)argument;
    if (!enter_group("memory", "memory.max", "memory.limit_in_bytes", "33554432") || !locks_all())
        return CANNOT;
    config.bytes = 48 * MIB;
    if (locus_region_open(&region, &config) != -ENOMEM)
        return 3;
    char why[300];
    locus_region_why(&config, -ENOMEM, why, sizeof(why));
    if (!strstr(why, "the cgroup's limit leaves"))
        return 4;
    config.bytes = 20 * MIB; // more than half of the room: what is there already is not asked for again
    return locus_region_open(&region, &config) != 0 ? 5 : 0;
}

Test(policy, what_is_locked_as_it_is_mapped_is_refused_beyond_the_groups_limit)
{
    for (unsigned populate = 0; populate < 2; populate++) {
        int status = in_group(open_locked_in_a_small_group, &populate, "memory");
        if (status == CANNOT)
            cr_skip_test("needs root, locked memory and a memory cgroup that can be made");
        cr_assert_eq(status, 0, "populate %u: the child ended with %d", populate, status);
    }
}

static int bind_outside_the_cpuset(void *argument)
{
    (void)argument;
    int first, second;
    char inside[16], why[200];
    struct locus_region *region;
    if (!two_nodes(&first, &second))
        return CANNOT;
    struct locus_region_config sets[] = {on_nodes(LOCUS_POLICY_BIND, set_of(second, LOCUS_NODE_ANY)),
                                         on_nodes(LOCUS_POLICY_INTERLEAVE, set_of(first, second))};
    snprintf(inside, sizeof(inside), "%d", first);
    if (!enter_group("cpuset", "cpuset.mems", "cpuset.mems", inside))
        return CANNOT;
    for (size_t i = 0; i < 2; i++) {
        if (locus_region_open(&region, &sets[i]) != -EINVAL)
            return 3;
        locus_region_why(&sets[i], -EINVAL, why, sizeof(why));
        if (!strstr(why, "cpuset"))
            return 4;
    }
    sets[0].nodes = set_of(first, LOCUS_NODE_ANY);
    return locus_region_open(&region, &sets[0]);
}

Test(policy, a_cpuset_without_the_second_node_refuses_it_alone_and_in_a_set)
{
    int first, second;
    if (!two_nodes(&first, &second))
        cr_skip_test(NEEDS_TWO);
    int status = in_group(bind_outside_the_cpuset, NULL, "cpuset");
    if (status == CANNOT)
        cr_skip_test("needs root and a cpuset that can be made");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

Test(policy, a_bind_to_all_nodes_beyond_their_sum_is_refused_before_populating)
{
    skip_unless_available(LOCUS_POLICY_BIND);
    struct locus_region_config config = on_nodes(LOCUS_POLICY_BIND_BALANCING, (struct locus_nodes){{0}});
    struct locus_region *region;
    config.bytes = 16 * MIB;
    for (int node = next_node(0, true); node < NODES; node = next_node(node + 1, true)) {
        struct locus_node_memory memory;
        cr_assert_eq(locus_node_memory_read(node, &memory), 0);
        locus_nodes_add(&config.nodes, node);
        config.bytes += (size_t)(memory.free_bytes + memory.reclaimable_bytes);
    }
    if (locus_policy_probe(config.policy))
        config.policy = LOCUS_POLICY_BIND;
    cr_assert_eq(locus_region_open(&region, &config), -ENOMEM);
}

Test(policy, two_nodes_hold_together_what_neither_holds_alone)
{
    int node[2];
    uint64_t kept[2], kept_both, room = 0, sum = 0;
    if (!two_nodes(&node[0], &node[1]))
        cr_skip_test(NEEDS_TWO);
    struct locus_nodes both = set_of(node[0], node[1]), one[2];
    for (int i = 0; i < 2; i++) {
        struct locus_node_memory memory;
        one[i] = set_of(node[i], LOCUS_NODE_ANY);
        cr_assert_eq(locus_node_memory_read(node[i], &memory), 0);
        cr_assert_eq(region_kept_back(&one[i], &kept[i]), 0);
        uint64_t there = memory.free_bytes + memory.reclaimable_bytes;
        room = there > room ? there : room;
        sum += there;
    }
    cr_assert_eq(region_kept_back(&both, &kept_both), 0);
    cr_assert_gt(kept_both, 0);
    cr_assert_eq(kept_both, kept[0] + kept[1]); // a kernel that counts a small node's pages late keeps back nothing on it
    for (int i = 0; i < 2; i++)
        cr_assert_eq(region_nodes_hold(&one[i], room, kept[i]), -ENOMEM);
    if (sum < room + room / 256 + kept_both + 16 * MIB)
        cr_skip_test("the second node is too small to make up for what the first keeps back");
    cr_assert_eq(region_nodes_hold(&both, room, kept_both), 0);
}

Test(policy, a_node_without_memory_is_einval_and_the_reason_is_named)
{
    struct locus_node_memory memory;
    int node = 0;
    while (node < NODES && (locus_node_memory_read(node, &memory) != 0 || memory.total_bytes > 0))
        node++;
    if (node == NODES)
        cr_skip_test("needs a node without memory");
    struct locus_region_config config = on_nodes(LOCUS_POLICY_BIND, set_of(node, LOCUS_NODE_ANY));
    struct locus_region *region;
    char why[200];
    cr_assert_eq(locus_region_open(&region, &config), -EINVAL);
    locus_region_why(&config, -EINVAL, why, sizeof(why));
    cr_assert(strstr(why, "has no memory"), "%s", why);
}
