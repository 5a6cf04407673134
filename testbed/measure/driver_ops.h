// SPDX-License-Identifier: Apache-2.0
//
// driver_ops: the driver's take, touch and retire (driver.h), the same for every contender. With `probe` they also record the
// outstanding blocks and their addresses, and check that blocks still hold what was written.
#ifndef TB_DRIVER_OPS_H
#define TB_DRIVER_OPS_H

#include <string.h>

#include "testbed/measure/engine.h"

#define TB_INLINE static inline __attribute__((always_inline))

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

TB_INLINE bool tb_op_take(struct tb_engine *engine, const struct tb_ops *ops, void *context, struct tb_op op, bool probe)
{
    struct locus_table *table = engine->tables[op.slot];
    uint32_t first = table->count;
    int error = ops->take(context, table, op.count);
    if (__builtin_expect(error != 0, 0)) {
        engine->error = engine->error ? engine->error : error;
        return false;
    }
    engine->taken += op.count;
    if (engine->touch_bytes)
        for (uint32_t i = first; i < table->count; i++)
            tb_touch(engine, ops->address(context, table->blocks[i]), op.slot);
    if (!probe)
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

TB_INLINE void tb_op_retire(struct tb_engine *engine, const struct tb_ops *ops, void *context, struct tb_op op, bool probe)
{
    struct locus_table *table = engine->tables[op.slot];
    if (probe && engine->touch_bytes)
        for (uint32_t i = 0; i < table->count; i++)
            engine->damaged += !tb_intact(ops->address(context, table->blocks[i]), engine->touch_bytes, op.slot);
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

#endif
