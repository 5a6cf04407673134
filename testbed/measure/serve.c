// SPDX-License-Identifier: Apache-2.0
//
// serve: see serve.h.

#include "testbed/measure/serve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/engine.h"
#include "testbed/measure/watch.h"
#include "testbed/serving/keep.h"

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int execute(struct tb_job *job, const struct tb_calls *calls, const struct tb_serving_config *config, struct tb_why *why)
{
    struct tb_sample *sample = &job->sample;
    uint64_t ns[TB_LAPS_MAX], warmup_ns;
    size_t executed = 0;
    int error = 0;
    for (uint32_t i = 0; i < job->laps_warmup && !error; i++)
        error = tb_calls_execute(calls, config, &warmup_ns, &executed, why);
    for (uint32_t i = 0; i < job->laps && !error; i++)
        error = tb_calls_execute(calls, config, &ns[i], &executed, why);
    if (error)
        return error;
    qsort(ns, job->laps, sizeof *ns, compare_u64);
    sample->lap_ns = (double)ns[job->laps / 2];
    sample->lap_ns_min = (double)ns[0];
    sample->served.call_ns = executed ? sample->lap_ns / (double)executed : 0;
    return 0;
}

// The name of the first figure that is not finite; NULL: all are. Slots may be NULL, of figures that need not exist.
static const char *unfinite(const void *figures, const struct tb_slot *slot)
{
    for (; slot && slot->name; slot++)
        if (!isfinite(tb_slot_get(figures, slot)))
            return slot->name;
    return NULL;
}

// What a process may say of its scenario: it is the one that its parent made. That a trap breaks its contract is what it is there
// to show: the sample stands, with the fault in words and as a count.
static int judge(struct tb_job *job, const struct tb_scenario *scenario, const struct tb_serving_plan *plan, bool trap, int error,
                 const struct tb_why *why, const void *figures, const struct tb_slot slots[])
{
    struct tb_sample *sample = &job->sample;
    const char *none = error ? NULL : unfinite(figures, slots);
    sample->scenario_hash = tb_scenario_hash(scenario);
    if (sample->scenario_hash != plan->scenario_hash)
        snprintf(sample->invalid, sizeof sample->invalid, "the scenario is not the one that the others got");
    else if (error)
        snprintf(sample->invalid, sizeof sample->invalid, "%.191s", why->text[0] ? why->text : strerror(-error));
    else if (none)
        snprintf(sample->invalid, sizeof sample->invalid, "%s is not a number", none);
    sample->served.faults = trap && error == -EBADMSG && sample->scenario_hash == plan->scenario_hash;
    if (sample->served.faults)
        sample->lap_ns = sample->lap_ns_min = NAN; // nothing was executed
    sample->valid = !sample->invalid[0] || sample->served.faults;
    sample->ran = true;
    return error == -ENOMEM ? error : 0;
}

int tb_serve_run(struct tb_job *job, const struct tb_strategy *strategy, const struct tb_schedule *schedule)
{
    struct tb_scenario scenario;
    struct tb_calls calls = {0};
    struct tb_serving_config config;
    struct tb_why why = {""};
    const struct tb_serving_plan *plan = tb_serving_plan_read(schedule, &scenario);
    if (job->laps == 0 || job->laps > TB_LAPS_MAX)
        return -EINVAL;
    tb_serving_plan_config(plan, &scenario, strategy, &config);
    config.tags = true;
    int error = tb_serve(&config, &job->sample.served, &why);
    config.tags = false;
    config.calls = &calls;
    if (!error)
        error = tb_serve(&config, &job->sample.served, &why);
    if (!error)
        error = execute(job, &calls, &config, &why);
    tb_calls_close(&calls);
    return judge(job, &scenario, plan, strategy->trap, error, &why, &job->sample.served, tb_served_fields);
}

// A model of one pass. How long that takes is in no figure.
struct pass {
    struct tb_scenario scenario;
    struct tb_why why;
    const struct tb_serving_plan *plan;
    uint64_t begin_ns;
};

static void pass_begin(struct pass *pass, const struct tb_schedule *schedule)
{
    pass->plan = tb_serving_plan_read(schedule, &pass->scenario);
    pass->why.text[0] = '\0';
    pass->begin_ns = tb_now_ns();
}

static int pass_end(struct pass *pass, struct tb_job *job, int error, const void *figures, const struct tb_slot slots[])
{
    job->sample.lap_ns = job->sample.lap_ns_min = (double)(tb_now_ns() - pass->begin_ns);
    return judge(job, &pass->scenario, pass->plan, false, error, &pass->why, figures, slots);
}

int tb_keep_run(struct tb_job *job, const struct locus_evict_ops *policy, const struct tb_schedule *schedule)
{
    struct pass pass;
    pass_begin(&pass, schedule);
    int error = tb_keep(&pass.scenario, &pass.plan->settings, policy, &job->sample.served, &job->sample.tiered);
    return pass_end(&pass, job, error, &job->sample.served, tb_served_fields);
}

int tb_batches_run(struct tb_job *job, const struct tb_batcher *batcher, const struct tb_schedule *schedule)
{
    struct pass pass;
    pass_begin(&pass, schedule);
    int error = tb_batches(&pass.scenario, &pass.plan->settings.adapters, batcher, &job->sample.batched, NULL, &pass.why);
    return pass_end(&pass, job, error, &job->sample.batched, tb_batched_fields);
}

int tb_residency_run(struct tb_job *job, const struct locus_adapter_policy *resident, const struct tb_schedule *schedule)
{
    struct pass pass;
    pass_begin(&pass, schedule);
    int error = tb_residency(&pass.scenario, &pass.plan->settings.adapters, resident, &job->sample.resided, &pass.why);
    return pass_end(&pass, job, error, &job->sample.resided, tb_resided_fields);
}

int tb_arena_run(struct tb_job *job, const struct locus_score_ops *score, const struct tb_schedule *schedule)
{
    struct pass pass;
    struct tb_watch watch; // of this model the arena's calls are timed
    pass_begin(&pass, schedule);
    tb_watch_start(&watch);
    int error = tb_arena(&pass.scenario, &pass.plan->settings.arena, score, &job->sample.arena, &pass.why);
    tb_watch_stop(&watch, &job->sample);
    return pass_end(&pass, job, error, NULL, NULL); // its header says which figures need not exist
}
