// SPDX-License-Identifier: Apache-2.0
//
// loaded: a log read back as the rounds that it holds, so that every figure is worked out from log lines alone.
//
// What only a machine can say is as the log has it: an arm's library need not be here, and a contender need not be built in. Of
// the counts by node, drift and balancing stay in the log. Counters have their names, whether the kernel was counted, too, why one
// was not, and, in cells that decode (for bill.h), their values.
#ifndef TB_LOADED_H
#define TB_LOADED_H

#include "testbed/measure/rounds.h"
#include "testbed/record/log.h"

struct tb_loaded {
    struct tb_rounds rounds; // rounds: those that every arm has in every cell
    struct tb_arm arms[TB_ARMS_MAX];
    struct tb_cell *cells;
    struct tb_schedule *schedules; // of each cell what a header says of it: no operations
    char unfit[512];            // rounds.unfit
    struct tb_counter_set counters; // rounds.counters
};

// 0, -ENOMEM, or -EINVAL with one sentence in `why`: the log has more arms than this program knows, or none. Borrows the view.
int tb_loaded(const struct tb_log_view *view, struct tb_loaded *out, char *why, size_t why_bytes);
void tb_loaded_close(struct tb_loaded *loaded);

// The counts by node of a sample's line; all 0 for a run of one node.
void tb_loaded_nodes(const json_t *line, struct tb_nodes_sample *out);

#endif
