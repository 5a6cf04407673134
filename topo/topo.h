// SPDX-License-Identifier: Apache-2.0
//
// topo: what a machine is. Its NUMA nodes, their memory and CPUs, how far apart they are, and what this process may use.
//
// Numbers. A CPU or a node is always named by its OS index, as in /sys, taskset and numactl. OS indices may be sparse (a machine
// may have nodes 4-7 and no node 0). Arrays here are in ascending OS index, but the position in an array is never a name.
//
// Threads. A locus_topo is immutable after open, and any thread may read it. The live queries at the end keep no state.
// Side effects. Nothing here prints, or changes the caller's affinity, memory policy or environment. Opening an XML file forks a
// child for a moment, because hwloc may crash on a damaged file.
#ifndef LOCUS_TOPO_H
#define LOCUS_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topo_node.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_topo;

enum locus_topo_source { LOCUS_TOPO_THIS_MACHINE, LOCUS_TOPO_XML, LOCUS_TOPO_SYNTHETIC, LOCUS_TOPO_ROOT };

struct locus_topo_cpu {
    unsigned os_index;
    int node;                   // the lowest node that lists it (topo_node.h); -1: none does
    int package;                // OS index of the package; -1: unknown
    int core;                   // physical core, by the OS index of its first CPU (core_id is not unique); -1: unknown
    int smt_rank;               // 0 for the first CPU of a core, 1 for its first sibling ...; -1: unknown
    bool allowed;               // this process may run here (sched_getaffinity); this machine only, else false
};

struct locus_page_size {
    uint64_t bytes;
    uint64_t reserved_pages, free_pages; // of the host's hugetlb pool; both 0 for the base page
};

struct locus_topo_info {
    enum locus_topo_source source;
    unsigned nodes_count, cpus_count;
    unsigned cores_count;       // 0: unknown
    unsigned smt_max;           // most CPUs in one core; 0: unknown
    uint64_t memory_total_bytes; // sum over the nodes
    uint64_t kernel_total_bytes; // MemTotal of /proc/meminfo, which is the same sum in an unaltered kernel; 0: not this machine
    bool nodes_hidden;          // this machine shows no nodes (see below): it is told as node 0
    uint64_t cgroup_limit_bytes; // lowest memory limit among this process's cgroups; UINT64_MAX: none, or not this machine
    const struct locus_page_size *pages; // ascending, base page first; this machine only
    unsigned pages_count;       // 0: not this machine
    const char *hwloc_version;  // of the library in use, "2.9.0"
};

// Describes a machine. `source` is NULL for this machine; a folder with a copy of another one's /sys and /proc (its root), as
// hwloc-gather-topology makes it; an hwloc XML file, if a file of that name exists, or the name contains '/', or it ends in ".xml";
// otherwise an hwloc synthetic description such as "pack:2 [numa(memory=64GB)] core:4 pu:2". A description says less than a
// machine: see the fields above that are for this machine only. Nor does one of hwloc's say which of several nodes close to the
// same CPUs has them: as on Linux, the lowest numbered one without a tier name does, and the others are memory-only.
//
// This machine is read from the kernel's files, not by hwloc, which may print to stderr or abort the process where a sandbox hides
// some of them. Its CPUs are those that the nodes list, and those that this process may run on, whatever the files say. Without
// /sys/devices/system/node (a kernel without NUMA, a sandbox, no /sys at all) it is one node, with what sched_getaffinity, the
// rest of /sys and /proc/meminfo say; without /proc/meminfo, sysinfo(2). A root is read in the same way, but for what is free and
// what a process may use. Its files may be padded with NULs, as tar leaves them; the lists of nodes and CPUs may be missing, and
// masks stand for lists, as in old kernels.
//
// On success *out belongs to the caller until locus_topo_close(). On failure *out is NULL, and if why is not NULL it gets one
// line without newline (cut to why_bytes) that names the source and what is wrong with it.
// -ENOENT, -EACCES ...  the file cannot be read
// -ENODATA  the file is empty
// -EINVAL   no root, complete hwloc XML file or synthetic description; or the environment asks hwloc for another machine
// -ERANGE   more than 8192 CPUs or 1024 nodes, or numbers beyond 8191
// -ENOMEM, and -EIO when the files in /sys or /proc contradict each other, or a root lacks one
int locus_topo_open(struct locus_topo **out, const char *source, char *why, size_t why_bytes);

// NULL is allowed. All pointers that the functions below returned become invalid.
void locus_topo_close(struct locus_topo *topo);

const struct locus_topo_info *locus_topo_info(const struct locus_topo *topo);
const struct locus_topo_node *locus_topo_nodes(const struct locus_topo *topo); // info->nodes_count of them
const struct locus_topo_cpu *locus_topo_cpus(const struct locus_topo *topo);   // info->cpus_count of them

// By OS index; NULL: no such node or CPU.
const struct locus_topo_node *locus_topo_node(const struct locus_topo *topo, int node);
const struct locus_topo_cpu *locus_topo_cpu(const struct locus_topo *topo, unsigned cpu);

// Relative distance as the firmware says (10 is local). 0: unknown, or no such node.
unsigned locus_topo_distance(const struct locus_topo *topo, int from_node, int to_node);

// Live query of one node of this machine: reads sysfs, a few microseconds. 0, or -ENODEV: no such node. A kernel without
// /sys/devices/system/node has only node 0, read from /proc/meminfo. Other -errno: unreadable or malformed.
int locus_node_memory_read(int node, struct locus_node_memory *out);

// Bytes that this process's cgroup may still use: limit - current + reclaimable file pages, the least of all levels of the
// hierarchy (v2 memory.max, v1 memory.limit_in_bytes). UINT64_MAX: unlimited. -errno: the files are malformed or unreadable.
int locus_cgroup_memory_room_bytes(uint64_t *out);

// How many processes of this process's cgroup the kernel has killed for want of memory so far, the group's or the host's; where the
// group has no such count (the root group), how many of the whole host. -ENOENT: this kernel counts neither.
int locus_cgroup_oom_kills(uint64_t *out);

// May this process allocate on the node? False if the node does not exist or has no memory.
bool locus_node_allowed(int node);

#ifdef __cplusplus
}
#endif

#endif
