// SPDX-License-Identifier: Apache-2.0
//
// locus with other times to drain than once per step, or with fewer blocks, and nothing else (library.h). The paper explains its
// burst overshoot by draining once per step. If the cause is a race with the workers instead, an extra drain on growth changes
// nothing, and only a cap does.
//
//     locus-growth    drains once more before a take would use a never-used block, and does not wait
//     locus-lazy      drains only when a take finds too few blocks, and at the end of a lap (an experiment of the paper's v2)
//     locus-budget    drains at most 64 blocks a step, and all at the end of a lap: the longest drain is short
//     locus-cap-N     the pool has N percent of the theoretical peak, rounded up, and at most the workload's own pool.
//                     A take that finds it empty waits for declared blocks on their way home, as any take does that finds too few
//                     blocks. So the footprint cannot exceed the cap, and we measure its price.
//
// The peak is the running maximum with instant frees, so a pool of just that size never has to refuse: every block that a take
// lacks belongs to a request that was retired before.

#include "testbed/contenders/library.h"

static int growth_take(void *context, struct locus_table *table, uint32_t count)
{
    struct tb_library *library = context;
    struct locus_pool_stats pool;
    locus_pool_stats(library->pool, &pool);
    if (pool.outstanding + count > pool.distinct_high) // more than has come home so far
        locus_owner_drain(library->owner);
    return locus_owner_grow(library->owner, table, count);
}

static void lazy_step(void *context)
{
    (void)context;
}

static void budget_step(void *context)
{
    struct tb_library *library = context;
    locus_owner_drain_some(library->owner, 64);
    while (locus_owner_next_reclaimed(library->owner))
        ; // the driver knows its tables by slot
}

static int cap_open(const struct tb_setup *setup, uint32_t percent, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    uint64_t cap = ((uint64_t)setup->schedule->blocks_peak * percent + 99) / 100;
    pool.blocks = cap < setup->pool_blocks ? (uint32_t)cap : setup->pool_blocks;
    return tb_library_open(setup, &pool, false, out);
}

TB_LIBRARY_OPS(growth_ops, tb_library_open_usual, growth_take, NULL);
TB_LIBRARY_OPS(lazy_ops, tb_library_open_usual, tb_library_take, lazy_step);
TB_LIBRARY_OPS(budget_ops, tb_library_open_usual, tb_library_take, budget_step);

static const struct tb_contender growth = {
    .name = "locus-growth",
    .summary = "locus, draining once more before it uses a new block",
    .driver = &growth_ops_driver,
};
TB_CONTENDER(growth);

static const struct tb_contender lazy = {
    .name = "locus-lazy",
    .summary = "locus, draining only when it has too few blocks, and at the end of a lap",
    .driver = &lazy_ops_driver,
};
TB_CONTENDER(lazy);

static const struct tb_contender budget = {
    .name = "locus-budget",
    .summary = "locus, draining at most 64 blocks a step",
    .driver = &budget_ops_driver,
};
TB_CONTENDER(budget);

#define CAP(percent, times)                                                                                                        \
    static int cap_##percent##_open(const struct tb_setup *setup, void **out)                                                      \
    {                                                                                                                              \
        return cap_open(setup, percent, out);                                                                                      \
    }                                                                                                                              \
    TB_LIBRARY_OPS(cap_##percent##_ops, cap_##percent##_open, tb_library_take, NULL);                                              \
    static const struct tb_contender cap_##percent = {                                                                             \
        .on_demand = true,                                                                                                         \
        .name = "locus-cap-" #percent,                                                                                             \
        .summary = "locus with a pool of " times " times the theoretical peak; waits if that is not enough",                       \
        .driver = &cap_##percent##_ops_driver,                                                                                     \
    }

CAP(100, "1.00");
TB_CONTENDER(cap_100);
CAP(105, "1.05");
TB_CONTENDER(cap_105);
CAP(125, "1.25");
TB_CONTENDER(cap_125);
