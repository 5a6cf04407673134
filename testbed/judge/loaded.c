// SPDX-License-Identifier: Apache-2.0
//
// loaded: see loaded.h. A member that a log does not have is 0, as in a sample of which nobody asked it.
#include "testbed/judge/loaded.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/policy.h"
#include "testbed/base/json.h"
#include "testbed/decode/settings.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/judge/decoded.h"
#include "testbed/measure/contender.h"

static uint64_t whole(const json_t *object, const char *path)
{
    const json_t *value = tb_member(object, path);
    return json_is_string(value) ? strtoull(json_string_value(value), NULL, 10) : (uint64_t)json_integer_value(value);
}

static void text(char *out, size_t bytes, const json_t *object, const char *path)
{
    snprintf(out, bytes, "%s", tb_member_text(object, path));
}

// A time that a process did not have; a mean of 0 says that nobody took it.
static double time_ns(const json_t *object, const char *path)
{
    double ns = tb_member_number(object, path);
    return isfinite(ns) ? ns : 0;
}

static enum tb_dispatch dispatch_of(const json_t *object, const char *path)
{
    enum tb_dispatch dispatch = TB_DISPATCH_FUTEX;
    while (dispatch > 0 && strcmp(tb_dispatch_name(dispatch), tb_member_text(object, path)) != 0)
        dispatch--;
    return dispatch;
}

static enum tb_touch touch_of(const json_t *object)
{
    enum tb_touch touch = TB_TOUCH_ENGINE;
    while (touch > 0 && strcmp(tb_touch_name(touch), tb_member_text(object, "touch")) != 0)
        touch--;
    return touch;
}

// --- arms ----------------------------------------------------------------------------------------------------------------------

// Older logs do not say what an arm is: then a contender that is built in does, or a library.
static const struct tb_contender *contender_of(const json_t *arm, const char *name)
{
    static const struct tb_contender floor = {.name = "floor", .floor = true}, harness = {.name = "harness", .harness = true},
                                     mallocs = {.name = "malloc", .is_malloc = true}, pool = {.name = "pool"},
                                     strategy = {.name = "strategy"}, policy = {.name = "policy"}, engine = {.name = "engine"};
    const char *role = tb_member_text(arm, "role");
    if (!*role) {
        const struct tb_contender *known = tb_contender_find(name);
        return known ? known : *tb_member_text(arm, "library") ? &mallocs : &pool;
    }
    return strcmp(role, "floor") == 0      ? &floor
           : strcmp(role, "harness") == 0  ? &harness
           : strcmp(role, "malloc") == 0   ? &mallocs
           : strcmp(role, "strategy") == 0 ? &strategy
           : strcmp(role, "policy") == 0   ? &policy
           : strcmp(role, "engine") == 0   ? &engine
                                           : &pool;
}

static void arm_load(const json_t *arm, const struct tb_arm arms[], uint32_t count, struct tb_arm *out)
{
    char name[sizeof out->label];
    *out = (struct tb_arm){.fault = TB_FAULT_NONE};
    tb_arm_read(tb_member_text(arm, "name"), arms, count, out, name);
    text(out->key, sizeof out->key, arm, "key");
    text(out->library, sizeof out->library, arm, "library");
    out->contender = contender_of(arm, name);
    out->cross_percent = (uint32_t)whole(arm, "cross_percent");
}

// --- cells ---------------------------------------------------------------------------------------------------------------------

// Settings and tokens of touch `decode`. Of another touch, or a trace that was not there, the member is null.
static void decode_load(const json_t *decode, struct tb_cell *out, struct tb_schedule *schedule)
{
    struct tb_decode_settings *settings = &out->decode;
    if (!json_is_object(decode))
        return;
    text(settings->shape, sizeof settings->shape, decode, "shape");
    text(settings->layout, sizeof settings->layout, decode, "layout");
    settings->dtype_given = tb_dtype_parse(tb_member_text(decode, "dtype"), &settings->dtype);
    settings->threads = (uint32_t)whole(decode, "threads");
    const struct tb_layout *layout = tb_layout_find(settings->layout);
    schedule->block_tokens = (uint32_t)whole(decode, "block_tokens");
    settings->block_tokens = layout && layout->whole ? 0 : schedule->block_tokens; // 0: the usual one
    tb_decode_settings_fill(settings);
    schedule->blocks_per_group = (uint32_t)whole(decode, "blocks_per_group");
    schedule->tokens_peak = (uint32_t)whole(decode, "tokens_peak");
    schedule->tokens_live_peak = whole(decode, "tokens_live_peak");
    schedule->tokens_per_lap = whole(decode, "tokens_per_lap");
    schedule->steps_per_lap = whole(decode, "steps_per_lap");
    schedule->attended_per_lap = whole(decode, "attended_per_lap");
}

