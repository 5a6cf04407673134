// SPDX-License-Identifier: Apache-2.0
//
// topo_node: one node of a machine, part of topo.h.
//
// CPUs of several nodes. A node has the CPUs that it lists. Usually no two nodes list the same CPU; but where the kernel pretends
// that one node is several (numa=fake), and where firmware describes them so, each of them lists all of their CPUs. They are then
// on each of these nodes. What needs one node for a CPU takes the lowest (struct locus_topo_cpu), which is where numa=fake puts
// what the CPU touches first.
//
// A GPU's memory. On machines whose GPUs share the processors' address space (NVIDIA's GH200 and GB200, Power9 with V100) the GPU's
// memory is a node like any other. It is for what the GPU's driver puts there, so nothing here uses it unless its number is given.
// The kernel has no word for it. A node with memory and without CPUs is called so if one of these holds:
//   1. NVIDIA's driver names the node (/proc/driver/nvidia/gpus/*/numa_status), or the description does (hwloc: "GPUMemory");
//   2. the firmware says that a device works from there (node/has_generic_initiator): that is a GPU, or another accelerator;
//   3. all nodes with CPUs whose distance is known are 80 or more away. NVIDIA's firmware says 80 or more on all the machines
//      above; HBM, CXL and persistent memory are at 11 to 50.
// Not decidable: a GPU's memory at a smaller distance, without its driver and without 2 (it is called memory-only), and memory that
// is as far as a GPU's for another reason (it is called a GPU's; name its number to use it). A GPU that has CPUs of its own on the
// node (MI300A) is an ordinary node. A description has no more than 1 and 3.
#ifndef LOCUS_TOPO_NODE_H
#define LOCUS_TOPO_NODE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum locus_node_kind {
    LOCUS_NODE_DRAM,            // memory and CPUs: the ordinary node
    LOCUS_NODE_MEMORY_ONLY,     // memory without CPUs: CXL, HBM in flat mode, a CPU-less virtual node
    LOCUS_NODE_CPU_ONLY,        // CPUs without memory: empty DIMM slots; a strict bind to it is impossible
    LOCUS_NODE_EMPTY,           // online with neither, for example after CXL memory went offline
    LOCUS_NODE_GPU_MEMORY,      // memory of a GPU, see above: only for who names it
};

struct locus_node_memory {
    uint64_t total_bytes, free_bytes, reclaimable_bytes;
};

struct locus_topo_node {
    int os_index;
    enum locus_node_kind kind;
    const char *tier;           // what the memory is: "HBM", "CXL", "NVM", "SPM" (set apart by the firmware), "GPUMemory"; or NULL
    const unsigned *cpus;       // those that the node lists: OS indices, ascending
    unsigned cpus_count;
    unsigned cpus_allowed_count; // of these, how many this process may run on; this machine only, else 0
    bool allowed;               // this process may allocate here (cpuset, cgroup); this machine only, else false
    bool memory_live;           // false: free and reclaimable were not read and are 0
    struct locus_node_memory memory; // as of open; reclaimable = file pages (active and inactive) + SReclaimable
};

// Does the node list the CPU?
bool locus_topo_node_has_cpu(const struct locus_topo_node *node, unsigned cpu);

// Memory that is used where no node is named: a DRAM node's, or a memory-only node's; not a GPU's.
static inline bool locus_topo_node_by_default(const struct locus_topo_node *node)
{
    return node->kind == LOCUS_NODE_DRAM || node->kind == LOCUS_NODE_MEMORY_ONLY;
}

#ifdef __cplusplus
}
#endif

#endif
