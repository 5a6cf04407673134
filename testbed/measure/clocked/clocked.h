// SPDX-License-Identifier: Apache-2.0
//
// clocked: the times of single calls in an engine's clocked laps: room for them, a worker's part, and their sums (sample.h).
#ifndef TB_CLOCKED_H
#define TB_CLOCKED_H

#include "testbed/measure/engine.h"

int tb_clocked_open(struct tb_engine *engine); // 0 or -ENOMEM; close it in either case
void tb_clocked_close(struct tb_engine *engine);

// What workers do in these laps, with the engine as their context: the contender's finish, timed.
void tb_clocked_finish(void *engine, uint32_t worker, struct locus_table *table);

void tb_clocked_sum(struct tb_engine *engine); // after the laps, when all workers are idle

#endif
