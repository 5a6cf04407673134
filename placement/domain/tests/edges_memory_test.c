// SPDX-License-Identifier: Apache-2.0
//
// The edges of memory/ and topo/ (edges.h).
#include "placement/domain/tests/edges.h"

#include "locus/region.h"
#include "locus/where.h"

#include <sched.h>
#include <stdio.h>

static void region_tried(const struct locus_region_config *config, bool possible)
{
    struct locus_region *region = NULL;
    struct locus_placement placement;
    uint64_t moved, left;
    char why[200] = "";
    int error = locus_region_open(&region, config);
    ONE_OF(error, 0, -EINVAL, -ENOMEM, -ENOSYS, -EPERM);
    cr_assert(possible || error == -EINVAL, "%zu bytes: %d", config->bytes, error);
    locus_region_why(config, error, why, sizeof why);
    cr_assert(error == 0 || *why);
    cr_assert(!error == (region != NULL));
    if (error)
        return;
    cr_assert_geq(locus_region_bytes(region), config->bytes);
    if (locus_region_bytes(region) <= 1 << 20) { // a look at each page
        *(volatile char *)locus_region_base(region) = 1;
        cr_assert_eq(locus_region_verify(region, &placement), 0);
        ONE_OF(locus_region_repair(region, &moved, &left), 0, -EPERM, -ENOSYS);
    }
    locus_region_close(region);
}

Test(edges, locus_where_takes_any_range_or_refuses_it)
{
    struct locus_where out;
    EACH(uint64_t, bytes, edges64)
    {
        int error = locus_where((const void *)(UINTPTR_MAX - 4095), bytes, &out);
        cr_assert(bytes - 1 < 4096 ? error != -EINVAL && error != -EFAULT : error == -EINVAL, "%llu: %d", (unsigned long long)bytes,
                  error);
        if (bytes <= 1 << 20)
            ONE_OF(locus_where(NULL, bytes, &out), 0, -EPERM, -ENOSYS, -EINVAL);
    }
}

Test(edges, locus_region_open_takes_or_refuses_each_number)
{
    const struct locus_region_config usual = {.size = sizeof usual, .bytes = 8192, .node = LOCUS_NODE_ANY};
    EACH(uint64_t, bytes, edges64)
    {
        struct locus_region_config config = usual;
        config.bytes = bytes;
        for (config.page = LOCUS_PAGE_4K; config.page <= LOCUS_PAGE_1G; config.page++)
            region_tried(&config, bytes > 0);
        config = usual;
        config.bytes = bytes;
        config.memory = (void *)(uintptr_t)-8192;
        region_tried(&config, bytes == 4096 || bytes == 8192);
        config = usual;
        config.size = bytes;
        region_tried(&config, bytes == 0 || bytes >= sizeof bytes);
    }
    EACH(int, value, edges_int)
    {
        struct locus_region_config config = usual;
        config.memory_class = (enum locus_memory_class)value;
        region_tried(&config, value >= 0 && value <= LOCUS_CLASS_METADATA);
        config = usual;
        config.page = (enum locus_page)value;
        region_tried(&config, value >= 0 && value <= LOCUS_PAGE_1G);
        config = usual;
        config.policy = (enum locus_policy)value;
        region_tried(&config, value == LOCUS_POLICY_BY_NODE || value == LOCUS_POLICY_FIRST_TOUCH);
        for (config.policy = LOCUS_POLICY_BY_NODE; config.policy < LOCUS_POLICIES; config.policy++) {
            bool anywhere = config.policy == LOCUS_POLICY_BY_NODE && value == LOCUS_NODE_ANY;
            config.node = value;
            region_tried(&config, anywhere || config.policy == LOCUS_POLICY_FIRST_TOUCH || locus_node_allowed(value));
        }
    }
}

Test(edges, policies_of_any_number_have_answers)
{
    EACH(int, value, edges_int)
    {
        enum locus_policy policy = (enum locus_policy)value;
        bool known = value >= 0 && value < (int)LOCUS_POLICIES;
        cr_assert_eq(locus_policy_name(policy) != NULL, known);
        cr_assert(known || (!locus_policy_migrates(policy) && !locus_policy_strict(policy)));
        cr_assert(known || locus_policy_probe(policy) == -EINVAL);
        EACH(int, error, edges_int)
        {
            cr_assert_not_null(locus_policy_why(policy, error));
        }
    }
}

