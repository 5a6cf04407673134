// SPDX-License-Identifier: Apache-2.0
//
// sample: the settings of an arm in a measured process (the job) and its results (the sample), in memory that the process shares
// with its parent: an array of TB_PROCESS_ARMS jobs, of which the first says how many are used. Plain data without pointers:
// parent and process are two programs (lap_main.c) of one build. An array of a different size shows that they are not.
#ifndef TB_SAMPLE_H
#define TB_SAMPLE_H

#include <stdbool.h>

#include "testbed/measure/clocked/times.h"
#include "testbed/counters/counters.h"
#include "testbed/decode/settings.h"
#include "testbed/engine/result.h"
#include "testbed/measure/nodes/sample.h"
#include "testbed/measure/pins/pinned.h"
#include "testbed/serving/adapters/batches.h"
#include "testbed/serving/adapters/residency.h"
#include "testbed/serving/arena/arena.h"
#include "testbed/serving/serving.h"

#define TB_WORKERS_MAX 64

enum tb_touch {
    TB_TOUCH_NONE,
    TB_TOUCH_BYTE,
    TB_TOUCH_FULL, // "none", "byte", "full"
    TB_TOUCH_LINE,  // "line": a word in each cache line; runs of many nodes only
    TB_TOUCH_DECODE, // "decode": the steps of a model (testbed/decode), in schedules that have them
    TB_TOUCH_SERVE, // "serve": a strategy under a scheduler (testbed/serving), no blocks
    TB_TOUCH_KEEP,  // "keep": a policy of retention in a model of a prefix cache (testbed/serving/keep.h), no blocks
    TB_TOUCH_ADAPTERS, // "adapters": a batcher of requests with adapters (testbed/serving/adapters/batches.h), no blocks
    TB_TOUCH_RESIDENCY, // "residency": a policy of who is hot (testbed/serving/adapters/residency.h), no blocks
    TB_TOUCH_PAGES, // "pages": a score of eviction in an arena of pages (testbed/serving/arena/arena.h), no blocks
    TB_TOUCH_PINS,  // "pins": a way to hold one of many ranges, by several threads (testbed/measure/pins/plan.h), no blocks
    TB_TOUCH_ENGINE // "engine": a real engine decodes (testbed/engine); a lap is a step
};
enum tb_dispatch { TB_DISPATCH_INLINE, TB_DISPATCH_SPIN, TB_DISPATCH_FUTEX }; // "inline", "spin", "futex"

enum tb_fault {                 // injected to see that the testbed notices: NAME@FAULT
    TB_FAULT_NONE,
    TB_FAULT_SKIP_TOUCH,        // takes blocks and does not write them
    TB_FAULT_DROP_CHUNK,        // one finished request is never sent home
    TB_FAULT_DOUBLE_FREE,       // one handle is freed twice
    TB_FAULT_DELAY,             // every lap is slowed down by fault_percent
    TB_FAULT_MISPLACE,          // many nodes: the blocks' pages are not where their handles say
    TB_FAULT_ACT,               // none: touch `decode` does something else than attention with the blocks (testbed/decode/act.h)
};

// Of touch `decode`, all laps.
struct tb_decode_sample {
    uint64_t steps;             // 0: another touch mode
    uint64_t appended_bytes, appended_expected; // K and V that were written
    uint64_t attended_bytes, attended_expected; // and read
    uint64_t checked, wrong;    // results that were compared with contiguous memory's, in probe laps, and differed
    uint32_t threads;
    char kernel[16];
    char failed[96];            // why the act gave no results; "": it did
    // Of clocked laps: from the end of a step to that of the next, with what is taken and retired in between. 0: there were none.
    double step_p50_ns, step_p99_ns, step_max_ns;
};

enum { TB_BENCH_ALLOC, TB_BENCH_BULK, TB_BENCH_PUSH, TB_BENCH_FREE, TB_BENCH_COUNT };

