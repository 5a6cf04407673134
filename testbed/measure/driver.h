// SPDX-License-Identifier: Apache-2.0
//
// driver: the timed code. It runs a schedule's stream of operations against one contender.
//
// TB_DRIVER(ops) instantiates it for one contender, with `ops` a compile-time constant: calls into the contender are direct, and
// the driver costs all contenders the same (the contender `null` shows how much). Nothing in a timed lap allocates, prints or
// reads a clock, but for clocked laps. What an operation does in which kind of lap is in operation.h.
#ifndef TB_DRIVER_H
#define TB_DRIVER_H

#include <sched.h>

#include "locus/lane.h"
#include "testbed/measure/operation.h"

// Drains until every worker is idle: a lap ends when everything retired in it is home. Blocks can only have arrived when a worker
// has finished a request. But if the way home is bounded, a worker may be waiting in the middle of one, so the owner does what it
// does at a step. drains: false: it only waits.
TB_INLINE void tb_settle(struct tb_engine *engine, const struct tb_ops *ops, void *context, bool drains)
{
    bool bounded = engine->contender->batch_blocks_max != 0;
    for (uint32_t i = 0; i < engine->crew.count; i++) {
        struct tb_worker *worker = &engine->crew.workers[i];
        uint64_t done_before = worker->done_seen;
        for (uint32_t polls = 1; !tb_worker_idle(worker); polls++) {
            if (drains && (worker->done_seen != done_before || bounded)) {
                done_before = worker->done_seen;
                bounded && ops->step ? ops->step(context) : ops->drain(context);
            }
            if (polls % 64 == 0)
                sched_yield(); // the worker may need this CPU
            else
                locus_cpu_relax();
        }
    }
    if (drains)
        ops->drain(context);
}

TB_INLINE void tb_run_span(struct tb_engine *engine, const struct tb_ops *ops, void *context, const struct tb_span *span,
                           enum tb_lap lap)
{
    const struct tb_op *op = tb_schedule_ops(engine->schedule) + span->begin;
    const struct tb_op *end = tb_schedule_ops(engine->schedule) + span->end;
    const bool drains = !(lap == TB_LAP_DECODE && engine->drains_late);
    if (lap == TB_LAP_DECODE && engine->error)
        end = op; // where a take failed, requests and their tokens no longer fit
    for (; op < end; op++) {
        if (op->kind == TB_OP_DRAIN) {
            if (drains)
                tb_op_drain(engine, ops, context, lap);
        } else if (op->kind == TB_OP_RETIRE)
            tb_op_retire(engine, ops, context, *op, lap);
        else if (op->kind == TB_OP_TAKE) {
            if (!tb_op_take(engine, ops, context, *op, lap))
                break; // the run is invalid: do not wait for blocks that will not come
        } else if (lap == TB_LAP_DECODE)
            tb_op_decode(engine, *op);
    }
    tb_settle(engine, ops, context, drains);
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
