// SPDX-License-Identifier: Apache-2.0
//
// contender: one way to hand out and take back blocks, as a small table of functions. Adding one is adding one file to contenders/.
//
// The driver (driver.h) is instantiated anew for each table, so that no contender pays for an indirect call that another is
// spared. A block is whatever 64-bit value the contender likes (a handle, a pointer); the request's vector of them is a struct
// locus_table for everyone, recycled by the driver, so that all keep the same books.
//
//     owner thread                                worker thread
//     take(table, n), address(block)
//     retire(table)           -- dispatch -->     finish(worker, table)
//     drain()
//
// After finish (and, for pools, the drain that follows) the table must be empty and LIVE again. take, retire, drain and freed run
// on the owner thread, finish on worker threads, open, close and audit when no worker runs.
#ifndef TB_CONTENDER_H
#define TB_CONTENDER_H

#include <stdio.h>

#include "placement/blocks/table.h"
#include "testbed/measure/campaign.h"

struct tb_engine;
struct tb_driver;               // driver.h: TB_DRIVER(ops) makes one
struct tb_nodes_contender;      // nodes/ops.h

struct tb_setup {
    const struct tb_schedule *schedule;
    size_t block_bytes;
    uint32_t pool_blocks;
    uint32_t workers;           // lanes: >= 1, also for inline dispatch
    char *why;                  // open may say here, in a sentence, what this host lacks and the remedy; NULL: nobody asks
    size_t why_bytes;
};

struct tb_audit {               // at rest, after the last drain
    uint64_t allocated, freed;  // blocks, counted by the contender itself
    uint64_t drained;           // requests that came home
    uint64_t refused;           // frees that were refused
    uint64_t not_home;          // blocks that ought to be free and are not
    uint64_t waits;             // takes that had to wait for blocks on their way home
    char version[64];           // "" for the project's own
};

struct tb_ops {
    int (*open)(const struct tb_setup *setup, void **context);
    void (*close)(void *context);
    int (*take)(void *context, struct locus_table *table, uint32_t count);
    locus_block (*alloc)(void *context);                     // one block, without a table: `locus bench` only
    void (*release)(void *context, locus_block blocks[], uint32_t count); // and back, on the owner thread
    void *(*address)(void *context, locus_block block);
    int (*retire)(void *context, struct locus_table *table);
    void (*finish)(void *context, uint32_t worker, struct locus_table *table);
    void (*drain)(void *context);
    // What the owner does where the schedule says drain; NULL: it drains. A lap's end always drains. With a bounded way home
    // (batch_blocks_max) also what it does while it waits for a worker, so it must make room there.
    void (*step)(void *context);
    uint64_t (*freed)(void *context); // blocks that are free again by now
    void (*audit)(void *context, struct tb_audit *out);
};

struct tb_contender {
    const char *name;
    const char *summary;        // one line for `locus eval --help`
    bool harness;               // measures the testbed; shown, never ranked, and its blocks may be one and the same
    bool floor;                 // no allocator, as it knows all blocks beforehand: what others are held against, nobody's rival
    bool frees_on_worker;       // finish() itself frees: there is no push, and drain has nothing to do
    bool is_malloc;             // it stands for the process's malloc: a candidate for "best malloc"
    uint32_t batch_blocks_max;  // most blocks that finish() can take without a drain; 0: no limit
    const char *const *libraries;   // file names to look for, best first, NULL-terminated: preloaded into the measured process
    const char *const *environment; // NAME=VALUE each, NULL-terminated, for the measured process; or NULL
    const struct tb_driver *driver; // NULL: for many nodes only
    const struct tb_nodes_contender *nodes; // NULL: for one node only
};

// A contender whose pointer lies in this section is in the program; the linker keeps the list. `used` and `retain` keep the
// pointer although nobody names it.
#define TB_CONTENDER(variable)                                                                                                     \
    static const struct tb_contender *const variable##_entry __attribute__((used, retain, section("tb_contenders"))) = &(variable)

extern const struct tb_contender *const __start_tb_contenders[] __attribute__((weak));
extern const struct tb_contender *const __stop_tb_contenders[] __attribute__((weak));

// By name, or NULL.
const struct tb_contender *tb_contender_find(const char *name);

// Those of one node by name and summary, the peers (peer.h), and those that are not built in, by the alphabet; for 79 columns.
void tb_contender_list(FILE *out);

// Contenders that are built only where another package's headers are: NULL-terminated by name.
struct tb_optional {
    const char *name, *package; // the package by its Debian name
};
extern const struct tb_optional tb_optionals[];

// "NAME", "NAME+4w" (with 4 workers), "NAME@skip-touch", "NAME@drop-chunk", "NAME@double-free", "NAME@delay:PERCENT",
// "malloc:/path/lib.so"; on many nodes also "NAME%50" (half of the requests cross) and "NAME@misplace". NAME may be a peer's
// (peer.h), or be given to a library: "NAME=malloc:/path/lib.so", "NAME+4w=malloc:/path/lib.so". Finds a malloc's library.
// 0, -ENOENT (no such contender), -EINVAL (no such fault, share, workers or name), -ENODEV (library or package not here); why: in
// words.
int tb_arm_parse(const char *text, struct tb_arm *out, char *why, size_t why_bytes);

// An arm as a log names it, with the `count` before it: label, fault, share and workers, and the name that is left. Nothing is
// looked for. 0 or -EINVAL.
int tb_arm_read(const char *text, const struct tb_arm arms[], uint32_t count, struct tb_arm *out, char name[96]);

// Where "#2" begins, or the label's end.
size_t tb_twin_mark(const char *label);

// As tb_arm_parse(), into the next place of arms[TB_ARMS_MAX]; a name that is there already becomes NAME#2: an A/A control. A name
// that was given to a library stands for it from then on.
int tb_arms_add(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);

// False: it has a meaning only where there are several nodes.
bool tb_arm_on_one_node(const struct tb_arm *arm);

#endif
