// SPDX-License-Identifier: Apache-2.0
//
// cell: a cell's name: WORKLOAD/TOUCH, then in any order the settings that differ from the measurement's:
//
//     steady-decode/full              as the measurement
//     steady-decode/full/futex        dispatch: inline, spin or futex
//     steady-decode/full/4w           4 workers
//     steady-decode/full/64KiB        blocks of 64 KiB, in a pool of twice the theoretical peak: the workload's own pool is
//                                     for 4 KiB, and thousands of larger blocks need more memory than hosts have
//     batch-8x4096/decode/128t        tokens, with attention over them; testbed/decode/settings.h has these settings, and workers
//                                     and dispatch are settings as well; the bytes of a block follow from the layout
//     azure-conv/serve/16t            a strategy under a scheduler; testbed/serving/plan.h has these settings
//     mooncake/keep/1000b             a policy of retention in a cache of 1,000 blocks; testbed/serving/keep.h has these
//     azure-conv/adapters/batch256    a batcher of requests with adapters; testbed/serving/adapters/settings.h has these
//     azure-conv/residency/100hot     a policy of which adapters are in memory; the same
//     azure-conv/pages/mark950-900    a score of eviction in an arena of pages; testbed/serving/arena/settings.h has these
//     zipf/pins/4t/64r                a way to hold one of 64 ranges, by 4 threads; testbed/measure/pins/plan.h has these
#ifndef TB_CELL_H
#define TB_CELL_H

#include "testbed/measure/rounds.h"

#define TB_WORKLOAD_NAME 48
#define TB_CELL_TEXT 160

// 0: the name, and touch and settings in *out; the rest of *out is 0. -EINVAL: not of that form, or a setting occurs twice.
// Whether the workload exists is not checked.
int tb_cell_parse(const char *text, char workload[TB_WORKLOAD_NAME], struct tb_cell *out);

// One sentence on why that was not a cell: it names the word.
void tb_cell_why(const char *text, char *why, size_t why_bytes);

// Makes the plan of a cell whose touch serves a scenario (serving/plan.h).
typedef int tb_cell_plan_fn(const struct tb_scenario *scenario, const char *name, const struct tb_serving_settings *settings,
                            struct tb_schedule **out, struct tb_why *why);
tb_cell_plan_fn *tb_cell_plan(enum tb_touch touch);

// The shortest text that tb_cell_parse() reads as this cell. pre: its arms are contenders (not tb_touch_has_own_arms).
void tb_cell_text(const char *workload, const struct tb_cell *cell, char *out, size_t bytes);

#endif
