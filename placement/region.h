// SPDX-License-Identifier: Apache-2.0
//
// region: one mmap'd span between two guard pages, with a memory class, a page size and a placement policy.
//
// Placement is three facts, never one. *Requested* is what the caller asked for. *Granted* is what the kernel
// says the policy of the span is (get_mempolicy), and what it answered to madvise or MAP_HUGETLB. *Verified* is where
// the pages are (move_pages, cross-checked with /proc/self/numa_maps). A request that the kernel refuses is an
// error; it is never quietly replaced by something weaker.
//
// Threads: a region is immutable after open; all that takes it as const may be used from any thread. Open and close belong to
// one thread at a time. Nodes are OS node numbers.
#ifndef LOCUS_REGION_H
#define LOCUS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy.h"

struct locus_region;

enum locus_memory_class {       // what the span is for; reports group by it, nothing depends on it
    LOCUS_CLASS_KV_CACHE,
    LOCUS_CLASS_SCRATCH,
    LOCUS_CLASS_WEIGHTS,
    LOCUS_CLASS_METADATA,
};

enum locus_page {
    LOCUS_PAGE_4K,              // base pages; MADV_NOHUGEPAGE, or a host set to THP "always" would decide otherwise
    LOCUS_PAGE_THP,             // MADV_HUGEPAGE: 2 MiB pages where the kernel finds them
    LOCUS_PAGE_2M,              // MAP_HUGETLB, from the host's reserved pool
    LOCUS_PAGE_1G,              // MAP_HUGETLB, likewise
};

struct locus_region_config {
    size_t bytes;               // > 0; rounded up to whole pages of the kind asked for
    enum locus_memory_class memory_class;
    enum locus_page page;
    enum locus_policy policy;
    int node;                   // the OS node, where the policy wants just one; FIRST_TOUCH looks at neither this
    struct locus_nodes nodes;   // nor this: the nodes, where it is not empty (then `node` is not looked at)
    bool populate;              // fault every page in before open returns, in steps
};

// Maps, places and (if asked) populates a span. On success *out belongs to the caller until locus_region_close().
//
// A strict bind that does not fit is answered by the kernel with SIGKILL, not with an error. Therefore, with BIND, BIND_BALANCING
// and populate, the nodes' free and reclaimable bytes together (and the cgroup's limit) are asked first.
//
// -EINVAL   bytes is 0, an unknown enum value, no node where the policy needs one, two for PREFERRED; or one of the nodes does
//           not exist, has no memory, or lies outside this process's cpuset (the kernel would drop it from a set in silence)
// -ENOMEM   no address space; no reserved huge pages; or the nodes cannot hold the span
// -EPERM    mbind is forbidden here (seccomp)
// -ENOSYS   the kernel does not know the policy (or a sandbox says so), has no NUMA support, or no transparent huge pages
int locus_region_open(struct locus_region **out, const struct locus_region_config *config);

// The sentence of locus_policy_why() for what open answered, but with the node named that is the cause, or the bytes that are
// needed and there, where that is it: looks at the host anew. Cut to why_bytes > 0, always terminated.
void locus_region_why(const struct locus_region_config *config, int error, char *why, size_t why_bytes);

// Unmaps the span and its guards. NULL is allowed.
void locus_region_close(struct locus_region *region);

// First byte, aligned to the page kind asked for (2 MiB for THP), and the usable bytes between the guards.
void *locus_region_base(const struct locus_region *region);
size_t locus_region_bytes(const struct locus_region *region);

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
        bool numa_maps_read;        // the second witness was available
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

#endif
