// SPDX-License-Identifier: Apache-2.0
//
// homes: the library on many nodes, and the kernel's policies under it. All are the same domain (a pool, lanes and an owner
// per scheduler, every block pushed home) and differ only in where the pools' pages are. So only placement is compared.
//
// Pages are base pages: the kernel interleaves huge ones in units of 2 MiB, and counts by page would be meaningless.
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "locus/locus.h"
#include "testbed/measure/nodes/ops.h"

enum where { AT_HOME, NEXT_NODE, FIRST_NODE }; // where the pages are, relative to the scheduler's node

struct plan {
    enum locus_policy policy;
    enum where where;
    bool among_all;             // over all nodes with memory, not one node
    bool touched_first_by_use;  // not populated: the scheduler's first write places a page
    bool displaced;             // begins with all pages on the first node, like an engine that fills its pools from one thread
    bool repaired;              // stray pages are moved back; a check every eighth of a lap
    bool short_of_blocks;       // the first home has three quarters of what its scheduler needs, and borrows
};

struct homes {
    const struct plan *plan;
    struct locus_domain *domain;
    struct { // one per scheduler, which writes it in timed laps
        _Alignas(LOCUS_CACHE_LINE) uint64_t requests;
    } home[LOCUS_HOMES_MAX]; // requests that came home, by station
};

static void homes_close(void *context)
{
    struct homes *homes = context;
    locus_domain_close(homes->domain);
    free(homes);
}

// Moves a pool's pages without changing its policy, as many at once as fit on the stack. -EBUSY: some stayed.
static int displace(const struct locus_region *region, int node)
{
    enum { BATCH = 256 };
    char *base = locus_region_base(region);
    size_t pages = locus_region_bytes(region) / 4096;
    for (size_t first = 0; first < pages; first += BATCH) {
        void *addresses[BATCH];
        int nodes[BATCH], status[BATCH];
        size_t count = pages - first < BATCH ? pages - first : BATCH;
        for (size_t i = 0; i < count; i++) {
            addresses[i] = base + (first + i) * 4096;
            nodes[i] = node;
        }
        if (syscall(SYS_move_pages, 0, count, addresses, nodes, status, MPOL_MF_MOVE) < 0)
            return -errno;
        for (size_t i = 0; i < count; i++)
            if (status[i] != node)
                return status[i] < 0 ? status[i] : -EBUSY;
    }
    return 0;
}

static const struct locus_region *homes_region(void *context, uint32_t station)
{
    return locus_pool_region(locus_owner_pool(locus_domain_owner(((struct homes *)context)->domain, station)));
}

static int homes_open(const struct tb_nodes_setup *setup, void **out)
{
    const struct plan *plan = setup->plan;
    int nodes[LOCUS_HOMES_MAX];
    uint32_t blocks[LOCUS_HOMES_MAX];
    struct homes *homes = aligned_alloc(LOCUS_CACHE_LINE, sizeof *homes);
    if (!homes)
        return -ENOMEM;
    *homes = (struct homes){.plan = plan};
    *out = homes;
    for (uint32_t s = 0; s < setup->count; s++) {
        uint32_t at = plan->where == NEXT_NODE ? (s + 1) % setup->count : plan->where == FIRST_NODE ? 0 : s;
        nodes[s] = setup->nodes[at];
        blocks[s] = setup->schedule->pool_blocks;
    }
    if (plan->short_of_blocks && setup->count > 1) // another home must lend
        blocks[0] = setup->schedule->blocks_peak - setup->schedule->blocks_peak / 4;
    struct locus_domain_config config = {
        .size = sizeof config,
        .nodes = nodes,
        .nodes_count = setup->count,
        .lanes = setup->lanes,
        .blocks_of = blocks,
        .block_bytes = setup->block_bytes,
        .page = LOCUS_PAGE_4K,
        .policy = plan->policy,
        .populate = !plan->touched_first_by_use,
        .exhausted = plan->short_of_blocks ? LOCUS_EXHAUSTED_BORROW : LOCUS_EXHAUSTED_WAIT,
        .exclusive = true, // a worker has a lane of its own
        .wait_ns = 0, // the scheduler waits (ops.h) and serves its inbox, which may have the blocks it waits for
    };
    if (plan->among_all)
        config.among = *setup->memory;
    int error = locus_domain_open(&homes->domain, &config);
    for (uint32_t s = 0; s < setup->count && plan->displaced && !error; s++)
        error = displace(homes_region(homes, s), setup->nodes[0]);
    return error;
}

static int homes_enter(void *context, uint32_t station)
{
    return locus_owner_adopt(locus_domain_owner(((struct homes *)context)->domain, station));
}

