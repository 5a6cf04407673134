// SPDX-License-Identifier: Apache-2.0
//
// run_lines_nodes: the part of a sample's line that counts node by node (log.h has the members).
#ifndef TB_RUN_LINES_NODES_H
#define TB_RUN_LINES_NODES_H

#include <jansson.h>

#include "testbed/measure/nodes/sample.h"

// Sets "nodes" and the three ratios in `line`; all null for a run of one node. 0 or -ENOMEM.
int tb_line_nodes(json_t *line, const struct tb_nodes_sample *nodes);

#endif
