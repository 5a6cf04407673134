// SPDX-License-Identifier: Apache-2.0
//
// options_trace: the flags by which a recorded trace becomes a schedule, of replay and advise.
#ifndef TB_OPTIONS_TRACE_H
#define TB_OPTIONS_TRACE_H

#include "testbed/base/cli.h"
#include "testbed/workload/trace.h"

struct tb_options_trace {
    struct tb_replay_config replay;
    bool given;                 // one of the flags was
};

void tb_options_trace_init(struct tb_options_trace *options);
extern const struct argp tb_options_trace_argp; // a child parser; its input is the struct tb_options_trace

// Loads the trace and works out its schedule (free it). `headline`: three lines on what it is. 0, or an exit status after a report.
int tb_options_trace_load(const struct tb_options_trace *options, const char *path, struct tb_schedule **out, char *headline,
                          size_t headline_bytes);

#endif
