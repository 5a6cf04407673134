// SPDX-License-Identifier: Apache-2.0
//
// plan: see plan.h.

#include "testbed/run/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/cell.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/decoding/decoding.h"
#include "testbed/measure/engines/plan.h"
#include "testbed/measure/pairing/process.h"
#include "testbed/postulate/metric.h"
#include "testbed/workload/known_trace.h"
#include "testbed/workload/scenarios/scenario.h"
#include "testbed/workload/suite.h"
#include "testbed/workload/workload.h"

// A lap of the suite writes 2688 to 6016 blocks: from a gigabyte on a further lap warms nothing up that the first did not.
#define LONG_LAP_BLOCK_BYTES (UINT64_C(512) << 10)

// A contender has a driver for one node, or a table for many, or both.
static int arm_fits(const struct tb_plan *plan, const struct tb_postulate_arm *named, const struct tb_arm *arm, char *why,
                    size_t why_bytes)
{
    const char *id = plan->postulate->id;
    bool many = plan->rounds.many_nodes;
    if (tb_arm_of_its_own(arm))
        return 0;
    if (many && !arm->contender->nodes)
        snprintf(why, why_bytes, "arm %s: %s runs on one node only, and experiment %s is of many", named->key, named->name, id);
    else if (!many && !arm->contender->driver)
        snprintf(why, why_bytes, "arm %s: %s runs on many nodes only, and experiment %s is of one", named->key, named->name, id);
    else if (!many && !tb_arm_on_one_node(arm))
        snprintf(why, why_bytes, "arm %s: what %s asks for takes several nodes, and experiment %s is of one", named->key,
                 named->name, id);
    else
        return 0;
    return -EINVAL;
}

// The other cells have to agree: touch_fits().
enum tb_touch tb_plan_touch(const struct tb_postulate *postulate)
{
    char workload[TB_WORKLOAD_NAME];
    struct tb_cell cell;
    bool known = postulate->cells_count && tb_cell_parse(postulate->cells[0], workload, &cell) == 0;
    return known && tb_touch_has_own_arms(cell.touch) ? cell.touch : TB_TOUCH_NONE;
}

static int arms_open(struct tb_plan *plan, char *why, size_t why_bytes)
{
    enum tb_touch touch = tb_plan_touch(plan->postulate);
    int error = 0;
    for (uint32_t i = 0; i < plan->postulate->arms_count && !error; i++) {
        const struct tb_postulate_arm *arm = &plan->postulate->arms[i];
        uint32_t at = plan->rounds.arms_count;
        error = tb_arms_add_for(touch, plan->arms, &plan->rounds.arms_count, arm->name, why, why_bytes);
        if (!error)
            error = arm_fits(plan, arm, &plan->arms[at], why, why_bytes);
        if (error)
            break;
        strcpy(plan->arms[at].key, arm->key);
        plan->arms[at].name = arm->name;
    }
    return error;
}

static bool needs_traces(const struct tb_postulate *postulate)
{
    for (uint32_t i = 0; i < postulate->needs_count; i++)
        if (strcmp(postulate->needs[i], "traces") == 0)
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
    if (error == -ENOENT && needs_traces(plan->postulate))
        return 0;
    if (error)
        snprintf(why, why_bytes, "%s", reason.text[0] ? reason.text : strerror(-error));
    return error == -ENOMEM ? error : error ? -EINVAL : 0;
}

// Of a strategy's cell, or a policy's: the scenario, and what the settings make of it.
static int serving_open(struct tb_plan *plan, uint32_t at, char *why, size_t why_bytes)
{
    const struct tb_cell *cell = &plan->cells[at];
    const char *name = plan->workloads[at];
    struct tb_scenario *scenario = NULL;
    struct tb_why reason = {""};
    char path[4096];
    int error = tb_scenario_open(name, cell->serving.requests, NULL, &scenario, &reason);
    if (error == -ENOENT && tb_known_trace(name) && needs_traces(plan->postulate))
        return 0;
    if (!error)
        error = tb_cell_plan(cell->touch)(scenario, name, &cell->serving, &plan->schedules[at], &reason);
    if (!error && tb_known_trace(name) && tb_known_trace_path(name, path, sizeof path) == 0)
        error = tb_hash_file(path, plan->trace_sha256[at]);
    if (error)
        snprintf(why, why_bytes, "%s", reason.text[0] ? reason.text : strerror(-error));
    tb_scenario_close(scenario);
    return error == -ENOMEM ? error : error ? -EINVAL : 0;
}

