// SPDX-License-Identifier: Apache-2.0
//
// run_lines: see run_lines.h. Every value is whole: a sample goes into the log as it came, valid or not.

#include "testbed/run/run_lines.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/policy.h"
#include "testbed/base/json.h"
#include "testbed/base/sha256.h"
#include "testbed/counters/count.h"
#include "testbed/counters/view.h"
#include "testbed/decode/settings.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/environment.h"
#include "testbed/host/host.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/engines/plan.h"
#include "testbed/record/log.h"
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
    if (tb_arm_of_its_own(arm))
        return contender->harness ? "harness" : contender->name;
    return contender->floor ? "floor" : contender->harness ? "harness" : contender->is_malloc ? "malloc" : "pool";
}

static json_t *arm_json(const struct tb_arm *arm)
{
    char sha256[TB_HASH_TEXT] = "", *library = tb_redact_paths(arm->library);
    if (arm->library[0] && tb_hash_file(arm->library, sha256))
        sha256[0] = '\0';
    const struct tb_json_member members[] = {
        {"key", json_string(arm->key)},
        {"name", arm->name ? json_string(arm->name) : json_stringn(arm->label, tb_twin_mark(arm->label))},
        {"role", json_string(role(arm))},
        {"library", tb_json_clean(library)},
        {"library_sha256", tb_json_clean(sha256)},
        {"cross_percent", tb_json_whole(arm->cross_percent)},
        {"workers", arm->workers ? tb_json_whole(arm->workers) : json_null()},
    };
    free(library);
    return TB_JSON_OBJECT(members);
}

// Of touch `decode`. The work is the same in each layout, block size and type of value, and so is what depends on it alone.
static json_t *cell_decode_json(const struct tb_cell *cell)
{
    const struct tb_schedule *schedule = cell->schedule;
    char settings[96];
    tb_decode_settings_text(&cell->decode, settings, sizeof settings);
    const struct tb_json_member members[] = {
        {"settings", json_string(settings)},
        {"shape", json_string(cell->decode.shape)},
        {"layout", json_string(cell->decode.layout)},
        {"dtype", json_string(tb_dtype_name(cell->decode.dtype))},
        {"threads", tb_json_whole(cell->decode.threads)},
        {"block_tokens", tb_json_whole(schedule->block_tokens)},
        {"blocks_per_group", tb_json_whole(schedule->blocks_per_group)},
        {"tokens_peak", tb_json_whole(schedule->tokens_peak)},
        {"tokens_live_peak", tb_json_whole(schedule->tokens_live_peak)},
        {"tokens_per_lap", tb_json_whole(schedule->tokens_per_lap)},
        {"steps_per_lap", tb_json_whole(schedule->steps_per_lap)},
        {"attended_per_lap", tb_json_whole(schedule->attended_per_lap)},
    };
    return TB_JSON_OBJECT(members);
}

// Of touch `engine`: the model is made here from a seed, and its file's hash says that it is the same everywhere.
static json_t *cell_engine_json(const struct tb_cell *cell)
{
    const struct tb_engines_plan *plan = tb_engines_plan(cell->schedule);
    const struct tb_json_member members[] = {
        {"layers", tb_json_whole(plan->model.layers)},
        {"heads", tb_json_whole(plan->model.heads)},
        {"kv_heads", tb_json_whole(plan->model.kv_heads)},
        {"head_dim", tb_json_whole(plan->model.head_dim)},
        {"width", tb_json_whole(plan->model.width)},
        {"ffn", tb_json_whole(plan->model.ffn)},
        {"vocab", tb_json_whole(plan->model.vocab)},
        {"model_bytes", tb_json_whole(plan->model_bytes)},
        {"model_sha256", json_string(plan->sha256)},
        {"prompt_tokens", tb_json_whole(plan->settings.prompt_tokens)},
        {"batch", tb_json_whole(plan->settings.batch)},
        {"context_tokens", plan->settings.context_tokens ? tb_json_whole(plan->settings.context_tokens) : json_null()},
        {"kv_type", json_string(plan->settings.kv_type)},
    };
    return TB_JSON_OBJECT(members);
}

