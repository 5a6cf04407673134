// SPDX-License-Identifier: Apache-2.0
//
// schedule: a workload as a flat stream of operations, computed in advance.
//
// The number of blocks that a request takes at each step, and when it finishes, never depend on the allocator: arrivals, decode
// lengths and admission are all deterministic. So the schedule is computed once, and every contender executes the same stream.
// Work is equal by construction, a simulation gives the theoretical peak and the oracle, and the timed driver (driver.h) only
// takes, touches, retires and drains.
//
// A schedule is one flat block of memory with offsets instead of pointers, so that the parent builds it once and each measured
// process maps it. Immutable once built; any thread.
#ifndef TB_SCHEDULE_H
#define TB_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

enum tb_op_kind {
    TB_OP_DRAIN,  // the owner frees what has come home
    TB_OP_TAKE,   // the request in `slot` gets `count` blocks and writes them
    TB_OP_RETIRE, // the request in `slot` is finished: the next worker sends its blocks home
    // Only in schedules of touch `decode` (tb_builder_decodes):
    TB_OP_EXTEND, // the request in `slot` has `count` tokens more: those of its prompt, one that was decoded, or both
    TB_OP_STEP,   // a step of the model: see below
};

// A step appends the tokens of all requests that were extended since the step before, and each of these requests attends once over
// all of its tokens. A request is extended once before a step, at most. Its blocks are in order of position: the first
// `blocks_per_group` of them hold the first `block_tokens` tokens (of all layers, where that is one block for each layer).

struct tb_op {
    uint32_t slot;
    uint32_t kind : 4;
    uint32_t count : 28;
};

struct tb_span {
    uint64_t begin, end; // operations [begin, end)
};

// The prologue runs once before all laps, the epilogue once after them; both untimed. Laps are executed in rotation: lap i is
// laps[i % laps_count]. A lap ends when everything retired in it is home. After laps_count laps the live requests are in the same
// slots as after the prologue, so a rotation can be repeated for ever.
struct tb_schedule {
    char name[48];
    uint64_t bytes;             // of the whole flat block
    uint64_t ops_offset;        // struct tb_op[ops_count]
    uint64_t ops_count;
    uint64_t capacity_offset;   // uint32_t[slots]: most blocks that the request in this slot ever holds
    uint64_t laps_offset;       // struct tb_span[laps_count]
    uint64_t laps_count;
    struct tb_span prologue, epilogue;
    uint64_t blocks_per_lap;    // blocks taken in one lap (the same in each)
    uint64_t requests_per_lap;  // requests retired in one lap (the same in each)
    uint64_t ticks;             // replay: ticks of the model; suite: steps per lap
    uint64_t decoded_tokens;    // replay, batch: tokens decoded in the lap
    uint64_t requests_queued;   // replay: requests that had to wait for blocks
    uint64_t queue_ns_max;      // replay: longest wait of one of them, on the virtual clock
    uint64_t live_max;          // most requests alive at once
    uint32_t slots;
    uint32_t pool_blocks;       // size of the workload's pool
    uint32_t blocks_peak;       // theoretical peak: running maximum of blocks held, with instant frees
    uint32_t version;           // of the workload's definition: 1 for LOCUS-EVAL v1 shapes
    // Of touch `decode`; otherwise all 0.
    uint32_t block_tokens, blocks_per_group;
    uint32_t tokens_peak;       // most tokens of one request
    uint64_t tokens_live_peak;  // most tokens of all live requests at once
    uint64_t tokens_per_lap;    // appended in one lap, prompts included (the same in each, as the next two)
    uint64_t steps_per_lap;
    uint64_t attended_per_lap;  // sum over steps and their requests of the request's tokens: positions that are read in each layer
};

static inline const struct tb_op *tb_schedule_ops(const struct tb_schedule *schedule)
{
    return (const struct tb_op *)((const char *)schedule + schedule->ops_offset);
}

static inline const uint32_t *tb_schedule_capacity(const struct tb_schedule *schedule)
{
    return (const uint32_t *)((const char *)schedule + schedule->capacity_offset);
}

static inline const struct tb_span *tb_schedule_lap(const struct tb_schedule *schedule, uint64_t lap)
{
    return (const struct tb_span *)((const char *)schedule + schedule->laps_offset) + lap % schedule->laps_count;
}

// Growable operations while a schedule is being built; pack() turns it into a schedule and computes blocks_peak,
// blocks_per_lap, requests_per_lap, live_max, the capacities and the tokens by simulating the stream.
struct tb_builder;
int tb_builder_open(struct tb_builder **out);
void tb_builder_close(struct tb_builder *builder);
// What follows is a schedule of touch `decode`: only then are EXTEND and STEP possible. Each take is of whole groups.
int tb_builder_decodes(struct tb_builder *builder, uint32_t block_tokens, uint32_t blocks_per_group);
// What fails to be added makes pack() fail with the first such error, so a workload need not ask. 0, -ENOMEM or -EINVAL.
int tb_builder_add(struct tb_builder *builder, enum tb_op_kind kind, uint32_t slot, uint32_t count);
int tb_builder_mark_lap(struct tb_builder *builder);      // a lap begins here (everything before the first mark is the prologue)
int tb_builder_mark_epilogue(struct tb_builder *builder); // the last lap ends and the epilogue begins here
// 0, -ENOMEM, or -EINVAL: the stream is unsound (laps differ in work, a slot is taken again in the lap in which it was retired, a
// request never retires, the peak exceeds pool_blocks; a request is extended twice before a step, beyond its blocks, or without a
// step before it retires or the lap ends; a step has nothing to append). *out is malloc'd; the caller frees it.
int tb_builder_pack(struct tb_builder *builder, const char *name, uint32_t pool_blocks, struct tb_schedule **out);

#endif
