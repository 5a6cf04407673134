// SPDX-License-Identifier: Apache-2.0
//
// run_lines: see run_lines.h. Every value is whole: a sample goes into the log as it came, valid or not.

#include "testbed/run/run_lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/sha256.h"
#include "testbed/counters/view.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/environment.h"
#include "testbed/host/host.h"
#include "testbed/measure/contender.h"
#include "testbed/run/run_lines_nodes.h"
#include "testbed/workload/suite.h"

static json_t *positive_or_null(double value)
{
    return tb_json_number(value > 0 ? value : NAN);
}

// --- the header ----------------------------------------------------------------------------------------------------------------

// Does it measure the testbed, is it the floor, the process's malloc, or none of these?
static const char *role(const struct tb_arm *arm)
{
    const struct tb_contender *contender = arm->contender;
    return contender->floor ? "floor" : contender->harness ? "harness" : contender->is_malloc ? "malloc" : "pool";
}

static json_t *arm_json(const struct tb_arm *arm)
{
    char sha256[TB_HASH_TEXT] = "";
    if (arm->library[0] && tb_hash_file(arm->library, sha256))
        sha256[0] = '\0';
    const struct tb_json_member members[] = {
        {"key", json_string(arm->key)},
        {"name", arm->name ? json_string(arm->name) : json_stringn(arm->label, tb_twin_mark(arm->label))},
        {"role", json_string(role(arm))},
        {"library", tb_json_clean(arm->library)},
        {"library_sha256", tb_json_clean(sha256)},
        {"cross_percent", tb_json_whole(arm->cross_percent)},
        {"workers", arm->workers ? tb_json_whole(arm->workers) : json_null()},
    };
    return TB_JSON_OBJECT(members);
}

// A recorded trace that is not here has no schedule, and the run no samples.
static json_t *cell_json(const struct tb_campaign *campaign, uint32_t at)
{
    static const struct tb_schedule nothing = {0};
    const struct tb_cell *cell = &campaign->cells[at];
    const struct tb_schedule *s = cell->schedule ? cell->schedule : &nothing;
    const char *touch = tb_touch_name(cell->touch), *workload = cell->workload ? cell->workload : s->name;
#define OF_SCHEDULE(value) (cell->schedule ? tb_json_whole(value) : json_null())
    const struct tb_json_member members[] = {
        {"name", cell->name ? json_string(cell->name) : json_sprintf("%s/%s", workload, touch)},
        {"workload", json_string(workload)},
        {"touch", json_string(touch)},
        {"laps", tb_json_whole(cell->laps)},
        {"laps_warmup", tb_json_whole(cell->laps_warmup)},
        {"laps_counted", tb_json_whole(cell->laps_counted)},
        {"laps_metered", tb_json_whole(cell->laps_metered)},
        {"blocks_peak", OF_SCHEDULE(s->blocks_peak)},
        {"blocks_per_lap", OF_SCHEDULE(s->blocks_per_lap)},
        {"requests_per_lap", OF_SCHEDULE(s->requests_per_lap)},
        {"ticks", OF_SCHEDULE(s->ticks)},
        {"decoded_tokens", OF_SCHEDULE(s->decoded_tokens)},
        {"requests_queued", OF_SCHEDULE(s->requests_queued)},
        {"queue_ns_max", OF_SCHEDULE(s->queue_ns_max)},
        {"live_max", OF_SCHEDULE(s->live_max)},
        {"pool_blocks", OF_SCHEDULE(cell->pool_blocks ? cell->pool_blocks : s->pool_blocks)},
        {"trace_sha256", tb_json_clean(cell->trace_sha256)},
        {"version", OF_SCHEDULE(s->version)},
        {"workers", tb_json_whole(cell->workers ? cell->workers : campaign->workers)},
        {"block_bytes", tb_json_whole(tb_campaign_block_bytes(campaign, at))},
        {"dispatch", json_string(tb_dispatch_name(tb_campaign_dispatch(campaign, at)))},
    };
#undef OF_SCHEDULE
    return TB_JSON_OBJECT(members);
}

static json_t *arms_json(const struct tb_campaign *campaign)
{
    json_t *arms = json_array();
    for (uint32_t i = 0; i < campaign->arms_count; i++)
        arms = tb_json_appended(arms, arm_json(&campaign->arms[i]));
    return arms;
}

static json_t *cells_json(const struct tb_campaign *campaign)
{
    json_t *cells = json_array();
    for (uint32_t i = 0; i < campaign->cells_count; i++)
        cells = tb_json_appended(cells, cell_json(campaign, i));
    return cells;
}

