// SPDX-License-Identifier: Apache-2.0
//
// engine: the driver that is timed. It runs a schedule's stream of operations against one contender.
//
// TB_DRIVER(ops) instantiates it for one contender, with `ops` a compile-time constant: the calls into a contender are direct, and
// whatever the driver costs, it costs all of them the same (the contender `null` shows how much that is). Nothing in a timed
// lap allocates, prints or reads a clock.
//
// Order in a process: prologue, warm-up laps, timed laps, probe laps, epilogue, gates (engine.c). Probe laps do the same work and
// also watch: blocks outstanding after every take, which addresses were used, and whether what was written is still there when
// the request retires. They are not timed, and the same for all.
#ifndef TB_ENGINE_H
#define TB_ENGINE_H

#include <sched.h>
#include <string.h>

#include "placement/cpu_relax.h"
#include "testbed/contender.h"
#include "testbed/dispatch.h"
#include "testbed/job.h"

#define TB_INLINE static inline __attribute__((always_inline))

struct tb_engine {
    struct tb_job *job;
    const struct tb_contender *contender;
    const struct tb_schedule *schedule;
    struct locus_table **tables;    // by slot
    char *tables_memory;
    struct tb_crew crew;
    uint32_t next_worker;
    size_t touch_bytes;             // per block: 0, 1 or block_bytes (0 too when the fault skips touches)

    uint64_t taken;                 // blocks
    uint64_t retired;               // requests
    uint64_t touched_bytes;
    uint64_t fault_countdown;       // retires until the fault is put in; 0: never
    int error;                      // first failure of a contender's function

    // Probe laps.
    uint64_t *seen;                 // addresses in use, in order of use; in a bench the blocks that are out
    uint64_t seen_count, seen_max;
    uint64_t outstanding_high;
    uint64_t damaged;               // blocks that did not hold at retirement what was written into them
};

// engine.c: what need not be inlined.
int tb_engine_run(struct tb_job *job, const struct tb_contender *contender, const struct tb_schedule *schedule);
bool tb_engine_fault(struct tb_engine *engine, struct locus_table *table); // true: do not dispatch this one
uint64_t tb_now_ns(void);

// What a slot's request writes: never 0, and different for neighbours.
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
    return byte[0] == tb_tag(slot) && memcmp(byte, byte + 1, bytes - 1) == 0; // all are equal to the first
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

// Waits until every worker is idle, draining: a lap ends when everything that was retired in it is home.
TB_INLINE void tb_settle(struct tb_engine *engine, const struct tb_ops *ops, void *context)
{
    for (uint32_t i = 0; i < engine->crew.count; i++) {
        struct tb_worker *worker = &engine->crew.workers[i];
        uint64_t done_before = worker->done_seen;
        for (uint32_t polls = 1; !tb_worker_idle(worker); polls++) {
            if (worker->done_seen != done_before) { // only then can something have arrived
                done_before = worker->done_seen;
                ops->drain(context);
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
                           bool probe)
{
    const struct tb_op *op = tb_schedule_ops(engine->schedule) + span->begin;
    const struct tb_op *end = tb_schedule_ops(engine->schedule) + span->end;
    for (; op < end; op++) {
        if (op->kind == TB_OP_DRAIN)
            ops->drain(context);
        else if (op->kind == TB_OP_RETIRE)
            tb_op_retire(engine, ops, context, *op, probe);
        else if (!tb_op_take(engine, ops, context, *op, probe))
            break; // the run is invalid; do not wait for blocks that will not come
    }
    tb_settle(engine, ops, context);
}

// Single operations over many tables, for `locus bench`: one thread, no touches.
enum tb_stage { TB_STAGE_ALLOC, TB_STAGE_RELEASE, TB_STAGE_TAKE_BULK, TB_STAGE_RETIRE, TB_STAGE_FINISH, TB_STAGE_DRAIN };
#define TB_BENCH_BULK_BLOCKS 32u // blocks of one table

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

// The driver, instantiated for one contender.
struct tb_driver {
    const struct tb_ops *ops;
    void (*span)(struct tb_engine *engine, void *context, const struct tb_span *span);
    void (*probe)(struct tb_engine *engine, void *context, const struct tb_span *span);
    void (*stage)(struct tb_engine *engine, void *context, enum tb_stage stage, uint32_t tables);
};

#define TB_DRIVER(ops)                                                                                                             \
    static __attribute__((noinline)) void ops##_span(struct tb_engine *engine, void *context, const struct tb_span *span)          \
    {                                                                                                                              \
        tb_run_span(engine, &(ops), context, span, false);                                                                         \
    }                                                                                                                              \
    static __attribute__((noinline)) void ops##_probe(struct tb_engine *engine, void *context, const struct tb_span *span)         \
    {                                                                                                                              \
        tb_run_span(engine, &(ops), context, span, true);                                                                          \
    }                                                                                                                              \
    static                                                                                                                         \
        __attribute__((noinline)) void ops##_stage(struct tb_engine *engine, void *context, enum tb_stage stage, uint32_t tables)  \
    {                                                                                                                              \
        tb_run_stage(engine, &(ops), context, stage, tables);                                                                      \
    }                                                                                                                              \
    static const struct tb_driver ops##_driver = {&(ops), ops##_span, ops##_probe, ops##_stage}

#endif
