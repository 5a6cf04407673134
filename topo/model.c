// SPDX-License-Identifier: Apache-2.0
//
// model: two flat arrays, CPUs and nodes, in ascending OS index; and how they come from hwloc's tree of objects.
//
// A node's list decides which CPUs are on it. In hwloc a CPU may be local to several nodes (DRAM and HBM beside the same cores); in
// Linux it is on one of them, and so it is here. Where the kernel itself lists a CPU on several nodes (live.c), so do we. hwloc
// checks the shape of a topology but not its OS indices. We refuse duplicates and absurd values, because everything above looks
// things up by OS index.
#include "topo/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// What NVIDIA's firmware says at least; topo_node.h tells what others say.
#define GPU_DISTANCE 80u

static int compare_cpus(const void *left, const void *right)
{
    unsigned a = ((const struct locus_topo_cpu *)left)->os_index;
    unsigned b = ((const struct locus_topo_cpu *)right)->os_index;
    return (a > b) - (a < b);
}

static int compare_objects(const void *left, const void *right)
{
    unsigned a = (*(const hwloc_obj_t *)left)->os_index;
    unsigned b = (*(const hwloc_obj_t *)right)->os_index;
    return (a > b) - (a < b);
}

// hwloc's value for an unknown index is UINT_MAX, which is over the limit.
static int check_index(const char *what, unsigned index, bool repeated, const struct topo_why *why)
{
    if (index >= TOPO_ID_MAX)
        return topo_why(why, -ERANGE, "%s number %u is out of range (the limit is %u)", what, index, TOPO_ID_MAX - 1);
    if (repeated)
        return topo_why(why, -EINVAL, "%s number %u occurs twice", what, index);
    return 0;
}

static void describe_cpu(struct locus_topo_cpu *cpu, hwloc_topology_t topology, hwloc_obj_t pu)
{
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, pu);
    *cpu = (struct locus_topo_cpu){.os_index = pu->os_index, .node = -1, .package = -1, .core = -1, .smt_rank = -1};
    if (package && package->os_index < TOPO_ID_MAX)
        cpu->package = (int)package->os_index;
    if (!core)
        return;
    cpu->core = hwloc_bitmap_first(core->cpuset);
    cpu->smt_rank = 0;
    for (int id = cpu->core; id >= 0 && (unsigned)id < pu->os_index; id = hwloc_bitmap_next(core->cpuset, id))
        cpu->smt_rank++;
}

int topo_model_cpus_alloc(struct locus_topo *topo, unsigned count, const struct topo_why *why)
{
    topo->cpus = calloc(count, sizeof(*topo->cpus));
    if (!topo->cpus)
        return topo_why(why, -ENOMEM, "no memory for %u CPUs", count);
    topo->info.cpus_count = count;
    return 0;
}

int topo_model_described_cpus(struct locus_topo *topo, hwloc_topology_t topology, const struct topo_why *why)
{
    int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    if (count <= 0)
        return topo_why(why, -EINVAL, "the topology has no CPUs");
    int error = topo_model_cpus_alloc(topo, (unsigned)count, why);
    if (error)
        return error;
    for (unsigned i = 0; i < topo->info.cpus_count; i++)
        describe_cpu(&topo->cpus[i], topology, hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, i));
    qsort(topo->cpus, topo->info.cpus_count, sizeof(*topo->cpus), compare_cpus);
    for (unsigned i = 0; i < topo->info.cpus_count; i++) {
        bool repeated = i > 0 && topo->cpus[i - 1].os_index == topo->cpus[i].os_index;
        error = check_index("CPU", topo->cpus[i].os_index, repeated, why);
        if (error)
            return error;
        if (topo->cpus[i].smt_rank >= (int)topo->info.smt_max)
            topo->info.smt_max = (unsigned)topo->cpus[i].smt_rank + 1u;
    }
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    topo->info.cores_count = cores > 0 ? (unsigned)cores : 0;
    return 0;
}

int topo_model_nodes_alloc(struct locus_topo *topo, unsigned count, const struct topo_why *why)
{
    if (count > TOPO_NODES_MAX)
        return topo_why(why, -ERANGE, "%u nodes are more than Linux can have (%u)", count, TOPO_NODES_MAX);
    topo->nodes = calloc(count, sizeof(*topo->nodes));
    topo->distances = calloc((size_t)count * count, sizeof(*topo->distances));
    if (!topo->nodes || !topo->distances)
        return topo_why(why, -ENOMEM, "no memory for %u nodes", count);
    topo->info.nodes_count = count;
    return 0;
}

int topo_model_node_cpus(struct locus_topo *topo, struct locus_topo_node *node, const struct topo_idset *cpus,
                         const struct topo_why *why)
{
    size_t room = topo->node_cpus_count + topo->info.cpus_count;
    unsigned *grown = realloc(topo->node_cpus, room * sizeof(*grown));
    if (!grown)
        return topo_why(why, -ENOMEM, "no memory for the CPUs of node %d", node->os_index);
    topo->node_cpus = grown;
    for (unsigned i = 0; i < topo->info.cpus_count; i++) {
        struct locus_topo_cpu *cpu = &topo->cpus[i];
        if (!topo_idset_has(cpus, cpu->os_index))
            continue;
        if (cpu->node < 0)
            cpu->node = node->os_index;
        topo->node_cpus[topo->node_cpus_count++] = cpu->os_index;
        node->cpus_count++;
        node->cpus_allowed_count += cpu->allowed;
    }
    return 0;
}

static char *described_tier(hwloc_obj_t node)
{
    return !node->subtype || strcmp(node->subtype, "DRAM") == 0 ? NULL : strdup(node->subtype);
}

