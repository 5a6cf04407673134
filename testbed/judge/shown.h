// SPDX-License-Identifier: Apache-2.0
//
// shown: the verdict that may be shown of a run and of a prediction. An emulated machine counts as a real one does, but its times
// mean nothing: a log that was judged by them is shown without.
#ifndef TB_SHOWN_H
#define TB_SHOWN_H

#include <stdbool.h>

#include "testbed/record/store.h"

// The one word for what came of a run: its summary's verdict, or the state that keeps it from counting ("crashed", "stopped", ...).
const char *tb_run_verdict(const struct tb_store_run *run);

const char *tb_emulated(const json_t *header);    // the emulated machine that a run was made in, or ""
const char *tb_prediction_verdict(const json_t *header, const json_t *prediction);
bool tb_prediction_measured(const json_t *header, const json_t *prediction); // else its figures mean nothing and are not shown

#endif
