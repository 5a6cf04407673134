// SPDX-License-Identifier: Apache-2.0
//
// Shared by region.c (makes a span), region_policy.c (places it), region_room.c (is there room for it), region_why.c (why it could
// not be opened), region_verify.c (where its pages are) and region_repair.c (brings pages back). Not installed.
#ifndef LOCUS_REGION_INTERNAL_H
#define LOCUS_REGION_INTERNAL_H

#include "locus/region.h"

// The raw system calls get the longest mask that any kernel is built for (CONFIG_NODES_SHIFT ends at 10): get_mempolicy answers
// EINVAL to a mask shorter than the running kernel's, and a longer one costs nothing. The kernel takes "maxnode" as one more than
// the number of bits; without the + 1 mbind would lose the last node.
#define REGION_MAXNODE ((unsigned long)LOCUS_NODES_MAX + 1)

// The unit in which pages are counted, whatever the page size: move_pages is asked about every unit.
#define REGION_UNIT_BYTES 4096u

// Units per call: 12 KiB of stack, and one system call for 4 MiB.
#define REGION_BATCH 1024u

struct locus_region {
    struct locus_region_config config; // as requested
    struct locus_nodes nodes;          // of the policy; empty with FIRST_TOUCH
    char *map;                         // what close unmaps: guard, span, guard, and what could not be trimmed; or NULL
    size_t map_bytes;
    char *base; // the span
    size_t bytes;
    size_t page_bytes; // base page, or huge page of a MAP_HUGETLB span
    bool thp_advised;
};

// What is wrong with a config, in words, apart from nodes and policy; NULL: nothing.
const char *region_config_fault(const struct locus_region_config *config);

// A new file for a span with `windows`, or -errno; and whether this process may have one of so many bytes.
int region_file(void);
bool region_file_too_large(size_t bytes);

static inline bool region_is_pooled(const struct locus_region_config *config)
{
    return config->page == LOCUS_PAGE_2M || config->page == LOCUS_PAGE_1G;
}

// Bytes of a page as requested; base pages have base_bytes.
size_t region_page_bytes(enum locus_page page, size_t base_bytes);

// What LOCUS_POLICY_BY_NODE stands for in this config; any other policy as it is.
enum locus_policy region_policy_meant(const struct locus_region_config *config);

// The nodes that are named, of which some may be out of reach; none with FIRST_TOUCH.
void region_nodes_named(const struct locus_region_config *config, struct locus_nodes *out);

// The policy's nodes. 0, or -EINVAL as locus_region_open().
int region_policy_nodes(const struct locus_region_config *config, struct locus_nodes *out);

// mbind. 0, -EPERM, -ENOSYS, or -EINVAL: a node has gone since region_policy_nodes().
int region_policy_apply(const struct locus_region *region);

// The policy in force: 0, or a positive errno as in granted.policy_errno.
int region_policy_read(const struct locus_region *region, enum locus_policy *policy, struct locus_nodes *nodes);

// Which node a page falls to under interleaving. The kernel goes by the page's number: its place in the address space (for
// hugetlb, which is a file, its place in the span), modulo the number of nodes or the sum of the weights.
struct region_turns {
    uintptr_t origin;
    unsigned shift;                     // of the page size
    unsigned count;                     // of node[]; 0: the policy has no nodes
    unsigned long total;                // sum of the weights
    bool exact;                         // the size of each page is known
    int node[LOCUS_NODES_MAX];          // ascending
    unsigned weight[LOCUS_NODES_MAX];   // as read; 0: unreadable, or not weighted: counts as 1
};
void region_turns_read(const struct locus_region *region, struct region_turns *out);

// pre: turns->count > 0.
int region_turn_of(const struct region_turns *turns, const void *address);

// Asks move_pages where `count` addresses are; negative is an error: -ENOENT never touched, -EFAULT the shared zero page.
int region_ask_nodes(void *const *addresses, unsigned long count, int *node_or_error);

// The nodes' reserve, in bytes, for which the kernel would kill rather than hand it out. 0, -ENOMEM, or the error of reading a
// node.
int region_kept_back(const struct locus_nodes *nodes, uint64_t *bytes);

// 0 if the nodes together have room for `bytes` more; -ENOMEM if the OOM killer might strike; or the error of reading a node.
int region_nodes_hold(const struct locus_nodes *nodes, size_t bytes, uint64_t kept_back_bytes);

// The nodes on which this process may allocate. 0, or the error of asking.
int region_nodes_allowed(struct locus_nodes *out);

// Where populating takes its pages from.
struct region_room {
    struct locus_nodes nodes;   // the policy's if it is strict, else all that the process may use
    uint64_t kept_back_bytes;
    bool strict;
    bool unknown;               // the nodes' memory cannot be read, and the policy is not strict: the cgroup alone decides
};
int region_room_open(enum locus_policy policy, const struct locus_nodes *nodes, struct region_room *out);

// Is this mapping of ours locked? A new one is in a process that locks what it maps (mlockall).
bool region_is_locked(void *page, size_t bytes);

// 0; -ENOMEM: the OOM killer might strike; with a strict policy also the error of reading a node.
int region_room_holds(const struct region_room *room, size_t bytes);

// The same for memory that no policy places: malloc's.
int region_process_holds(size_t bytes);

// True: there is no room at the moment, and `why` gives the figures. Otherwise false, and nothing is written.
bool region_room_why(enum locus_policy policy, const struct locus_nodes *nodes, size_t bytes, char *why, size_t why_bytes);

// Why open returned `error`, as locus_region_why(), if the table of causes has one that holds (region_why.c). beside_bytes are
// those that the caller took for other spans before this one, and has given back. False: nothing is written.
bool region_cause(const struct locus_region_config *config, uint64_t beside_bytes, int error, char *why, size_t why_bytes);

// What can be said if none holds.
void region_unknown_cause(const struct locus_region_config *config, int error, char *why, size_t why_bytes);

// Why no page can be placed on the node. False: this process can use it.
bool region_node_why(int node, char *why, size_t why_bytes);

#endif