// The results of one arm in one process.
struct tb_sample {
    bool ran;                   // the process finished writing this
    bool valid;                 // every gate passed
    char invalid[192];          // the first gate that failed, in words; "" when valid, but for the fault of a trap (served.h)
    char version[64];           // of the allocator that was really used, e.g. "mimalloc 2.0.9"
    double lap_ns;              // median of the timed laps
    double lap_ns_min;
    double lap_ns_mean, lap_ns_p90; // of the same laps: these show what a median hides; 0 in runs of many nodes
    // Of arms that share a process (rounds.h): the median over the turns of this arm's lap / the first arm's in the same turn. 1
    // for the first itself, 0 for an arm that was alone. Two of them have a ratio only if they are of one process.
    double lap_ratio;
    uint32_t process;           // its number in its cell, round and attempt
    uint32_t attempt;           // 0; more: its cell was run again in this round (rounds.h)
    uint64_t allocated;         // blocks, by the contender's own counter where it has one
    uint64_t freed;
    uint64_t pushed;            // requests retired by the driver
    uint64_t drained;           // requests that came home
    uint64_t waits;             // takes that waited for blocks on their way home, in all laps
    uint64_t touched_bytes;
    uint64_t touched_bytes_expected;
    uint32_t outstanding_high;  // most blocks out at once, in the probe laps
    uint32_t distinct;          // distinct blocks ever touched in the probe laps
    // Of the blocks in tables that retire in the probe laps and are not their table's last, the share whose successor is their
    // neighbour in memory: it begins where they end, or no more than a cache line behind that (colour, a malloc's header).
    double adjacency;
    bool adjacency_known;       // there were such blocks
    uint64_t wait_ns;           // time spent in these waits; 0: none, or the contender does not say
    struct tb_tail tails[TB_CLOCKED_COUNT]; // of clocked laps
    double clock_ns;            // a reading of the clock
    uint64_t resident_bytes;    // after the timed laps, beyond those before the contender was opened; 0: unknown, or several arms
    double bench_ns[TB_BENCH_COUNT]; // `locus bench` only: per block, per block, per chunk, per block
    bool workers_pinned;        // every worker had a CPU of its own
    uint64_t watched_ns;        // warm-up and timed laps; 0: not watched, or the threads share CPUs and wait for each other
    uint64_t waited_ns;         // sum over its threads: time ready to run while others had the CPU
    uint64_t switches;          // of its threads, against their will
    uint64_t steal_ns;          // a hypervisor ran something else: all CPUs of the host, in the kernel's ticks (10 ms)
    bool steal_known;           // the kernel says so; these four are of one span, and the same for all arms of a process
    struct tb_nodes_sample nodes; // of a run of many nodes; otherwise all 0
    struct tb_decode_sample decode; // of touch `decode`
    struct tb_served served;    // of a strategy or a policy; otherwise all 0
    struct tb_tiered tiered;    // of a policy with tiers; otherwise all 0
    struct tb_batched batched;  // of a batcher; otherwise all 0
    struct tb_resided resided;  // of a policy of residency; otherwise all 0
    struct tb_arena arena;      // of a score; otherwise all 0
    struct tb_pinned pinned;    // of a way to hold ranges; otherwise all 0
    struct tb_engined engined;  // of touch `engine`; otherwise all 0
    uint64_t scenario_hash;     // the same for all of them in a cell
    struct tb_counter_value counters[TB_COUNTERS_MAX]; // the measurement's set: all threads, all metered laps
    double metered_lap_ns;      // median of the metered laps; 0: none
};

// What a process is asked to do.
#define TB_PROCESS_ARMS 3u      // that can share it; arbitrary: each has a pool of its own
#define TB_LAPS_MAX 4096u
#define TB_PROBE_LAPS 5u        // laps that check footprint and contents; 1 for a replay, whose lap is long

struct tb_job {
    uint32_t arms;              // in the first job: of this process, each a job; 0 is 1
    uint64_t seed;              // in the first job: of the order in which arms take turns
    char contender[64];
    char library[4096];         // must be the process's malloc; "": any
    char act[16];               // of touch `decode`; "": attention
    enum tb_touch touch;
    struct tb_decode_settings decode; // of touch `decode`
    enum tb_dispatch dispatch;
    enum tb_fault fault;
    double fault_percent;
    uint32_t workers;
    uint32_t laps, laps_warmup, laps_clocked, laps_counted, laps_metered;
    uint32_t laps_marked;       // between marks (counters/mark.h), for a tool that looks for them
    uint64_t block_bytes;
    uint32_t pool_blocks;       // 0: the schedule's
    uint32_t cross_percent;
    bool bench, many_nodes;
    uint64_t window;            // many nodes: number of the first pool's window for an emulator's plugin; 0: it is not told
    struct tb_counter_set counters; // resolved and probed by the parent; empty: nothing is counted
    uint64_t counters_on;

    struct tb_sample sample;
    double lap_ns[TB_LAPS_MAX];
};

// The sample's figures of the timed laps, of which there is one at least, from lap_ns.
void tb_job_laps_sum(struct tb_job *job);

// "4w" gives 4: a whole number from 1 to TB_WORKERS_MAX; 0: not of that form.
uint32_t tb_workers_parse(const char *text);

const char *tb_touch_name(enum tb_touch touch);
static inline bool tb_touch_serves(enum tb_touch touch) // of a scenario, not a schedule
{
    return touch >= TB_TOUCH_SERVE && touch <= TB_TOUCH_PAGES;
}
static inline bool tb_touch_has_own_arms(enum tb_touch touch) // which are no contenders
{
    return touch >= TB_TOUCH_SERVE;
}
const char *tb_dispatch_name(enum tb_dispatch dispatch);
const char *tb_fault_name(enum tb_fault fault); // NULL for none
const char *tb_bench_name(int op);              // "lap" for any other
const char *tb_clocked_name(int what);          // as in the log

#endif
