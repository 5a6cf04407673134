// SPDX-License-Identifier: Apache-2.0
//
// run_lines: what a run writes into its log, as JSON (log.h has the members). New references, NULL without memory.
#ifndef TB_RUN_LINES_H
#define TB_RUN_LINES_H

#include <jansson.h>

#include "testbed/measure/rounds.h"
#include "testbed/postulate/postulate.h"

struct tb_doctor;

// What a header says beside the measurement. Of postulate and experiment, and of measured, one is NULL; they are taken over, and so
// is replicates.
struct tb_line_head {
    const char *run, *nonce, *time, *kind;
    const char *unmet;          // NULL or "": every need was met
    json_t *postulate, *experiment; // of a run
    json_t *measured;           // of what was measured without a postulate (measured.h)
    json_t *replicates;         // ids of runs (ledger.h), or NULL
    const struct tb_doctor *doctor; // NULL: he looks now
    uint32_t block_rounds;
    const uint64_t *looks;      // counts of rounds after which the run is looked at (by rules 2)
    size_t looks_count;
};

// Each arm of the measurement has a key.
json_t *tb_line_header(const struct tb_line_head *head, const struct tb_rounds *rounds);
json_t *tb_line_postulate(const struct tb_postulate *postulate, const char *commit);
json_t *tb_line_experiment(const struct tb_postulate *postulate);
json_t *tb_line_sample(const struct tb_rounds *rounds, uint32_t block, uint32_t cell, uint32_t arm, uint32_t round,
                       uint32_t position);
json_t *tb_line_after(void);

// tb_environment() with one more member, arms by label: contender, and what tb_environment_library() says of its library. "none":
// it is in this binary, or in the C library; "ABSENT": this host lacks it.
json_t *tb_line_environment(const char *root, const struct tb_arm arms[], uint32_t arms_count);

// Of a cell whose touch serves a scenario, or holds ranges: its plan in full, so that the log alone says what was done; and a
// sample's figures.
bool tb_line_has_serving(enum tb_touch touch);
json_t *tb_line_plan(const struct tb_cell *cell);
json_t *tb_line_served(const struct tb_sample *sample, const struct tb_cell *cell);

// Every member of a struct of figures; null: `told` says that it is not known (NULL: all are).
json_t *tb_line_slots(const void *object, const struct tb_slot slots[], bool (*told)(const void *object, const char *name));

// Sets "nodes" and the three ratios in `line`; all null for a run of one node. 0 or -ENOMEM.
int tb_line_nodes(json_t *line, const struct tb_nodes_sample *nodes);

#endif
