// SPDX-License-Identifier: Apache-2.0
//
// sample (many nodes): the counts of one measured process, by node. Plain data, part of tb_sample: it comes back through shared
// memory. Rows and columns are indices in node[], which has the OS numbers.
#ifndef TB_NODES_SAMPLE_H
#define TB_NODES_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define TB_NODES_MAX 16u        // nodes with memory; a machine with more is refused
#define TB_DRIFT_POINTS_MAX 64u

struct tb_node_row {
    int32_t os;                 // OS node
    bool station;               // a scheduler runs here; these are its blocks and requests
    uint64_t allocated, freed;  // blocks
    uint64_t pushed, drained;   // requests
};

// Counted in the counted laps: [from the CPU's node][to the page's node].
struct tb_node_counts {
    uint64_t pair[TB_NODES_MAX][TB_NODES_MAX];
    uint64_t unknown;           // the node of the page or of the CPU is unknown
};

struct tb_drift_point {         // one stretch of the counted laps
    uint64_t allocated;         // blocks that were handed out
    uint64_t wandered;          // of these, on a node other than their scheduler's
};

// Where the pages of one station's pool are. Pages of 4 KiB.
struct tb_node_placement {
    int32_t station;            // OS node of the scheduler that uses it
    uint32_t requested, granted; // enum locus_policy
    int32_t granted_errno, verify_errno; // why there is no answer, or 0
    uint64_t pages, present;    // in the span; of these, backed by memory
    uint64_t elsewhere;         // of the present ones, on a node outside the policy
    uint64_t on[TB_NODES_MAX];
    bool maps_read, maps_agree; // numa_maps, the second witness
};

struct tb_nodes_sample {
    uint32_t count;             // nodes; 0: not a run of many nodes
    struct tb_node_row node[TB_NODES_MAX];
    struct tb_node_counts touches, allocations, frees;
    struct tb_node_counts written, read; // of touch `decode`: bytes of K and V
    bool abroad_known;          // false: a malloc, which does not say where it keeps freed blocks
    uint64_t frees_abroad;      // kept on a node other than the block's
    uint32_t points_count;
    struct tb_drift_point points[TB_DRIFT_POINTS_MAX];
    uint32_t placements;        // 0: a malloc, which places nothing
    struct tb_node_placement before[TB_NODES_MAX], after[TB_NODES_MAX]; // before the counted laps, after all laps
    uint64_t pages_moved;       // found on another node than at the last look
    uint64_t pages_repaired;    // moved back by the contender itself
    bool balancing_known;       // the kernel counts NUMA balancing; then, system-wide while the process ran:
    uint64_t numa_pte_updates, numa_hint_faults, numa_pages_migrated;
};

#endif
