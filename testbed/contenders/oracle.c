// SPDX-License-Identifier: Apache-2.0
//
// oracle, oracle-coloured: no allocator at all. The block for every take is computed in advance, by replaying the schedule on a
// LIFO stack with instant frees. It is the floor: the same memory (one region, huge pages, populated), the same touches and
// dispatch, and the least possible footprint. Coloured, a cache line separates two blocks: the floor of `locus-coloured`, since
// the position of the first bytes decides what writing one byte of each block costs.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "placement/memory/region.h"
#include "testbed/contenders/counting.h"
#include "testbed/measure/driver.h"

struct oracle_context {
    struct tb_lane_counts counts;
    struct locus_region *region;
    char *base;
    size_t stride_bytes;
    uint32_t *order;            // block indices in the order in which the stream takes them
    uint64_t order_count;
    uint64_t next, rotation_begin;
    uint64_t taken, freed, released;
};

// A slot's blocks while the plan is made.
struct oracle_slot {
    uint32_t *blocks;
    uint32_t count;
};

struct oracle_plan {
    struct oracle_slot *slots;
    uint32_t *storage;
    uint32_t *stack;            // free blocks are stack[next ..], ascending at first; what comes home keeps its order
    uint32_t next;
};

static int plan_open(struct oracle_plan *plan, const struct tb_schedule *schedule)
{
    const uint32_t *capacity = tb_schedule_capacity(schedule);
    uint64_t total = 0;
    for (uint32_t i = 0; i < schedule->slots; i++)
        total += capacity[i];
    plan->slots = calloc(schedule->slots, sizeof *plan->slots);
    plan->storage = calloc(total, sizeof *plan->storage);
    plan->stack = calloc(schedule->pool_blocks, sizeof *plan->stack);
    if (!plan->slots || !plan->storage || !plan->stack)
        return -ENOMEM;
    uint32_t *storage = plan->storage;
    for (uint32_t i = 0; i < schedule->slots; i++) {
        plan->slots[i].blocks = storage;
        storage += capacity[i];
    }
    for (uint32_t i = 0; i < schedule->pool_blocks; i++)
        plan->stack[i] = i;
    return 0;
}

static void plan_close(struct oracle_plan *plan)
{
    free(plan->slots);
    free(plan->storage);
    free(plan->stack);
}

static void plan_span(struct oracle_context *oracle, struct oracle_plan *plan, const struct tb_schedule *schedule,
                      const struct tb_span *span)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);
    for (uint64_t i = span->begin; i < span->end; i++) {
        struct oracle_slot *slot = &plan->slots[ops[i].slot];
        if (ops[i].kind == TB_OP_TAKE) {
            memcpy(slot->blocks + slot->count, plan->stack + plan->next, ops[i].count * sizeof *plan->stack);
            memcpy(oracle->order + oracle->order_count, plan->stack + plan->next, ops[i].count * sizeof *plan->stack);
            plan->next += ops[i].count;
            oracle->order_count += ops[i].count;
            slot->count += ops[i].count;
        } else if (ops[i].kind == TB_OP_RETIRE) {
            plan->next -= slot->count;
            memcpy(plan->stack + plan->next, slot->blocks, slot->count * sizeof *plan->stack);
            slot->count = 0;
        }
    }
}

// The laps' order is replayed in rotation, so after one rotation every live slot must have the same blocks as before.
static int plan_make(struct oracle_context *oracle, const struct tb_schedule *schedule)
{
    struct oracle_plan plan = {0};
    int error = plan_open(&plan, schedule);
    uint32_t *before = NULL;
    if (error)
        goto out;
    plan_span(oracle, &plan, schedule, &schedule->prologue);
    oracle->rotation_begin = oracle->order_count;
    uint64_t held = 0;
    for (uint32_t i = 0; i < schedule->slots; i++)
        held += plan.slots[i].count;
    before = calloc(held + 1, sizeof *before);
    if (!before) {
        error = -ENOMEM;
        goto out;
    }
    held = 0;
    for (uint32_t i = 0; i < schedule->slots; held += plan.slots[i++].count)
        memcpy(before + held, plan.slots[i].blocks, plan.slots[i].count * sizeof *before);
    for (uint64_t lap = 0; lap < schedule->laps_count; lap++)
        plan_span(oracle, &plan, schedule, tb_schedule_lap(schedule, lap));
    held = 0;
    for (uint32_t i = 0; i < schedule->slots && !error; held += plan.slots[i++].count)
        if (memcmp(before + held, plan.slots[i].blocks, plan.slots[i].count * sizeof *before))
            error = -EINVAL;
out:
    free(before);
    plan_close(&plan);
    return error;
}

static void oracle_close(void *context)
{
    struct oracle_context *oracle = context;
    tb_lane_counts_close(&oracle->counts);
    locus_region_close(oracle->region);
    free(oracle->order);
    free(oracle);
}