// A recorded trace that is not here has no schedule, and the run no samples.
static json_t *cell_json(const struct tb_rounds *rounds, uint32_t at)
{
    static const struct tb_schedule nothing = {0};
    const struct tb_cell *cell = &rounds->cells[at];
    const struct tb_schedule *s = cell->schedule ? cell->schedule : &nothing;
    const char *touch = tb_touch_name(cell->touch), *workload = cell->workload ? cell->workload : s->name;
#define OF_SCHEDULE(value) (cell->schedule ? tb_json_whole(value) : json_null())
    const struct tb_json_member members[] = {
        {"name", cell->name ? json_string(cell->name) : json_sprintf("%s/%s", workload, touch)},
        {"workload", json_string(workload)},
        {"touch", json_string(touch)},
        {"laps", tb_json_whole(cell->laps)},
        {"laps_warmup", tb_json_whole(cell->laps_warmup)},
        {"laps_clocked", tb_json_whole(cell->laps_clocked)},
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
        {"workers", tb_json_whole(cell->workers ? cell->workers : rounds->workers)},
        {"block_bytes", tb_json_whole(tb_rounds_block_bytes(rounds, at))},
        {"dispatch", json_string(tb_dispatch_name(tb_rounds_dispatch(rounds, at)))},
        {"serving", tb_line_has_serving(cell->touch) && cell->schedule ? tb_line_plan(cell) : json_null()},
        {"decode", cell->touch == TB_TOUCH_DECODE && cell->schedule ? cell_decode_json(cell) : json_null()},
        {"engine", cell->touch == TB_TOUCH_ENGINE && cell->schedule ? cell_engine_json(cell) : json_null()},
    };
#undef OF_SCHEDULE
    return TB_JSON_OBJECT(members);
}

static json_t *arms_json(const struct tb_rounds *rounds)
{
    json_t *arms = json_array();
    for (uint32_t i = 0; i < rounds->arms_count; i++)
        arms = tb_json_appended(arms, arm_json(&rounds->arms[i]));
    return arms;
}

static json_t *cells_json(const struct tb_rounds *rounds)
{
    json_t *cells = json_array();
    for (uint32_t i = 0; i < rounds->cells_count; i++)
        cells = tb_json_appended(cells, cell_json(rounds, i));
    return cells;
}

static json_t *looks_json(const struct tb_line_head *head)
{
    json_t *looks = head->looks_count ? json_array() : json_null();
    for (size_t i = 0; i < head->looks_count; i++)
        looks = tb_json_appended(looks, tb_json_whole(head->looks[i]));
    return looks;
}

static json_t *design_json(const struct tb_rounds *rounds, const struct tb_line_head *head)
{
    const struct tb_json_member members[] = {
        {"rounds", tb_json_whole(rounds->count)},
        {"block_rounds", tb_json_whole(head->block_rounds)},
        {"looks", looks_json(head)},
        {"seed", tb_json_whole(rounds->seed)},
        {"block_bytes", tb_json_whole(rounds->block_bytes)},
        {"dispatch", json_string(tb_dispatch_name(rounds->dispatch))},
        {"workers", tb_json_whole(rounds->workers)},
        {"order", json_string("random")},
        {"pairing", json_string(rounds->pair_laps ? "laps" : "rounds")},
        {"repeat_lost", positive_or_null(rounds->repeat_lost)},
        {"repeat_times", rounds->repeat_times ? tb_json_whole(rounds->repeat_times) : json_null()},
        {"many_nodes", json_boolean(rounds->many_nodes)},
        {"bench", json_boolean(rounds->bench)},
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
        char *label = tb_redact_paths(arms[i].label);
        failed = !label || json_object_set_new(all, label, environment_arm(&arms[i]));
        free(label);
    }
    if (!failed)
        return environment;
    json_decref(environment);
    return NULL;
}

