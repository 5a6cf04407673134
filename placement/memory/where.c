// SPDX-License-Identifier: Apache-2.0
//
// where: asks move_pages about every 4 KiB, and sums up by node. See locus/where.h.
#include "locus/where.h"

#include <errno.h>

#include "placement/memory/region_internal.h"

static void count(struct locus_where *out, uint64_t on[], const int status[], unsigned long units)
{
    for (unsigned long i = 0; i < units; i++)
        if ((unsigned)status[i] < LOCUS_NODES_MAX) { // errors are negative
            on[status[i]]++;
            out->pages_present++;
        }
}

int locus_where(const void *memory, size_t bytes, struct locus_where *out)
{
    uint64_t on[LOCUS_NODES_MAX] = {0};
    void *addresses[REGION_BATCH];
    int status[REGION_BATCH];
    uintptr_t first = (uintptr_t)memory / REGION_UNIT_BYTES, last;
    if (bytes == 0 || __builtin_add_overflow((uintptr_t)memory, bytes - 1, &last))
        return -EINVAL;
    last /= REGION_UNIT_BYTES;
    *out = (struct locus_where){.pages = last - first + 1};
    for (uintptr_t unit = first, units; unit <= last; unit += units) {
        for (units = 0; units < REGION_BATCH && unit + units <= last; units++)
            addresses[units] = (void *)((unit + units) * REGION_UNIT_BYTES);
        int error = region_ask_nodes(addresses, units, status);
        if (error)
            return error;
        count(out, on, status, units);
    }
    for (int node = 0; (unsigned)node < LOCUS_NODES_MAX && out->nodes_count < LOCUS_WHERE_NODES_MAX; node++)
        if (on[node])
            out->on[out->nodes_count++] = (struct locus_where_node){.node = node, .pages = on[node]};
    return 0;
}
