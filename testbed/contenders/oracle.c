// SPDX-License-Identifier: Apache-2.0
//
// oracle, oracle-coloured: no allocator at all. The block for every take is computed in advance, by replaying the schedule on a
// LIFO stack with instant frees. It is the floor: the same memory (one region, huge pages, populated), the same touches and
// dispatch, and the least possible footprint. Coloured, a cache line separates two blocks: the floor of `locus-coloured`, since
// the position of the first bytes decides what writing one byte of each block costs.
//
// The laps' order is replayed in rotation, so after one rotation every live slot must have the same blocks as before. Where a LIFO
// stack does not give that by itself (requests that grow beside each other mix their blocks), a take whose request lives on gets
// the blocks that its slot began the rotation with, and nobody else has them by then.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/region.h"
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
    uint32_t next, blocks;
    struct oracle_slot *first;  // the slots after the prologue
    uint32_t *first_storage;
    uint64_t *ends;             // [ops_count] of a take: the operation that retires its blocks in the rotation, or NEVER
    uint64_t *claimed;          // [blocks] the take that gets the block because its slot had it first, or NEVER
};

#define NEVER UINT64_MAX

// Cuts one piece of memory into room for the blocks of each slot.
static void slots_cut(struct oracle_slot *slots, uint32_t *storage, const struct tb_schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->slots; i++) {
        slots[i] = (struct oracle_slot){.blocks = storage};
        storage += tb_schedule_capacity(schedule)[i];
    }
}

static int plan_open(struct oracle_plan *plan, const struct tb_schedule *schedule, uint32_t blocks)
{
    uint64_t total = 1;
    for (uint32_t i = 0; i < schedule->slots; i++)
        total += tb_schedule_capacity(schedule)[i];
    plan->slots = calloc(schedule->slots, sizeof *plan->slots);
    plan->storage = calloc(total, sizeof *plan->storage);
    plan->stack = calloc(blocks, sizeof *plan->stack);
    plan->first = calloc(schedule->slots, sizeof *plan->first);
    plan->first_storage = calloc(total, sizeof *plan->first_storage);
    plan->ends = malloc(schedule->ops_count * sizeof *plan->ends);
    plan->claimed = malloc(blocks * sizeof *plan->claimed);
    plan->blocks = blocks;
    if (!plan->slots || !plan->storage || !plan->stack || !plan->first || !plan->first_storage || !plan->ends || !plan->claimed)
        return -ENOMEM;
    slots_cut(plan->first, plan->first_storage, schedule);
    return 0;
}

static void plan_close(struct oracle_plan *plan)
{
    free(plan->slots);
    free(plan->storage);
    free(plan->stack);
    free(plan->first);
    free(plan->first_storage);
    free(plan->ends);
    free(plan->claimed);
}

static void slot_take(struct oracle_context *oracle, struct oracle_slot *slot, uint32_t block)
{
    slot->blocks[slot->count++] = block;
    oracle->order[oracle->order_count++] = block;
}

static void slot_retire(struct oracle_plan *plan, struct oracle_slot *slot)
{
    plan->next -= slot->count;
    memcpy(plan->stack + plan->next, slot->blocks, slot->count * sizeof *plan->stack);
    slot->count = 0;
}

static void plan_span(struct oracle_context *oracle, struct oracle_plan *plan, const struct tb_schedule *schedule,
                      const struct tb_span *span)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);
    for (uint64_t i = span->begin; i < span->end; i++) {
        struct oracle_slot *slot = &plan->slots[ops[i].slot];
        for (uint32_t block = 0; ops[i].kind == TB_OP_TAKE && block < ops[i].count; block++)
            slot_take(oracle, slot, plan->stack[plan->next++]);
        if (ops[i].kind == TB_OP_RETIRE)
            slot_retire(plan, slot);
    }
}

static void plan_begin(struct oracle_context *oracle, struct oracle_plan *plan, const struct tb_schedule *schedule)
{
    slots_cut(plan->slots, plan->storage, schedule);
    for (uint32_t i = 0; i < plan->blocks; i++)
        plan->stack[i] = i;
    plan->next = 0;
    oracle->order_count = 0;
    plan_span(oracle, plan, schedule, &schedule->prologue);
    oracle->rotation_begin = oracle->order_count;
}

static bool plan_closes(const struct oracle_plan *plan, const struct tb_schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->slots; i++) {
        const struct oracle_slot *now = &plan->slots[i], *first = &plan->first[i];
        if (now->count != first->count || memcmp(now->blocks, first->blocks, now->count * sizeof *now->blocks))
            return false;
    }
    return true;
}

// --- a rotation that a stack does not close ------------------------------------------------------------------------------------

