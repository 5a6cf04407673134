// SPDX-License-Identifier: Apache-2.0
//
// engine: one measured process: its state, and what it does before and after the timed driver (driver.h).
//
// Order in a process: prologue, warm-up, timed, clocked, probe and metered laps, epilogue, gates (engine.c). Of several arms in
// one process (rounds.h) each has its engine. They take turns in warm-up and timed laps (pairing/turns.h); what follows each does
// by itself. Between two laps every worker is idle, and the crew is assigned to the next arm before the clock is read. Probe laps
// do the same work and also record the blocks outstanding after every take and the addresses used, and check at each retirement
// that blocks still hold what was written, and which lie beside each other. They are not timed, and are the same for all. Only in
// metered laps are the kernel's counters on: they slow every thread switch down, which made laps of a sleeping arm a fifth longer.
#ifndef TB_ENGINE_H
#define TB_ENGINE_H

#include "testbed/measure/contender.h"
#include "testbed/measure/decoding/process.h"
#include "testbed/measure/dispatch.h"
#include "testbed/measure/sample.h"

enum tb_lap { TB_LAP_TIMED, TB_LAP_PROBE, TB_LAP_CLOCKED, TB_LAP_DECODE };

struct tb_engine {
    struct tb_job *job;
    const struct tb_contender *contender;
    const struct tb_schedule *schedule;
    struct locus_table **tables;    // by slot
    char *tables_memory;
    struct tb_crew crew;            // the process's, as all its engines have it: who started it stops it
    uint32_t next_worker;
    size_t touch_bytes;             // per block: 0, 1 or block_bytes (also 0 if the fault skips touches)

    uint64_t taken;                 // blocks
    uint64_t retired;               // requests
    uint64_t touched_bytes;
    // Of an act (decode/act.h): what its laps leave out, and the slots that it is still to be done for.
    bool drains_late, frees_late, touches_first;
    uint32_t *late;                 // [slots]
    uint32_t late_count;
    uint64_t fault_countdown;       // retirements until the fault is injected; 0: never
    int error;                      // the first error of a contender's function

    void *context;                  // the contender's
    uint64_t lap;                   // laps run so far
    uint64_t delay_ns;              // injected into each timed lap
    struct tb_decode decode;
    enum tb_lap decoding_as;        // what a lap of it is besides
    bool ended;                     // the epilogue was executed
    bool out;                       // the contender has said that it cannot run here
    uint64_t resident_before_bytes; // the process's, before the contender was opened; 0: not asked

    // Probe laps.
    uint64_t *seen;                 // addresses in use, in order of use; in a bench, the blocks that are out
    uint64_t seen_count, seen_max;
    uint64_t outstanding_high;
    uint64_t damaged;               // blocks that had lost their contents at retirement
    uint64_t followed, adjacent;    // blocks that had a successor at retirement; those of which it was the neighbour in memory

    // Clocked laps.
    struct tb_times times[TB_CLOCKED_COUNT]; // the owner's; its pushes only if there are no workers
    struct tb_times *worker_times;  // pushes: [crew.count]
    uint64_t waits_seen;            // that the contender had counted
    struct tb_times steps;          // of a decode lap: each step, from the end of the one before
    uint64_t step_end_ns;
};

// In engine.c, because it need not be inlined.
int tb_engine_run(struct tb_job *job, const struct tb_contender *contender, const struct tb_schedule *schedule);
// The same for jobs[0].arms arms, that differ in contender and fault at most. pre: they can share a process (pairing/process.h).
int tb_engine_run_all(struct tb_job jobs[], const struct tb_contender *const contenders[], const struct tb_schedule *schedule);
bool tb_engine_fault(struct tb_engine *engine, struct locus_table *table); // true: do not dispatch this one
uint64_t tb_now_ns(void);

// Single operations on many tables, for `locus bench`: one thread, no touches.
enum tb_stage { TB_STAGE_ALLOC, TB_STAGE_RELEASE, TB_STAGE_TAKE_BULK, TB_STAGE_RETIRE, TB_STAGE_FINISH, TB_STAGE_DRAIN };
#define TB_BENCH_BULK_BLOCKS 32u // blocks of one table
// Tables in use at once. They make the shortest stage (bulk, a quarter of a nanosecond a block) about 40 times as long as reading
// the clock, whose cost is subtracted.
#define TB_BENCH_BLOCKS 4096u

// The driver, instantiated for one contender by TB_DRIVER().
struct tb_driver {
    const struct tb_ops *ops;
    void (*span)(struct tb_engine *engine, void *context, const struct tb_span *span);
    void (*probe)(struct tb_engine *engine, void *context, const struct tb_span *span);
    void (*clocked)(struct tb_engine *engine, void *context, const struct tb_span *span);
    void (*decode)(struct tb_engine *engine, void *context, const struct tb_span *span); // touch `decode`: all laps
    void (*stage)(struct tb_engine *engine, void *context, enum tb_stage stage, uint32_t tables);
};

#endif
