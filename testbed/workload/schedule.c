// SPDX-License-Identifier: Apache-2.0
//
// schedule: collects operations in a growable array, and simulates them once to pack them into one flat block.
//
// The simulation is the reference for every contender: it counts each slot's blocks as if a retired request's blocks were free at
// once, which gives the theoretical peak, and it refuses streams that no contender could run. The driver makes one promise:
// everything retired in a phase (the prologue, a lap) is home when the phase ends, and not earlier. So a retired slot may be
// taken again only in a later phase; within its own phase the request and its block table may still be on their way.
#include "testbed/workload/schedule.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OP_COUNT_MAX ((UINT32_C(1) << 28) - 1) // the width of tb_op.count
#define FLAT_ALIGN 64                          // each part of the flat block begins a cache line

struct tb_builder {
    struct tb_op *ops;
    uint64_t ops_count, ops_room;
    uint64_t *laps; // index of the first operation of each lap
    uint64_t laps_count, laps_room;
    uint64_t epilogue; // index of its first operation
    bool epilogue_marked;
    uint32_t slots;
    uint32_t block_tokens, blocks_per_group; // 0: no schedule of touch `decode`
    int error; // the first
};

static int failed(struct tb_builder *builder, int error)
{
    builder->error = builder->error ? builder->error : error;
    return error;
}

int tb_builder_open(struct tb_builder **out)
{
    struct tb_builder *builder = calloc(1, sizeof(*builder));
    *out = builder;
    return builder ? 0 : -ENOMEM;
}

void tb_builder_close(struct tb_builder *builder)
{
    if (!builder)
        return;
    free(builder->ops);
    free(builder->laps);
    free(builder);
}

// Makes room for one more item. Returns the array, which may have moved; NULL: out of memory, and the old array is unchanged.
static void *with_room(void *items, uint64_t count, uint64_t *room, size_t item_bytes)
{
    if (count < *room)
        return items;
    uint64_t wanted = *room ? *room * 2 : 256; // cannot overflow: *room items of several bytes each are in memory
    void *grown = reallocarray(items, wanted, item_bytes);
    if (grown)
        *room = wanted;
    return grown;
}

int tb_builder_decodes(struct tb_builder *builder, uint32_t block_tokens, uint32_t blocks_per_group)
{
    if (block_tokens == 0 || blocks_per_group == 0 || builder->ops_count > 0)
        return failed(builder, -EINVAL);
    builder->block_tokens = block_tokens;
    builder->blocks_per_group = blocks_per_group;
    return 0;
}

static bool is_possible(const struct tb_builder *builder, enum tb_op_kind kind, uint32_t slot, uint32_t count)
{
    if (slot == UINT32_MAX) // `slots` could not count it
        return kind == TB_OP_DRAIN || (kind == TB_OP_STEP && builder->block_tokens);
    switch (kind) {
    case TB_OP_DRAIN:
    case TB_OP_RETIRE: return true;
    case TB_OP_STEP: return builder->block_tokens > 0;
    case TB_OP_EXTEND: return builder->block_tokens > 0 && count > 0 && count <= OP_COUNT_MAX;
    case TB_OP_TAKE:
        return count > 0 && count <= OP_COUNT_MAX && (!builder->block_tokens || count % builder->blocks_per_group == 0);
    }
    return false;
}

int tb_builder_add(struct tb_builder *builder, enum tb_op_kind kind, uint32_t slot, uint32_t count)
{
    bool counts = kind == TB_OP_TAKE || kind == TB_OP_EXTEND, has_slot = counts || kind == TB_OP_RETIRE;
    if (!is_possible(builder, kind, slot, count))
        return failed(builder, -EINVAL);
    struct tb_op *ops = with_room(builder->ops, builder->ops_count, &builder->ops_room, sizeof(*ops));
    if (!ops)
        return failed(builder, -ENOMEM);
    builder->ops = ops;
    ops[builder->ops_count++] = (struct tb_op){
        .slot = has_slot ? slot : 0,
        .kind = (unsigned)kind & 15u,
        .count = counts ? count & OP_COUNT_MAX : 0,
    };
    if (has_slot && slot >= builder->slots)
        builder->slots = slot + 1;
    return 0;
}

