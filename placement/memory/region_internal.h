// SPDX-License-Identifier: Apache-2.0
//
// What region.c (which makes a span), region_policy.c (places it), region_room.c (will the nodes hold it), region_verify.c (where
// is it) and region_repair.c (bring it back) share. Not installed.
#ifndef LOCUS_REGION_INTERNAL_H
#define LOCUS_REGION_INTERNAL_H

#include "placement/memory/region_verify.h"

// The raw system calls take a mask as long as the longest that any kernel is built with (CONFIG_NODES_SHIFT ends at 10);
// get_mempolicy answers EINVAL to a mask shorter than the running kernel's, and a longer one costs nothing. The kernel takes
// "maxnode" as one more than the number of bits, and mbind would lose the last node without the + 1.
#define REGION_MAXNODE ((unsigned long)LOCUS_NODES_MAX + 1)

// Pages are counted in these, whatever the page size: move_pages is asked about every one of them.
#define REGION_UNIT_BYTES 4096u

// Units per call: 12 KiB of stack, and one system call for 4 MiB.
#define REGION_BATCH 1024u

struct locus_region {
    struct locus_region_config config; // as requested
    struct locus_nodes nodes;          // those of the policy; empty with FIRST_TOUCH
    char *map;                         // everything that close unmaps: guard, span, guard, and what could not be trimmed; or NULL
    size_t map_bytes;
    char *base; // the span
    size_t bytes;
    size_t page_bytes; // base page, or huge page of a MAP_HUGETLB span
    bool thp_advised;
};

// What is wrong with a config, nodes and policy aside, in words; NULL: nothing.
const char *region_config_fault(const struct locus_region_config *config);

// The policy's nodes. 0, or -EINVAL as locus_region_open() says.
int region_policy_nodes(const struct locus_region_config *config, struct locus_nodes *out);

// mbind. 0, -EPERM, -ENOSYS, or -EINVAL: one of the nodes has been lost since region_policy_nodes().
int region_policy_apply(const struct locus_region *region);

// The policy in force: 0, or a positive errno as in granted.policy_errno.
int region_policy_read(const struct locus_region *region, enum locus_policy *policy, struct locus_nodes *nodes);

// Which node's turn a page is. The kernel goes by the page's number: its place in the address space (for hugetlb, which is a
// file, in the span), modulo the number of nodes, or modulo the sum of the weights.
struct region_turns {
    uintptr_t origin;
    unsigned shift;                     // of the page size
    unsigned count;                     // of node[]; 0: the policy has no nodes
    unsigned long total;                // of the weights that count in turn
    bool exact;                         // the size of each page is known
    int node[LOCUS_NODES_MAX];          // ascending
    unsigned weight[LOCUS_NODES_MAX];   // as read; 0: not readable, or not weighted. Counts as 1
};
void region_turns_read(const struct locus_region *region, struct region_turns *out);

// pre: turns->count > 0.
int region_turn_of(const struct region_turns *turns, const void *address);

// Asks move_pages where `count` addresses are; negative is an error: -ENOENT never touched, -EFAULT the shared zero page.
int region_ask_nodes(void *const *addresses, unsigned long count, int *node_or_error);

// Bytes of the nodes that the kernel would rather kill for than hand out. 0, -ENOMEM, or what reading a node answered.
int region_kept_back(const struct locus_nodes *nodes, uint64_t *bytes);

// 0 if the nodes together hold `bytes` more, -ENOMEM if the OOM killer might answer; or what asking answered.
int region_nodes_hold(const struct locus_nodes *nodes, size_t bytes, uint64_t kept_back_bytes);

// The figures, if they do not hold it at the moment; otherwise false, and nothing is written.
bool region_room_why(const struct locus_nodes *nodes, size_t bytes, char *why, size_t why_bytes);

#endif