// Of the engine's cell: the model is made, if it is not here yet.
static int engine_open(struct tb_plan *plan, uint32_t at, char *why, size_t why_bytes)
{
    char reason[400] = "";
    int error = tb_engines_open(plan->workloads[at], &plan->cells[at].engine, &plan->schedules[at], reason, sizeof reason);
    if (error)
        snprintf(why, why_bytes, "cell '%s': %s", plan->cells[at].name, reason[0] ? reason : strerror(-error));
    return error == -ENOMEM ? error : error ? -EINVAL : 0;
}

static int pins_open(struct tb_plan *plan, uint32_t at, char *why, size_t why_bytes)
{
    char reason[200] = "";
    int error = tb_pins_open(plan->workloads[at], &plan->cells[at].pins, &plan->schedules[at], reason, sizeof reason);
    if (error)
        snprintf(why, why_bytes, "cell '%s': %s", plan->cells[at].name, reason[0] ? reason : strerror(-error));
    return error;
}

// Of a cell with tokens: the workload in the blocks of its layout.
static int decoding_open(struct tb_plan *plan, uint32_t at, char *why, size_t why_bytes)
{
    const char *name = plan->workloads[at];
    struct tb_why reason = {""};
    char path[4096];
    int error = tb_decoding_open(&plan->cells[at], &(struct tb_decoding_source){.workload = name}, &plan->schedules[at], &reason);
    if (error == -ENOENT && tb_known_trace(name) && needs_traces(plan->postulate))
        return 0;
    if (!error && tb_known_trace(name) && tb_known_trace_path(name, path, sizeof path) == 0)
        error = tb_hash_file(path, plan->trace_sha256[at]);
    if (error)
        snprintf(why, why_bytes, "cell '%s': %s", plan->cells[at].name, reason.text[0] ? reason.text : strerror(-error));
    return error == -ENOMEM ? error : error ? -EINVAL : 0;
}

static int workload_open(struct tb_plan *plan, uint32_t at, char *why, size_t why_bytes)
{
    if (tb_known_trace(plan->workloads[at]))
        return trace_open(plan, at, why, why_bytes);
    int error = tb_workload_schedule(plan->workloads[at], &plan->schedules[at]);
    if (error)
        snprintf(why, why_bytes, "cell '%s/%s': there is no such workload", plan->workloads[at],
                 tb_touch_name(plan->cells[at].touch));
    return error == -ENOENT ? -EINVAL : error;
}

// A schedule that an earlier cell has already is shared.
static int schedule_open(struct tb_plan *plan, uint32_t at, char *why, size_t why_bytes)
{
    enum tb_touch touch = plan->cells[at].touch;
    bool plain = touch < TB_TOUCH_DECODE;
    for (uint32_t i = 0; i < at; i++) {
        if (!plain || plan->cells[i].touch >= TB_TOUCH_DECODE || strcmp(plan->workloads[i], plan->workloads[at]))
            continue;
        plan->cells[at].schedule = plan->cells[i].schedule;
        memcpy(plan->trace_sha256[at], plan->trace_sha256[i], sizeof plan->trace_sha256[at]);
        return 0;
    }
    int error = (plain                      ? workload_open
                 : touch == TB_TOUCH_DECODE ? decoding_open
                 : touch == TB_TOUCH_PINS   ? pins_open
                 : touch == TB_TOUCH_ENGINE ? engine_open
                                            : serving_open)(plan, at, why, why_bytes);
    plan->cells[at].schedule = plan->schedules[at];
    return error;
}

static int touch_fits(const struct tb_plan *plan, const char *text, enum tb_touch touch, char *why, size_t why_bytes)
{
    bool many = plan->rounds.many_nodes;
    if (tb_plan_touch(plan->postulate) != (tb_touch_has_own_arms(touch) ? touch : TB_TOUCH_NONE)) {
        snprintf(why, why_bytes,
                 "cell '%s': an experiment has strategies as its arms and touch 'serve' in all cells, or policies and 'keep', or "
                 "batchers and 'adapters', or policies of residency and 'residency', or scores and 'pages', or ways to hold "
                 "ranges and 'pins', or ways to run the engine and 'engine', or none of these",
                 text);
        return -EINVAL;
    }
    if (many ? touch == TB_TOUCH_LINE || touch == TB_TOUCH_FULL || touch == TB_TOUCH_DECODE : touch != TB_TOUCH_LINE)
        return 0;
    snprintf(why, why_bytes,
             many ? "cell '%s': runs of many nodes touch 'line', 'full' or 'decode'"
                  : "cell '%s': only runs of many nodes touch 'line'",
             text);
    return -EINVAL;
}

