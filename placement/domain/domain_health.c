// SPDX-License-Identifier: Apache-2.0
//
// domain_health: two checks per home, of the node (its memory in sysfs) and of the pages (move_pages), and one word for the
// result.
//
// A node without memory is offline even if the kernel keeps its directory, as Linux does for a node with CPUs. Pages can be
// elsewhere only for homes that are bound to their node; for the others no place is wrong.
#include "domain_internal.h"
#include "locus/region.h"

#include "topo/topo.h"

#include <errno.h>

enum locus_home_condition domain_condition(const struct locus_home_report *report)
{
    if (report->node_bytes_now == 0)
        return LOCUS_HOME_OFFLINE;
    if (report->pages_elsewhere)
        return LOCUS_HOME_MIGRATED;
    return report->node_bytes_now < report->node_bytes_then ? LOCUS_HOME_SHRUNK : LOCUS_HOME_OK;
}

static int home_check(const struct home *home, int node, struct locus_home_report *out)
{
    struct locus_node_memory memory = {0};
    struct locus_placement placement;
    int error = locus_node_memory_read(node, &memory);
    if (error && error != -ENODEV)
        return error;
    error = locus_region_verify(locus_pool_region(home->pool), &placement);
    if (error)
        return error;
    *out = (struct locus_home_report){
        .node = node,
        .node_bytes_then = home->node_bytes,
        .node_bytes_now = memory.total_bytes,
        .pages_present = placement.verified.pages_present,
        .pages_elsewhere = placement.verified.pages_elsewhere,
        .verify_errno = placement.verified.verify_errno,
    };
    out->condition = domain_condition(out);
    return 0;
}

int locus_domain_check(const struct locus_domain *domain, struct locus_home_report reports[])
{
    int error = 0;
    for (uint32_t i = 0; i < domain->homes_count && !error; i++)
        error = home_check(domain->homes[i], domain->nodes[i], &reports[i]);
    return error;
}

// Relaxed: the mark is only a request and orders nothing.
int locus_domain_avoid(struct locus_domain *domain, uint32_t home, bool avoid)
{
    if (home >= domain->homes_count || domain->config.exhausted != LOCUS_EXHAUSTED_BORROW)
        return -EINVAL;
    atomic_store_explicit(&domain->homes[home]->avoided, avoid, memory_order_relaxed);
    return 0;
}
