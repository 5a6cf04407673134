// SPDX-License-Identifier: Apache-2.0
//
// region: one mmap'd span between two guard pages, with a memory class, a page size and a placement policy.
//
// Placement is three facts, never one. *Requested* is what the caller asked for. *Granted* is what the kernel
// says the policy of the span is (get_mempolicy), and what it answered to madvise or MAP_HUGETLB. *Verified* is where
// the pages are (move_pages, cross-checked with /proc/self/numa_maps): region_verify.h. A request that the kernel refuses is an
// error; it is never quietly replaced by something weaker.
//
// fork(). A span that the library mapped is not there in a child (MADV_DONTFORK). So a child neither copies KV memory nor makes
// the parent copy each page that it writes while the child lives, possibly onto another node. A child may exec, and open objects of
// its own; with those of the parent it may do nothing. Memory of the caller's is the caller's to advise.
//
// Threads: a region is immutable after open; all that takes it as const may be used from any thread. Open and close belong to
// one thread at a time. Nodes are OS node numbers.
#ifndef LOCUS_REGION_H
#define LOCUS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    size_t size;                // sizeof this struct (version.h)
    size_t bytes;               // > 0; rounded up to whole pages of the kind asked for
    enum locus_memory_class memory_class;
    enum locus_page page;
    enum locus_policy policy;
    int node;                   // the OS node of a policy for one; ignored where `nodes` is not empty, and by FIRST_TOUCH
    struct locus_nodes nodes;   // those of a policy for several; empty: `node` alone. Ignored by FIRST_TOUCH
    bool populate;              // fault every page in before open returns, in steps
    void *memory;               // NULL: map a span. Else the caller's, with `bytes` in it; `page` says what it is made of (THP
};                              // counts as 4K). Nothing is mapped or advised, and what is in it stays

// Maps, places and (if asked) populates a span. On success *out belongs to the caller until locus_region_close(). In the caller's
// memory the policy is for pages that are not there yet; those that are stay where they lie, until locus_region_repair().
//
// A strict bind that does not fit is answered by the kernel with SIGKILL, not with an error. Therefore, with BIND, BIND_BALANCING
// and populate, the nodes' free and reclaimable bytes together (and the cgroup's limit) are asked first.
//
// -EINVAL   bytes is 0, an unknown enum value, no node where the policy needs one, two for PREFERRED; or one of the nodes does
//           not exist, has no memory, or lies outside this process's cpuset (the kernel would drop it from a set in silence);
//           or the caller's memory does not begin and end with a page, or is said to be of THP
// -E2BIG    the struct is of a later version and asks for what this one cannot do; of each open function
// -ENOMEM   no address space; no reserved huge pages; or the nodes cannot hold the span
// -EPERM    mbind is forbidden here (seccomp)
// -ENOSYS   the kernel does not know the policy (or a sandbox says so), has no NUMA support, or no transparent huge pages
int locus_region_open(struct locus_region **out, const struct locus_region_config *config);

// The sentence of locus_policy_why() for what open answered, but with the node named that is the cause, or the bytes that are
// needed and there, where that is it: looks at the host anew. Cut to why_bytes > 0, always terminated.
void locus_region_why(const struct locus_region_config *config, int error, char *why, size_t why_bytes);

// Unmaps the span and its guards. The caller's memory stays, and keeps the policy. NULL is allowed.
void locus_region_close(struct locus_region *region);

// First byte, aligned to the page kind asked for (2 MiB for THP), and the usable bytes between the guards.
void *locus_region_base(const struct locus_region *region);
size_t locus_region_bytes(const struct locus_region *region);

// What a strict bind could have of a node at the moment, by the rule that locus_region_open() applies: what is free or reclaimable,
// less what the kernel would rather kill for than hand out. 0, -ENODEV, or -errno: the node's memory cannot be read.
int locus_node_room_bytes(int node, uint64_t *out);

#ifdef __cplusplus
}
#endif

#endif
