// SPDX-License-Identifier: Apache-2.0
//
// engine: one measured process: its state, and what it does before and after the driver (driver.h), which is what is timed.
//
// Order in a process: prologue, warm-up laps, timed laps, probe laps, metered laps, epilogue, gates (engine.c). Probe laps do the
// same work and also watch: blocks outstanding after every take, which addresses were used, and whether what was written is still
// there when the request retires. They are not timed, and the same for all. In metered laps the kernel's counters are on, and in
// no others: every switch of threads takes longer then, which made laps of an arm that sleeps longer by a fifth.
#ifndef TB_ENGINE_H
#define TB_ENGINE_H

#include "testbed/measure/contender.h"
#include "testbed/measure/dispatch.h"
#include "testbed/measure/sample.h"

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

// Single operations over many tables, for `locus bench`: one thread, no touches.
enum tb_stage { TB_STAGE_ALLOC, TB_STAGE_RELEASE, TB_STAGE_TAKE_BULK, TB_STAGE_RETIRE, TB_STAGE_FINISH, TB_STAGE_DRAIN };
#define TB_BENCH_BULK_BLOCKS 32u // blocks of one table
// Under way at once. They make the shortest stage (bulk, a quarter of a nanosecond a block) about 40 times as long as a look at
// the clock, whose own cost is taken off.
#define TB_BENCH_BLOCKS 4096u

// The driver, instantiated for one contender by TB_DRIVER().
struct tb_driver {
    const struct tb_ops *ops;
    void (*span)(struct tb_engine *engine, void *context, const struct tb_span *span);
    void (*probe)(struct tb_engine *engine, void *context, const struct tb_span *span);
    void (*stage)(struct tb_engine *engine, void *context, enum tb_stage stage, uint32_t tables);
};

#endif
