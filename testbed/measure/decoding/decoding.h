// SPDX-License-Identifier: Apache-2.0
//
// decoding: from a cell of touch `decode` to its schedule: the layout's blocks, the workload in these.
#ifndef TB_DECODING_H
#define TB_DECODING_H

#include "testbed/measure/cell.h"
#include "testbed/workload/trace.h"

// Where the tokens are from: a workload by name (tb_decode_schedule), or a trace that is loaded already.
struct tb_decoding_source {
    const char *workload;
    const struct tb_trace *trace;           // NULL: the workload
    const struct tb_replay_config *replay;  // of the trace
};

// pre: touch is TB_TOUCH_DECODE and the settings are filled, as by tb_cell_parse(). Sets the cell's schedule (*out; malloc'd, the
// caller frees it) and block_bytes. 0, -ENOMEM, or -errno with the reason in why; -ENOENT as tb_decode_schedule().
int tb_decoding_open(struct tb_cell *cell, const struct tb_decoding_source *source, struct tb_schedule **out, struct tb_why *why);

// Bytes that can be had without swapping: the kernel's MemAvailable, and not more than the control group has left. 0: unknown.
uint64_t tb_decoding_available(void);

#endif