json_t *tb_line_header(const struct tb_line_head *head, const struct tb_rounds *rounds)
{
    const struct tb_json_member members[] = {
        {"t", json_string("hdr")},
        {"v", json_integer(TB_LOG_VERSION)},
        {"run", json_string(head->run)},
        {"nonce", json_string(head->nonce)},
        {"kind", json_string(head->kind)},
        {"time", json_string(head->time)},
        {"emulated", tb_json_clean(tb_environment_guest())},
        {"postulate", head->postulate ? head->postulate : json_null()},
        {"experiment", head->experiment ? head->experiment : json_null()},
        {"measured", head->measured ? head->measured : json_null()},
        {"unmet", tb_json_clean(head->unmet)},
        {"design", design_json(rounds, head)},
        {"arms", arms_json(rounds)},
        {"cells", cells_json(rounds)},
        {"env", tb_line_environment("", rounds->arms, rounds->arms_count)},
        {"doctor", head->doctor ? tb_doctor_header(head->doctor) : doctor_json()},
        {"counters", rounds->counters ? tb_counters_json(rounds->counters) : json_null()},
        {"emulator", tb_json_clean(rounds->emulator)},
        {"before", tb_environment_counters("")},
        {"replicates", head->replicates}, // the last: it may be left out
    };
    return tb_json_object(members, sizeof members / sizeof *members - !head->replicates);
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

// --- node by node (log.h has the members) --------------------------------------------------------------------------------------
//
// Counts are written as they came, by the nodes' OS numbers. A pair of nodes, or a node of a placement, that counted nothing is
// left out, since most of the square is empty. Only the ratios are worked out here, so that there is one way to form them: a metric
// must not depend on who reads the log. The sample comes from another process, which may have died halfway: a count of rows is
// never trusted beyond its array.

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static uint32_t rows_of(const struct tb_nodes_sample *nodes)
{
    return nodes->count < TB_NODES_MAX ? nodes->count : TB_NODES_MAX;
}

// --- ratios ---

struct split {
    uint64_t local, remote;
};

static struct split split_of(const struct tb_nodes_sample *nodes, const struct tb_node_counts *counts)
{
    struct split out = {0};
    for (uint32_t from = 0; from < rows_of(nodes); from++)
        for (uint32_t to = 0; to < rows_of(nodes); to++)
            *(from == to ? &out.local : &out.remote) += counts->pair[from][to];
    return out;
}

static json_t *share(uint64_t part, struct split split)
{
    uint64_t whole = split.local + split.remote;
    return whole ? json_real((double)part / (double)whole) : json_null();
}

// --- counts ---

static json_t *counts_json(const struct tb_nodes_sample *nodes, const struct tb_node_counts *counts)
{
    struct split split = split_of(nodes, counts);
    json_t *pairs = json_array();
    for (uint32_t from = 0; from < rows_of(nodes); from++)
        for (uint32_t to = 0; to < rows_of(nodes); to++)
            if (counts->pair[from][to])
                json_array_append_new(pairs, json_pack("[i, i, o]", nodes->node[from].os, nodes->node[to].os,
                                                       number(counts->pair[from][to])));
    return json_pack("{s:o, s:o, s:o, s:o}", "local", number(split.local), "remote", number(split.remote), "unknown",
                     number(counts->unknown), "pairs", pairs);
}

static json_t *frees_json(const struct tb_nodes_sample *nodes)
{
    json_t *frees = counts_json(nodes, &nodes->frees);
    json_object_set_new(frees, "abroad", nodes->abroad_known ? number(nodes->frees_abroad) : json_null());
    return frees;
}

static json_t *os_json(const struct tb_nodes_sample *nodes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < rows_of(nodes); i++)
        json_array_append_new(list, json_integer(nodes->node[i].os));
    return list;
}

