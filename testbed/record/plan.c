// SPDX-License-Identifier: Apache-2.0
//
// plan: see plan.h.

#include "testbed/record/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/contender.h"
#include "testbed/known_trace.h"
#include "testbed/record/metric.h"

// A contender has a driver for one node, or a table for many, or both.
static int arm_fits(const struct tb_plan *plan, const struct tb_experiment_arm *named, const struct tb_arm *arm, char *why,
                    size_t why_bytes)
{
    const char *id = plan->experiment->id;
    if (plan->experiment->many_nodes && !arm->contender->nodes)
        snprintf(why, why_bytes, "arm %s: %s runs on one node only, and experiment %s is of many", named->key, named->name, id);
    else if (!plan->experiment->many_nodes && !arm->contender->driver)
        snprintf(why, why_bytes, "arm %s: %s runs on many nodes only, and experiment %s is of one", named->key, named->name, id);
    else if (!plan->experiment->many_nodes && !tb_arm_on_one_node(arm))
        snprintf(why, why_bytes, "arm %s: what %s asks for takes several nodes, and experiment %s is of one", named->key,
                 named->name, id);
    else
        return 0;
    return -EINVAL;
}

static int arms_open(struct tb_plan *plan, char *why, size_t why_bytes)
{
    for (const struct tb_experiment_arm *arm = plan->experiment->arms; arm->key; arm++) {
        uint32_t at = plan->campaign.arms_count;
        int error = tb_arms_add(plan->arms, &plan->campaign.arms_count, arm->name, why, why_bytes);
        if (!error)
            error = arm_fits(plan, arm, &plan->arms[at], why, why_bytes);
        if (error)
            return error;
    }
    return 0;
}

static bool needs_traces(const struct tb_experiment *experiment)
{
    for (const char *const *need = experiment->needs; *need; need++)
        if (strcmp(*need, "traces") == 0)
            return true;
    return false;
}

// A trace that is not here is a need that is not met, where the experiment says that it needs it.
static int trace_open(struct tb_plan *plan, uint32_t at, char *why, size_t why_bytes)
{
    const char *name = plan->workloads[at];
    char path[4096];
    struct tb_why reason = {""};
    int error = tb_known_trace_schedule(name, &plan->schedules[at], &reason);
    if (!error)
        error = tb_known_trace_path(name, path, sizeof path);
    if (!error)
        error = tb_hash_file(path, plan->trace_sha256[at]);
    if (error == -ENOENT && needs_traces(plan->experiment))
        return 0;
    if (error)
        snprintf(why, why_bytes, "%s", reason.text[0] ? reason.text : strerror(-error));
    return error == -ENOMEM ? error : error ? -EINVAL : 0;
}

static int workload_open(struct tb_plan *plan, uint32_t at, char *why, size_t why_bytes)
{
    if (tb_known_trace(plan->workloads[at]))
        return trace_open(plan, at, why, why_bytes);
    int error = tb_schedule_suite(plan->workloads[at], &plan->schedules[at]);
    if (error)
        snprintf(why, why_bytes, "cell '%s/%s': there is no such workload", plan->workloads[at],
                 tb_touch_name(plan->cells[at].touch));
    return error == -ENOENT ? -EINVAL : error;
}

// A schedule that an earlier cell has already is shared.
static int schedule_open(struct tb_plan *plan, uint32_t at, char *why, size_t why_bytes)
{
    for (uint32_t i = 0; i < at; i++) {
        if (strcmp(plan->workloads[i], plan->workloads[at]))
            continue;
        plan->cells[at].schedule = plan->cells[i].schedule;
        memcpy(plan->trace_sha256[at], plan->trace_sha256[i], sizeof plan->trace_sha256[at]);
        return 0;
    }
    int error = workload_open(plan, at, why, why_bytes);
    plan->cells[at].schedule = plan->schedules[at];
    return error;
}

static int touch_fits(const struct tb_plan *plan, const char *text, enum tb_touch touch, char *why, size_t why_bytes)
{
    bool many = plan->experiment->many_nodes;
    if (many ? touch == TB_TOUCH_LINE || touch == TB_TOUCH_FULL : touch != TB_TOUCH_LINE)
        return 0;
    snprintf(why, why_bytes,
             many ? "cell '%s': runs of many nodes touch 'line' or 'full'" : "cell '%s': only runs of many nodes touch 'line'",
             text);
    return -EINVAL;
}

// "WORKLOAD/TOUCH". The laps of a recorded trace are long, and one warms up, as in `locus replay`.
static int cell_open(struct tb_plan *plan, const char *text, bool smoke, char *why, size_t why_bytes)
{
    uint32_t at = plan->campaign.cells_count, laps = smoke ? TB_SMOKE_LAPS : plan->experiment->laps;
    const char *slash = strchr(text, '/');
    int touch = TB_TOUCH_NONE;
    while (slash && touch <= TB_TOUCH_LINE && strcmp(slash + 1, tb_touch_name((enum tb_touch)touch)))
        touch++;
    if (at == TB_PLAN_CELLS_MAX || !slash || touch > TB_TOUCH_LINE || (size_t)(slash - text) >= sizeof plan->workloads[at]) {
        snprintf(why, why_bytes, "cell '%s' is not WORKLOAD/TOUCH, or there are too many", text);
        return -EINVAL;
    }
    snprintf(plan->workloads[at], sizeof plan->workloads[at], "%.*s", (int)(slash - text), text);
    plan->cells[at].touch = (enum tb_touch)touch;
    plan->cells[at].laps = laps;
    plan->cells[at].laps_warmup = laps == 1 ? 0 : tb_known_trace(plan->workloads[at]) ? 1 : laps / 4 + 3; // one lap: counts alone
    plan->cells[at].laps_metered = laps / 4 + 1;
    if (plan->experiment->many_nodes)
        plan->cells[at].laps_counted = smoke ? TB_SMOKE_LAPS_COUNTED : plan->experiment->laps_counted;
    int error = touch_fits(plan, text, (enum tb_touch)touch, why, why_bytes);
    if (!error)
        error = schedule_open(plan, at, why, why_bytes);
    plan->campaign.cells_count += !error;
    return error;
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
        .many_nodes = experiment->many_nodes,
    };
    rounds_lay_out(plan, options);
    int error = arms_open(plan, why, why_bytes);
    for (const char *const *cell = experiment->cells; *cell && !error; cell++)
        error = cell_open(plan, *cell, options->smoke, why, why_bytes);
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

void tb_plan_counters(struct tb_plan *plan)
{
    struct tb_cpu_id cpu = {.vendor = "unknown"};
    tb_cpu_id_read("", &cpu); // a CPU that cannot be told is an unknown one
    if (tb_counters_resolve(&plan->counters, &cpu))
        return;
    tb_counters_probe(&plan->counters);
    plan->campaign.counters = &plan->counters;
    for (uint32_t i = 0; i < plan->postulate->predictions_count; i++) {
        const struct tb_metric *metric = tb_metric_find(plan->postulate->predictions[i].metric);
        if (metric && metric->counter)
            plan->campaign.counters_wanted |= tb_counters_want(&plan->counters, metric->counter);
    }
}

bool tb_plan_missing(const struct tb_plan *plan, char *why, size_t why_bytes)
{
    for (uint32_t i = 0; i < plan->campaign.cells_count; i++) {
        if (plan->cells[i].schedule)
            continue;
        if (!tb_known_trace_missing(plan->workloads[i], why, why_bytes))
            snprintf(why, why_bytes, "the trace %s was not there when the run was planned: run it again", plan->workloads[i]);
        return true;
    }
    return false;
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