static void cell_load(const struct tb_rounds *rounds, const json_t *cell, struct tb_cell *out, struct tb_schedule *schedule)
{
    *schedule = (struct tb_schedule){
        .blocks_peak = (uint32_t)whole(cell, "blocks_peak"),
        .blocks_per_lap = whole(cell, "blocks_per_lap"),
        .requests_per_lap = whole(cell, "requests_per_lap"),
        .ticks = whole(cell, "ticks"),
        .decoded_tokens = whole(cell, "decoded_tokens"),
        .requests_queued = whole(cell, "requests_queued"),
        .queue_ns_max = whole(cell, "queue_ns_max"),
        .live_max = whole(cell, "live_max"),
        .pool_blocks = (uint32_t)whole(cell, "pool_blocks"),
        .version = (uint32_t)whole(cell, "version"),
    };
    text(schedule->name, sizeof schedule->name, cell, "workload");
    *out = (struct tb_cell){
        .schedule = schedule,
        .name = tb_member(cell, "name") ? tb_member_text(cell, "name") : NULL,
        .workload = schedule->name,
        .touch = touch_of(cell),
        .laps = (uint32_t)whole(cell, "laps"),
        .laps_counted = (uint32_t)whole(cell, "laps_counted"),
        .laps_metered = (uint32_t)whole(cell, "laps_metered"),
        .workers = (uint32_t)whole(cell, "workers"),
        .block_bytes = whole(cell, "block_bytes"),
        .dispatch_given = tb_member_text(cell, "dispatch")[0],
        .dispatch = tb_member(cell, "dispatch") ? dispatch_of(cell, "dispatch") : rounds->dispatch,
    };
    decode_load(tb_member(cell, "decode"), out, schedule);
}

// --- samples -------------------------------------------------------------------------------------------------------------------

static void sample_decode_load(const json_t *decode, struct tb_decode_sample *out)
{
    out->steps = whole(decode, "steps");
    out->threads = (uint32_t)whole(decode, "threads");
    text(out->kernel, sizeof out->kernel, decode, "kernel");
}

// One that had no turn in this round is not in its line.
static void counted_load(const json_t *counters, const struct tb_counter_set *set, struct tb_counter_value out[])
{
    for (unsigned i = 0; i < set->count; i++) {
        const json_t *value = json_object_get(counters, set->counter[i].name);
        out[i] = (struct tb_counter_value){.value = whole(value, "value"),
                                           .enabled_ns = whole(value, "enabled_ns"),
                                           .running_ns = whole(value, "running_ns"),
                                           .error = tb_member(value, "enabled_ns") ? 0 : ENODATA};
    }
}

static void tail_load(const json_t *object, struct tb_tail *out, double *clock_ns)
{
    out->calls = whole(object, "takes") + whole(object, "calls"); // of a take it is called takes
    out->p50_ns = time_ns(object, "p50_ns");
    out->p99_ns = time_ns(object, "p99_ns");
    out->p999_ns = time_ns(object, "p999_ns");
    out->max_ns = time_ns(object, "max_ns");
    if (out->calls)
        *clock_ns = time_ns(object, "clock_ns");
}