int tb_builder_mark_lap(struct tb_builder *builder)
{
    if (builder->epilogue_marked)
        return failed(builder, -EINVAL);
    uint64_t *laps = with_room(builder->laps, builder->laps_count, &builder->laps_room, sizeof(*laps));
    if (!laps)
        return failed(builder, -ENOMEM);
    builder->laps = laps;
    laps[builder->laps_count++] = builder->ops_count;
    return 0;
}

int tb_builder_mark_epilogue(struct tb_builder *builder)
{
    if (builder->epilogue_marked || builder->laps_count == 0)
        return failed(builder, -EINVAL);
    builder->epilogue = builder->ops_count;
    builder->epilogue_marked = true;
    return 0;
}

// What must be the same in each lap.
struct work {
    uint64_t blocks, requests, tokens, steps, attended;
};

// A slot, and the live request in it.
struct slot {
    uint64_t tokens;      // with those that the next step appends
    uint64_t extended_at; // number of the step that appends its last tokens, from 1; 0: it has none
    uint64_t retired_in;  // number of the phase in which the slot was last retired, from 1; 0: never
};

// The state of the simulation, and its results so far.
struct simulation {
    uint32_t block_tokens, blocks_per_group;
    uint32_t *held;       // by slot: blocks of its live request, 0 when there is none
    uint32_t *held_first; // the same after the prologue
    uint32_t *capacity;   // by slot: most blocks it ever held
    struct slot *slots;
    uint64_t *tokens_first; // by slot: tokens after the prologue
    uint64_t phase;       // 1: the prologue, then the laps, then the epilogue
    uint64_t step;          // number of the next step
    uint64_t blocks, blocks_peak, blocks_max;
    uint64_t live, live_max;
    uint64_t tokens, tokens_peak, tokens_live_peak; // of all live requests; of one, and of all, at most
    uint64_t waiting, waiting_tokens;               // requests that were extended and attend in the next step, and their tokens
    struct work work;                               // of this phase
};

static void simulation_close(struct simulation *simulation)
{
    free(simulation->held);
    free(simulation->held_first);
    free(simulation->capacity);
    free(simulation->slots);
    free(simulation->tokens_first);
}

static int simulation_open(struct simulation *simulation, const struct tb_builder *builder, uint32_t pool_blocks)
{
    *simulation = (struct simulation){
        .block_tokens = builder->block_tokens,
        .blocks_per_group = builder->blocks_per_group,
        .step = 1,
        .blocks_max = pool_blocks,
    };
    simulation->held = calloc(builder->slots, sizeof(*simulation->held));
    simulation->held_first = calloc(builder->slots, sizeof(*simulation->held_first));
    simulation->capacity = calloc(builder->slots, sizeof(*simulation->capacity));
    simulation->slots = calloc(builder->slots, sizeof(*simulation->slots));
    simulation->tokens_first = calloc(builder->slots, sizeof(*simulation->tokens_first));
    if (simulation->held && simulation->held_first && simulation->capacity && simulation->slots && simulation->tokens_first)
        return 0;
    simulation_close(simulation);
    return -ENOMEM;
}

static int simulate_take(struct simulation *simulation, uint32_t slot, uint32_t count)
{
    if (simulation->held[slot] == 0) {
        if (simulation->slots[slot].retired_in == simulation->phase)
            return -EINVAL; // the request before it may still be on its way home
        if (++simulation->live > simulation->live_max)
            simulation->live_max = simulation->live;
    }
    simulation->blocks += count;
    simulation->work.blocks += count;
    if (simulation->blocks > simulation->blocks_max)
        return -EINVAL;
    if (simulation->blocks > simulation->blocks_peak)
        simulation->blocks_peak = simulation->blocks;
    simulation->held[slot] += count; // at most all blocks, which fit the pool
    if (simulation->held[slot] > simulation->capacity[slot])
        simulation->capacity[slot] = simulation->held[slot];
    return 0;
}

