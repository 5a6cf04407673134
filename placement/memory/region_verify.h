// SPDX-License-Identifier: Apache-2.0
//
// region_verify: requested, granted and verified placement of a region, side by side; and a repair that brings stray pages back.
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
        int node;                   // the only node in `nodes`, or LOCUS_NODE_ANY
        int policy_errno;           // 0; ENOSYS, EPERM: it could not be read back; ERANGE: a policy unknown here
        size_t page_bytes;          // base page size, or the huge page size of a MAP_HUGETLB span
        bool thp_advised;           // MADV_HUGEPAGE was accepted
    } granted;

    struct {
        int verify_errno;           // why move_pages could not answer (ENOSYS, EPERM), or 0
        uint64_t pages;             // units of 4 KiB in the whole span
        uint64_t pages_present;     // of these, backed by memory; the others were never touched, or given back. Kernels since 6.12
                                  // give back pages of zeros when they split a huge page
        uint64_t pages_allowed;     // present on a requested node; with FIRST_TOUCH every node is one
        uint64_t pages_elsewhere;   // present on another: 0 for a strict bind; PREFERRED and interleaving may spill
        bool expected_exact;        // on[].pages_expected is the kernel's own rule, page by page; false for transparent huge pages
        unsigned nodes;             // rows filled below, in ascending node number
        struct {
            int node;
            uint64_t pages;
            uint64_t pages_expected; // present pages that (WEIGHTED_)INTERLEAVE assigns to this node; else 0
            unsigned weight;        // WEIGHTED_INTERLEAVE: the node's, from /sys/kernel/mm/mempolicy; 0: none, or unreadable
        } on[LOCUS_PLACEMENT_NODES_MAX];
        bool numa_maps_read;        // the second witness was available; it is not for the caller's memory, which may be a part of
                               // a larger mapping, and of several
        bool numa_maps_agrees;      // the second witness counts the same pages on every node
    } verified;
};

// Asks where the pages are, without faulting any in. 0, or -ENOMEM: no memory to ask with. A kernel that cannot answer is not an
// error: see verify_errno.
int locus_region_verify(const struct locus_region *region, struct locus_placement *out);

// Moves present pages from nodes outside the policy back to the policy's nodes; with interleaving, to the node that each page
// falls to. Faults nothing in. Both results count units of 4 KiB and come from a second look, also when an error is returned:
// *moved pages were astray and no longer are, *left pages still are (the nodes are full, or the page is in use or shared with a
// forked process).
//
// 0         all that could be moved was moved; with FIRST_TOUCH no page is astray
// -ENOMEM   the nodes are full, *left pages remain;  -EPERM, -ENOSYS, -ENODEV  move_pages is forbidden, missing; a node has gone
int locus_region_repair(const struct locus_region *region, uint64_t *moved, uint64_t *left);

#ifdef __cplusplus
}
#endif

#endif
