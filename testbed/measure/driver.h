// SPDX-License-Identifier: Apache-2.0
//
// driver: the timed code. It runs a schedule's stream of operations against one contender.
//
// TB_DRIVER(ops) instantiates it for one contender, with `ops` a compile-time constant: calls into the contender are direct, and
// the driver costs all contenders the same (the contender `null` shows how much). Nothing in a timed lap allocates, prints or
// reads a clock. In a probe lap the operations also record the outstanding blocks and their addresses, and check that blocks still
// hold what was written, and which lie beside each other; in a clocked one each take is timed. In touch mode `decode` a lap
// executes the steps of the model, too (testbed/decode/step.h).
#ifndef TB_DRIVER_H
#define TB_DRIVER_H

#include <sched.h>
#include <string.h>

#include "placement/base/cpu_relax.h"
#include "testbed/measure/engine.h"

#define TB_INLINE static inline __attribute__((always_inline))

enum tb_lap { TB_LAP_TIMED, TB_LAP_PROBE, TB_LAP_CLOCKED, TB_LAP_DECODE };

// Of a decode lap only its engine knows whether it is a probe: a branch is nothing beside a step.
TB_INLINE bool tb_lap_probes(const struct tb_engine *engine, enum tb_lap lap)
{
    return lap == TB_LAP_PROBE || (lap == TB_LAP_DECODE && engine->probing);
}

// --- a take, a touch, a retirement ---

// The byte that a slot's request writes: never 0, and different for neighbours.
TB_INLINE unsigned char tb_tag(uint32_t slot)
{
    return (unsigned char)(slot % 255 + 1);
}

TB_INLINE void tb_touch(struct tb_engine *engine, void *block, uint32_t slot)
{
    if (engine->touch_bytes == 1)
        *(volatile unsigned char *)block = tb_tag(slot);
    else
        memset(block, tb_tag(slot), engine->touch_bytes);
    engine->touched_bytes += engine->touch_bytes;
}

TB_INLINE bool tb_intact(const void *block, size_t bytes, uint32_t slot)
{
    const unsigned char *byte = block;
    return byte[0] == tb_tag(slot) && memcmp(byte, byte + 1, bytes - 1) == 0; // all equal the first
}

// Counts which blocks of a table are followed by their neighbour (sample.h): what attention would read in one stream.
TB_INLINE void tb_look_at_order(struct tb_engine *engine, const struct tb_ops *ops, void *context, const struct locus_table *table)
{
    for (uint32_t i = 1; i < table->count; i++) {
        const char *block = ops->address(context, table->blocks[i - 1]), *next = ops->address(context, table->blocks[i]);
        uintptr_t end = (uintptr_t)block + engine->job->block_bytes;
        engine->adjacent += (uintptr_t)next - end <= LOCUS_CACHE_LINE; // of a next one that lies before, it is huge
        engine->followed++;
    }
}

TB_INLINE bool tb_op_take(struct tb_engine *engine, const struct tb_ops *ops, void *context, struct tb_op op, enum tb_lap lap)
{
    struct locus_table *table = engine->tables[op.slot];
    uint32_t first = table->count;
    uint64_t start_ns = lap == TB_LAP_CLOCKED ? tb_now_ns() : 0;
    int error = ops->take(context, table, op.count);
    if (lap == TB_LAP_CLOCKED && engine->clocked_count < engine->clocked_max)
        engine->clocked_ns[engine->clocked_count++] = tb_now_ns() - start_ns;
    if (__builtin_expect(error != 0, 0)) {
        engine->error = engine->error ? engine->error : error;
        return false;
    }
    engine->taken += op.count;
    if (engine->touch_bytes)
        for (uint32_t i = first; i < table->count; i++)
            tb_touch(engine, ops->address(context, table->blocks[i]), op.slot);
    for (uint32_t i = 0; i < op.count && lap == TB_LAP_DECODE; i++)
        tb_step_take(engine->decode.step, op.slot, i, op.count, ops->address(context, table->blocks[first + i]));
    if (!tb_lap_probes(engine, lap))
        return true;
    uint64_t outstanding = engine->taken - ops->freed(context);
    if (outstanding > engine->outstanding_high)
        engine->outstanding_high = outstanding;
    for (uint32_t i = first; i < table->count && engine->seen_count < engine->seen_max; i++)
        engine->seen[engine->seen_count++] = (uint64_t)(uintptr_t)ops->address(context, table->blocks[i]);
    return true;
}

TB_INLINE void tb_dispatch(struct tb_engine *engine, const struct tb_ops *ops, void *context, struct locus_table *table)
{
    if (engine->crew.count == 0) {
        ops->finish(context, 0, table);
        return;
    }
    struct tb_worker *worker = &engine->crew.workers[engine->next_worker];
    engine->next_worker = engine->next_worker + 1 == engine->crew.count ? 0 : engine->next_worker + 1;
    while (__builtin_expect(tb_worker_full(worker), 0))
        ops->drain(context);
    tb_worker_send(worker, table);
}

