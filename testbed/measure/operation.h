// SPDX-License-Identifier: Apache-2.0
//
// operation: one operation of a schedule, as the driver executes it (driver.h): a take with its touch, a retirement, a step of the
// model.
//
// The kind of lap is a compile-time constant. A timed lap only does what it must. In a probe lap the operations also record the
// outstanding blocks and their addresses, and check that blocks still hold what was written, and which lie beside each other. In a
// clocked one each call is timed. In touch mode `decode` a lap executes the steps of the model, too (testbed/decode/step.h).
#ifndef TB_OPERATION_H
#define TB_OPERATION_H

#include <string.h>

#include "testbed/measure/engine.h"

#define TB_INLINE static inline __attribute__((always_inline))

// Of a decode lap only its engine knows what else it is: a branch is nothing beside a step.
TB_INLINE bool tb_lap_is(const struct tb_engine *engine, enum tb_lap lap, enum tb_lap what)
{
    return lap == what || (lap == TB_LAP_DECODE && engine->decoding_as == what);
}

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
    bool clocked = tb_lap_is(engine, lap, TB_LAP_CLOCKED);
    uint64_t start_ns = clocked ? tb_now_ns() : 0;
    int error = ops->take(context, table, op.count);
    uint64_t took_ns = clocked ? tb_now_ns() - start_ns : 0;
    if (clocked)
        tb_times_note(&engine->times[TB_CLOCKED_TAKE], took_ns);
    uint64_t waits = clocked && ops->waits ? ops->waits(context) : 0; // asked only afterwards: it warms lines
    if (waits != engine->waits_seen && clocked)
        tb_times_note(&engine->times[TB_CLOCKED_WAIT], took_ns);
    if (clocked)
        engine->waits_seen = waits;
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
    if (!tb_lap_is(engine, lap, TB_LAP_PROBE))
        return true;
    uint64_t outstanding = engine->taken - ops->freed(context);
    if (outstanding > engine->outstanding_high)
        engine->outstanding_high = outstanding;
    for (uint32_t i = first; i < table->count && engine->seen_count < engine->seen_max; i++)
        engine->seen[engine->seen_count++] = (uint64_t)(uintptr_t)ops->address(context, table->blocks[i]);
    return true;
}

TB_INLINE void tb_dispatch(struct tb_engine *engine, const struct tb_ops *ops, void *context, struct locus_table *table,
                           bool clocked)
{
    if (engine->crew.count == 0) {
        uint64_t start_ns = clocked ? tb_now_ns() : 0;
        ops->finish(context, 0, table);
        if (clocked)
            tb_times_note(&engine->times[TB_CLOCKED_PUSH], tb_now_ns() - start_ns);
        return;
    }
    struct tb_worker *worker = &engine->crew.workers[engine->next_worker];
    engine->next_worker = engine->next_worker + 1 == engine->crew.count ? 0 : engine->next_worker + 1;
    while (__builtin_expect(tb_worker_full(worker), 0))
        ops->drain(context);
    tb_worker_send(worker, table);
}

TB_INLINE void tb_send_home(struct tb_engine *engine, const struct tb_ops *ops, void *context, struct locus_table *table,
                            bool clocked)
{
    int error = ops->retire(context, table);
    if (__builtin_expect(error != 0, 0)) {
        engine->error = engine->error ? engine->error : error;
        return;
    }
    engine->retired++;
    if (__builtin_expect(engine->fault_countdown && --engine->fault_countdown == 0, 0) && tb_engine_fault(engine, table))
        return;
    tb_dispatch(engine, ops, context, table, clocked);
}

TB_INLINE void tb_op_retire(struct tb_engine *engine, const struct tb_ops *ops, void *context, struct tb_op op, enum tb_lap lap)
{
    struct locus_table *table = engine->tables[op.slot];
    if (lap == TB_LAP_DECODE && engine->decoding_as == TB_LAP_PROBE)
        tb_step_adjacent(engine->decode.step, op.slot, &engine->adjacent, &engine->followed);
    if (lap == TB_LAP_DECODE)
        tb_step_retire(engine->decode.step, op.slot);
    if (lap == TB_LAP_PROBE && engine->touch_bytes)
        for (uint32_t i = 0; i < table->count; i++)
            engine->damaged += !tb_intact(ops->address(context, table->blocks[i]), engine->touch_bytes, op.slot);
    if (lap == TB_LAP_PROBE)
        tb_look_at_order(engine, ops, context, table);
    if (lap == TB_LAP_DECODE && engine->frees_late)
        engine->late[engine->late_count++] = op.slot;
    else
        tb_send_home(engine, ops, context, table, tb_lap_is(engine, lap, TB_LAP_CLOCKED));
}

// At a step.
TB_INLINE void tb_op_drain(struct tb_engine *engine, const struct tb_ops *ops, void *context, enum tb_lap lap)
{
    bool clocked = tb_lap_is(engine, lap, TB_LAP_CLOCKED);
    uint64_t start_ns = clocked ? tb_now_ns() : 0;
    ops->step ? ops->step(context) : ops->drain(context);
    if (clocked)
        tb_times_note(&engine->times[TB_CLOCKED_DRAIN], tb_now_ns() - start_ns);
}

// What a model does with the blocks.
TB_INLINE void tb_op_decode(struct tb_engine *engine, struct tb_op op)
{
    if (op.kind == TB_OP_EXTEND) {
        tb_step_extend(engine->decode.step, op.slot, op.count);
        return;
    }
    tb_step_run(engine->decode.step, engine->decoding_as == TB_LAP_PROBE);
    if (engine->decoding_as != TB_LAP_CLOCKED)
        return;
    uint64_t now_ns = tb_now_ns();
    tb_times_note(&engine->steps, now_ns - engine->step_end_ns);
    engine->step_end_ns = now_ns;
}

#endif
