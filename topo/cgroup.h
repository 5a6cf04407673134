// SPDX-License-Identifier: Apache-2.0
//
// cgroup (private): this process's memory limit. `root` stands for "/", see sysfs.h.
#ifndef TOPO_CGROUP_H
#define TOPO_CGROUP_H

#include <stdint.h>

struct topo_cgroup_memory {
    uint64_t limit_bytes;       // lowest of all levels; UINT64_MAX: none
    uint64_t room_bytes;        // least of all levels; UINT64_MAX: unlimited
};

// A host without cgroups, or whose memory controller is not mounted here, is unlimited. -EINVAL: malformed files.
int topo_cgroup_memory(const char *root, struct topo_cgroup_memory *out);

#endif
