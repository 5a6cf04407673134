// SPDX-License-Identifier: Apache-2.0
//
// shown: what is shown of a log: its cells, its arms, and the verdict of a run and of a prediction. An emulated machine counts as
// a real one does, but its times mean nothing: a log that was judged by them is shown without.
#ifndef TB_SHOWN_H
#define TB_SHOWN_H

#include <stdbool.h>

#include "testbed/base/words.h"
#include "testbed/record/store.h"

size_t tb_cells_count(const struct tb_log_view *view);
size_t tb_arms_count(const struct tb_log_view *view);

// "churn-touch/full". Returns out.
const char *tb_cell_label(const struct tb_log_view *view, size_t cell, char *out, size_t bytes);

// The summary's entry of an arm, by its key; NULL: it has none.
const json_t *tb_summary_arm(const struct tb_log_view *view, size_t cell, const char *arm);

// The largest figure of a metric over all valid samples of an arm, by its key; NAN without any. 0 or -errno.
int tb_log_largest(const struct tb_log_view *view, size_t cell, const char *arm, const char *metric, double *out);

// The one word for what came of a run: its summary's verdict, or the state that keeps it from counting ("crashed", "stopped", ...).
const char *tb_run_verdict(const struct tb_store_run *run);

// "0013-20261121T101500Z-a1b2c3 (falsified)": what a run replicates (the header's `replicates`, or what the ledger has), each with
// the verdict that its host's ledger has of it. "": nothing. Returns out->text.
const char *tb_replicated_words(const json_t *runs, const struct tb_chain *ledger, struct tb_words *out);

const char *tb_emulated(const json_t *header);    // the emulated machine that a run was made in, or ""
const char *tb_prediction_verdict(const json_t *header, const json_t *prediction);
bool tb_prediction_gate(const json_t *header, const json_t *prediction); // it cannot fail but by a bug, and says nothing new
bool tb_prediction_measured(const json_t *header, const json_t *prediction); // else its figures mean nothing and are not shown

#endif