static void sample_load(const json_t *line, const struct tb_counter_set *counters, struct tb_sample *out)
{
    out->ran = json_is_true(tb_member(line, "ran"));
    out->valid = json_is_true(tb_member(line, "valid"));
    text(out->invalid, sizeof out->invalid, line, "invalid");
    text(out->version, sizeof out->version, line, "version");
    out->lap_ns = time_ns(line, "time_ns");
    out->lap_ns_min = time_ns(line, "time_ns_min");
    out->lap_ns_mean = time_ns(line, "time_ns_mean");
    out->lap_ns_p90 = time_ns(line, "time_ns_p90");
    out->allocated = whole(line, "allocated");
    out->freed = whole(line, "freed");
    out->pushed = whole(line, "pushed");
    out->drained = whole(line, "drained");
    out->waits = whole(line, "waits");
    out->touched_bytes = whole(line, "touched_bytes");
    out->touched_bytes_expected = whole(line, "touched_bytes_expected");
    out->outstanding_high = (uint32_t)whole(line, "outstanding_high");
    out->distinct = (uint32_t)whole(line, "distinct");
    out->adjacency_known = json_is_number(tb_member(line, "adjacency"));
    out->adjacency = json_number_value(tb_member(line, "adjacency"));
    for (int what = 0; what < TB_CLOCKED_COUNT; what++)
        tail_load(tb_member(line, tb_clocked_name(what)), &out->tails[what], &out->clock_ns);
    out->workers_pinned = json_is_true(tb_member(line, "workers_pinned"));
    out->watched_ns = whole(line, "watched_ns");
    out->waited_ns = whole(line, "waited_ns");
    out->switches = whole(line, "switches");
    out->steal_ns = whole(line, "steal_ns");
    out->steal_known = json_is_integer(tb_member(line, "steal_ns"));
    out->lap_ratio = time_ns(line, "time_rel");
    out->process = (uint32_t)whole(line, "process");
    out->attempt = (uint32_t)whole(line, "attempt");
    for (int op = 0; op < TB_BENCH_COUNT; op++)
        out->bench_ns[op] = time_ns(tb_member(line, "bench_ns"), tb_bench_name(op));
    for (const struct tb_slot *slot = tb_served_fields; slot->name; slot++)
        tb_slot_set(&out->served, slot, time_ns(tb_member(line, "serving"), slot->name));
    for (const struct tb_slot *slot = tb_batched_fields; slot->name; slot++)
        tb_slot_set(&out->batched, slot, time_ns(tb_member(line, "serving"), slot->name));
    for (const struct tb_slot *slot = tb_resided_fields; slot->name; slot++)
        tb_slot_set(&out->resided, slot, time_ns(tb_member(line, "serving"), slot->name));
    for (const struct tb_slot *slot = tb_tiered_fields; slot->name; slot++)
        tb_slot_set(&out->tiered, slot, time_ns(tb_member(line, "serving"), slot->name));
    for (const struct tb_slot *slot = tb_arena_fields; slot->name; slot++)
        tb_slot_set(&out->arena, slot, time_ns(tb_member(line, "serving"), slot->name));
    for (const struct tb_slot *slot = tb_pinned_fields; slot->name; slot++)
        tb_slot_set(&out->pinned, slot, time_ns(tb_member(line, "serving"), slot->name));
    for (const struct tb_slot *slot = tb_engined_fields; slot->name; slot++)
        tb_slot_set(&out->engined, slot, time_ns(tb_member(line, "engine"), slot->name));
    sample_decode_load(tb_member(line, "decode"), &out->decode);
    tb_loaded_nodes(line, &out->nodes);
    if (counters)
        counted_load(tb_member(line, "counters"), counters, out->counters);
}

// --- node by node --------------------------------------------------------------------------------------------------------------

// The index of an OS node; nodes->count: the log does not list it.
static uint32_t node_of(const struct tb_nodes_sample *nodes, const json_t *os)
{
    uint32_t at = 0;
    while (at < nodes->count && nodes->node[at].os != json_integer_value(os))
        at++;
    return at;
}

static void counts_load(const json_t *counts, const struct tb_nodes_sample *nodes, struct tb_node_counts *out)
{
    const json_t *pair;
    size_t i;
    out->unknown = whole(counts, "unknown");
    json_array_foreach (tb_member(counts, "pairs"), i, pair) {
        uint32_t from = node_of(nodes, json_array_get(pair, 0)), to = node_of(nodes, json_array_get(pair, 1));
        if (from < nodes->count && to < nodes->count)
            out->pair[from][to] = (uint64_t)json_integer_value(json_array_get(pair, 2));
    }
}

