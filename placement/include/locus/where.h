// SPDX-License-Identifier: Apache-2.0
//
// where: on which nodes memory of this process lies, whatever it came from: malloc, a mapped file, a tensor of an engine that knows
// nothing of LOCUS. Of a region, locus_region_verify() says more: what was requested and granted beside it.
//
// The kernel is asked (move_pages(2) without target nodes). Nothing is faulted in, and nothing moves. The answer is as of the call:
// the kernel may migrate pages while it is given.
//
// Units: pages are counted in 4 KiB, whatever they are made of, so a huge page of 2 MiB counts 512 times. A page that the range
// touches in part counts as a whole. Nodes are OS node numbers.
// Threads: any. The call keeps no state and allocates nothing. Cost: one system call for each 4 MiB, about 50 ns a page.
//
//     struct locus_where where;
//     if (locus_where(tensor, bytes, &where) == 0)
//         for (unsigned i = 0; i < where.nodes_count; i++)
//             printf("node %d: %" PRIu64 " KiB\n", where.on[i].node, 4 * where.on[i].pages);
#ifndef LOCUS_WHERE_H
#define LOCUS_WHERE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_WHERE_NODES_MAX 64u

struct locus_where_node {
    int node;
    uint64_t pages;
};

struct locus_where {
    uint64_t pages;             // that the range touches
    uint64_t pages_present;     // of these, on some node. The others were never written, were given back, or are not mapped: the
                            // kernel does not tell these apart
    unsigned nodes_count;       // rows filled below, in ascending node number. A machine with more nodes loses rows, never the sum
    struct locus_where_node on[LOCUS_WHERE_NODES_MAX];
};

// 0; -EINVAL: no bytes, or the range goes beyond the end of the address space; -EPERM, -ENOSYS: move_pages is forbidden here
// (seccomp), or missing. After an error *out has no meaning.
int locus_where(const void *memory, size_t bytes, struct locus_where *out);

#ifdef __cplusplus
}
#endif

#endif
