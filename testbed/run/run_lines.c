// SPDX-License-Identifier: Apache-2.0
//
// run_lines: see run_lines.h. Every value is whole: a sample goes into the log as it came, valid or not.

#include "testbed/run/run_lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/counters/view.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/environment.h"
#include "testbed/host/host.h"
#include "testbed/measure/contender.h"
#include "testbed/run/run_lines_nodes.h"
#include "testbed/workload/suite.h"

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? json_string(text) : json_null();
}

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *positive_or_null(double value)
{
    return value > 0 ? number_or_null(value) : json_null();
}

static json_t *count(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *arms_json(const struct tb_plan *plan)
{
    json_t *arms = json_array();
    for (uint32_t i = 0; i < plan->campaign.arms_count; i++) {
        char sha256[TB_HASH_TEXT] = "";
        const struct tb_arm *arm = &plan->arms[i];
        if (arm->library[0] && tb_hash_file(arm->library, sha256))
            sha256[0] = '\0';
        json_array_append_new(arms, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "key", plan->postulate->arms[i].key, "name",
                                              plan->postulate->arms[i].name, "library", text_or_null(arm->library),
                                              "library_sha256", text_or_null(sha256), "cross_percent", count(arm->cross_percent),
                                              "workers", arm->workers ? count(arm->workers) : json_null()));
    }
    return arms;
}

// A recorded trace that is not here has no schedule, and the run no samples.
static json_t *cell_json(const struct tb_plan *plan, uint32_t at)
{
    const struct tb_cell *cell = &plan->cells[at];
    const struct tb_schedule *schedule = cell->schedule;
    uint32_t pool_blocks = cell->pool_blocks ? cell->pool_blocks : schedule ? schedule->pool_blocks : 0;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", plan->postulate->cells[at], "workload", plan->workloads[at],
                  "touch", tb_touch_name(cell->touch), "laps", count(cell->laps), "laps_warmup", count(cell->laps_warmup),
                  "laps_counted", count(cell->laps_counted), "laps_metered", count(cell->laps_metered));
    json_t *of_schedule =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "blocks_peak", schedule ? count(schedule->blocks_peak) : json_null(),
                  "blocks_per_lap", schedule ? count(schedule->blocks_per_lap) : json_null(), "requests_per_lap",
                  schedule ? count(schedule->requests_per_lap) : json_null(), "pool_blocks",
                  schedule ? count(pool_blocks) : json_null(), "trace_sha256", text_or_null(plan->trace_sha256[at]), "version",
                  schedule ? count(schedule->version) : json_null());
    json_t *settings = json_pack("{s:o, s:o, s:s}", "workers", count(cell->workers ? cell->workers : plan->campaign.workers),
                                 "block_bytes", count(tb_campaign_block_bytes(&plan->campaign, at)), "dispatch",
                                 tb_dispatch_name(tb_campaign_dispatch(&plan->campaign, at)));
    if (json_object_update_new(object, of_schedule) || json_object_update_new(object, settings)) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

static json_t *cells_json(const struct tb_plan *plan)
{
    json_t *cells = json_array();
    for (uint32_t i = 0; i < plan->campaign.cells_count; i++)
        json_array_append_new(cells, cell_json(plan, i));
    return cells;
}

static json_t *design_json(const struct tb_plan *plan)
{
    const struct tb_campaign *campaign = &plan->campaign;
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:o, s:s, s:b}", "rounds", count(campaign->rounds), "block_rounds",
                     count(plan->block_rounds), "seed", count(campaign->seed), "block_bytes", count(campaign->block_bytes),
                     "dispatch", tb_dispatch_name(campaign->dispatch), "workers", count(campaign->workers), "order", "random",
                     "many_nodes", campaign->many_nodes);
}

// The short form: what each file holds is among the environment already.
static json_t *doctor_json(void)
{
    struct tb_doctor *doctor = malloc(sizeof *doctor);
    json_t *header = doctor && tb_doctor_look("", doctor) == 0 ? tb_doctor_header(doctor) : NULL;
    if (header)
        tb_doctor_close(doctor);
    free(doctor);
    return header;
}

// Only what is frozen gets so far: tb_plan_open.
static json_t *suite_json(const struct tb_postulate *postulate)
{
    const struct tb_suite *suite = tb_suite((unsigned)postulate->suite);
    return suite ? json_pack("{s:i, s:s}", "version", (int)suite->version, "sha256", suite->sha256) : json_null();
}