static json_t *homes_json(const struct tb_nodes_sample *nodes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < rows_of(nodes); i++) {
        const struct tb_node_row *row = &nodes->node[i];
        if (row->station)
            json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:o, s:o}", "node", row->os, "allocated", number(row->allocated),
                                                  "freed", number(row->freed), "pushed", number(row->pushed), "drained",
                                                  number(row->drained)));
    }
    return list;
}

static json_t *drift_json(const struct tb_nodes_sample *nodes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < nodes->points_count && i < TB_DRIFT_POINTS_MAX; i++)
        json_array_append_new(list, json_pack("[o, o]", number(nodes->points[i].allocated), number(nodes->points[i].wandered)));
    return list;
}

// --- placements ---

static json_t *policy_json(uint32_t policy)
{
    const char *name = locus_policy_name((enum locus_policy)policy);
    return json_string(name ? name : "unknown");
}

static json_t *why_json(const struct tb_node_placement *placement)
{
    char granted[96] = "", verify[96] = "";
    if (placement->granted_errno)
        snprintf(granted, sizeof granted, "the policy could not be read back: %s", strerror(placement->granted_errno));
    if (placement->verify_errno)
        snprintf(verify, sizeof verify, "the kernel does not say where the pages are: %s", strerror(placement->verify_errno));
    return *granted || *verify ? json_sprintf("%s%s%s", granted, *granted && *verify ? "; " : "", verify) : json_null();
}

static json_t *placement_json(const struct tb_nodes_sample *nodes, const struct tb_node_placement *placement)
{
    json_t *on = json_array();
    for (uint32_t i = 0; i < rows_of(nodes); i++)
        if (placement->on[i])
            json_array_append_new(on, json_pack("[i, o]", nodes->node[i].os, number(placement->on[i])));
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i}", "station", placement->station, "requested",
                     policy_json(placement->requested), "granted",
                     placement->granted_errno ? json_null() : policy_json(placement->granted), "why", why_json(placement),
                     "present", number(placement->present), "elsewhere", number(placement->elsewhere), "on", on, "numa_maps",
                     placement->maps_read ? json_boolean(placement->maps_agree) : json_null(), "granted_errno",
                     placement->granted_errno, "verify_errno", placement->verify_errno);
}

static json_t *placements_json(const struct tb_nodes_sample *nodes, const struct tb_node_placement placements[])
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < nodes->placements && i < TB_NODES_MAX; i++)
        json_array_append_new(list, placement_json(nodes, &placements[i]));
    return list;
}

static json_t *balancing_json(const struct tb_nodes_sample *nodes)
{
    if (!nodes->balancing_known)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "pte_updates", number(nodes->numa_pte_updates), "hint_faults",
                     number(nodes->numa_hint_faults), "pages_migrated", number(nodes->numa_pages_migrated));
}

// --- the line ---

static json_t *nodes_json(const struct tb_nodes_sample *nodes)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "os", os_json(nodes), "homes", homes_json(nodes),
                     "touches", counts_json(nodes, &nodes->touches), "allocations", counts_json(nodes, &nodes->allocations),
                     "frees", frees_json(nodes), "drift", drift_json(nodes), "before", placements_json(nodes, nodes->before),
                     "after", placements_json(nodes, nodes->after), "pages_moved", number(nodes->pages_moved), "pages_repaired",
                     number(nodes->pages_repaired), "balancing", balancing_json(nodes));
}