static json_t *design_json(const struct tb_campaign *campaign, uint32_t block_rounds)
{
    const struct tb_json_member members[] = {
        {"rounds", tb_json_whole(campaign->rounds)},
        {"block_rounds", tb_json_whole(block_rounds)},
        {"seed", tb_json_whole(campaign->seed)},
        {"block_bytes", tb_json_whole(campaign->block_bytes)},
        {"dispatch", json_string(tb_dispatch_name(campaign->dispatch))},
        {"workers", tb_json_whole(campaign->workers)},
        {"order", json_string("random")},
        {"many_nodes", json_boolean(campaign->many_nodes)},
        {"bench", json_boolean(campaign->bench)},
    };
    return TB_JSON_OBJECT(members);
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

json_t *tb_line_header(const struct tb_line_head *head, const struct tb_campaign *campaign)
{
    const struct tb_json_member members[] = {
        {"t", json_string("hdr")},
        {"v", json_integer(1)},
        {"run", json_string(head->run)},
        {"nonce", json_string(head->nonce)},
        {"kind", json_string(head->kind)},
        {"time", json_string(head->time)},
        {"emulated", tb_json_clean(tb_environment_guest())},
        {"postulate", head->postulate ? head->postulate : json_null()},
        {"experiment", head->experiment ? head->experiment : json_null()},
        {"measured", head->measured ? head->measured : json_null()},
        {"unmet", tb_json_clean(head->unmet)},
        {"design", design_json(campaign, head->block_rounds)},
        {"arms", arms_json(campaign)},
        {"cells", cells_json(campaign)},
        {"env", tb_line_environment("", campaign->arms, campaign->arms_count)},
        {"doctor", head->doctor ? tb_doctor_header(head->doctor) : doctor_json()},
        {"counters", campaign->counters ? tb_counters_json(campaign->counters) : json_null()},
        {"before", tb_environment_counters("")},
    };
    return TB_JSON_OBJECT(members);
}

json_t *tb_line_postulate(const struct tb_postulate *postulate, const char *commit)
{
    const struct tb_json_member members[] = {{"path", json_string(postulate->path)},
                                             {"sha256", json_string(postulate->sha256)},
                                             {"commit", tb_json_clean(commit)}};
    return TB_JSON_OBJECT(members);
}

json_t *tb_line_experiment(const struct tb_postulate *postulate)
{
    const struct tb_json_member members[] = {
        {"id", json_string(postulate->id)},
        {"slug", json_string(postulate->slug)},
        {"question", json_string(postulate->question)},
        {"reproduces", tb_json_clean(postulate->reproduces)},
        {"suite", suite_json(postulate)},
    };
    return TB_JSON_OBJECT(members);
}

// --- samples -------------------------------------------------------------------------------------------------------------------

static json_t *counter_json(const struct tb_counter_value *value)
{
    if (value->error)
        return json_pack("{s:n, s:s}", "value", "why", strerrorname_np(value->error));
    return json_pack("{s:o, s:o, s:o}", "value", tb_json_whole(value->value), "enabled_ns", tb_json_whole(value->enabled_ns),
                     "running_ns", tb_json_whole(value->running_ns));
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

static json_t *bench_json(const struct tb_sample *sample)
{
    struct tb_json_member members[TB_BENCH_COUNT];
    for (int op = 0; op < TB_BENCH_COUNT; op++)
        members[op] = (struct tb_json_member){tb_bench_name(op), tb_json_number(sample->bench_ns[op])};
    return TB_JSON_OBJECT(members);
}

json_t *tb_line_sample(const struct tb_campaign *campaign, uint32_t block, uint32_t cell, uint32_t arm, uint32_t round,
                       uint32_t position)
{
    const struct tb_sample *s = tb_campaign_sample(campaign, cell, arm, round);
    const struct tb_json_member members[] = {
        {"t", json_string("s")},
        {"block", tb_json_whole(block)},
        {"round", tb_json_whole(round)},
        {"cell", tb_json_whole(cell)},
        {"pos", tb_json_whole(position)},
        {"arm", json_string(campaign->arms[arm].key)},
        {"ran", json_boolean(s->ran)},
        {"valid", json_boolean(s->valid)},
        {"invalid", tb_json_clean(s->invalid)},
        {"version", tb_json_clean(s->version)},
        {"time_ns", tb_json_number(s->lap_ns)},
        {"time_ns_min", tb_json_number(s->lap_ns_min)},
        {"time_ns_mean", positive_or_null(s->lap_ns_mean)},
        {"time_ns_p90", positive_or_null(s->lap_ns_p90)},
        {"time_ns_metered", positive_or_null(s->metered_lap_ns)},
        {"bench_ns", campaign->bench ? bench_json(s) : json_null()},
        {"allocated", tb_json_whole(s->allocated)},
        {"freed", tb_json_whole(s->freed)},
        {"pushed", tb_json_whole(s->pushed)},
        {"drained", tb_json_whole(s->drained)},
        {"waits", tb_json_whole(s->waits)},
        {"touched_bytes", tb_json_whole(s->touched_bytes)},
        {"touched_bytes_expected", tb_json_whole(s->touched_bytes_expected)},
        {"outstanding_high", tb_json_whole(s->outstanding_high)},
        {"distinct", tb_json_whole(s->distinct)},
        {"workers_pinned", json_boolean(s->workers_pinned)},
        {"watched_ns", tb_json_whole(s->watched_ns)},
        {"waited_ns", tb_json_whole(s->waited_ns)},
        {"counters", counters_json(campaign->counters, s)},
    };
    json_t *line = TB_JSON_OBJECT(members);
    if (line && tb_line_nodes(line, &s->nodes) == 0)
        return line;
    json_decref(line);
    return NULL;
}

json_t *tb_line_after(void)
{
    return json_pack("{s:s, s:o}", "t", "after", "counters", tb_environment_counters(""));
}