static void homes_leave(void *context, uint32_t station)
{
    struct locus_domain *domain = ((struct homes *)context)->domain;
    locus_domain_cancel(domain, station); // of a take that gave up
    locus_owner_leave(locus_domain_owner(domain, station));
}

static int homes_take(void *context, uint32_t station, struct locus_table *table, uint32_t count)
{
    return locus_domain_grow(((struct homes *)context)->domain, station, table, count);
}

static void *homes_address(void *context, locus_block block)
{
    return locus_domain_address(((struct homes *)context)->domain, block);
}

static int homes_retire(void *context, uint32_t station, struct locus_table *table)
{
    return locus_owner_retire(locus_domain_owner(((struct homes *)context)->domain, station), table);
}

static void homes_finish(void *context, uint32_t lane, uint32_t station, struct locus_table *table)
{
    (void)station;
    locus_table_push(locus_domain_route(((struct homes *)context)->domain, lane), table);
}

static void homes_drain(void *context, uint32_t station)
{
    struct homes *homes = context;
    locus_domain_drain(homes->domain, station);
    while (locus_domain_next_reclaimed(homes->domain, station))
        homes->home[station].requests++; // the scheduler knows its tables by slot
}

static uint64_t homes_home(void *context, uint32_t station)
{
    return ((struct homes *)context)->home[station].requests;
}

static int homes_kept_on(void *context, uint32_t station, locus_block block)
{
    (void)station;
    return locus_domain_node(((struct homes *)context)->domain, locus_block_home(block));
}

static int homes_repair(void *context, uint32_t station, uint64_t *moved)
{
    uint64_t left;
    if (!((struct homes *)context)->plan->repaired)
        return 0;
    return locus_region_repair(homes_region(context, station), moved, &left);
}

// Lent blocks count for the home that used them, because its scheduler took them. Late ones count for none.
static void homes_audit(void *context, uint32_t station, struct tb_audit *out)
{
    const struct homes *homes = context;
    struct locus_pool_stats pool;
    struct locus_domain_stats domain;
    locus_pool_stats(locus_owner_pool(locus_domain_owner(homes->domain, station)), &pool);
    locus_domain_stats(homes->domain, station, &domain);
    uint64_t borrowed = domain.blocks_borrowed - domain.blocks_returned;
    uint64_t for_others = domain.blocks_lent + domain.blocks_late;
    out->allocated = pool.allocated - for_others + borrowed;
    out->freed = pool.freed - for_others + borrowed;
    out->drained = homes->home[station].requests;
    for (int i = 0; i < LOCUS_FREE_ERRORS_COUNT; i++)
        out->refused += pool.refused[i];
    out->not_home = pool.blocks - pool.blocks_free - pool.blocks_worn;
}

static const struct tb_nodes_ops homes_ops = {
    .open = homes_open,
    .close = homes_close,
    .enter = homes_enter,
    .leave = homes_leave,
    .take = homes_take,
    .address = homes_address,
    .retire = homes_retire,
    .finish = homes_finish,
    .drain = homes_drain,
    .home = homes_home,
    .kept_on = homes_kept_on,
    .repair = homes_repair,
    .region = homes_region,
    .audit = homes_audit,
};

// Each contender is a plan, and the policy that it needs from the kernel.

static const struct plan steered_plan = {.policy = LOCUS_POLICY_BIND};
static const struct tb_nodes_contender steered_nodes = {.ops = &homes_ops, .plan = &steered_plan, .policy = LOCUS_POLICY_BIND};
static const struct tb_contender steered_contender = {
    .name = "home-steered",
    .summary = "this library: each pool bound to its scheduler's node, every block pushed home",
    .nodes = &steered_nodes,
};
TB_CONTENDER(steered_contender);

static const struct plan cross_plan = {.policy = LOCUS_POLICY_BIND, .where = NEXT_NODE};
static const struct tb_nodes_contender cross_nodes = {.ops = &homes_ops, .plan = &cross_plan, .policy = LOCUS_POLICY_BIND};
static const struct tb_contender cross_contender = {
    .name = "cross-node",
    .summary = "the same, bound to the next node: what a wrong node costs at most",
    .nodes = &cross_nodes,
};
TB_CONTENDER(cross_contender);

static const struct plan one_node_plan = {.policy = LOCUS_POLICY_BIND, .where = FIRST_NODE};
static const struct tb_nodes_contender one_node_nodes = {.ops = &homes_ops, .plan = &one_node_plan, .policy = LOCUS_POLICY_BIND};
static const struct tb_contender one_node_contender = {
    .name = "one-node",
    .summary = "all pools bound to the first node, as in engines that ignore nodes",
    .nodes = &one_node_nodes,
};
TB_CONTENDER(one_node_contender);

