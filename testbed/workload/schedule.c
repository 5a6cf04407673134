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

int tb_builder_add(struct tb_builder *builder, enum tb_op_kind kind, uint32_t slot, uint32_t count)
{
    bool takes = kind == TB_OP_TAKE, has_slot = takes || kind == TB_OP_RETIRE;
    // `slots` could not count slot UINT32_MAX.
    if ((!has_slot && kind != TB_OP_DRAIN) || (has_slot && slot == UINT32_MAX) || (takes && (count == 0 || count > OP_COUNT_MAX)))
        return failed(builder, -EINVAL);
    struct tb_op *ops = with_room(builder->ops, builder->ops_count, &builder->ops_room, sizeof(*ops));
    if (!ops)
        return failed(builder, -ENOMEM);
    builder->ops = ops;
    ops[builder->ops_count++] = (struct tb_op){
        .slot = has_slot ? slot : 0,
        .kind = (unsigned)kind & 15u,
        .count = takes ? count & OP_COUNT_MAX : 0,
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

// The state of the simulation, and its results so far.
struct simulation {
    uint32_t *held;       // by slot: blocks of its live request, 0 when there is none
    uint32_t *held_first; // the same after the prologue
    uint32_t *capacity;   // by slot: most blocks it ever held
    uint64_t *retired_in; // by slot: number of the phase in which it was last retired, from 1; 0: never
    uint64_t phase;       // 1: the prologue, then the laps, then the epilogue
    uint64_t blocks, blocks_peak, blocks_max;
    uint64_t live, live_max;
    uint64_t phase_blocks, phase_requests; // taken and retired in this phase
};

static void simulation_close(struct simulation *simulation)
{
    free(simulation->held);
    free(simulation->held_first);
    free(simulation->capacity);
    free(simulation->retired_in);
}

static int simulation_open(struct simulation *simulation, uint32_t slots, uint32_t pool_blocks)
{
    *simulation = (struct simulation){.blocks_max = pool_blocks};
    simulation->held = calloc(slots, sizeof(*simulation->held));
    simulation->held_first = calloc(slots, sizeof(*simulation->held_first));
    simulation->capacity = calloc(slots, sizeof(*simulation->capacity));
    simulation->retired_in = calloc(slots, sizeof(*simulation->retired_in));
    if (simulation->held && simulation->held_first && simulation->capacity && simulation->retired_in)
        return 0;
    simulation_close(simulation);
    return -ENOMEM;
}

static int simulate_take(struct simulation *simulation, uint32_t slot, uint32_t count)
{
    if (simulation->held[slot] == 0) {
        if (simulation->retired_in[slot] == simulation->phase)
            return -EINVAL; // the request before it may still be on its way home
        if (++simulation->live > simulation->live_max)
            simulation->live_max = simulation->live;
    }
    simulation->blocks += count;
    simulation->phase_blocks += count;
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
    if (simulation->held[slot] == 0)
        return -EINVAL;
    simulation->blocks -= simulation->held[slot];
    simulation->held[slot] = 0;
    simulation->retired_in[slot] = simulation->phase;
    simulation->live--;
    simulation->phase_requests++;
    return 0;
}

// One phase from its beginning to its end.
static int simulate_span(struct simulation *simulation, const struct tb_op *ops, struct tb_span span)
{
    simulation->phase++;
    simulation->phase_blocks = simulation->phase_requests = 0;
    for (uint64_t i = span.begin; i < span.end; i++) {
        int error = 0;

        if (ops[i].kind == TB_OP_TAKE)
            error = simulate_take(simulation, ops[i].slot, ops[i].count);
        else if (ops[i].kind == TB_OP_RETIRE)
            error = simulate_retire(simulation, ops[i].slot);
        if (error)
            return error;
    }
    return 0;
}

static struct tb_span builder_lap(const struct tb_builder *builder, uint64_t lap)
{
    uint64_t laps_end = builder->epilogue_marked ? builder->epilogue : builder->ops_count;
    return (struct tb_span){
        .begin = builder->laps[lap],
        .end = lap + 1 < builder->laps_count ? builder->laps[lap + 1] : laps_end,
    };
}

// All laps. Each must do the same work, not none, and leave everything as it was; otherwise they could not be repeated.
static int simulate_laps(struct simulation *simulation, const struct tb_builder *builder, struct tb_schedule *found)
{
    size_t held_bytes = builder->slots * sizeof(*simulation->held);
    memcpy(simulation->held_first, simulation->held, held_bytes);
    for (uint64_t lap = 0; lap < builder->laps_count; lap++) {
        int error = simulate_span(simulation, builder->ops, builder_lap(builder, lap));

        if (error)
            return error;
        if (lap == 0) {
            found->blocks_per_lap = simulation->phase_blocks;
            found->requests_per_lap = simulation->phase_requests;
        }
        if (simulation->phase_blocks != found->blocks_per_lap || simulation->phase_requests != found->requests_per_lap)
            return -EINVAL;
    }
    if (found->blocks_per_lap == 0 || memcmp(simulation->held, simulation->held_first, held_bytes) != 0)
        return -EINVAL;
    return 0;
}

static int simulate(struct simulation *simulation, const struct tb_builder *builder, struct tb_schedule *found)
{
    found->prologue.end = builder->laps[0];
    found->epilogue.begin = builder_lap(builder, builder->laps_count - 1).end;
    found->epilogue.end = builder->ops_count;
    int error = simulate_span(simulation, builder->ops, found->prologue);
    if (!error)
        error = simulate_laps(simulation, builder, found);
    if (!error)
        error = simulate_span(simulation, builder->ops, found->epilogue);
    if (!error && simulation->live != 0)
        error = -EINVAL;
    found->blocks_peak = (uint32_t)simulation->blocks_peak; // at most blocks_max, which has 32 bits
    found->live_max = simulation->live_max;
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
    };
    struct simulation simulation;
    *out = NULL;
    if (builder->error || builder->laps_count == 0 || builder->slots == 0)
        return builder->error ? builder->error : -EINVAL;
    snprintf(found.name, sizeof(found.name), "%s", name);
    int error = simulation_open(&simulation, builder->slots, pool_blocks);
    if (error)
        return error;
    error = simulate(&simulation, builder, &found);
    if (!error)
        error = flatten(builder, simulation.capacity, &found, out);
    simulation_close(&simulation);
    return error;
}
