// SPDX-License-Identifier: Apache-2.0
//
// advise_machine: what this machine is to `locus advise`, and what can be run on it. Whatever cannot is refused beforehand with the
// reason, and nothing else is run in its place.
#include "testbed/report/advise/advise.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "placement/memory/region.h"
#include "testbed/base/cli.h"
#include "testbed/host/environment.h"
#include "testbed/host/probe.h"
#include "testbed/measure/nodes/ops.h"
#include "topo/topo.h"

// --- what it is ----------------------------------------------------------------------------------------------------------------

static bool all_equally_near(const struct locus_topo *topo, const struct locus_nodes *nodes)
{
    for (int from = locus_nodes_next(nodes, 0); from >= 0; from = locus_nodes_next(nodes, from + 1))
        for (int to = locus_nodes_next(nodes, 0); to >= 0; to = locus_nodes_next(nodes, to + 1))
            if (locus_topo_distance(topo, from, to) != locus_topo_distance(topo, from, from))
                return false;
    return true;
}

int tb_advise_machine_look(struct tb_advise_machine *out)
{
    char why[512] = "";
    struct locus_topo *topo = NULL;
    int error = locus_topo_open(&topo, NULL, why, sizeof why);
    if (error) {
        tb_error("%s", why);
        return error;
    }
    *out = (struct tb_advise_machine){.emulated = tb_emulated_as(""), .balancing = tb_numa_balancing(), .cpus_least = UINT_MAX};
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        bool memory = node->kind == LOCUS_NODE_DRAM || node->kind == LOCUS_NODE_MEMORY_ONLY;
        bool usable = node->allowed && (node->cpus_count == 0 || node->cpus_allowed_count > 0);
        bool home = memory && usable && node->cpus_count > 0;
        if (memory)
            locus_nodes_add(home ? &out->homes : usable ? &out->bare : &out->barred, node->os_index);
        if (home && node->cpus_allowed_count < out->cpus_least)
            out->cpus_least = node->cpus_allowed_count;
    }
    out->equally_near = all_equally_near(topo, &out->homes);
    locus_topo_close(topo);
    error = locus_nodes_count(&out->homes) > 1 ? tb_probe_move_pages() : 0;
    if (error)
        tb_error("nobody can tell where pages are, because move_pages answers %s; or run on the host", tb_probe_why(error));
    return -error;
}

// --- what it can run -----------------------------------------------------------------------------------------------------------

static uint64_t mib(uint64_t bytes)
{
    return bytes >> 20;
}

// What a strict bind could have of a node, by the rule that will be applied to it; a sixteenth less, for what else a run needs.
static uint64_t room_on(int node)
{
    uint64_t room = 0;
    return locus_node_room_bytes(node, &room) ? 0 : room / 16 * 15;
}

int tb_advise_room(const struct tb_advise *advise)
{
    const struct tb_advise_machine *machine = &advise->machine;
    uint64_t block_bytes = advise->block_bytes, pool_bytes = advise->pool_blocks * block_bytes;
    uint64_t cgroup = UINT64_MAX, homes = locus_nodes_count(&machine->homes);
    locus_cgroup_memory_room_bytes(&cgroup);
    for (int node = locus_nodes_next(&machine->homes, 0); node >= 0; node = locus_nodes_next(&machine->homes, node + 1)) {
        uint64_t room = room_on(node);
        if (pool_bytes <= room)
            continue;
        tb_error("node %d has room for %" PRIu64 " MiB, its pool needs %" PRIu64
                 ": use a smaller --block-bytes, or for a trace --pool-blocks %" PRIu64 " at most",
                 node, mib(room), mib(pool_bytes), room / block_bytes);
        return -ENOMEM;
    }
    if (pool_bytes > cgroup / homes) {
        tb_error("this process's cgroup has room for %" PRIu64 " MiB, the pools of %" PRIu64 " nodes need %" PRIu64
                 ": use a smaller --block-bytes, or for a trace --pool-blocks %" PRIu64 " at most",
                 mib(cgroup), homes, mib(homes * pool_bytes), cgroup / homes / block_bytes);
        return -ENOMEM;
    }
    return 0;
}

// These begin, or stay, with the pools of all on the first node.
static bool crowds_the_first(const char *contender)
{
    return strcmp(contender, "one-node") == 0 || strcmp(contender, "repair") == 0 || strcmp(contender, "bind-balancing") == 0;
}

static bool refused(const struct tb_advise_machine *machine, uint64_t pool_bytes, const struct tb_arm *arm, char *why,
                    size_t why_bytes)
{
    enum locus_policy policy = arm->contender->nodes->policy;
    int error = policy == LOCUS_POLICY_FIRST_TOUCH ? 0 : locus_policy_probe(policy);
    int first = locus_nodes_next(&machine->homes, 0);
    uint64_t all = locus_nodes_count(&machine->homes) * pool_bytes;
    if (error)
        snprintf(why, why_bytes, "%s", locus_policy_why(policy, error));
    else if (policy == LOCUS_POLICY_BIND_BALANCING && machine->balancing <= 0)
        snprintf(why, why_bytes, "%s, so nothing would move",
                 machine->balancing < 0 ? "this kernel has no NUMA balancing" : "NUMA balancing is off (kernel.numa_balancing)");
    else if (crowds_the_first(arm->contender->name) && all > room_on(first))
        snprintf(why, why_bytes,
                 "it puts the pools of all nodes on node %d, which has room for %" PRIu64 " MiB of %" PRIu64 " (--pool-blocks)",
                 first, mib(room_on(first)), mib(all));
    else
        return false;
    return true;
}

void tb_advise_refuse(uint64_t pool_bytes, struct tb_arm arms[], uint32_t *count, struct tb_advise *advise)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        struct tb_advise_refusal *refusal = &advise->refusals[advise->refusals_count];
        if (refused(&advise->machine, pool_bytes, &arms[i], refusal->why, sizeof refusal->why)) {
            snprintf(refusal->arm, sizeof refusal->arm, "%s", arms[i].label);
            advise->refusals_count++;
        } else {
            arms[kept++] = arms[i];
        }
    }
    *count = kept;
}
