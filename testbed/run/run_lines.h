// SPDX-License-Identifier: Apache-2.0
//
// run_lines: what a run writes into its log, as JSON (log.h has the members). New references, NULL without memory.
#ifndef TB_RUN_LINES_H
#define TB_RUN_LINES_H

#include "testbed/run/run.h"

json_t *tb_line_header(const struct tb_run_config *config, const char *run, const char *nonce, const char *time);
json_t *tb_line_sample(const struct tb_plan *plan, uint32_t block, uint32_t cell, uint32_t arm, uint32_t round, uint32_t position);
json_t *tb_line_after(void);

// tb_environment() with one more member, arms by label: contender, and what tb_environment_library() says of its library. "none":
// it is in this binary, or in the C library; "ABSENT": this host lacks it.
json_t *tb_line_environment(const char *root, const struct tb_arm arms[], uint32_t arms_count);

#endif
