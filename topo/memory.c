// SPDX-License-Identifier: Apache-2.0
//
// memory: live queries that placement makes before it binds. Each reads the running kernel's files and keeps nothing, because the
// answer is valid only for the moment.
#include "topo/topo.h"

#include "topo/cgroup.h"
#include "topo/sysfs.h"

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

bool locus_node_allowed(int node)
{
    struct topo_idset allowed;
    return node >= 0 && topo_sysfs_mems_allowed("", &allowed) == 0 && topo_idset_has(&allowed, (unsigned)node);
}
