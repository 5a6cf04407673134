// SPDX-License-Identifier: Apache-2.0
//
// region: one mmap'd span between two guard pages, with a memory class, a page size and a placement policy.
//
// Placement is three facts, never one. *Requested* is what the caller asked for. *Granted* is what the kernel
// says the policy of the span is (get_mempolicy), and what it answered to madvise or MAP_HUGETLB. *Verified* is where
// the pages are (move_pages, cross-checked with /proc/self/numa_maps). A request that the kernel refuses is an
// error; it is never quietly replaced by something weaker.
//
// Threads: a region is immutable after open; base, bytes and verify may be used from any thread. Open and close belong
// to one thread at a time. Nodes are OS node numbers.
#ifndef LOCUS_REGION_H
#define LOCUS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

enum locus_policy {
    LOCUS_POLICY_FIRST_TOUCH,   // the kernel's default: a page lies on the node of the CPU that first writes it
    LOCUS_POLICY_BIND,          // mbind MPOL_BIND to one node: strict
};

#define LOCUS_NODE_ANY (-1)

struct locus_region_config {
    size_t bytes;               // > 0; rounded up to whole pages of the kind asked for
    enum locus_memory_class memory_class;
    enum locus_page page;
    enum locus_policy policy;
    int node;                   // OS node for BIND; LOCUS_NODE_ANY otherwise
    bool populate;              // fault every page in before open returns, in steps
};

// Maps, places and (if asked) populates a span. On success *out belongs to the caller until locus_region_close().
//
// A strict bind that does not fit is answered by the kernel with SIGKILL, not with an error. Therefore, with BIND and
// populate, the node's free and reclaimable bytes (and the cgroup's limit) are asked first.
//
// -EINVAL   bytes is 0, an unknown enum value, BIND without a node, a node that this process may not use
// -ENOMEM   no address space; no reserved huge pages; or the node cannot hold the span
// -EPERM, -ENOSYS  mbind is forbidden here (seccomp), or the kernel has no NUMA support, or no transparent huge pages
int locus_region_open(struct locus_region **out, const struct locus_region_config *config);

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
        int node;
        int policy_errno;           // why it could not be read back (ENOSYS, EPERM), or is neither of the two (ERANGE), or 0
        size_t page_bytes;          // base page size, or the huge page size of a MAP_HUGETLB span
        bool thp_advised;           // MADV_HUGEPAGE was accepted
    } granted;

    struct {
        int verify_errno;           // why move_pages could not answer (ENOSYS, EPERM), or 0
        uint64_t pages;             // pages of 4 KiB that were asked about: the whole span
        uint64_t pages_present;     // of these, backed by memory; the rest was never touched
        uint64_t pages_elsewhere;   // present on a node other than the requested one (BIND only)
        unsigned nodes;             // how many of the rows below are filled, ascending node number
        struct {
            int node;
            uint64_t pages;
        } on[LOCUS_PLACEMENT_NODES_MAX];
        bool numa_maps_read;        // the second witness was available
        bool numa_maps_agrees;      // and it counts the same pages on every node
    } verified;
};

// Asks where the pages are, without faulting a single one in. 0, or -ENOMEM when there is no memory for the question.
// A kernel that cannot answer is not an error: see verify_errno.
int locus_region_verify(const struct locus_region *region, struct locus_placement *out);

#endif
