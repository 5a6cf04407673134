// SPDX-License-Identifier: Apache-2.0
//
// run_lines: what a run writes into its log, as JSON (log.h has the members). New references, NULL without memory.
#ifndef TB_RUN_LINES_H
#define TB_RUN_LINES_H

#include "testbed/record/run.h"

json_t *tb_line_header(const struct tb_run_config *config, const char *run, const char *nonce, const char *time);
json_t *tb_line_sample(const struct tb_plan *plan, uint32_t block, uint32_t cell, uint32_t arm, uint32_t round, uint32_t position);
json_t *tb_line_after(void);

#endif