Test(edges, sets_of_nodes_answer_for_any_number)
{
    struct locus_nodes nodes = {{0}};
    EACH(int, node, edges_int)
    {
        cr_assert_not(locus_nodes_has(&nodes, node));
        if (node >= 0)
            cr_assert_eq(locus_nodes_next(&nodes, node), LOCUS_NODE_ANY);
    }
    locus_nodes_add(&nodes, 0);
    locus_nodes_add(&nodes, (int)LOCUS_NODES_MAX - 1);
    EACH(int, node, edges_int)
    {
        cr_assert_eq(locus_nodes_has(&nodes, node), node == 0 || node == (int)LOCUS_NODES_MAX - 1);
        if (node > 0)
            cr_assert_eq(locus_nodes_next(&nodes, node), node < (int)LOCUS_NODES_MAX ? (int)LOCUS_NODES_MAX - 1 : LOCUS_NODE_ANY);
    }
    cr_assert_eq(locus_nodes_count(&nodes), 2);
}

Test(edges, nodes_of_any_number_are_there_or_not)
{
    struct locus_node_memory memory;
    uint64_t room, kills;
    EACH(int, node, edges_int)
    {
        int error = locus_node_memory_read(node, &memory);
        ONE_OF(error, 0, -ENODEV);
        cr_assert(node >= 0 || error == -ENODEV);
        ONE_OF(locus_node_room_bytes(node, &room), 0, -ENODEV);
        cr_assert(!locus_node_allowed(node) || error == 0);
    }
    cr_assert_eq(locus_cgroup_memory_room_bytes(&room), 0);
    ONE_OF(locus_cgroup_oom_kills(&kills), 0, -ENOENT);
}

static void topo_asked(const struct locus_topo *topo)
{
    EACH(int, node, edges_int)
    {
        const struct locus_topo_node *found = locus_topo_node(topo, node);
        cr_assert(!found || found->os_index == node);
        EACH(uint32_t, cpu, edges32)
        {
            cr_assert(!found || !locus_topo_node_has_cpu(found, cpu) || locus_topo_cpu(topo, cpu));
        }
        EACH(int, other, edges_int)
        {
            unsigned distance = locus_topo_distance(topo, node, other);
            cr_assert(distance == 0 || (found && locus_topo_node(topo, other)));
        }
    }
    EACH(uint32_t, cpu, edges32)
    {
        const struct locus_topo_cpu *found = locus_topo_cpu(topo, cpu);
        cr_assert(!found || found->os_index == cpu);
    }
    cr_assert(locus_topo_info(topo)->nodes_count == 0 || locus_topo_nodes(topo));
    cr_assert_not_null(locus_topo_cpus(topo));
}

Test(edges, a_machine_of_any_size_is_described_or_refused)
{
    struct locus_topo *topo;
    char why[64], source[96];
    cr_assert_eq(locus_topo_open(&topo, NULL, why, 0), 0);
    topo_asked(topo);
    locus_topo_close(topo);
    static const char *const machines[] = {"pack:%llu [numa(memory=1GB)] core:1 pu:1", "numa(memory=%llu) core:2 pu:1",
                                           "numa(indexes=%llu memory=1GB) pu:1"};
    for (unsigned i = 0; i < 3; i++)
        EACH(uint64_t, value, edges64)
        {
            if (i == 0 && value > 64 && value <= UINT32_MAX) // hwloc would build it
                continue;
            snprintf(source, sizeof source, machines[i], (unsigned long long)value);
            int error = locus_topo_open(&topo, source, why, sizeof why);
            ONE_OF(error, 0, -EINVAL, -ERANGE, -ENOMEM);
            if (error == 0)
                topo_asked(topo);
            locus_topo_close(topo);
        }
}

Test(edges, threads_are_pinned_where_there_is_something)
{
    unsigned cpus[CPU_SETSIZE * 8], count, again;
    cr_assert_eq(locus_pin_allowed(NULL, 0, &count), 0);
    EACH(uint32_t, most, edges32)
    {
        memset(cpus, 0xff, sizeof cpus);
        cr_assert_eq(locus_pin_allowed(cpus, most, &again), 0);
        cr_assert_eq(again, count);
        cr_assert(most >= count || cpus[most] == UINT_MAX);
    }
    EACH(int, number, edges_int)
    {
        int error = locus_pin_cpu(number);
        ONE_OF(error, 0, -EINVAL, -ENODEV, -EPERM);
        cr_assert_eq(error == -EINVAL, number < 0);
        error = locus_pin_node(number);
        ONE_OF(error, 0, -EINVAL, -ENODEV, -EPERM);
        cr_assert_eq(error == -EINVAL, number < 0);
    }
}
