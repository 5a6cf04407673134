// SPDX-License-Identifier: Apache-2.0
//
// campaign: several arms, side by side, on one or more cells, for a number of rounds; and all that came of it.
//
// An *arm* is a contender as it is run (the same contender may be two arms: that is the A/A control, or a fault put in on
// purpose). A *cell* is a schedule with a touch mode. In a round every arm runs once per cell, in random order, each in a fresh
// process. A *sample* is what one such process brought home. Ratios are formed within a round, never across.
#ifndef TB_CAMPAIGN_H
#define TB_CAMPAIGN_H

#include <stdbool.h>

#include "testbed/counters/counters.h"
#include "testbed/nodes/sample.h"
#include "testbed/schedule.h"
#include "testbed/stats.h"

enum tb_touch {
    TB_TOUCH_NONE,
    TB_TOUCH_BYTE,
    TB_TOUCH_FULL, // "none", "byte", "full"
    TB_TOUCH_LINE
}; // "line": a word in each cache line; runs of many nodes only
enum tb_dispatch { TB_DISPATCH_INLINE, TB_DISPATCH_SPIN, TB_DISPATCH_FUTEX }; // "inline", "spin", "futex"

enum tb_fault {                 // put in on purpose, to see that the testbed notices: NAME@FAULT
    TB_FAULT_NONE,
    TB_FAULT_SKIP_TOUCH,        // takes blocks and does not write them
    TB_FAULT_DROP_CHUNK,        // one finished request is never sent home
    TB_FAULT_DOUBLE_FREE,       // one handle is freed twice
    TB_FAULT_DELAY,             // every lap is slowed down by fault_percent
    TB_FAULT_MISPLACE,          // many nodes: the blocks' pages lie elsewhere than their handles say
};

struct tb_contender;

#define TB_ARMS_MAX 24
#define TB_WORKERS_MAX 64

struct tb_arm {
    const struct tb_contender *contender;
    char label[96];             // "locus", "locus#2" (A/A), "locus@delay:3", "malloc:/path/lib.so"
    char library[4096];         // for LD_PRELOAD; "" where none is needed
    enum tb_fault fault;
    double fault_percent;
    uint32_t cross_percent;     // many nodes: of the requests, so many finish on another node than they began on (NAME%50)
};

struct tb_cell {
    const struct tb_schedule *schedule;
    enum tb_touch touch;
    uint32_t laps;              // timed laps in each process, the same for all arms
    uint32_t laps_warmup;
    uint32_t laps_counted;      // many nodes: laps in which every touch is accounted for, before all others
    uint32_t laps_metered;      // laps with the kernel's counters on, after all others: a thread that is counted runs slower
};

enum { TB_BENCH_ALLOC, TB_BENCH_BULK, TB_BENCH_PUSH, TB_BENCH_FREE, TB_BENCH_COUNT };

// What one process measured and counted. Plain data: it comes back through shared memory.
struct tb_sample {
    bool ran;                   // the process wrote this to its end
    bool valid;                 // every gate passed
    char invalid[192];          // the first gate that failed, in words; "" when valid
    char version[64];           // of the allocator that was really there, e.g. "mimalloc 2.0.9"
    double lap_ns;              // median of the timed laps
    double lap_ns_min;
    uint64_t allocated;         // blocks, by the contender's own counter where it has one
    uint64_t freed;
    uint64_t pushed;            // requests retired by the driver
    uint64_t drained;           // requests that came home
    uint64_t touched_bytes;
    uint64_t touched_bytes_expected;
    uint32_t outstanding_high;  // running high-water of blocks handed out and not home, in the probe laps
    uint32_t distinct;          // distinct blocks ever touched in the probe laps
    double bench_ns[TB_BENCH_COUNT]; // `locus bench` only: per block, per block, per chunk, per block
    bool workers_pinned;        // every worker had a CPU of its own
    struct tb_nodes_sample nodes; // of a run of many nodes, else all 0
    struct tb_counter_value counters[TB_COUNTERS_MAX]; // of the campaign's set: all threads, all metered laps
    double metered_lap_ns;      // median of those; 0: none
};

