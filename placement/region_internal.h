// SPDX-License-Identifier: Apache-2.0
//
// What region.c (which makes a span) region_room.c (will the node hold it) and region_verify.c (where is it) share. Not installed.
#ifndef LOCUS_REGION_INTERNAL_H
#define LOCUS_REGION_INTERNAL_H

#include "placement/region.h"

// Node masks as the raw system calls want them. 1024 is the largest MAX_NUMNODES any kernel is built with (CONFIG_NODES_SHIFT
// ends at 10); get_mempolicy answers EINVAL to a mask shorter than the running kernel's, and a longer one costs nothing.
// The kernel takes "maxnode" as one more than the number of bits, and mbind would lose the last node without the + 1.
#define REGION_NODE_BITS 1024u
#define REGION_MASK_WORDS (REGION_NODE_BITS / (8 * sizeof(unsigned long)))
#define REGION_MAXNODE ((unsigned long)REGION_NODE_BITS + 1)

struct locus_region {
    struct locus_region_config config; // as requested
    char *map;                         // everything that close unmaps: guard, span, guard, and what could not be trimmed
    size_t map_bytes;
    char *base; // the span
    size_t bytes;
    size_t page_bytes; // base page, or huge page of a MAP_HUGETLB span
    bool thp_advised;
};

// Bytes of the node that the kernel would rather kill for than hand out. 0, -ENOMEM, or what reading the node answered.
int region_kept_back(int node, uint64_t *bytes);

// 0 if `bytes` more can be populated on the node, -ENOMEM if the OOM killer might answer; or what asking answered.
int region_node_holds(int node, size_t bytes, uint64_t kept_back_bytes);

#endif
