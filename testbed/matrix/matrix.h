// SPDX-License-Identifier: Apache-2.0
//
// matrix: what it costs the CPUs of each node to reach the memory of each, measured, with the proof that it was that memory.
//
// A *cell* is one question: kind, initiator (whose CPUs), memory (whose pages), and what the kind asks besides. Cells are planned
// from a topology (plan.c), which may be a described machine; they are run on this one (run.c) in rounds, every cell once in
// each, in an order shuffled from a seed, so that a disturbance spreads over all instead of spoiling one. A sample counts when the
// bytes that were moved are the bytes that were to be moved, the time is one that could be, and every page was on its node
// before and after. In an emulated guest the samples are taken, the placement is checked, and no time is kept.
//
// OS node numbers throughout; -1 where there is none.
#ifndef TB_MATRIX_H
#define TB_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locus/region.h"
#include "testbed/stats/stats.h"

enum tb_matrix_kind {
    TB_MATRIX_LATENCY,          // ns a load: one chain over a random cycle of all cache lines, far beyond the last-level cache
    TB_MATRIX_READ,             // bytes/s, `threads` CPUs of the initiator at once; what the program asked for is counted:
    TB_MATRIX_WRITE,            //   a write that first reads its line counts once, a copy counts what it reads and writes
    TB_MATRIX_COPY,
    TB_MATRIX_READ3_WRITE1,     // three lines read for each one written
    TB_MATRIX_READ2_WRITE1,
    TB_MATRIX_NT_WRITE,         // stores that pass the caches by
    TB_MATRIX_LOADED,           // a point of the curve: ns a load while the other CPUs read, `delay` between their lines
    TB_MATRIX_WORKING_SET,      // ns a load, as LATENCY, over working_set_bytes: where the caches end
    TB_MATRIX_MIGRATION,        // bytes/s of move_pages from `memory` to `target`, asked for by a CPU of the initiator
    TB_MATRIX_LINE,             // ns until a line written by the initiator is seen by `target`'s CPU; the line lies on `memory`
    TB_MATRIX_PUSH,             // ns a push from the initiator into a mailbox on `memory`
    TB_MATRIX_DRAIN,            // ns a block that the owner on `memory` drains of what the initiator pushed
    TB_MATRIX_KINDS
};

enum tb_matrix_state {
    TB_MATRIX_PLANNED,
    TB_MATRIX_MEASURED,
    TB_MATRIX_UNMEASURABLE,     // this machine or process cannot, `why` says what is missing; no sample
    TB_MATRIX_EMULATED,         // ran, placement and bytes verified, no time kept
    TB_MATRIX_INVALID,          // a check failed, `why` says which; shown, never used
};

#define TB_MATRIX_ROUNDS_MAX 64u
#define TB_MATRIX_WHY 200

struct tb_matrix_placement {    // of the last round, before and after its times
    enum locus_policy requested, granted;
    int granted_node;
    uint64_t page_bytes;        // of the pages that back it: base, or huge where all of it is; 0: unknown
    uint64_t pages, pages_there; // of 4 KiB: all, and on `memory`
    bool verified;              // move_pages answered
};

struct tb_matrix_cell {
    enum tb_matrix_kind kind;
    int initiator, memory, target;
    unsigned threads;           // LOADED: one that chases and the others that read
    unsigned delay;             // LOADED: pause after each line read, in turns of an empty loop
    uint64_t working_set_bytes; // of each thread, what is walked over; planned for a machine whose caches are known
    uint64_t reader_bytes;      // LOADED: what each that reads walks over; working_set_bytes is the chase's; else 0

    enum tb_matrix_state state;
    char why[TB_MATRIX_WHY];
    unsigned samples;           // valid ones
    double sample[TB_MATRIX_ROUNDS_MAX]; // in the kind's unit, by round
    struct tb_ratio value;   // their median
    double bandwidth;           // LOADED: median bytes/s of all the CPUs that read besides; else 0
    uint64_t bytes_planned, bytes_moved; // of all rounds together, LOADED: of the chase; equal, or the cell is invalid
    uint64_t time_ns;           // that the moving took
    struct tb_matrix_placement placement;
};

struct tb_matrix_config {
    bool full;                  // all thread counts, the whole curves; otherwise a few seconds' worth
    bool kinds[TB_MATRIX_KINDS];
    unsigned rounds;            // <= TB_MATRIX_ROUNDS_MAX; 0: as many as the plan likes
    uint64_t seed;
};

// What is known of the caches, for the sizes of the working sets. All 0: unknown, and a guess on the large side is made.
struct tb_matrix_caches {
    uint64_t bytes[4];          // data or unified, by level - 1, of one CPU
    uint64_t last_bytes;        // all last-level caches of a package together
};

struct tb_matrix {
    struct tb_matrix_config config;
    struct tb_matrix_caches caches;
    struct tb_matrix_cell *cells;
    size_t cells_count;
    const char *emulated;       // the guest's name, or NULL
    uint64_t took_ns;
};

// From /sys/devices/system/cpu/cpuN/cache under `root` ("" on a real machine).
void tb_matrix_caches_read(const char *root, unsigned cpu, struct tb_matrix_caches *out);

// Plans the cells of a machine, this one or a described one: rows for nodes with CPUs, columns for nodes with memory, whatever
// their numbers. A cell that follows from the shape but cannot be asked (migration on one node) is planned as UNMEASURABLE
// with its reason. 0, -ENOMEM, -EINVAL (too many rounds), -ENODEV: no node has CPUs, or none has memory. The caller closes *out.
struct locus_topo;
int tb_matrix_plan(struct tb_matrix *out, const struct locus_topo *topo, const struct tb_matrix_caches *caches,
                   const struct tb_matrix_config *config);
void tb_matrix_close(struct tb_matrix *matrix);

// Runs the planned cells on this machine. Called after each sample: `done` of `total`. A cell's own failure is its state. 0,
// -ENOMEM, -EINVAL: the topology is a description; or -errno when the kernel does not tell on which CPUs this process may run.
typedef void tb_matrix_progress(void *context, const struct tb_matrix *matrix, uint64_t done, uint64_t total);
int tb_matrix_run(struct tb_matrix *matrix, const struct locus_topo *topo, tb_matrix_progress *progress, void *context);

#endif