struct tb_campaign {
    const struct tb_arm *arms;
    uint32_t arms_count;
    const struct tb_cell *cells;
    uint32_t cells_count;
    uint32_t rounds;
    uint64_t seed;
    enum tb_dispatch dispatch;
    uint32_t workers;
    uint64_t block_bytes;
    bool bench;                 // measure the single operations instead of laps
    bool many_nodes;            // the schedule runs on every node at once (nodes/engine.h); `workers` is per node
    const struct tb_counter_set *counters; // probed; NULL: nothing is counted
    uint64_t counters_wanted;   // always on (tb_counters_want)
    struct tb_sample *samples;  // [cells][arms][rounds], filled by tb_campaign_run
};

static inline struct tb_sample *tb_campaign_sample(const struct tb_campaign *campaign, uint32_t cell, uint32_t arm, uint32_t round)
{
    return &campaign->samples[((uint64_t)cell * campaign->arms_count + arm) * campaign->rounds + round];
}

// Called after each process; `done` of `total`.
typedef void tb_progress_fn(void *context, const struct tb_campaign *campaign, uint32_t cell, uint64_t done, uint64_t total);

// Runs everything. 0, or -errno when the testbed itself failed (no memory, no processes); an arm that crashes is an invalid sample.
int tb_campaign_run(struct tb_campaign *campaign, tb_progress_fn *progress, void *context);

// For those who watch a campaign: each function may be NULL, and is called between two processes, never beside one. Anything but 0
// ends the campaign with that result. `position`: which of the arms it was in its round and cell.
struct tb_campaign_hooks {
    tb_progress_fn *progress;
    void *progress_context;
    int (*sample)(void *context, const struct tb_campaign *campaign, uint32_t cell, uint32_t arm, uint32_t round,
                  uint32_t position);
    int (*round)(void *context, const struct tb_campaign *campaign, uint32_t round); // all its samples are there
    void *context;
};

// Only the rounds first .. first + count - 1: a campaign in blocks.
int tb_campaign_run_rounds(struct tb_campaign *campaign, uint32_t first, uint32_t count, const struct tb_campaign_hooks *hooks);

// One more process of that arm in that cell, started by a tool that looks at it: `words` are the tool's (perf record ... --) and
// what it shall start, which is this program with "__round", and before it by env(1) the arm's malloc: the tool does not get that.
// The sample goes to *out and not into the campaign, as it was disturbed. What was printed on stderr goes to `said`. 0, or -errno
// when there was no process (-ENOENT: no such tool).
int tb_campaign_run_under(const struct tb_campaign *campaign, uint32_t cell, uint32_t arm, const char *const words[],
                          struct tb_sample *out, char *said, size_t said_bytes);

// One arm in one cell over all rounds, worked out for the reports.
struct tb_row {
    const struct tb_arm *arm;
    bool valid;                 // every round's gates passed; otherwise `invalid` says which and where, and nothing is ranked
    char invalid[224];
    char version[64];
    double ns_median, ns_mad, ns_min;
    bool has_vs_base, has_vs_oracle;
    bool has_vs_aa;             // it is the twin of another arm (tb_board.vs_twin in report_text.h)
    struct tb_ratio vs_base;    // time of the base arm (mimalloc) over this arm's: how many times faster
    struct tb_ratio vs_oracle;  // this arm's time over the oracle's: 1.00 is the floor
    double outstanding_ratio;   // worst round's high-water over the theoretical peak
    double outstanding_ratio_mean;
    double distinct_ratio;      // worst round's distinct blocks over the theoretical peak
    double bench_ns[TB_BENCH_COUNT];          // medians
    struct tb_ratio bench_vs_base[TB_BENCH_COUNT];
};

// Computes the row. Deterministic: the same samples give the same row.
void tb_campaign_row(const struct tb_campaign *campaign, uint32_t cell, uint32_t arm, struct tb_row *out);

// Arm by label, or -1. The base is "mimalloc" if it is there, the floor "oracle".
int tb_campaign_arm(const struct tb_campaign *campaign, const char *label);

// Smallest relative difference that this campaign could have seen in this cell: the half width of the A/A interval (two arms of
// the same contender, "X" and "X#2") together with how far its centre is from 1. Negative when no A/A pair ran.
double tb_campaign_resolution(const struct tb_campaign *campaign, uint32_t cell);

const char *tb_touch_name(enum tb_touch touch);
const char *tb_dispatch_name(enum tb_dispatch dispatch);

#endif