// A contender without a library is in this binary, or (glibc) in the C library: the environment has the hashes of both.
static json_t *environment_arm(const struct tb_arm *arm)
{
    bool wants = arm->contender->libraries || strcmp(arm->contender->name, "malloc") == 0;
    const char *none = wants ? "ABSENT" : "none";
    json_t *object = json_pack("{s:s}", "contender", arm->contender->name);
    json_t *library = arm->library[0] ? tb_environment_library(arm->library)
                                      : json_pack("{s:s, s:s, s:s}", "library", none, "file", none, "sha256", none);
    bool failed = !object || !library || json_object_update(object, library);
    json_decref(library);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

json_t *tb_line_environment(const char *root, const struct tb_arm arms[], uint32_t arms_count)
{
    json_t *environment = tb_environment(root), *all = json_object();
    bool failed = json_object_set_new(environment, "arms", all) != 0;
    for (uint32_t i = 0; i < arms_count && !failed; i++) {
        char *label = tb_redact_homes(arms[i].label);
        failed = !label || json_object_set_new(all, label, environment_arm(&arms[i]));
        free(label);
    }
    if (!failed)
        return environment;
    json_decref(environment);
    return NULL;
}

json_t *tb_line_header(const struct tb_run_config *config, const char *run, const char *nonce, const char *time)
{
    const struct tb_plan *plan = config->plan;
    const struct tb_postulate *postulate = plan->postulate;
    json_t *filed =
        json_pack("{s:s, s:s, s:o}", "path", postulate->path, "sha256", postulate->sha256, "commit", text_or_null(config->commit));
    json_t *experiment =
        json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", postulate->id, "slug", postulate->slug, "question", postulate->question,
                  "reproduces", text_or_null(postulate->reproduces), "suite", suite_json(postulate));
    return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "t", "hdr", "v", 1, "run",
                     run, "nonce", nonce, "kind", tb_run_kind_name(config->kind), "time", time, "emulated", tb_environment_guest(),
                     "postulate", filed, "experiment", experiment, "design", design_json(plan), "arms", arms_json(plan), "cells",
                     cells_json(plan), "env", tb_line_environment("", plan->arms, plan->campaign.arms_count), "doctor",
                     doctor_json(), "counters",
                     plan->campaign.counters ? tb_counters_json(plan->campaign.counters, true) : json_null(), "before",
                     tb_environment_counters(""));
}

static json_t *counter_json(const struct tb_counter_value *value)
{
    if (value->error)
        return json_pack("{s:n, s:s}", "value", "why", strerrorname_np(value->error));
    return json_pack("{s:o, s:o, s:o}", "value", count(value->value), "enabled_ns", count(value->enabled_ns), "running_ns",
                     count(value->running_ns));
}

// Those that were on in this process. Why others cannot be, the header says; the rest had no turn in this round.
static json_t *counters_json(const struct tb_counter_set *set, const struct tb_sample *sample)
{
    json_t *object = set ? json_object() : json_null();
    for (unsigned i = 0; set && i < set->count && object; i++) {
        if (sample->counters[i].error == ENODATA)
            continue;
        if (json_object_set_new(object, set->counter[i].name, counter_json(&sample->counters[i]))) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

json_t *tb_line_sample(const struct tb_plan *plan, uint32_t block, uint32_t cell, uint32_t arm, uint32_t round, uint32_t position)
{
    const struct tb_sample *s = tb_campaign_sample(&plan->campaign, cell, arm, round);
    json_t *line =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:b, s:b, s:o, s:o}", "t", "s", "block", count(block), "round", count(round),
                  "cell", count(cell), "pos", count(position), "arm", plan->postulate->arms[arm].key, "ran", s->ran, "valid",
                  s->valid, "invalid", text_or_null(s->invalid), "version", text_or_null(s->version));
    json_t *times = json_pack("{s:o, s:o, s:o, s:o, s:o}", "time_ns", number_or_null(s->lap_ns), "time_ns_min",
                              number_or_null(s->lap_ns_min), "time_ns_mean", positive_or_null(s->lap_ns_mean), "time_ns_p90",
                              positive_or_null(s->lap_ns_p90), "time_ns_metered", positive_or_null(s->metered_lap_ns));
    json_t *counts = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "allocated", count(s->allocated), "freed",
                               count(s->freed), "pushed", count(s->pushed), "drained", count(s->drained), "waits", count(s->waits),
                               "touched_bytes", count(s->touched_bytes), "touched_bytes_expected", count(s->touched_bytes_expected),
                               "outstanding_high", count(s->outstanding_high), "distinct", count(s->distinct), "workers_pinned",
                               s->workers_pinned, "counters", counters_json(plan->campaign.counters, s));
    int rc = json_object_update_new(line, times) | json_object_update_new(line, counts);
    if (rc == 0 && tb_line_nodes(line, &s->nodes) == 0)
        return line;
    json_decref(line);
    return NULL;
}

json_t *tb_line_after(void)
{
    return json_pack("{s:s, s:o}", "t", "after", "counters", tb_environment_counters(""));
}