static int simulate_retire(struct simulation *simulation, uint32_t slot)
{
    struct slot *request = &simulation->slots[slot];
    if (simulation->held[slot] == 0 || request->extended_at == simulation->step)
        return -EINVAL;
    simulation->blocks -= simulation->held[slot];
    simulation->tokens -= request->tokens;
    simulation->held[slot] = 0;
    *request = (struct slot){.retired_in = simulation->phase};
    simulation->live--;
    simulation->work.requests++;
    return 0;
}

static int simulate_extend(struct simulation *simulation, uint32_t slot, uint32_t count)
{
    struct slot *request = &simulation->slots[slot];
    uint64_t room = (uint64_t)simulation->held[slot] / simulation->blocks_per_group * simulation->block_tokens;
    if (request->extended_at == simulation->step || request->tokens + count > room || request->tokens + count > UINT32_MAX)
        return -EINVAL;
    request->tokens += count;
    request->extended_at = simulation->step;
    simulation->work.tokens += count;
    simulation->waiting++;
    simulation->waiting_tokens += request->tokens;
    simulation->tokens += count;
    if (simulation->tokens > simulation->tokens_live_peak)
        simulation->tokens_live_peak = simulation->tokens;
    if (request->tokens > simulation->tokens_peak)
        simulation->tokens_peak = request->tokens;
    return 0;
}

static int simulate_step(struct simulation *simulation)
{
    if (simulation->waiting == 0)
        return -EINVAL;
    simulation->work.attended += simulation->waiting_tokens;
    simulation->work.steps++;
    simulation->waiting = simulation->waiting_tokens = 0;
    simulation->step++;
    return 0;
}

static int simulate_op(struct simulation *simulation, struct tb_op op)
{
    switch ((enum tb_op_kind)op.kind) {
    case TB_OP_DRAIN: return 0;
    case TB_OP_TAKE: return simulate_take(simulation, op.slot, op.count);
    case TB_OP_RETIRE: return simulate_retire(simulation, op.slot);
    case TB_OP_EXTEND: return simulate_extend(simulation, op.slot, op.count);
    case TB_OP_STEP: return simulate_step(simulation);
    }
    return -EINVAL;
}

// One phase from its beginning to its end.
static int simulate_span(struct simulation *simulation, const struct tb_op *ops, struct tb_span span)
{
    int error = 0;
    simulation->phase++;
    simulation->work = (struct work){0};
    for (uint64_t i = span.begin; i < span.end && !error; i++)
        error = simulate_op(simulation, ops[i]);
    return error ? error : simulation->waiting ? -EINVAL : 0;
}

static struct tb_span builder_lap(const struct tb_builder *builder, uint64_t lap)
{
    uint64_t laps_end = builder->epilogue_marked ? builder->epilogue : builder->ops_count;
    return (struct tb_span){
        .begin = builder->laps[lap],
        .end = lap + 1 < builder->laps_count ? builder->laps[lap + 1] : laps_end,
    };
}

// Does every slot have the blocks and tokens that it had after the prologue?
static bool as_at_first(const struct simulation *simulation, uint32_t slots)
{
    for (uint32_t i = 0; i < slots; i++)
        if (simulation->held[i] != simulation->held_first[i] || simulation->slots[i].tokens != simulation->tokens_first[i])
            return false;
    return true;
}

// All laps. Each must do the same work, not none, and leave everything as it was; otherwise they could not be repeated.
static int simulate_laps(struct simulation *simulation, const struct tb_builder *builder, struct work *first)
{
    for (uint32_t i = 0; i < builder->slots; i++) {
        simulation->held_first[i] = simulation->held[i];
        simulation->tokens_first[i] = simulation->slots[i].tokens;
    }
    for (uint64_t lap = 0; lap < builder->laps_count; lap++) {
        int error = simulate_span(simulation, builder->ops, builder_lap(builder, lap));

        if (error)
            return error;
        if (lap == 0)
            *first = simulation->work;
        if (memcmp(&simulation->work, first, sizeof *first) != 0)
            return -EINVAL;
    }
    return first->blocks && as_at_first(simulation, builder->slots) ? 0 : -EINVAL;
}

