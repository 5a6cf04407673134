// SPDX-License-Identifier: Apache-2.0
//
// contender: one way to hand out and take back blocks, as a small table of functions. To add one, add one file to contenders/.
//
// The driver (driver.h) is instantiated for each table, so that no contender pays for an indirect call that another avoids. A
// block is any 64-bit value that the contender likes (a handle, a pointer). For all contenders the request's vector of blocks is
// a struct locus_table, which the driver recycles, so that all do the same bookkeeping.
//
//     owner thread                                worker thread
//     take(table, n), address(block)
//     retire(table)           -- dispatch -->     finish(worker, table)
//     drain()
//
// After finish (and, for pools, the next drain) the table must be empty and LIVE again. take, retire, drain and freed run on the
// owner thread; finish runs on worker threads; open, close and audit run when no worker does.
#ifndef TB_CONTENDER_H
#define TB_CONTENDER_H

#include <stdio.h>

#include "locus/table.h"
#include "testbed/measure/rounds.h"

struct tb_act;
struct tb_engine;
struct tb_driver;               // driver.h: TB_DRIVER(ops) makes one
struct tb_nodes_contender;      // nodes/ops.h

struct tb_setup {
    const struct tb_schedule *schedule;
    size_t block_bytes;
    uint32_t pool_blocks;
    uint32_t workers;           // lanes: >= 1, also for inline dispatch
    char *why;                  // open may write a sentence here: what this host lacks, and the remedy; NULL: not wanted
    size_t why_bytes;
};

struct tb_audit {               // at rest, after the last drain
    uint64_t allocated, freed;  // blocks, by the contender's own count
    uint64_t drained;           // requests that came home
    uint64_t refused;           // frees that were refused
    uint64_t not_home;          // blocks that should be free and are not
    uint64_t waits;             // takes that had to wait for blocks on their way home
    uint64_t wait_ns;           // time spent in them; 0: none, or it is not measured
    char version[64];           // "" for the project's own
};

struct tb_ops {
    int (*open)(const struct tb_setup *setup, void **context);
    void (*close)(void *context);
    int (*take)(void *context, struct locus_table *table, uint32_t count);
    locus_block (*alloc)(void *context);                     // one block, without a table; only for `locus bench`
    void (*release)(void *context, locus_block blocks[], uint32_t count); // and back, on the owner thread
    void *(*address)(void *context, locus_block block);
    int (*retire)(void *context, struct locus_table *table);
    void (*finish)(void *context, uint32_t worker, struct locus_table *table);
    void (*drain)(void *context);
    // Called where the schedule says drain, instead of drain; NULL: drain. The end of a lap always calls drain. If the way home
    // is bounded (batch_blocks_max), the owner also calls it while it waits for a worker, so it must make room.
    void (*step)(void *context);
    int (*give_back)(void *context); // the pages of all blocks, which the kernel fills anew. 0 or -errno; NULL: it cannot
    uint64_t (*freed)(void *context); // blocks that are free again so far
    uint64_t (*waits)(void *context); // takes that had to wait for blocks on their way home so far; NULL: it does not say
    void (*audit)(void *context, struct tb_audit *out);
};

struct tb_contender {
    const char *name;
    const char *summary;        // one line for `locus eval --help`
    bool harness;               // measures the testbed: shown but never ranked; all its blocks may be the same one
    bool floor;                 // no allocator, as it knows all blocks in advance: a reference, not a rival
    bool frees_on_worker;       // finish() itself frees: no push, and drain does nothing
    bool is_malloc;             // it is the process's malloc: a candidate for "best malloc"
    bool on_demand;             // nothing fills its pool beforehand: memory has what is in use at the peak, as with a malloc
    bool alone;                 // it has state that a process has only once, and shares no process with another arm
    uint32_t batch_blocks_max;  // most blocks that finish() can take without a drain; 0: no limit
    const char *const *libraries;   // file names to look for, best first, NULL-terminated; preloaded into the measured process
    const char *const *environment; // NAME=VALUE each, NULL-terminated, for the measured process; or NULL
    const struct tb_driver *driver; // NULL: only for many nodes
    const struct tb_nodes_contender *nodes; // NULL: only for one node
};

// A contender whose pointer is in this section is in the program; the linker keeps the list. `used` and `retain` keep a pointer
// that nothing refers to.
#define TB_CONTENDER(variable)                                                                                                     \
    static const struct tb_contender *const variable##_entry __attribute__((used, retain, section("tb_contenders"))) = &(variable)

extern const struct tb_contender *const __start_tb_contenders[] __attribute__((weak));
extern const struct tb_contender *const __stop_tb_contenders[] __attribute__((weak));

// By name, or NULL.
const struct tb_contender *tb_contender_find(const char *name);

// Prints the contenders of one node with their summaries, the peers (peer.h), and those that are not built in, sorted, in 79
// columns.
void tb_contender_list(FILE *out);

// Contenders that are built only if another package's headers are installed; terminated by a NULL name.
struct tb_optional {
    const char *name, *package; // the Debian package
};
extern const struct tb_optional tb_optionals[];

// "NAME", "NAME+4w" (with 4 workers), "NAME@skip-touch", "NAME@drop-chunk", "NAME@double-free", "NAME@delay:PERCENT",
// "malloc:/path/lib.so"; in touch `decode` also "NAME@ACT" (testbed/decode/act.h); on many nodes also "NAME%50" (half of the
// requests cross) and "NAME@misplace". NAME may be a peer's, tuned or not (peer.h), or a new name for a library:
// "NAME=malloc:/path/lib.so", "NAME+4w=malloc:/path/lib.so". Finds a malloc's library. 0, -ENOENT (no such contender), -EINVAL
// (invalid fault, act, share, workers or name), -ENODEV (library or package missing); why: in words.
int tb_arm_parse(const char *text, struct tb_arm *out, char *why, size_t why_bytes);

// An arm as a log names it, given the `count` arms before it: label, fault, share, workers, and the remaining name. No library is
// looked for. 0 or -EINVAL.
int tb_arm_read(const char *text, const struct tb_arm arms[], uint32_t count, struct tb_arm *out, char name[96]);

// Where "#2" begins, or the label's end.
size_t tb_twin_mark(const char *label);

// As tb_arm_parse(), into the next place of arms[TB_ARMS_MAX]. A name that occurs again becomes NAME#2: an A/A control. A name
// given to a library means that library from then on.
int tb_arms_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);

// The same for a strategy, a policy of retention, a batcher, a policy of residency, a score of eviction, a way to hold ranges, and
// a way to run the engine, by its name: NAME, or NAME#2 when it occurs again.
int tb_strategies_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);
int tb_policies_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);
int tb_batchers_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);
int tb_residents_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);
int tb_scores_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);
int tb_ways_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);
int tb_engine_arms_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);

// Whichever of these, or contender, a cell of that touch has as its arms.
int tb_arms_add_for(enum tb_touch touch, struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);

// What an error of take, retire or drain means: these are errors of blocks, and strerror's words for them are about others.
const char *tb_blocks_why(int error);

// Can a contender be measured in this act? If not, why says so in words.
bool tb_act_possible(const struct tb_contender *contender, const struct tb_act *act, char *why, size_t why_bytes);

// False: it makes sense only on several nodes.
bool tb_arm_on_one_node(const struct tb_arm *arm);

#endif
