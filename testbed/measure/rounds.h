// SPDX-License-Identifier: Apache-2.0
//
// rounds: runs several arms side by side, on one or more cells, for a number of rounds, and keeps all samples.
//
// An *arm* is a contender as it is run (the same contender may be two arms: the A/A control, or an injected fault). A *cell* is a
// schedule with a touch mode. In a round every arm runs once per cell, in random order, each in a fresh process. A *sample* is
// the result of an arm in such a process. Ratios are formed within a round, never across rounds.
//
// With pair_laps, arms that can share a process do so, up to three (pairing/process.h): each has its own pool and tables, they
// share the workers, and run a lap each in turns of random order (pairing/turns.h). The unit of replication is still the process.
//
// With repeat_lost, all arms of a cell are run again in a round in which the host took the CPU from one of them. The rule sees
// only that, never a time. Each attempt is a sample for the hook, and the last is the one that counts.
#ifndef TB_ROUNDS_H
#define TB_ROUNDS_H

#include "testbed/engine/settings.h"
#include "testbed/measure/pins/plan.h"
#include "testbed/measure/sample.h"
#include "testbed/serving/plan.h"
#include "testbed/workload/schedule.h"

struct locus_evict_ops;
struct locus_adapter_policy;
struct locus_score_ops;
struct tb_batcher;
struct tb_contender;
struct tb_count;
struct tb_engine_arm;
struct tb_pins_way;

#define TB_ARMS_MAX 48
#define TB_BLOCK_BYTES_MIN 64u
#define TB_BLOCK_BYTES_MAX (UINT64_C(1) << 30)

struct tb_arm {
    const struct tb_contender *contender;
    const struct tb_strategy *strategy; // in cells of touch `serve`; then the contender only says what it is
    const struct locus_evict_ops *policy; // the same of touch `keep`
    const struct tb_batcher *batcher; // the same of touch `adapters`
    const struct locus_adapter_policy *resident; // the same of touch `residency`
    const struct locus_score_ops *score; // the same of touch `pages`
    const struct tb_pins_way *way; // the same of touch `pins`
    const struct tb_engine_arm *engine; // the same of touch `engine`
    char key[8];                // its key in a log ("A")
    const char *name;           // in a log; NULL: the label without "#2"
    char label[96];             // "locus", "locus#2" (A/A), "locus@delay:3", "malloc:/path/lib.so", the NAME of "NAME=malloc:..."
    char library[4096];         // for LD_PRELOAD; "": none
    enum tb_fault fault;
    double fault_percent;
    char act[16];               // of TB_FAULT_ACT: NAME@ACT
    uint32_t cross_percent;     // many nodes: percentage of requests that finish on another node than they began on (NAME%50)
    uint32_t workers;           // 0: the cell's (NAME+4w)
};

// Is it one of these seven, and no contender?
static inline bool tb_arm_of_its_own(const struct tb_arm *arm)
{
    return arm->strategy || arm->policy || arm->batcher || arm->resident || arm->score || arm->way || arm->engine;
}

struct tb_cell {
    const struct tb_schedule *schedule; // NULL: a recorded trace that is missing here
    const char *name, *workload; // NULL: derived from schedule and touch
    const char *trace_sha256;   // of a recorded trace's file; NULL or "": not a trace
    enum tb_touch touch;
    uint32_t laps;              // timed laps in each process, the same for all arms
    uint32_t laps_warmup;
    uint32_t laps_clocked;      // laps in which each take is timed, after the timed ones
    uint32_t laps_counted;      // many nodes: laps that account for every touch, before all others
    uint32_t laps_metered;      // laps with the kernel's counters on, the last ones; of a tool: between marks (counters/mark.h)
    uint32_t workers;           // these four: 0 or false means as the measurement or the schedule (cell.h)
    uint64_t block_bytes;
    uint32_t pool_blocks;
    bool dispatch_given;
    enum tb_dispatch dispatch;
    struct tb_serving_settings serving; // of touch `serve`, `keep`, `adapters`, `residency` or `pages`
    struct tb_pins_settings pins; // of touch `pins`, filled
    struct tb_engine_settings engine; // of touch `engine`, filled
    struct tb_decode_settings decode; // of touch `decode`, filled; schedule and block_bytes are then of its layout (decoding/)
};