static int simulate(struct simulation *simulation, const struct tb_builder *builder, struct tb_schedule *found)
{
    struct work work = {0};
    found->prologue.end = builder->laps[0];
    found->epilogue.begin = builder_lap(builder, builder->laps_count - 1).end;
    found->epilogue.end = builder->ops_count;
    int error = simulate_span(simulation, builder->ops, found->prologue);
    if (!error)
        error = simulate_laps(simulation, builder, &work);
    if (!error)
        error = simulate_span(simulation, builder->ops, found->epilogue);
    if (!error && simulation->live != 0)
        error = -EINVAL;
    found->blocks_per_lap = work.blocks;
    found->requests_per_lap = work.requests;
    found->tokens_per_lap = work.tokens;
    found->steps_per_lap = work.steps;
    found->attended_per_lap = work.attended;
    found->blocks_peak = (uint32_t)simulation->blocks_peak; // at most blocks_max, which has 32 bits
    found->live_max = simulation->live_max;
    found->tokens_peak = (uint32_t)simulation->tokens_peak; // simulate_extend() refuses more than 32 bits
    found->tokens_live_peak = simulation->tokens_live_peak;
    return error;
}

// Reserves `bytes` at the end of the flat block. Sums cannot overflow: all parts are already in memory at the same time.
static uint64_t place(struct tb_schedule *schedule, uint64_t bytes)
{
    uint64_t offset = (schedule->bytes + FLAT_ALIGN - 1) / FLAT_ALIGN * FLAT_ALIGN;
    schedule->bytes = offset + bytes;
    return offset;
}

// The flat block: *found, then the arrays.
static int flatten(const struct tb_builder *builder, const uint32_t *capacity, struct tb_schedule *found, struct tb_schedule **out)
{
    uint64_t ops_bytes = builder->ops_count * sizeof(*builder->ops), capacity_bytes = builder->slots * sizeof(*capacity);
    found->bytes = sizeof(*found);
    found->ops_offset = place(found, ops_bytes);
    found->capacity_offset = place(found, capacity_bytes);
    found->laps_offset = place(found, builder->laps_count * sizeof(struct tb_span));
    char *flat = calloc(1, found->bytes);
    if (!flat)
        return -ENOMEM;
    memcpy(flat, found, sizeof(*found));
    memcpy(flat + found->ops_offset, builder->ops, ops_bytes);
    memcpy(flat + found->capacity_offset, capacity, capacity_bytes);
    for (uint64_t lap = 0; lap < builder->laps_count; lap++)
        ((struct tb_span *)(flat + found->laps_offset))[lap] = builder_lap(builder, lap);
    *out = (struct tb_schedule *)flat;
    return 0;
}

int tb_builder_pack(struct tb_builder *builder, const char *name, uint32_t pool_blocks, struct tb_schedule **out)
{
    struct tb_schedule found = {
        .ops_count = builder->ops_count,
        .laps_count = builder->laps_count,
        .slots = builder->slots,
        .pool_blocks = pool_blocks,
        .block_tokens = builder->block_tokens,
        .blocks_per_group = builder->blocks_per_group,
    };
    struct simulation simulation;
    *out = NULL;
    if (builder->error || builder->laps_count == 0 || builder->slots == 0)
        return builder->error ? builder->error : -EINVAL;
    snprintf(found.name, sizeof(found.name), "%s", name);
    int error = simulation_open(&simulation, builder, pool_blocks);
    if (error)
        return error;
    error = simulate(&simulation, builder, &found);
    if (!error)
        error = flatten(builder, simulation.capacity, &found, out);
    simulation_close(&simulation);
    return error;
}
