// SPDX-License-Identifier: Apache-2.0
//
// attempt (private): one sample of one cell. Each kind is a table of three functions; run.c calls them, looks at the placement
// before and after `measure`, and judges.
//
// What fails is said in `state` and `why` by tb_attempt_fail(), and the first word counts: UNMEASURABLE, what this machine or
// process lacks; INVALID, a check that did not hold.
#ifndef TB_ATTEMPT_H
#define TB_ATTEMPT_H

#include "testbed/loops/kernels.h"
#include "testbed/matrix/matrix.h"
#include "testbed/matrix/spans.h"
#include "topo/topo.h"

#define TB_ATTEMPT_REGIONS 3u

// The plan counts the bytes that a sample will move by these.
#define TB_ATTEMPT_BLOCKS 32u   // of a request (PUSH, DRAIN): 512 tokens, a chunk of some engines
#define TB_ATTEMPT_BATCHES 16u  // of round trips (LINE)

struct tb_attempt {
    // given
    const struct locus_topo *topo;
    const struct tb_matrix_cell *cell;
    const struct tb_kernels *kernels;
    struct tb_spans *spans;
    uint64_t bytes;             // to be moved

    // of the kind, between open and close
    struct tb_span *span[2];
    int *cpus;                  // [cpus_count], who runs it; freed by run.c
    unsigned cpus_count;
    void *own;
    struct locus_region *region[TB_ATTEMPT_REGIONS]; // whose placement is looked at
    unsigned regions_count;

    // the result
    enum tb_matrix_state state; // PLANNED: nothing was wrong
    char why[TB_MATRIX_WHY];
    double value, bandwidth;
    uint64_t bytes_moved, time_ns;
};

struct tb_attempt_ops {
    void (*open)(struct tb_attempt *attempt);
    void (*measure)(struct tb_attempt *attempt);
    void (*close)(struct tb_attempt *attempt); // also after an open that failed; NULL: nothing to close
};

extern const struct tb_attempt_ops tb_attempt_stream, tb_attempt_chase, tb_attempt_loaded, tb_attempt_line, tb_attempt_migration,
    tb_attempt_home;

void tb_attempt_fail(struct tb_attempt *attempt, enum tb_matrix_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The next span, whose region is then looked at, too. False: it failed, and that is said.
bool tb_attempt_span(struct tb_attempt *attempt, unsigned which, enum tb_span_use use, int memory, uint64_t bytes);

// The first `count` CPUs of a node, after those that are there already. False: it has too few, and that is said.
bool tb_attempt_cpus(struct tb_attempt *attempt, int node, unsigned count);

// Runs a gang on the attempt's CPUs. False: it could not, and that is said.
struct tb_gang_job;
bool tb_attempt_gang(struct tb_attempt *attempt, struct tb_gang_job *job);

// --- which CPUs and nodes of a topology take part: on this machine what this process may use; of a described one, all ---

bool tb_places_live(const struct locus_topo *topo); // is it this machine?

unsigned tb_places_cpus_count(const struct locus_topo *topo, const struct locus_topo_node *node);
bool tb_places_has_memory(const struct locus_topo_node *node);

// The node with CPUs that is nearest to `node`, itself if it has some; and the one with memory. Of several equally near ones (or
// where distances are not known) the lowest. -1: there is none.
int tb_places_nearest_cpus(const struct locus_topo *topo, int node);
int tb_places_nearest_memory(const struct locus_topo *topo, int node);

#endif
