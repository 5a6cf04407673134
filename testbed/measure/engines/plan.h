// SPDX-License-Identifier: Apache-2.0
//
// plan: what a cell of touch `engine` asks of a process: which model, how long a prompt, how many sequences. It travels behind a
// schedule without operations, which is what a process is given.
#ifndef TB_ENGINES_PLAN_H
#define TB_ENGINES_PLAN_H

#include "testbed/base/sha256.h"
#include "testbed/engine/model.h"
#include "testbed/engine/settings.h"
#include "testbed/measure/rounds.h"

struct tb_engines_plan {
    struct tb_schedule schedule; // first: a process is given this
    struct tb_engine_settings settings;
    struct tb_model model;
    uint64_t model_bytes;
    char sha256[TB_HASH_TEXT];  // of the model's file
    char path[4096];            // of it
};

// Makes the model's file in build/engine/models, if it is not there, and the plan. 0, -ENOMEM, or another -errno with why: no such
// model, not in a clone of the project, a full disk.
int tb_engines_open(const char *model, const struct tb_engine_settings *settings, struct tb_schedule **out, char *why,
                    size_t why_bytes);

// In the header, because a measured process is not linked with what makes models.
static inline const struct tb_engines_plan *tb_engines_plan(const struct tb_schedule *schedule)
{
    return (const struct tb_engines_plan *)(const void *)schedule;
}

// The longest that a process may take.
uint64_t tb_engines_patience_ms(const struct tb_schedule *schedule, uint64_t steps);

// Can the engine be run here? 1, or 0 with why. Looks for locus-llama beside the program that is measured.
int tb_engines_here(char *why, size_t why_bytes);

#endif
