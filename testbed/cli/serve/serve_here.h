// SPDX-License-Identifier: Apache-2.0
//
// serve_here: measures the clock of `locus serve --here` on this machine: decode steps of the served shape over paged blocks, in
// fresh processes.
#ifndef TB_SERVE_HERE_H
#define TB_SERVE_HERE_H

#include <jansson.h>
#include <stdbool.h>

#include "testbed/report/serve/here.h"
#include "testbed/serving/plan.h"

// `what`: a workload and settings of touch `decode` without a shape, such as "batch-4x1024x16/128t/2c"; NULL: a batch that
// reads more than the last-level cache holds. Without a setting `c` all CPUs compute that this process may use. `served`: the
// cell to be served. Fills in *measured (the log's member `here`) and the settings of each cell of enum tb_here_cell. An exit
// status, after a report.
int tb_serve_here(const char *what, const struct tb_serving_settings *served, bool quiet, json_t **measured,
                  struct tb_serving_settings out[TB_HERE_CELLS]);

#endif
