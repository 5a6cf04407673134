// SPDX-License-Identifier: Apache-2.0
//
// places: see places.h. Which CPUs a node has is said by the topology; which come first, by the rank of each in its core: threads
// on two hardware threads of one core share what they are to load.
#include "testbed/matrix/places.h"

#include <limits.h>

bool tb_places_live(const struct locus_topo *topo)
{
    return locus_topo_info(topo)->source == LOCUS_TOPO_THIS_MACHINE;
}

unsigned tb_places_cpus_count(const struct locus_topo *topo, const struct locus_topo_node *node)
{
    return tb_places_live(topo) ? node->cpus_allowed_count : node->cpus_count;
}

bool tb_places_has_memory(const struct locus_topo_node *node)
{
    return node->kind == LOCUS_NODE_DRAM || node->kind == LOCUS_NODE_MEMORY_ONLY;
}

// Ranks are few, so a walk for each is cheap. A CPU of unknown rank counts as the first of its core.
unsigned tb_places_cpus(const struct locus_topo *topo, int node, int cpus[], unsigned max)
{
    const struct locus_topo_node *place = locus_topo_node(topo, node);
    unsigned count = 0, smt_max = locus_topo_info(topo)->smt_max;
    if (!place)
        return 0;
    for (int rank = 0; rank < (int)(smt_max > 0 ? smt_max : 1); rank++)
        for (unsigned i = 0; i < place->cpus_count && count < max; i++) {
            const struct locus_topo_cpu *cpu = locus_topo_cpu(topo, place->cpus[i]);
            bool turn = cpu && (cpu->smt_rank > 0 ? cpu->smt_rank : 0) == rank;
            if (turn && (cpu->allowed || !tb_places_live(topo)))
                cpus[count++] = (int)cpu->os_index;
        }
    return count;
}

static bool has_cpus(const struct locus_topo *topo, const struct locus_topo_node *node)
{
    return tb_places_cpus_count(topo, node) > 0;
}

static bool has_memory(const struct locus_topo *topo, const struct locus_topo_node *node)
{
    (void)topo;
    return tb_places_has_memory(node);
}

static int nearest(const struct locus_topo *topo, int node, bool (*has)(const struct locus_topo *, const struct locus_topo_node *))
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    unsigned least = UINT_MAX;
    int found = -1;
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count; i++) {
        unsigned distance = locus_topo_distance(topo, node, nodes[i].os_index);
        if (!has(topo, &nodes[i]))
            continue;
        if (nodes[i].os_index == node)
            return node;
        if (found >= 0 && distance >= least)
            continue;
        found = nodes[i].os_index;
        least = distance;
    }
    return found;
}

int tb_places_nearest_cpus(const struct locus_topo *topo, int node)
{
    return nearest(topo, node, has_cpus);
}

int tb_places_nearest_memory(const struct locus_topo *topo, int node)
{
    return nearest(topo, node, has_memory);
}
