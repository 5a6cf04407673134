// SPDX-License-Identifier: Apache-2.0
//
// topo: opens a description, looks things up in it, and answers the live queries that placement makes before it binds.
//
// A description's hwloc topology is freed once its facts are in the two flat arrays of model.h. What remains is small, immutable,
// and free of hwloc's types, so a program that embeds the library need not know hwloc.
#include "topo/topo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "topo/allowed.h"
#include "topo/cgroup.h"
#include "topo/model.h"
#include "topo/sysfs.h"

static int build_live(struct locus_topo *topo, const struct topo_why *why)
{
    struct topo_idset allowed;
    struct topo_cgroup_memory memory;
    int error = topo_describe_environment(why);
    if (error)
        return error;
    error = topo_allowed_cpus(&allowed);
    if (error)
        return topo_why(why, error, "cannot read which CPUs this process may use");
    error = topo_cgroup_memory("", &memory);
    if (error)
        return topo_why(why, -EIO, "cannot read this process's cgroup memory limit");
    topo->info.cgroup_limit_bytes = memory.limit_bytes;
    topo_model_pages(topo, "");
    return topo_model_live(topo, "", &allowed, why);
}

static int build_root(struct locus_topo *topo, const char *root, const struct topo_why *why)
{
    static const struct topo_idset nobody;
    char cpus[4096];
    if (snprintf(cpus, sizeof(cpus), "%s/sys/devices/system/cpu", root) >= (int)sizeof(cpus) || access(cpus, F_OK))
        return topo_why(why, -EINVAL, "it lacks sys/devices/system/cpu, so it is no machine (hwloc-gather-topology copies one)");
    return topo_model_live(topo, root, &nobody, why);
}

static int build_described(struct locus_topo *topo, const char *source, const struct topo_why *why)
{
    hwloc_topology_t topology = NULL;
    int error = topo_describe(&topology, source, why);
    if (error)
        return error;
    error = topo_model_described_cpus(topo, topology, why);
    if (!error)
        error = topo_model_described_nodes(topo, topology, why);
    hwloc_topology_destroy(topology);
    return error;
}

static int build(struct locus_topo *topo, const char *source, const struct topo_why *why)
{
    topo->info.source = topo_describe_kind(source);
    topo->info.cgroup_limit_bytes = UINT64_MAX;
    topo_describe_version(topo->hwloc_version, sizeof(topo->hwloc_version));
    topo->info.hwloc_version = topo->hwloc_version;
    bool root = topo->info.source == LOCUS_TOPO_ROOT;
    int error = root ? build_root(topo, source, why) : source ? build_described(topo, source, why) : build_live(topo, why);
    return error ? error : topo_model_finish(topo, why);
}

int locus_topo_open(struct locus_topo **out, const char *source, char *why, size_t why_bytes)
{
    struct topo_why reason = {why, why_bytes, source};
    *out = NULL;
    struct locus_topo *topo = calloc(1, sizeof(*topo));
    if (!topo)
        return topo_why(&reason, -ENOMEM, "no memory for a topology");
    int error = build(topo, source, &reason);
    if (error)
        locus_topo_close(topo);
    else
        *out = topo;
    return error;
}

void locus_topo_close(struct locus_topo *topo)
{
    if (!topo)
        return;
    for (unsigned n = 0; n < topo->info.nodes_count; n++)
        free((char *)topo->nodes[n].tier);      // const for readers; model.h allocated it
    free(topo->nodes);
    free(topo->cpus);
    free(topo->node_cpus);
    free(topo->distances);
    free(topo);
}

const struct locus_topo_info *locus_topo_info(const struct locus_topo *topo)
{
    return &topo->info;
}

const struct locus_topo_node *locus_topo_nodes(const struct locus_topo *topo)
{
    return topo->nodes;
}

const struct locus_topo_cpu *locus_topo_cpus(const struct locus_topo *topo)
{
    return topo->cpus;
}

static int compare_node(const void *key, const void *element)
{
    int a = *(const int *)key;
    int b = ((const struct locus_topo_node *)element)->os_index;
    return (a > b) - (a < b);
}

const struct locus_topo_node *locus_topo_node(const struct locus_topo *topo, int node)
{
    return bsearch(&node, topo->nodes, topo->info.nodes_count, sizeof(*topo->nodes), compare_node);
}

static int compare_cpu(const void *key, const void *element)
{
    unsigned a = *(const unsigned *)key;
    unsigned b = ((const struct locus_topo_cpu *)element)->os_index;
    return (a > b) - (a < b);
}

const struct locus_topo_cpu *locus_topo_cpu(const struct locus_topo *topo, unsigned cpu)
{
    return bsearch(&cpu, topo->cpus, topo->info.cpus_count, sizeof(*topo->cpus), compare_cpu);
}

bool locus_topo_node_has_cpu(const struct locus_topo_node *node, unsigned cpu)
{
    for (unsigned i = 0; i < node->cpus_count; i++)
        if (node->cpus[i] == cpu)
            return true;
    return false;
}

unsigned locus_topo_distance(const struct locus_topo *topo, int from_node, int to_node)
{
    const struct locus_topo_node *from = locus_topo_node(topo, from_node);
    const struct locus_topo_node *to = locus_topo_node(topo, to_node);
    if (!from || !to)
        return 0;
    return topo->distances[(size_t)(from - topo->nodes) * topo->info.nodes_count + (size_t)(to - topo->nodes)];
}

// --- live queries: they read the running kernel's files and keep nothing, because the answer is valid only for the moment ------

int locus_node_memory_read(int node, struct locus_node_memory *out)
{
    return topo_sysfs_node_memory("", node, out);
}

int locus_cgroup_memory_room_bytes(uint64_t *out)
{
    struct topo_cgroup_memory memory;
    int error = topo_cgroup_memory("", &memory);
    if (!error)
        *out = memory.room_bytes;
    return error;
}

int locus_cgroup_oom_kills(uint64_t *out)
{
    return topo_cgroup_oom_kills("", out);
}

bool locus_node_allowed(int node)
{
    struct topo_idset allowed;
    return node >= 0 && topo_sysfs_mems_allowed("", &allowed) == 0 && topo_idset_has(&allowed, (unsigned)node);
}