// ends[] and claimed[]: backwards, so that the retirement of a take is known when it is met; then forwards. A slot that would end
// with more blocks than it began with has no rotation: those takes claim nothing, and the order is not closed by them.
static void lives_find(struct oracle_plan *plan, const struct tb_schedule *schedule, struct tb_span rotation, uint64_t *retired,
                       uint32_t *counts)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);
    for (uint32_t i = 0; i < schedule->slots; i++) {
        retired[i] = NEVER;
        counts[i] = plan->first[i].count;
    }
    for (uint32_t i = 0; i < plan->blocks; i++)
        plan->claimed[i] = NEVER;
    for (uint64_t i = rotation.end; i-- > rotation.begin;) {
        plan->ends[i] = retired[ops[i].slot];
        if (ops[i].kind == TB_OP_RETIRE)
            retired[ops[i].slot] = i;
    }
    for (uint64_t i = rotation.begin; i < rotation.end; i++) {
        const struct oracle_slot *first = &plan->first[ops[i].slot];
        uint32_t *count = &counts[ops[i].slot], take = ops[i].kind == TB_OP_TAKE ? ops[i].count : 0;
        for (uint32_t at = *count; plan->ends[i] == NEVER && at < *count + take && at < first->count; at++)
            plan->claimed[first->blocks[at]] = i;
        *count = ops[i].kind == TB_OP_RETIRE ? 0 : *count + take;
    }
}

// Where on the stack the block is that a take gets: the one that its slot had first, or the topmost that nobody claims while the
// request lives. plan->blocks: there is none.
static uint32_t block_find(const struct oracle_plan *plan, uint32_t slot, uint64_t take)
{
    const struct oracle_slot *first = &plan->first[slot];
    uint32_t at = plan->slots[slot].count, i = plan->next;
    if (plan->ends[take] == NEVER)
        while (i < plan->blocks && (at >= first->count || plan->stack[i] != first->blocks[at]))
            i++;
    else
        while (i < plan->blocks && plan->claimed[plan->stack[i]] <= plan->ends[take])
            i++;
    return i;
}

static bool take_closing(struct oracle_context *oracle, struct oracle_plan *plan, const struct tb_op *op, uint64_t take)
{
    for (uint32_t i = 0; i < op->count; i++) {
        uint32_t at = block_find(plan, op->slot, take);
        if (at == plan->blocks)
            return false;
        uint32_t block = plan->stack[at];
        memmove(plan->stack + plan->next + 1, plan->stack + plan->next, (at - plan->next) * sizeof *plan->stack);
        plan->next++;
        slot_take(oracle, &plan->slots[op->slot], block);
    }
    return true;
}

// 0, -ENOMEM, or -EINVAL: too few blocks are free of claims.
static int plan_close_rotation(struct oracle_context *oracle, struct oracle_plan *plan, const struct tb_schedule *schedule)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);
    struct tb_span rotation = {tb_schedule_lap(schedule, 0)->begin, tb_schedule_lap(schedule, schedule->laps_count - 1)->end};
    uint64_t *retired = calloc(schedule->slots, sizeof *retired);
    uint32_t *counts = calloc(schedule->slots, sizeof *counts);
    int error = retired && counts ? 0 : -ENOMEM;
    if (!error) {
        plan_begin(oracle, plan, schedule);
        lives_find(plan, schedule, rotation, retired, counts);
    }
    for (uint64_t i = rotation.begin; i < rotation.end && !error; i++)
        if (ops[i].kind == TB_OP_RETIRE)
            slot_retire(plan, &plan->slots[ops[i].slot]);
        else if (ops[i].kind == TB_OP_TAKE && !take_closing(oracle, plan, &ops[i], i))
            error = -EINVAL;
    free(retired);
    free(counts);
    return error ? error : plan_closes(plan, schedule) ? 0 : -EINVAL;
}

static int plan_make(struct oracle_context *oracle, const struct tb_setup *setup)
{
    const struct tb_schedule *schedule = setup->schedule;
    struct oracle_plan plan = {0};
    int error = plan_open(&plan, schedule, setup->pool_blocks);
    if (error)
        goto out;
    plan_begin(oracle, &plan, schedule);
    for (uint32_t i = 0; i < schedule->slots; i++) {
        plan.first[i].count = plan.slots[i].count;
        memcpy(plan.first[i].blocks, plan.slots[i].blocks, plan.slots[i].count * sizeof *plan.slots[i].blocks);
    }
    for (uint64_t lap = 0; lap < schedule->laps_count; lap++)
        plan_span(oracle, &plan, schedule, tb_schedule_lap(schedule, lap));
    if (!plan_closes(&plan, schedule))
        error = plan_close_rotation(oracle, &plan, schedule);
    if (error == -EINVAL && setup->why)
        snprintf(setup->why, setup->why_bytes,
                 "no order of %u blocks gives every sequence its own again after a rotation: name another number of steps",
                 setup->pool_blocks);
out:
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
        error = plan_make(oracle, setup);
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