// A description may call several nodes local to a CPU: this is the one on which Linux would put it.
static const struct locus_topo_node *home_of(const struct locus_topo *topo, const hwloc_obj_t *objects, unsigned cpu)
{
    const struct locus_topo_node *best = NULL;
    for (unsigned n = 0; n < topo->info.nodes_count; n++)
        if (hwloc_bitmap_isset(objects[n]->cpuset, cpu) && (!best || (best->tier && !topo->nodes[n].tier)))
            best = &topo->nodes[n];
    return best;
}

static int assign_cpus(struct locus_topo *topo, const hwloc_obj_t *objects, const struct topo_why *why)
{
    int error = 0;
    for (unsigned i = 0; i < topo->info.cpus_count; i++) {
        const struct locus_topo_node *home = home_of(topo, objects, topo->cpus[i].os_index);
        topo->cpus[i].node = home ? home->os_index : -1;
    }
    for (unsigned n = 0; n < topo->info.nodes_count && !error; n++) {
        struct topo_idset cpus = {{0}};
        for (unsigned i = 0; i < topo->info.cpus_count; i++)
            if (topo->cpus[i].node == topo->nodes[n].os_index)
                topo_idset_add(&cpus, topo->cpus[i].os_index);
        error = topo_model_node_cpus(topo, &topo->nodes[n], &cpus, why);
    }
    return error;
}

static void described_distances(struct locus_topo *topo, hwloc_topology_t topology)
{
    unsigned count = 1;
    struct hwloc_distances_s *distances = NULL;
    if (hwloc_distances_get_by_name(topology, "NUMALatency", &count, &distances, 0) || count == 0)
        return;
    for (unsigned i = 0; i < distances->nbobjs * distances->nbobjs; i++) {
        hwloc_obj_t from = distances->objs[i / distances->nbobjs];
        hwloc_obj_t to = distances->objs[i % distances->nbobjs];
        const struct locus_topo_node *row = from ? locus_topo_node(topo, (int)from->os_index) : NULL;
        const struct locus_topo_node *column = to ? locus_topo_node(topo, (int)to->os_index) : NULL;
        if (row && column && distances->values[i] <= UINT32_MAX)
            topo->distances[(size_t)(row - topo->nodes) * topo->info.nodes_count + (size_t)(column - topo->nodes)] =
                (unsigned)distances->values[i];
    }
    hwloc_distances_release(topology, distances);
}

static int described_node(struct locus_topo_node *node, hwloc_obj_t object, bool repeated, const struct topo_why *why)
{
    int error = check_index("node", object->os_index, repeated, why);
    if (error)
        return error;
    node->os_index = (int)object->os_index;
    node->tier = described_tier(object);
    node->memory.total_bytes = object->attr->numanode.local_memory;
    return node->memory.total_bytes > INT64_MAX ? topo_why(why, -ERANGE, "node %d has 2^63 bytes of memory or more", node->os_index)
                                                : 0;
}

int topo_model_described_nodes(struct locus_topo *topo, hwloc_topology_t topology, const struct topo_why *why)
{
    int found = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    if (found <= 0)
        return topo_why(why, -EINVAL, "the topology has no NUMA nodes");
    unsigned count = (unsigned)found;
    hwloc_obj_t *objects = calloc(count, sizeof(hwloc_obj_t));
    int error = objects ? topo_model_nodes_alloc(topo, count, why) : topo_why(why, -ENOMEM, "no memory for %u nodes", count);
    if (error)
        goto out;
    for (unsigned n = 0; n < count; n++)
        objects[n] = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, n);
    qsort(objects, count, sizeof(hwloc_obj_t), compare_objects);
    for (unsigned n = 0; n < count; n++) {
        error = described_node(&topo->nodes[n], objects[n], n > 0 && objects[n - 1]->os_index == objects[n]->os_index, why);
        if (error)
            goto out;
    }
    error = assign_cpus(topo, objects, why);
    described_distances(topo, topology);
out:
    free(objects);
    return error;
}

// No node with CPUs is known to be nearer than firmware says a GPU's memory is (topo_node.h).
static bool is_gpu_far(const struct locus_topo *topo, const struct locus_topo_node *node)
{
    unsigned least = 0;
    for (unsigned n = 0; n < topo->info.nodes_count; n++) {
        unsigned distance = locus_topo_distance(topo, topo->nodes[n].os_index, node->os_index);
        if (topo->nodes[n].cpus_count > 0 && distance > 0 && (least == 0 || distance < least))
            least = distance;
    }
    return least >= GPU_DISTANCE;
}

static enum locus_node_kind kind_of(const struct locus_topo *topo, const struct locus_topo_node *node)
{
    bool memory = node->memory.total_bytes > 0;
    if (node->cpus_count > 0)
        return memory ? LOCUS_NODE_DRAM : LOCUS_NODE_CPU_ONLY;
    if (!memory)
        return LOCUS_NODE_EMPTY;
    bool gpu = (node->tier && strcmp(node->tier, "GPUMemory") == 0) || is_gpu_far(topo, node);
    return gpu ? LOCUS_NODE_GPU_MEMORY : LOCUS_NODE_MEMORY_ONLY;
}

int topo_model_finish(struct locus_topo *topo, const struct topo_why *why)
{
    const unsigned *next = topo->node_cpus;
    for (unsigned n = 0; n < topo->info.nodes_count; n++) {
        struct locus_topo_node *node = &topo->nodes[n];
        node->cpus = next;
        next += node->cpus_count;
        node->kind = kind_of(topo, node);
        topo->info.memory_total_bytes += node->memory.total_bytes;
        if (topo->info.memory_total_bytes > INT64_MAX)
            return topo_why(why, -ERANGE, "all nodes together have 2^63 bytes of memory or more");
    }
    return 0;
}
