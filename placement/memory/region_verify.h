// SPDX-License-Identifier: Apache-2.0
//
// region_verify: requested, granted and verified placement of a region, side by side; and bringing back what has strayed.
#ifndef LOCUS_REGION_VERIFY_H
#define LOCUS_REGION_VERIFY_H

#include "region.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_PLACEMENT_NODES_MAX 64u

struct locus_placement {
    struct locus_region_config requested;

    struct {
        enum locus_policy policy;   // by get_mempolicy; meaningful if policy_errno is 0
        struct locus_nodes nodes;   // of the policy; empty with FIRST_TOUCH
        int node;                   // the only one of these, or LOCUS_NODE_ANY
        int policy_errno;           // why it could not be read back (ENOSYS, EPERM), or is none that we know (ERANGE), or 0
        size_t page_bytes;          // base page size, or the huge page size of a MAP_HUGETLB span
        bool thp_advised;           // MADV_HUGEPAGE was accepted
    } granted;

    struct {
        int verify_errno;           // why move_pages could not answer (ENOSYS, EPERM), or 0
        uint64_t pages;             // pages of 4 KiB that were asked about: the whole span
        uint64_t pages_present;     // of these, backed by memory; the rest was never touched
        uint64_t pages_allowed;     // present on a requested node; with FIRST_TOUCH every node is one
        uint64_t pages_elsewhere;   // present on another: a strict bind's must be 0, PREFERRED may spill, interleaving pass over
        bool expected_exact;        // on[].pages_expected is the kernel's own rule, page by page; false for transparent huge pages
        unsigned nodes;             // how many of the rows below are filled, ascending node number
        struct {
            int node;
            uint64_t pages;
            uint64_t pages_expected; // of those present, how many the turns of (WEIGHTED_)INTERLEAVE give to this node; else 0
            unsigned weight;        // WEIGHTED_INTERLEAVE: of this node, by /sys/kernel/mm/mempolicy; 0: none, or not readable
        } on[LOCUS_PLACEMENT_NODES_MAX];
        bool numa_maps_read;        // the second witness was available; it is not for the caller's memory, which may be a part of
                               // a larger mapping, and of several
        bool numa_maps_agrees;      // and it counts the same pages on every node
    } verified;
};

// Asks where the pages are, without faulting a single one in. 0, or -ENOMEM when there is no memory for the question.
// A kernel that cannot answer is not an error: see verify_errno.
int locus_region_verify(const struct locus_region *region, struct locus_placement *out);

// Moves present pages that lie on a node the policy does not name back to one that it does: to the one whose turn it was, with
// interleaving. Faults nothing in. Both results are in 4 KiB, come from looking again, also where an error is returned: *moved
// were astray and no longer are, *left still are (the nodes are full, or the page is shared with a forked process or in use).
//
// 0         every page was asked about, and whatever could be moved was; FIRST_TOUCH has no page astray
// -ENOMEM   nodes are full, *left pages remain;  -EPERM, -ENOSYS, -ENODEV  move_pages is forbidden, missing, or a node has gone
int locus_region_repair(const struct locus_region *region, uint64_t *moved, uint64_t *left);

#ifdef __cplusplus
}
#endif

#endif