static const struct plan touched_plan = {.policy = LOCUS_POLICY_FIRST_TOUCH, .touched_first_by_use = true};
static const struct tb_nodes_contender touched_nodes = {.ops = &homes_ops,
                                                        .plan = &touched_plan,
                                                        .policy = LOCUS_POLICY_FIRST_TOUCH};
static const struct tb_contender touched_contender = {
    .name = "first-touch",
    .summary = "no policy: pages are where the scheduler first wrote them",
    .nodes = &touched_nodes,
};
TB_CONTENDER(touched_contender);

static const struct plan preferred_plan = {.policy = LOCUS_POLICY_PREFERRED};
static const struct tb_nodes_contender preferred_nodes = {.ops = &homes_ops,
                                                          .plan = &preferred_plan,
                                                          .policy = LOCUS_POLICY_PREFERRED};
static const struct tb_contender preferred_contender = {
    .name = "preferred",
    .summary = "on the scheduler's node while it has room",
    .nodes = &preferred_nodes,
};
TB_CONTENDER(preferred_contender);

static const struct plan many_plan = {.policy = LOCUS_POLICY_PREFERRED_MANY, .among_all = true, .touched_first_by_use = true};
static const struct tb_nodes_contender many_nodes = {.ops = &homes_ops, .plan = &many_plan, .policy = LOCUS_POLICY_PREFERRED_MANY};
static const struct tb_contender many_contender = {
    .name = "preferred-many",
    .summary = "on the nearest node that has room",
    .nodes = &many_nodes,
};
TB_CONTENDER(many_contender);

static const struct plan interleaved_plan = {.policy = LOCUS_POLICY_INTERLEAVE, .among_all = true};
static const struct tb_nodes_contender interleaved_nodes = {.ops = &homes_ops,
                                                            .plan = &interleaved_plan,
                                                            .policy = LOCUS_POLICY_INTERLEAVE};
static const struct tb_contender interleaved_contender = {
    .name = "interleave",
    .summary = "page by page over all nodes",
    .nodes = &interleaved_nodes,
};
TB_CONTENDER(interleaved_contender);

static const struct plan weighted_plan = {.policy = LOCUS_POLICY_WEIGHTED_INTERLEAVE, .among_all = true};
static const struct tb_nodes_contender weighted_nodes = {.ops = &homes_ops,
                                                         .plan = &weighted_plan,
                                                         .policy = LOCUS_POLICY_WEIGHTED_INTERLEAVE};
static const struct tb_contender weighted_contender = {
    .name = "weighted-interleave",
    .summary = "page by page, by the weights in /sys/kernel/mm/mempolicy",
    .nodes = &weighted_nodes,
};
TB_CONTENDER(weighted_contender);

static const struct plan balanced_plan = {.policy = LOCUS_POLICY_BIND_BALANCING, .among_all = true, .displaced = true};
static const struct tb_nodes_contender balanced_nodes = {.ops = &homes_ops,
                                                         .plan = &balanced_plan,
                                                         .policy = LOCUS_POLICY_BIND_BALANCING,
                                                         .migrates = true};
static const struct tb_contender balanced_contender = {
    .name = "bind-balancing",
    .summary = "bound to all nodes, filled from one thread; NUMA balancing may move the pages",
    .nodes = &balanced_nodes,
};
TB_CONTENDER(balanced_contender);

static const struct plan repaired_plan = {.policy = LOCUS_POLICY_PREFERRED, .displaced = true, .repaired = true};
static const struct tb_nodes_contender repaired_nodes = {.ops = &homes_ops,
                                                         .plan = &repaired_plan,
                                                         .policy = LOCUS_POLICY_PREFERRED,
                                                         .migrates = true};
static const struct tb_contender repaired_contender = {
    .name = "repair",
    .summary = "filled on the first node; stray pages are moved back between steps",
    .nodes = &repaired_nodes,
};
TB_CONTENDER(repaired_contender);

static const struct plan short_plan = {.policy = LOCUS_POLICY_BIND, .short_of_blocks = true};
static const struct tb_nodes_contender short_nodes = {.ops = &homes_ops, .plan = &short_plan, .policy = LOCUS_POLICY_BIND};
static const struct tb_contender short_contender = {
    .name = "home-borrow",
    .summary = "home-steered, but the first home is too small and borrows",
    .nodes = &short_nodes,
};
TB_CONTENDER(short_contender);