TB_INLINE void tb_op_retire(struct tb_engine *engine, const struct tb_ops *ops, void *context, struct tb_op op, enum tb_lap lap)
{
    struct locus_table *table = engine->tables[op.slot];
    if (lap == TB_LAP_DECODE && engine->probing)
        tb_step_adjacent(engine->decode.step, op.slot, &engine->adjacent, &engine->followed);
    if (lap == TB_LAP_DECODE)
        tb_step_retire(engine->decode.step, op.slot);
    if (lap == TB_LAP_PROBE && engine->touch_bytes)
        for (uint32_t i = 0; i < table->count; i++)
            engine->damaged += !tb_intact(ops->address(context, table->blocks[i]), engine->touch_bytes, op.slot);
    if (lap == TB_LAP_PROBE)
        tb_look_at_order(engine, ops, context, table);
    int error = ops->retire(context, table);
    if (__builtin_expect(error != 0, 0)) {
        engine->error = engine->error ? engine->error : error;
        return;
    }
    engine->retired++;
    if (__builtin_expect(engine->fault_countdown && --engine->fault_countdown == 0, 0) && tb_engine_fault(engine, table))
        return;
    tb_dispatch(engine, ops, context, table);
}

// What a model does with the blocks.
TB_INLINE void tb_op_decode(struct tb_engine *engine, struct tb_op op)
{
    if (op.kind == TB_OP_EXTEND)
        tb_step_extend(engine->decode.step, op.slot, op.count);
    else
        tb_step_run(engine->decode.step, engine->probing);
}

// --- a lap ---

// Drains until every worker is idle: a lap ends when everything retired in it is home. Blocks can only have arrived when a worker
// has finished a request. But if the way home is bounded, a worker may be waiting in the middle of one, so the owner does what it
// does at a step.
TB_INLINE void tb_settle(struct tb_engine *engine, const struct tb_ops *ops, void *context)
{
    bool bounded = engine->contender->batch_blocks_max != 0;
    for (uint32_t i = 0; i < engine->crew.count; i++) {
        struct tb_worker *worker = &engine->crew.workers[i];
        uint64_t done_before = worker->done_seen;
        for (uint32_t polls = 1; !tb_worker_idle(worker); polls++) {
            if (worker->done_seen != done_before || bounded) {
                done_before = worker->done_seen;
                bounded && ops->step ? ops->step(context) : ops->drain(context);
            }
            if (polls % 64 == 0)
                sched_yield(); // the worker may need this CPU
            else
                locus_cpu_relax();
        }
    }
    ops->drain(context);
}

TB_INLINE void tb_run_span(struct tb_engine *engine, const struct tb_ops *ops, void *context, const struct tb_span *span,
                           enum tb_lap lap)
{
    const struct tb_op *op = tb_schedule_ops(engine->schedule) + span->begin;
    const struct tb_op *end = tb_schedule_ops(engine->schedule) + span->end;
    if (lap == TB_LAP_DECODE && engine->error)
        end = op; // where a take failed, requests and their tokens no longer fit
    for (; op < end; op++) {
        if (op->kind == TB_OP_DRAIN)
            ops->step ? ops->step(context) : ops->drain(context);
        else if (op->kind == TB_OP_RETIRE)
            tb_op_retire(engine, ops, context, *op, lap);
        else if (op->kind == TB_OP_TAKE) {
            if (!tb_op_take(engine, ops, context, *op, lap))
                break; // the run is invalid: do not wait for blocks that will not come
        } else if (lap == TB_LAP_DECODE)
            tb_op_decode(engine, *op);
    }
    tb_settle(engine, ops, context);
}

TB_INLINE void tb_run_stage(struct tb_engine *engine, const struct tb_ops *ops, void *context, enum tb_stage stage, uint32_t tables)
{
    int error = 0;
    if (stage == TB_STAGE_ALLOC)
        for (uint32_t i = 0; i < tables * TB_BENCH_BULK_BLOCKS; i++)
            engine->seen[i] = ops->alloc(context);
    if (stage == TB_STAGE_RELEASE)
        ops->release(context, engine->seen, tables * TB_BENCH_BULK_BLOCKS);
    for (uint32_t i = 0; i < tables && stage >= TB_STAGE_TAKE_BULK && stage != TB_STAGE_DRAIN; i++) {
        struct locus_table *table = engine->tables[i];
        if (stage == TB_STAGE_TAKE_BULK)
            error |= ops->take(context, table, TB_BENCH_BULK_BLOCKS);
        else if (stage == TB_STAGE_RETIRE)
            error |= ops->retire(context, table);
        else
            ops->finish(context, 0, table);
    }
    if (stage == TB_STAGE_DRAIN)
        ops->drain(context);
    engine->error = engine->error ? engine->error : error;
}

#define TB_DRIVER_SPAN(ops, name, lap)                                                                                             \
    static __attribute__((noinline)) void ops##_##name(struct tb_engine *engine, void *context, const struct tb_span *span)        \
    {                                                                                                                              \
        tb_run_span(engine, &(ops), context, span, lap);                                                                           \
    }

#define TB_DRIVER(ops)                                                                                                             \
    TB_DRIVER_SPAN(ops, span, TB_LAP_TIMED)                                                                                        \
    TB_DRIVER_SPAN(ops, probe, TB_LAP_PROBE)                                                                                       \
    TB_DRIVER_SPAN(ops, clocked, TB_LAP_CLOCKED)                                                                                   \
    TB_DRIVER_SPAN(ops, decode, TB_LAP_DECODE)                                                                                     \
    static                                                                                                                         \
        __attribute__((noinline)) void ops##_stage(struct tb_engine *engine, void *context, enum tb_stage stage, uint32_t tables)  \
    {                                                                                                                              \
        tb_run_stage(engine, &(ops), context, stage, tables);                                                                      \
    }                                                                                                                              \
    static const struct tb_driver ops##_driver = {&(ops), ops##_span, ops##_probe, ops##_clocked, ops##_decode, ops##_stage}

#endif
