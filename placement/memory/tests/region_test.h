// SPDX-License-Identifier: Apache-2.0
//
// Shared by region's tests. Nodes are looked up, not assumed. Whatever would change the process for good (a seccomp filter, a
// memory policy, a mount) or end it (a guard page) happens in a forked child.
#ifndef LOCUS_TESTS_REGION_TEST_H
#define LOCUS_TESTS_REGION_TEST_H

#include "locus/region.h"
#include "topo/topo.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define UNIT 4096u // verify counts in these
#define NODES 1024

#define CANNOT 2       // exit status of a child that could not prepare what it was to try
#define ANY_THIRD (-1) // for forbid()

static inline struct locus_region_config plain(size_t bytes)
{
    return (struct locus_region_config){.size = sizeof(struct locus_region_config), .bytes = bytes, .node = LOCUS_NODE_ANY};
}

static inline struct locus_region_config bound(size_t bytes, int node, bool populate)
{
    return (struct locus_region_config){.size = sizeof(struct locus_region_config),
                                        .bytes = bytes,
                                        .policy = LOCUS_POLICY_BIND,
                                        .node = node,
                                        .populate = populate};
}

static inline struct locus_region *must_open(const struct locus_region_config *config)
{
    struct locus_region *region;
    int result = locus_region_open(&region, config);
    cr_assert_eq(result, 0, "open answered %s", strerror(-result));
    return region;
}

static inline struct locus_placement must_verify(const struct locus_region *region)
{
    struct locus_placement placement;
    cr_assert_eq(locus_region_verify(region, &placement), 0);
    return placement;
}

static inline bool bind_forbidden(int result)
{
    return result == -EPERM || result == -ENOSYS;
}

// Next node from `node` on that this process may, or may not, use; NODES if there is none.
static inline int next_node(int node, bool allowed)
{
    while (node < NODES && locus_node_allowed(node) != allowed)
        node++;
    return node;
}

static inline uint64_t resident_pages(const struct locus_region *region)
{
    static unsigned char resident[32768]; // 128 MiB
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = locus_region_bytes(region) / page;
    uint64_t count = 0;
    cr_assert_leq(pages, sizeof(resident));
    cr_assert_eq(mincore(locus_region_base(region), locus_region_bytes(region), resident), 0);
    for (size_t i = 0; i < pages; i++)
        count += resident[i] & 1;
    return count;
}

#endif