int tb_line_nodes(json_t *line, const struct tb_nodes_sample *nodes)
{
    bool many = nodes->count > 0;
    struct split touches = split_of(nodes, &nodes->touches), frees = split_of(nodes, &nodes->frees);
    struct split allocations = split_of(nodes, &nodes->allocations);
    int rc = json_object_set_new(line, "remote_touch_ratio", share(touches.remote, touches));
    rc |= json_object_set_new(line, "wandered_ratio", share(allocations.remote, allocations));
    rc |= json_object_set_new(line, "abroad_free_ratio", nodes->abroad_known ? share(nodes->frees_abroad, frees) : json_null());
    rc |= json_object_set_new(line, "nodes", many ? nodes_json(nodes) : json_null());
    return rc ? -ENOMEM : 0;
}

// --- a sample ----------------------------------------------------------------------------------------------------------------

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

// Of threads that wait an emulator counts instructions that say nothing. A failure that it did not see leaves their number unknown.
// Whatever is null has its reason.
static json_t *count_json(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, uint32_t round)
{
    if (!rounds->counts)
        return json_null();
    const struct tb_count *count =
        &rounds->counts[((size_t)(round - rounds->counts_first) * rounds->cells_count + cell) * rounds->arms_count + arm];
    bool alone = tb_rounds_dispatch(rounds, cell) == TB_DISPATCH_INLINE;
    char why[256];
    tb_count_lacks(count, alone, why, sizeof why);
    const struct tb_json_member members[] = {
        {"instructions", count->known && alone ? tb_json_whole(count->instructions) : json_null()},
        {"locked", count->known ? tb_json_whole(count->locked) : json_null()},
        {"exchanges", count->known ? tb_json_whole(count->exchanges) : json_null()},
        {"failed", count->known && !count->untold ? tb_json_whole(count->failed) : json_null()},
        {"untold", count->known ? tb_json_whole(count->untold) : json_null()},
        {"why", tb_json_clean(why)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *tail_json(const struct tb_sample *sample, enum tb_clocked what)
{
    const struct tb_tail *tail = &sample->tails[what];
    if (tail->calls == 0)
        return json_null();
    const struct tb_json_member members[] = {
        {what == TB_CLOCKED_TAKE ? "takes" : "calls", tb_json_whole(tail->calls)},
        {"p50_ns", tb_json_number(tail->p50_ns)},
        {"p99_ns", tb_json_number(tail->p99_ns)},
        {"p999_ns", tb_json_number(tail->p999_ns)},
        {"max_ns", tb_json_number(tail->max_ns)},
        {"clock_ns", tb_json_number(sample->clock_ns)},
    };
    return TB_JSON_OBJECT(members);
}

// Of which node's memory K and V were, in runs of many nodes.
static json_t *bytes_json(const struct tb_nodes_sample *nodes, const struct tb_node_counts *counts)
{
    return nodes->count ? counts_json(nodes, counts) : json_null();
}

static json_t *time_or_null(double ns)
{
    return ns > 0 ? tb_json_number(ns) : json_null();
}

static json_t *decode_json(const struct tb_sample *sample)
{
    const struct tb_decode_sample *decode = &sample->decode;
    struct split written = split_of(&sample->nodes, &sample->nodes.written), read = split_of(&sample->nodes, &sample->nodes.read);
    const struct tb_json_member members[] = {
        {"steps", tb_json_whole(decode->steps)},
        {"appended_bytes", tb_json_whole(decode->appended_bytes)},
        {"appended_bytes_expected", tb_json_whole(decode->appended_expected)},
        {"attended_bytes", tb_json_whole(decode->attended_bytes)},
        {"attended_bytes_expected", tb_json_whole(decode->attended_expected)},
        {"checked", tb_json_whole(decode->checked)},
        {"wrong", tb_json_whole(decode->wrong)},
        {"threads", tb_json_whole(decode->threads)},
        {"kernel", tb_json_clean(decode->kernel)},
        {"step_p50_ns", time_or_null(decode->step_p50_ns)},
        {"step_p99_ns", time_or_null(decode->step_p99_ns)},
        {"step_max_ns", time_or_null(decode->step_max_ns)},
        {"written", bytes_json(&sample->nodes, &sample->nodes.written)},
        {"read", bytes_json(&sample->nodes, &sample->nodes.read)},
        {"remote_write_ratio", share(written.remote, written)},
        {"remote_read_ratio", share(read.remote, read)},
    };
    return TB_JSON_OBJECT(members);
}

json_t *tb_line_sample(const struct tb_rounds *rounds, uint32_t block, uint32_t cell, uint32_t arm, uint32_t round,
                       uint32_t position)
{
    const struct tb_sample *s = tb_rounds_sample(rounds, cell, arm, round);
    enum tb_touch touch = rounds->cells[cell].touch;
    const struct tb_json_member members[] = {
        {"t", json_string("s")},
        {"block", tb_json_whole(block)},
        {"round", tb_json_whole(round)},
        {"cell", tb_json_whole(cell)},
        {"pos", tb_json_whole(position)},
        {"attempt", tb_json_whole(s->attempt)},
        {"process", tb_json_whole(s->process)},
        {"arm", json_string(rounds->arms[arm].key)},
        {"ran", json_boolean(s->ran)},
        {"valid", json_boolean(s->valid)},
        {"invalid", tb_json_clean(s->invalid)},
        {"version", tb_json_clean(s->version)},
        {"time_ns", tb_json_number(s->lap_ns)},
        {"time_rel", positive_or_null(s->lap_ratio)},
        {"time_ns_min", tb_json_number(s->lap_ns_min)},
        {"time_ns_mean", positive_or_null(s->lap_ns_mean)},
        {"time_ns_p90", positive_or_null(s->lap_ns_p90)},
        {"time_ns_metered", positive_or_null(s->metered_lap_ns)},
        {"bench_ns", rounds->bench ? bench_json(s) : json_null()},
        {"allocated", tb_json_whole(s->allocated)},
        {"freed", tb_json_whole(s->freed)},
        {"pushed", tb_json_whole(s->pushed)},
        {"drained", tb_json_whole(s->drained)},
        {"waits", tb_json_whole(s->waits)},
        {"wait_ns", s->waits && s->wait_ns ? tb_json_number((double)s->wait_ns / (double)s->waits) : json_null()},
        {"touched_bytes", tb_json_whole(s->touched_bytes)},
        {"touched_bytes_expected", tb_json_whole(s->touched_bytes_expected)},
        {"outstanding_high", tb_json_whole(s->outstanding_high)},
        {"distinct", tb_json_whole(s->distinct)},
        {"adjacency", s->adjacency_known ? tb_json_number(s->adjacency) : json_null()},
        {"resident_blocks", positive_or_null((double)s->resident_bytes / (double)tb_rounds_block_bytes(rounds, cell))},
        {"take", tail_json(s, TB_CLOCKED_TAKE)},
        {"push", tail_json(s, TB_CLOCKED_PUSH)},
        {"drain", tail_json(s, TB_CLOCKED_DRAIN)},
        {"wait", tail_json(s, TB_CLOCKED_WAIT)},
        {"workers_pinned", json_boolean(s->workers_pinned)},
        {"watched_ns", tb_json_whole(s->watched_ns)},
        {"waited_ns", tb_json_whole(s->waited_ns)},
        {"switches", tb_json_whole(s->switches)},
        {"steal_ns", s->steal_known ? tb_json_whole(s->steal_ns) : json_null()},
        {"counters", counters_json(rounds->counters, s)},
        {"emulated", count_json(rounds, cell, arm, round)},
        {"serving", tb_line_has_serving(touch) && s->valid ? tb_line_served(s, &rounds->cells[cell]) : json_null()},
        {"decode", touch == TB_TOUCH_DECODE && s->ran ? decode_json(s) : json_null()},
        {"engine", touch == TB_TOUCH_ENGINE && s->valid ? tb_line_slots(&s->engined, tb_engined_fields, NULL) : json_null()},
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