// On many nodes each node has its own workers and pools, and all cells are alike.
static int settings_fit(const struct tb_plan *plan, const char *text, const struct tb_cell *cell, char *why, size_t why_bytes)
{
    if (plan->rounds.many_nodes && cell->decode.threads > 1) {
        snprintf(why, why_bytes, "cell '%s': in runs of many nodes each scheduler computes alone: leave '%uc' out", text,
                 cell->decode.threads);
        return -EINVAL;
    }
    if (!plan->rounds.many_nodes || !(cell->workers || cell->block_bytes || cell->dispatch_given))
        return touch_fits(plan, text, cell->touch, why, why_bytes);
    snprintf(why, why_bytes, "cell '%s': in runs of many nodes all cells have the workers, blocks and dispatch of 'design'", text);
    return -EINVAL;
}

static bool is_clocked(const struct tb_postulate *postulate)
{
    for (uint32_t i = 0; i < postulate->predictions_count; i++) {
        const struct tb_metric *metric = tb_metric_find(postulate->predictions[i].metric);
        if (metric && tb_metric_is_clocked(metric))
            return true;
    }
    return false;
}

// The laps of a recorded trace are long, and one warms up, as in `locus replay`; those of large blocks and of decoding as well.
static void cell_laps(const struct tb_plan *plan, struct tb_cell *cell, const char *workload, bool smoke)
{
    uint32_t laps = smoke ? TB_SMOKE_LAPS : (uint32_t)plan->postulate->laps;
    bool pins = cell->touch == TB_TOUCH_PINS, own = cell->touch >= TB_TOUCH_DECODE && !pins;
    bool is_long = tb_known_trace(workload) || own || cell->block_bytes >= LONG_LAP_BLOCK_BYTES;
    cell->laps = laps;
    cell->laps_warmup = laps == 1 ? 0 : is_long ? 1 : laps / 4 + 3; // one lap: counts alone
    cell->laps_metered = laps / 4 + 1;
    cell->laps_clocked = is_clocked(plan->postulate) ? laps : 0;
    if (cell->touch == TB_TOUCH_ENGINE) // the engine's first steps set up its graphs
        cell->laps_warmup = laps == 1 ? 0 : 3, cell->laps_metered = cell->laps_clocked = 0;
    if (pins) // it has a timed lap of its own, and no blocks
        cell->laps_metered = cell->laps_clocked = 0;
    if (plan->rounds.many_nodes)
        cell->laps_counted = smoke ? TB_SMOKE_LAPS_COUNTED : (uint32_t)plan->postulate->laps_counted;
}

static int cell_open(struct tb_plan *plan, const char *text, bool smoke, char *why, size_t why_bytes)
{
    uint32_t at = plan->rounds.cells_count;
    struct tb_cell *cell = &plan->cells[at];
    if (at == TB_PLAN_CELLS_MAX) {
        snprintf(why, why_bytes, "cell '%s': there are more than %u", text, TB_PLAN_CELLS_MAX);
        return -EINVAL;
    }
    if (tb_cell_parse(text, plan->workloads[at], cell)) {
        tb_cell_why(text, why, why_bytes);
        return -EINVAL;
    }
    cell->name = text;
    cell->workload = plan->workloads[at];
    cell->trace_sha256 = plan->trace_sha256[at];
    cell_laps(plan, cell, plan->workloads[at], smoke);
    int error = settings_fit(plan, text, cell, why, why_bytes);
    if (!error)
        error = schedule_open(plan, at, why, why_bytes);
    if (!error && cell->block_bytes && cell->touch < TB_TOUCH_DECODE && cell->schedule)
        cell->pool_blocks = 2 * cell->schedule->blocks_peak;
    plan->rounds.cells_count += !error;
    return error;
}