static void homes_load(const json_t *homes, struct tb_nodes_sample *out)
{
    const json_t *home;
    size_t i;
    json_array_foreach (homes, i, home) {
        uint32_t at = node_of(out, tb_member(home, "node"));
        if (at < out->count)
            out->node[at] = (struct tb_node_row){.os = out->node[at].os,
                                                 .station = true,
                                                 .allocated = whole(home, "allocated"),
                                                 .freed = whole(home, "freed"),
                                                 .pushed = whole(home, "pushed"),
                                                 .drained = whole(home, "drained")};
    }
}

static uint32_t policy_of(const json_t *pool, const char *member)
{
    uint32_t policy = LOCUS_POLICY_FIRST_TOUCH;
    while (policy < LOCUS_POLICIES && strcmp(locus_policy_name((enum locus_policy)policy), tb_member_text(pool, member)) != 0)
        policy++;
    return policy < LOCUS_POLICIES ? policy : LOCUS_POLICY_FIRST_TOUCH;
}

static void placement_load(const json_t *pool, const struct tb_nodes_sample *nodes, struct tb_node_placement *out)
{
    const json_t *pages;
    size_t i;
    *out = (struct tb_node_placement){
        .station = (int32_t)whole(pool, "station"),
        .requested = policy_of(pool, "requested"),
        .granted = policy_of(pool, "granted"),
        .granted_errno = (int32_t)whole(pool, "granted_errno"),
        .verify_errno = (int32_t)whole(pool, "verify_errno"),
        .present = whole(pool, "present"),
        .elsewhere = whole(pool, "elsewhere"),
        .maps_read = json_is_boolean(tb_member(pool, "numa_maps")),
        .maps_agree = json_is_true(tb_member(pool, "numa_maps")),
    };
    json_array_foreach (tb_member(pool, "on"), i, pages) {
        uint32_t at = node_of(nodes, json_array_get(pages, 0));
        if (at < nodes->count)
            out->on[at] = (uint64_t)json_integer_value(json_array_get(pages, 1));
    }
}

void tb_loaded_nodes(const json_t *line, struct tb_nodes_sample *out)
{
    const json_t *nodes = tb_member(line, "nodes"), *os, *after = tb_member(nodes, "after"), *before = tb_member(nodes, "before");
    size_t i;
    *out = (struct tb_nodes_sample){.abroad_known = json_is_integer(tb_member(nodes, "frees.abroad"))};
    json_array_foreach (tb_member(nodes, "os"), i, os)
        if (out->count < TB_NODES_MAX)
            out->node[out->count++].os = (int32_t)json_integer_value(os);
    homes_load(tb_member(nodes, "homes"), out);
    counts_load(tb_member(nodes, "touches"), out, &out->touches);
    counts_load(tb_member(nodes, "allocations"), out, &out->allocations);
    counts_load(tb_member(nodes, "frees"), out, &out->frees);
    counts_load(tb_member(line, "decode.written"), out, &out->written);
    counts_load(tb_member(line, "decode.read"), out, &out->read);
    out->frees_abroad = whole(nodes, "frees.abroad");
    out->pages_moved = whole(nodes, "pages_moved");
    out->pages_repaired = whole(nodes, "pages_repaired");
    for (; out->placements < json_array_size(after) && out->placements < TB_NODES_MAX; out->placements++) {
        placement_load(json_array_get(before, out->placements), out, &out->before[out->placements]);
        placement_load(json_array_get(after, out->placements), out, &out->after[out->placements]);
    }
}

static uint32_t arm_of(const struct tb_rounds *rounds, const char *key)
{
    uint32_t arm = 0;
    while (arm < rounds->arms_count && strcmp(rounds->arms[arm].key, key) != 0)
        arm++;
    return arm;
}

static void samples_load(const struct tb_log_view *view, struct tb_rounds *rounds)
{
    for (size_t i = 0; i < view->samples_count; i++) {
        if (view->samples[i].superseded)
            continue;
        const json_t *line = view->samples[i].line;
        uint64_t cell = whole(line, "cell"), round = whole(line, "round");
        uint32_t arm = arm_of(rounds, tb_member_text(line, "arm"));
        if (cell < rounds->cells_count && arm < rounds->arms_count && round < rounds->count)
            sample_load(line, tb_decodes(rounds, (uint32_t)cell) ? rounds->counters : NULL,
                        tb_rounds_sample(rounds, (uint32_t)cell, arm, (uint32_t)round));
    }
}