static int open_with(const struct tb_setup *setup, size_t gap_bytes, void **out)
{
    const struct tb_schedule *schedule = setup->schedule;
    struct oracle_context *oracle = calloc(1, sizeof *oracle);
    if (!oracle)
        return -ENOMEM;
    *out = oracle;
    oracle->stride_bytes = setup->block_bytes + gap_bytes;
    struct locus_region_config region = {
        .size = sizeof region,
        .bytes = oracle->stride_bytes * setup->pool_blocks,
        .page = LOCUS_PAGE_THP,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .node = LOCUS_NODE_ANY,
        .populate = true,
    };
    uint64_t taken = schedule->blocks_per_lap * schedule->laps_count + schedule->blocks_peak;
    oracle->order = calloc(taken, sizeof *oracle->order);
    int error = oracle->order ? tb_lane_counts_open(&oracle->counts, setup->workers) : -ENOMEM;
    if (!error)
        error = locus_region_open(&oracle->region, &region);
    if (!error)
        error = plan_make(oracle, schedule);
    if (!error)
        oracle->base = locus_region_base(oracle->region);
    return error;
}

static int oracle_open(const struct tb_setup *setup, void **out)
{
    return open_with(setup, 0, out);
}

static int coloured_open(const struct tb_setup *setup, void **out)
{
    return open_with(setup, LOCUS_CACHE_LINE, out);
}

static int oracle_take(void *context, struct locus_table *table, uint32_t count)
{
    struct oracle_context *oracle = context;
    if (oracle->next == oracle->order_count)
        oracle->next = oracle->rotation_begin;
    const uint32_t *order = oracle->order + oracle->next;
    for (uint32_t i = 0; i < count; i++)
        table->blocks[table->count++] = order[i];
    oracle->next += count;
    oracle->taken += count;
    return 0;
}

static locus_block oracle_alloc(void *context)
{
    struct oracle_context *oracle = context;
    if (oracle->next == oracle->order_count)
        oracle->next = oracle->rotation_begin;
    oracle->taken++;
    return oracle->order[oracle->next++];
}

static void oracle_release(void *context, locus_block blocks[], uint32_t count)
{
    (void)blocks;
    ((struct oracle_context *)context)->released += count;
}

static void *oracle_address(void *context, locus_block block)
{
    const struct oracle_context *oracle = context;
    return oracle->base + block * oracle->stride_bytes;
}

// The blocks are free at once, whatever the worker does, and the table is empty: only the dispatch remains, and the worker never
// reads the table.
static int oracle_retire(void *context, struct locus_table *table)
{
    ((struct oracle_context *)context)->freed += table->count;
    table->count = 0;
    return 0;
}

static void oracle_finish(void *context, uint32_t worker, struct locus_table *table)
{
    (void)table;
    tb_lane_count(&((struct oracle_context *)context)->counts, worker, 0);
}

static void oracle_drain(void *context)
{
    (void)context;
}

static uint64_t oracle_freed(void *context)
{
    return ((struct oracle_context *)context)->freed;
}

static void oracle_audit(void *context, struct tb_audit *out)
{
    struct oracle_context *oracle = context;
    out->allocated = oracle->taken;
    out->freed = oracle->freed + oracle->released;
    out->drained = tb_lane_counts_requests(&oracle->counts);
}

#define ORACLE_OPS(name, open_region)                                                                                              \
    static const struct tb_ops name = {                                                                                            \
        .open = open_region,                                                                                                       \
        .close = oracle_close,                                                                                                     \
        .take = oracle_take,                                                                                                       \
        .alloc = oracle_alloc,                                                                                                     \
        .release = oracle_release,                                                                                                 \
        .address = oracle_address,                                                                                                 \
        .retire = oracle_retire,                                                                                                   \
        .finish = oracle_finish,                                                                                                   \
        .drain = oracle_drain,                                                                                                     \
        .freed = oracle_freed,                                                                                                     \
        .audit = oracle_audit,                                                                                                     \
    };                                                                                                                             \
    TB_DRIVER(name)
ORACLE_OPS(oracle_ops, oracle_open);
ORACLE_OPS(coloured_ops, coloured_open);

static const struct tb_contender oracle_contender = {
    .name = "oracle",
    .summary = "block indices computed in advance, no allocator: the floor",
    .floor = true,
    .driver = &oracle_ops_driver,
};
TB_CONTENDER(oracle_contender);

static const struct tb_contender coloured_contender = {
    .name = "oracle-coloured",
    .summary = "the oracle with a cache line between blocks: the floor of locus-coloured",
    .floor = true,
    .driver = &coloured_ops_driver,
};
TB_CONTENDER(coloured_contender);