struct tb_rounds {
    const struct tb_arm *arms;
    uint32_t arms_count;
    const struct tb_cell *cells;
    uint32_t cells_count;
    uint32_t count;             // rounds
    uint32_t kept;              // how many of them have room in `samples`, the last ones; 0: all
    uint64_t seed;
    enum tb_dispatch dispatch;
    uint32_t workers;
    uint64_t block_bytes;
    bool bench;                 // measure the single operations instead of laps
    bool many_nodes;            // the schedule runs on every node at once (nodes/engine.h); `workers` is per node
    const struct tb_counter_set *counters; // probed; NULL: nothing is counted
    uint64_t counters_wanted;   // always on (tb_counters_want)
    struct tb_sample *samples;  // [cells][arms][rounds], filled by tb_rounds_run()
    const char *emulator;       // its version; NULL: none counts (run/emulate.h)
    struct tb_count *counts;    // [round - counts_first][cell][arm], or NULL
    uint32_t counts_first;
    const char *unfit;          // the doctor's findings on this host, in a line; NULL: none, or not asked
    bool pair_laps;
    double repeat_lost;         // (waited_ns + steal_ns) / watched_ns of a sample above this; 0: nothing is repeated
    uint32_t repeat_times;      // at most, for each cell and round
};

static inline struct tb_sample *tb_rounds_sample(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, uint32_t round)
{
    uint32_t room = rounds->kept ? rounds->kept : rounds->count;
    return &rounds->samples[((uint64_t)cell * rounds->arms_count + arm) * room + round % room];
}

// The settings of a process: the arm's, else the cell's, else the measurement's.
uint32_t tb_rounds_workers(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm);
uint64_t tb_rounds_block_bytes(const struct tb_rounds *rounds, uint32_t cell);
enum tb_dispatch tb_rounds_dispatch(const struct tb_rounds *rounds, uint32_t cell);

// Of runs of many nodes: the number of the first pool's window for an emulator's plugin (counters/window.h), TB_NODES_MAX apart and
// above 0. It depends on cell and arm alone, so that the plugin adds up all processes of an arm in a cell.
uint64_t tb_rounds_window(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm);

// Did the host take more than repeat_lost of the CPU from any arm of this cell in this round?
bool tb_rounds_disturbed(const struct tb_rounds *rounds, uint32_t cell, uint32_t round);

// Called before the first process and after each; `done` of `total` samples. One that is repeated is counted once.
typedef void tb_progress_fn(void *context, const struct tb_rounds *rounds, uint32_t cell, uint64_t done, uint64_t total);

// Hooks: each may be NULL, and none is called while a process runs. Any result but 0 ends the measurement with
// that result. `position`: the arm's place in the order of its round and cell; arms of one process follow each other.
struct tb_rounds_hooks {
    tb_progress_fn *progress;
    void *progress_context;
    int (*sample)(void *context, const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, uint32_t round, uint32_t position);
    int (*round)(void *context, const struct tb_rounds *rounds, uint32_t round); // when all its samples are there
    void *context;
};

// Runs the rounds first .. first + count - 1: all, or a block of a measurement. 0, or -errno if the testbed itself failed (no
// memory, no processes, no locus-lap: tb_share_lap() says why); an arm that crashes is an invalid sample.
int tb_rounds_run(struct tb_rounds *rounds, uint32_t first, uint32_t count, const struct tb_rounds_hooks *hooks);

// Runs one more process of that arm in that cell under a tool that observes it. `words` are the tool's command line (perf record
// ... --) and the program it shall start: locus-lap (base/share.h), preceded by env(1) with the arm's malloc, so that the tool
// itself does not get it. The sample goes to *out and not into `samples`, because the tool disturbs it. stderr goes to `said`.
// 0, or -errno if no process was started (-ENOENT: no such tool).
int tb_rounds_run_under(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, const char *const words[],
                        struct tb_sample *out, char *said, size_t said_bytes);

// "steady-decode, full touch"; for a bench the workload, or "single operations".
void tb_text_cell(const struct tb_rounds *rounds, uint32_t cell, char *out, size_t size);

// A hook that draws a tb_progress (base/terminal.h), its context.
void tb_progress_step(void *progress, const struct tb_rounds *rounds, uint32_t cell, uint64_t done, uint64_t total);

#endif
