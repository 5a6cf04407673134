// SPDX-License-Identifier: Apache-2.0
//
// cgroup (private): this process's limits of memory and of huge pages. `root` stands for "/", see sysfs.h.
#ifndef TOPO_CGROUP_H
#define TOPO_CGROUP_H

#include <stddef.h>
#include <stdint.h>

#define TOPO_CGROUP_NAME_BYTES 32u

struct topo_cgroup_memory {
    uint64_t limit_bytes;       // lowest of all levels; UINT64_MAX: none
    uint64_t room_bytes;        // least of all levels; UINT64_MAX: unlimited
};

// A host without cgroups, or whose memory controller is not mounted here, is unlimited. -EINVAL: malformed files.
int topo_cgroup_memory(const char *root, struct topo_cgroup_memory *out);

// The same for reserved huge pages of one size: what a first touch may still take, and what mmap may still reserve; the lesser.
int topo_cgroup_hugetlb(const char *root, uint64_t page_bytes, struct topo_cgroup_memory *out);

// As locus_cgroup_oom_kills() in topo.h.
int topo_cgroup_oom_kills(const char *root, uint64_t *out);

// How the names of its files begin: "hugetlb.2MB". name_bytes >= TOPO_CGROUP_NAME_BYTES.
void topo_cgroup_hugetlb_name(uint64_t page_bytes, char *name, size_t name_bytes);

#endif
