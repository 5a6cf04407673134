// SPDX-License-Identifier: Apache-2.0
//
// plan: see plan.h.

#include "testbed/record/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/contender.h"

static int arms_open(struct tb_plan *plan, char *why, size_t why_bytes)
{
    for (const struct tb_experiment_arm *arm = plan->experiment->arms; arm->key; arm++) {
        int error = tb_arms_add(plan->arms, &plan->campaign.arms_count, arm->name, why, why_bytes);
        if (error)
            return error;
    }
    return 0;
}

// "WORKLOAD/TOUCH". Cells of one workload share its schedule.
static int cell_open(struct tb_plan *plan, const char *text, uint32_t laps, char *why, size_t why_bytes)
{
    uint32_t at = plan->campaign.cells_count;
    const char *slash = strchr(text, '/');
    char workload[64];
    int touch = TB_TOUCH_NONE;
    while (slash && touch <= TB_TOUCH_FULL && strcmp(slash + 1, tb_touch_name((enum tb_touch)touch)))
        touch++;
    if (at == TB_PLAN_CELLS_MAX || !slash || touch > TB_TOUCH_FULL) {
        snprintf(why, why_bytes, "cell '%s' is not WORKLOAD/TOUCH, or there are too many", text);
        return -EINVAL;
    }
    snprintf(workload, sizeof workload, "%.*s", (int)(slash - text), text);
    for (uint32_t i = 0; i < at; i++)
        if (strcmp(plan->cells[i].schedule->name, workload) == 0)
            plan->cells[at].schedule = plan->cells[i].schedule;
    if (!plan->cells[at].schedule) {
        int error = tb_schedule_suite(workload, &plan->schedules[at]);
        if (error) {
            snprintf(why, why_bytes, "cell '%s': there is no such workload", text);
            return error == -ENOENT ? -EINVAL : error;
        }
        plan->cells[at].schedule = plan->schedules[at];
    }
    plan->cells[at].touch = (enum tb_touch)touch;
    plan->cells[at].laps = laps;
    plan->cells[at].laps_warmup = laps / 4 + 3;
    plan->campaign.cells_count++;
    return 0;
}

static void rounds_lay_out(struct tb_plan *plan, const struct tb_plan_options *options)
{
    uint64_t rounds = options->rounds ? options->rounds : plan->postulate->rounds;
    if (options->smoke)
        rounds = TB_SMOKE_ROUNDS;
    plan->block_rounds = (uint32_t)(rounds > 1 ? (rounds + 1) / 2 : 1);
    plan->campaign.rounds = rounds > 1 ? 2 * plan->block_rounds : 1;
}

int tb_plan_open(struct tb_plan **out, const struct tb_experiment *experiment, const struct tb_postulate *postulate,
                 const struct tb_plan_options *options, char *why, size_t why_bytes)
{
    struct tb_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return -ENOMEM;
    plan->experiment = experiment;
    plan->postulate = postulate;
    plan->campaign = (struct tb_campaign){
        .arms = plan->arms,
        .cells = plan->cells,
        .seed = options->seed_given ? options->seed : postulate->seed,
        .dispatch = experiment->dispatch,
        .workers = experiment->workers,
        .block_bytes = postulate->block_bytes,
    };
    rounds_lay_out(plan, options);
    int error = arms_open(plan, why, why_bytes);
    for (const char *const *cell = experiment->cells; *cell && !error; cell++)
        error = cell_open(plan, *cell, options->smoke ? TB_SMOKE_LAPS : experiment->laps, why, why_bytes);
    size_t processes = (size_t)plan->campaign.cells_count * plan->campaign.arms_count;
    if (!error) {
        plan->campaign.samples = calloc(processes * (plan->campaign.rounds + plan->block_rounds), sizeof *plan->campaign.samples);
        error = plan->campaign.samples ? 0 : -ENOMEM;
    }
    if (error) {
        tb_plan_close(plan);
        return error;
    }
    *out = plan;
    return 0;
}

void tb_plan_close(struct tb_plan *plan)
{
    if (!plan)
        return;
    for (uint32_t i = 0; i < TB_PLAN_CELLS_MAX; i++)
        free(plan->schedules[i]);
    free(plan->campaign.samples);
    free(plan);
}