// What says that it is a version of LOCUS-EVAL has that version's workloads, as they were published, or recorded traces.
static int suite_fits(const struct tb_plan *plan, char *why, size_t why_bytes)
{
    unsigned version = (unsigned)plan->postulate->suite;
    const struct tb_suite *suite = tb_suite(version);
    bool frozen = false;
    if (version == 0)
        return 0;
    int error = suite ? tb_suite_check(suite, &frozen) : 0;
    if (error)
        return error;
    if (!frozen) {
        snprintf(why, why_bytes, "the workloads of this build are not those of LOCUS-EVAL v%u, which are frozen: call it otherwise",
                 version);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < plan->rounds.cells_count; i++) {
        const char *const *name = suite->workloads;
        while (*name && strcmp(*name, plan->workloads[i]))
            name++;
        if (*name || tb_known_trace(plan->workloads[i]))
            continue;
        snprintf(why, why_bytes, "%s is no workload of LOCUS-EVAL v%u", plan->workloads[i], suite->version);
        return -EINVAL;
    }
    return 0;
}

// Who files pairing: laps expects intervals as narrow as that makes them.
static int pairing_fits(const struct tb_plan *plan, char *why, size_t why_bytes)
{
    if (!plan->rounds.pair_laps || tb_rounds_paired(&plan->rounds))
        return 0;
    snprintf(why, why_bytes,
             "'pairing: laps', but no two arms can share a process: that takes two in a cell with the same workers, on one node, "
             "without a library or an environment of their own");
    return -EINVAL;
}

static void rounds_lay_out(struct tb_plan *plan, const struct tb_plan_options *options)
{
    const struct tb_postulate *postulate = plan->postulate;
    uint64_t rounds = options->smoke ? TB_SMOKE_ROUNDS : options->rounds ? options->rounds : postulate->rounds;
    bool as_filed = !options->smoke && !options->rounds;
    plan->rounds.kept = 1;
    if (postulate->rules >= 2) {
        plan->looks_count = tb_looks(rounds, as_filed ? postulate->rounds_max : rounds, plan->looks);
        plan->rounds.count = plan->block_rounds = (uint32_t)rounds;
        return;
    }
    plan->block_rounds = (uint32_t)(rounds > 1 ? (rounds + 1) / 2 : 1);
    plan->rounds.count = rounds > 1 ? 2 * plan->block_rounds : 1;
}

static enum tb_dispatch dispatch_of(const struct tb_postulate *postulate)
{
    enum tb_dispatch dispatch = TB_DISPATCH_FUTEX;
    while (dispatch > 0 && strcmp(tb_dispatch_name(dispatch), postulate->dispatch) != 0)
        dispatch--;
    return dispatch;
}

int tb_plan_open(struct tb_plan **out, const struct tb_postulate *postulate, const struct tb_plan_options *options, char *why,
                 size_t why_bytes)
{
    struct tb_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return -ENOMEM;
    plan->postulate = postulate;
    plan->rounds = (struct tb_rounds){
        .arms = plan->arms,
        .cells = plan->cells,
        .seed = options->seed_given ? options->seed : postulate->seed,
        .dispatch = dispatch_of(postulate),
        .workers = (uint32_t)postulate->workers,
        .block_bytes = postulate->block_bytes,
        .many_nodes = postulate->laps_counted > 0,
        .pair_laps = postulate->pair_laps,
        .repeat_lost = postulate->repeat_lost,
        .repeat_times = (uint32_t)postulate->repeat_times,
    };
    rounds_lay_out(plan, options);
    int error = arms_open(plan, why, why_bytes);
    for (uint32_t i = 0; i < postulate->cells_count && !error; i++)
        error = cell_open(plan, postulate->cells[i], options->smoke, why, why_bytes);
    if (!error)
        error = suite_fits(plan, why, why_bytes);
    if (!error)
        error = pairing_fits(plan, why, why_bytes);
    size_t processes = (size_t)plan->rounds.cells_count * plan->rounds.arms_count;
    if (!error) {
        plan->rounds.samples = calloc(processes * plan->rounds.kept, sizeof *plan->rounds.samples);
        error = plan->rounds.samples ? 0 : -ENOMEM;
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
    if (tb_counters_here(&plan->counters))
        return;
    plan->rounds.counters = &plan->counters;
    for (uint32_t i = 0; i < plan->postulate->predictions_count; i++) {
        const struct tb_metric *metric = tb_metric_find(plan->postulate->predictions[i].metric);
        if (metric && metric->counter)
            plan->rounds.counters_wanted |= tb_counters_want(&plan->counters, metric->counter);
    }
}

bool tb_plan_missing(const struct tb_plan *plan, char *why, size_t why_bytes)
{
    for (uint32_t i = 0; i < plan->rounds.cells_count; i++) {
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
    free(plan->rounds.samples);
    free(plan);
}
