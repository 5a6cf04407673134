// SPDX-License-Identifier: Apache-2.0
//
// plan: a postulate, made ready to run: arms found, workloads built, rounds laid out in blocks.
//
// By rules 1 the rounds come in two blocks of equal length. When the blocks disagree (verdict.h) a whole third is added; the
// verdict pools all. By rules 2 they come in looks (stats/looks.h), and the run ends with the first after which all is decided.
#ifndef TB_PLAN_H
#define TB_PLAN_H

#include "testbed/measure/cell.h"
#include "testbed/postulate/postulate.h"
#include "testbed/stats/looks.h"

#define TB_PLAN_CELLS_MAX 24
#define TB_SMOKE_ROUNDS 2u
#define TB_SMOKE_LAPS 2u
#define TB_SMOKE_LAPS_COUNTED 1u

struct tb_plan {
    const struct tb_postulate *postulate;
    struct tb_arm arms[TB_ARMS_MAX];
    struct tb_schedule *schedules[TB_PLAN_CELLS_MAX];
    struct tb_cell cells[TB_PLAN_CELLS_MAX];            // schedule: NULL for a recorded trace that is not here (tb_plan_missing)
    char workloads[TB_PLAN_CELLS_MAX][TB_WORKLOAD_NAME]; // of each cell, by name
    char trace_sha256[TB_PLAN_CELLS_MAX][TB_HASH_TEXT]; // of a recorded trace's file, otherwise ""
    struct tb_rounds rounds; // rounds: of two blocks, or of the first look; samples: of the round that is running
    uint32_t block_rounds;
    uint64_t looks[TB_LOOKS_MAX]; // counts of rounds; by rules 1 there are none
    size_t looks_count;
    struct tb_counter_set counters; // empty until tb_plan_counters()
    char emulator[128];             // empty until tb_emulate_plan()
};

struct tb_plan_options {
    bool smoke;             // as short as possible: no verdict comes of it
    bool seed_given;
    uint64_t seed;          // otherwise the postulate's
    uint64_t rounds;        // 0: the postulate's
};

// 0, -ENOMEM, or -EINVAL with one sentence in `why` (a contender that is not here, an unknown cell, an arm or a cell that an
// experiment of many nodes, or of one, cannot have). A recorded trace may be missing if the postulate needs `traces`: the plan
// can then be shown, and not run. Borrows the postulate.
int tb_plan_open(struct tb_plan **out, const struct tb_postulate *postulate, const struct tb_plan_options *options, char *why,
                 size_t why_bytes);
void tb_plan_close(struct tb_plan *plan);

// Of what touch are its cells, if that says what its arms are: tb_touch_has_own_arms(), such as TB_TOUCH_SERVE (strategies);
// otherwise TB_TOUCH_NONE (contenders).
enum tb_touch tb_plan_touch(const struct tb_postulate *postulate);

// Finds out what this host can count, and has the measurement count it, what the predictions are about in every round. A host
// that can count nothing is one on which every counter has its reason.
void tb_plan_counters(struct tb_plan *plan);

// Is a cell's trace missing? why: one sentence.
bool tb_plan_missing(const struct tb_plan *plan, char *why, size_t why_bytes);

#endif
