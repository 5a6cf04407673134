// SPDX-License-Identifier: Apache-2.0
//
// maps (private to the process): a process's mappings, from numa_maps and smaps, joined by their addresses.
#ifndef TB_MAPS_H
#define TB_MAPS_H

#include "testbed/host/host.h"
#include "testbed/host/process/process.h"

struct tb_mapping {
    uint64_t start, end;
    char *name;                 // NULL: none
    char policy[64];            // "": unknown
    uint64_t page_bytes;        // 0: unknown
    uint64_t rss_bytes;         // by smaps, without hugetlb
    uint64_t huge_bytes, hugetlb_bytes;
    uint64_t on_bytes[TB_PROCESS_NODES_MAX], elsewhere_bytes; // by numa_maps
    bool placed;                // numa_maps has it
    bool barred;                // nobody may access it: a guard, or addresses that are only reserved
    unsigned line;              // of the process's regions, once there are any
};

struct tb_maps {
    struct tb_mapping *mapping; // ascending
    size_t count, room;
    size_t known;               // of smaps, which come first until all are sorted
    uint64_t lines_bad;
    int numa_errno, smaps_errno; // why a file could not be read; 0: it was
};

// `nodes` says which nodes there are. 0, also when neither file can be read; -ENOMEM. Close it in either case.
int tb_maps_read(const struct tb_host *host, uint64_t pid, const struct tb_process *nodes, struct tb_maps *out);
void tb_maps_close(struct tb_maps *maps);

uint64_t tb_mapping_present(const struct tb_mapping *mapping); // bytes

// Where a node stands in the arrays by node. -1: the machine has no such node.
int tb_process_node_at(const struct tb_process *process, int node);

// regions.c: the process's regions, and for each mapping to which of them it belongs. 0 or -ENOMEM.
int tb_regions_make(struct tb_maps *maps, struct tb_process *process);

// witness.c: asks `ask` about some pages of each region. Its status of a page is a node, or a negative errno. 0 or -errno.
typedef int tb_witness_ask(uint64_t pid, unsigned long count, void *const addresses[], int status[]);
tb_witness_ask tb_witness_move_pages;
int tb_witness(const struct tb_maps *maps, struct tb_process *process, tb_witness_ask *ask);

#endif