static size_t samples_counted(const struct tb_log_view *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->samples_count; i++)
        count += !view->samples[i].superseded;
    return count;
}

// What the doctor said before something was measured without a postulate, as it was said; of a run his findings.
static void unfit_load(const json_t *header, struct tb_loaded *out)
{
    if (json_is_object(tb_member(header, "measured")))
        text(out->unfit, sizeof out->unfit, header, "measured.unfit");
    else if (!json_is_object(tb_member(header, "doctor")) || tb_doctor_header_says(header, out->unfit, sizeof out->unfit))
        out->unfit[0] = '\0';
    out->rounds.unfit = out->unfit[0] ? out->unfit : NULL;
}

static void counters_load(const json_t *counters, struct tb_loaded *out)
{
    const json_t *counter;
    size_t i;
    json_array_foreach (counters, i, counter) {
        if (out->counters.count == TB_COUNTERS_MAX)
            break;
        struct tb_counter *known = &out->counters.counter[out->counters.count++];
        text(known->name, sizeof known->name, counter, "name");
        text(known->why, sizeof known->why, counter, "why");
        known->attr.exclude_kernel = json_is_true(tb_member(counter, "user_only"));
    }
    out->rounds.counters = out->counters.count ? &out->counters : NULL;
}

// --- the whole -----------------------------------------------------------------------------------------------------------------

int tb_loaded(const struct tb_log_view *view, struct tb_loaded *out, char *why, size_t why_bytes)
{
    const json_t *design = tb_member(view->header, "design"), *arms = tb_member(view->header, "arms"), *arm;
    const json_t *cells = tb_member(view->header, "cells"), *cell;
    size_t arms_count = json_array_size(arms), cells_count = json_array_size(cells), a, c;
    *out = (struct tb_loaded){.unfit = ""};
    if (arms_count == 0 || arms_count > TB_ARMS_MAX || cells_count == 0) {
        snprintf(why, why_bytes, "%s: a log of %zu contenders in %zu cells cannot be shown", view->path, arms_count, cells_count);
        return -EINVAL;
    }
    struct tb_rounds *rounds = &out->rounds;
    *rounds = (struct tb_rounds){
        .arms = out->arms,
        .arms_count = (uint32_t)arms_count,
        .cells_count = (uint32_t)cells_count,
        .count = (uint32_t)(samples_counted(view) / (arms_count * cells_count)),
        .seed = whole(design, "seed"),
        .dispatch = dispatch_of(design, "dispatch"),
        .workers = (uint32_t)whole(design, "workers"),
        .block_bytes = whole(design, "block_bytes"),
        .bench = json_is_true(tb_member(design, "bench")),
        .many_nodes = json_is_true(tb_member(design, "many_nodes")),
        .pair_laps = strcmp(tb_member_text(design, "pairing"), "laps") == 0,
    };
    rounds->cells = out->cells = calloc(cells_count, sizeof *out->cells);
    out->schedules = calloc(cells_count, sizeof *out->schedules);
    rounds->samples = calloc(arms_count * cells_count * (rounds->count + (size_t)1), sizeof *rounds->samples);
    if (!out->cells || !out->schedules || !rounds->samples) {
        tb_loaded_close(out);
        return -ENOMEM;
    }
    json_array_foreach (arms, a, arm)
        arm_load(arm, out->arms, (uint32_t)a, &out->arms[a]);
    json_array_foreach (cells, c, cell)
        cell_load(rounds, cell, &out->cells[c], &out->schedules[c]);
    counters_load(tb_member(view->header, "counters.counters"), out);
    samples_load(view, rounds);
    unfit_load(view->header, out);
    return 0;
}

void tb_loaded_close(struct tb_loaded *loaded)
{
    free(loaded->rounds.samples);
    free(loaded->cells);
    free(loaded->schedules);
    loaded->rounds.samples = NULL;
    loaded->cells = NULL;
    loaded->schedules = NULL;
}
