// SPDX-License-Identifier: Apache-2.0
//
// profile: what perf(1) says about the measured processes of a run. Profiling disturbs, so no process that gives a sample is
// profiled: when the log is sealed each arm is run once more in each cell, by perf, and that sample is thrown away. The log knows
// nothing of it, and is the same whether a profile was made or not.
//
//     LOG without .jsonl, and .perf/
//         profile.txt             what is there, and why the rest is not
//         ARM.CELL.TOOL.txt       perf's report; CELL counts from 0, as in the log
//         ARM.CELL.TOOL.data      what perf recorded: the machine's name is in it, so git ignores it below logs/
#ifndef TB_PROFILE_H
#define TB_PROFILE_H

#include <stdio.h>

#include "testbed/run/plan.h"

enum tb_profile_tool { TB_PROFILE_RECORD, TB_PROFILE_C2C, TB_PROFILE_MEM, TB_PROFILE_TOOLS }; // "record", "c2c", "mem"

struct tb_profile_config {
    bool wanted[TB_PROFILE_TOOLS];
    const char *options;        // more words for perf record, with blanks between, or NULL
    const char *arm;            // the key of the only one, or NULL: all
};

// Before the run. 0, -ENOENT (there is no perf), -EINVAL (no such arm, too many options), with one sentence in `why`.
int tb_profile_check(const struct tb_profile_config *config, const struct tb_plan *plan, char *why, size_t why_bytes);

// After it. What cannot be had is said on `out`, and in profile.txt, with its reason, and is no error. 0 or -errno, with
// one sentence in `why`.
int tb_profile(const struct tb_profile_config *config, const struct tb_plan *plan, const char *log, FILE *out, char *why,
               size_t why_bytes);

#endif
