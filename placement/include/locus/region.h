// SPDX-License-Identifier: Apache-2.0
//
// region: one mmap'd span between two guard pages, with a memory class, a page size and a placement policy; where its pages are;
// and a repair that brings stray pages back.
//
// Placement is three facts, never one. *Requested* is what the caller asked for. *Granted* is the span's policy as the kernel
// reports it (get_mempolicy), and the kernel's answer to madvise or MAP_HUGETLB. *Verified* is where the pages are (move_pages,
// cross-checked with /proc/self/numa_maps): locus_region_verify(). A request that the kernel refuses is an error; it is never
// replaced by something weaker. Of memory that is not a region's, where.h says where it is.
//
// fork(). A child does not inherit a span that the library mapped (MADV_DONTFORK). So a child copies no KV memory, and the parent
// does not have to copy each page that it writes while the child lives, possibly onto another node. A child may exec and may open
// objects of its own; it must not use the parent's. The library does not advise memory of the caller's.
//
// Threads: a region is immutable after open; any thread may call the functions that take it as const. Open and close belong to
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

enum locus_memory_class {       // what the span is for; only reports use it, to group spans
    LOCUS_CLASS_KV_CACHE,
    LOCUS_CLASS_SCRATCH,
    LOCUS_CLASS_WEIGHTS,
    LOCUS_CLASS_METADATA,
};

enum locus_page {
    LOCUS_PAGE_4K,              // base pages; also on a host with THP "always", by MADV_NOHUGEPAGE
    LOCUS_PAGE_THP,             // MADV_HUGEPAGE: 2 MiB pages where the kernel finds them
    LOCUS_PAGE_2M,              // MAP_HUGETLB, from the host's reserved pool; always populated, see locus_region_open()
    LOCUS_PAGE_1G,              // MAP_HUGETLB, likewise
};

struct locus_region_config {
    size_t size;                // sizeof this struct (version.h)
    size_t bytes;               // > 0; rounded up to whole pages of the requested kind
    enum locus_memory_class memory_class;
    enum locus_page page;
    enum locus_policy policy;   // 0: a node that is named binds, and none is first touch (policy.h)
    int node;                   // OS node: 0 is node 0; LOCUS_NODE_ANY: none. Ignored if `nodes` is not empty, and by FIRST_TOUCH
    struct locus_nodes nodes;   // for a policy on several nodes; empty: `node` alone. Ignored by FIRST_TOUCH
    bool populate;              // fault every page in before open returns, in steps
    void *memory;               // NULL: map a span. Else the caller's, with `bytes` in it; `page` says what it is made of (THP
                         // counts as 4K). Nothing is mapped or advised, and what is in it stays
    bool windows;               // the span is a file in memory (memfd_create), so that windows can show it again (window.h); always
                         // populated. The caller's memory is what it is: it must be a shared mapping
};

// Maps and places a span, and populates it if asked. On success *out belongs to the caller until locus_region_close(). In the
// caller's memory the policy applies to pages that are not present yet; present pages stay where they are until
// locus_region_repair().
//
// A span that does not fit is answered by the kernel with SIGKILL, not with an error. So before it populates, open compares the
// size with the free and reclaimable bytes of the nodes (of the policy if it is BIND or BIND_BALANCING, else all that the process
// may use) and with the tightest limit of the process's cgroups (v2 memory.max, v1 memory.limit_in_bytes). File pages count as
// room. Swap does not, and neither does memory.high, which slows a process down but does not kill it. A process that locks what it
// maps (mlockall with MCL_FUTURE) has every page at once, so there open compares whatever `populate` says.
//
// A huge page that is missing at the first touch is answered with SIGBUS, although mmap has promised it: to the whole host, not to
// a node, and not within a cgroup's hugetlb.2MB.max. So a span of LOCUS_PAGE_2M or 1G is populated by open, whatever `populate`
// says, and with FIRST_TOUCH it lies where open is called. Do not give such pages back (MADV_DONTNEED).
//
// -EINVAL   bytes is 0, an unknown enum value, no node where the policy needs one, two for PREFERRED; or one of the nodes does
//           not exist, has no memory, or lies outside this process's cpuset (the kernel would drop it from a set in silence);
//           or the caller's memory does not begin and end on a page boundary, or `page` says THP for it; or `windows` with
//           interleaving, or with reserved huge pages
// -E2BIG    the struct is of a later version and sets a field that this one does not know; the same in every open function
// -ENOMEM   no address space; too few reserved huge pages; a limit of the process, its cgroup or the host; or the nodes cannot
//           hold the span. locus_region_why() tells them apart
// -EPERM    mbind is forbidden here (seccomp), or, with `windows`, memfd_create
// -ENOSYS   the kernel does not know the policy (or a sandbox says so), has no NUMA support, or no transparent huge pages; or huge
//           pages cannot be populated (MADV_POPULATE_WRITE, Linux 5.14)
// -EFBIG, -EMFILE, -ENFILE   `windows`: the limit of a file's size (RLIMIT_FSIZE), or of open files, which takes one for a moment
int locus_region_open(struct locus_region **out, const struct locus_region_config *config);

// One sentence on why open returned `error`, with the figures and the remedy: huge pages that are not reserved (on the host, on a
// node), a cgroup's limit, RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK, vm.max_map_count, vm.overcommit_memory, a node that is full,
// offline or outside the cpuset. It looks at the host again. Cut to why_bytes > 0 (400 hold any), always terminated.
void locus_region_why(const struct locus_region_config *config, int error, char *why, size_t why_bytes);

// Unmaps the span and its guards. The caller's memory stays mapped and keeps the policy. NULL is allowed.
void locus_region_close(struct locus_region *region);

// First byte, aligned to the requested kind of page (2 MiB for THP), and the usable bytes between the guards.
void *locus_region_base(const struct locus_region *region);
size_t locus_region_bytes(const struct locus_region *region);

// The bytes that a strict bind could take from a node at the moment, by the rule of locus_region_open(): free and reclaimable
// memory, less the reserve for which the kernel would kill rather than hand it out. 0; -ENODEV; or -errno: the node's memory
// cannot be read.
int locus_node_room_bytes(int node, uint64_t *out);

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
