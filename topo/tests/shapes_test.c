// SPDX-License-Identifier: Apache-2.0
//
// shapes: is every machine of shapes.h understood?
#include "topo/tests/shapes.h"

#include <criterion/criterion.h>
#include <hwloc.h>
#include <string.h>

static unsigned nodes_of(const struct shape *shape)
{
    unsigned count = 0;
    while (shape->nodes[count].cpus)
        count++;
    return count;
}

static struct locus_topo *open_shape(const struct shape *shape)
{
    struct locus_topo *topo = NULL;
    char why[256] = "";
    cr_assert_eq(locus_topo_open(&topo, shape->source, why, sizeof why), 0, "%s: %s", shape->name, why);
    return topo;
}

// "0-3,8-11"
static void list(const unsigned cpus[], unsigned count, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0, last; i < count; i = last + 1) {
        for (last = i; last + 1 < count && cpus[last + 1] == cpus[last] + 1;)
            last++;
        used += (size_t)snprintf(out + used, bytes - used, last > i ? "%s%u-%u" : "%s%u", used ? "," : "", cpus[i], cpus[last]);
    }
}

Test(shapes, have_their_packages_cores_and_siblings)
{
    for (size_t s = 0; s < SHAPES_COUNT; s++) {
        struct locus_topo *topo = open_shape(&shapes[s]);
        const struct locus_topo_info *info = locus_topo_info(topo);
        const struct locus_topo_cpu *cpus = locus_topo_cpus(topo);
        int package_max = -1;
        for (unsigned i = 0; i < info->cpus_count; i++)
            package_max = cpus[i].package > package_max ? cpus[i].package : package_max;
        cr_expect_eq((unsigned)(package_max + 1), shapes[s].packages, "%s", shapes[s].name);
        cr_expect_eq(info->cores_count, shapes[s].cores, "%s: %u", shapes[s].name, info->cores_count);
        cr_expect_eq(info->smt_max, shapes[s].smt, "%s: %u", shapes[s].name, info->smt_max);
        cr_expect_eq(info->cpus_count, shapes[s].cores * shapes[s].smt, "%s", shapes[s].name);
        locus_topo_close(topo);
    }
}

Test(shapes, have_their_nodes_with_kind_memory_cpus_and_tier)
{
    for (size_t s = 0; s < SHAPES_COUNT; s++) {
        struct locus_topo *topo = open_shape(&shapes[s]);
        char cpus[64];
        cr_assert_eq(locus_topo_info(topo)->nodes_count, nodes_of(&shapes[s]), "%s", shapes[s].name);
        for (unsigned n = 0; n < nodes_of(&shapes[s]); n++) {
            const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
            const struct shape_node *wanted = &shapes[s].nodes[n];
            cr_expect_eq(node->os_index, wanted->os_index, "%s: %d", shapes[s].name, node->os_index);
            cr_expect_eq(node->kind, wanted->kind, "%s: node %d is %d", shapes[s].name, node->os_index, node->kind);
            cr_expect_eq(node->memory.total_bytes, (uint64_t)wanted->gib << 30, "%s: node %d", shapes[s].name, node->os_index);
            list(node->cpus, node->cpus_count, cpus, sizeof cpus);
            cr_expect_str_eq(cpus, wanted->cpus, "%s: node %d: %s", shapes[s].name, node->os_index, cpus);
            cr_expect_str_eq(node->tier ? node->tier : "", wanted->tier ? wanted->tier : "", "%s: node %d", shapes[s].name,
                             node->os_index);
        }
        locus_topo_close(topo);
    }
}

Test(shapes, have_their_distances_in_both_directions)
{
    for (size_t s = 0; s < SHAPES_COUNT; s++) {
        struct locus_topo *topo = open_shape(&shapes[s]);
        unsigned count = nodes_of(&shapes[s]);
        for (unsigned i = 0; i < count * count; i++) {
            int from = shapes[s].nodes[i / count].os_index, to = shapes[s].nodes[i % count].os_index;
            unsigned distance = locus_topo_distance(topo, from, to);
            cr_expect_eq(distance, shapes[s].distances[i], "%s: %d to %d: %u", shapes[s].name, from, to, distance);
        }
        locus_topo_close(topo);
    }
}

// What a firmware's HMAT says is in the file as hwloc has it; topo.h does not offer it.
Test(shapes, cxl_memory_has_latencies_and_bandwidths)
{
    static const hwloc_uint64_t latency_ns[3][2] = {{90, 140}, {140, 90}, {260, 330}};
    static const hwloc_uint64_t mib_per_s[3][2] = {{200000, 90000}, {90000, 200000}, {50000, 30000}};
    hwloc_topology_t topology;
    cr_assert_eq(hwloc_topology_init(&topology), 0);
    cr_assert_eq(hwloc_topology_set_xml(topology, SHAPE_XML("cxl")), 0);
    cr_assert_eq(hwloc_topology_load(topology), 0);
    for (unsigned node = 0; node < 3; node++)
        for (unsigned from = 0; from < 2; from++) {
            hwloc_obj_t target = hwloc_get_numanode_obj_by_os_index(topology, node);
            struct hwloc_location initiator = {
                .type = HWLOC_LOCATION_TYPE_CPUSET,
                .location.cpuset = hwloc_get_numanode_obj_by_os_index(topology, from)->cpuset,
            };
            hwloc_uint64_t value = 0;
            cr_expect_eq(hwloc_memattr_get_value(topology, HWLOC_MEMATTR_ID_LATENCY, target, &initiator, 0, &value), 0);
            cr_expect_eq(value, latency_ns[node][from]);
            cr_expect_eq(hwloc_memattr_get_value(topology, HWLOC_MEMATTR_ID_BANDWIDTH, target, &initiator, 0, &value), 0);
            cr_expect_eq(value, mib_per_s[node][from]);
        }
    hwloc_topology_destroy(topology);
}
