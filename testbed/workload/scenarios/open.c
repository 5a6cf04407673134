// SPDX-License-Identifier: Apache-2.0
//
// open: scenarios by name, made or recorded. Apart from scenario.c, because the measured process gets its scenario from its
// parent, and links no reader of files.

#include "testbed/workload/scenarios/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/workload/known_trace.h"

extern const struct tb_scenario_kind *const __start_tb_scenarios[] __attribute__((weak));
extern const struct tb_scenario_kind *const __stop_tb_scenarios[] __attribute__((weak));

// The smallest name greater than `after`.
static const struct tb_scenario_kind *next(const char *after)
{
    const struct tb_scenario_kind *found = NULL;
    for (const struct tb_scenario_kind *const *entry = __start_tb_scenarios; entry < __stop_tb_scenarios; entry++)
        if (strcmp((*entry)->name, after) > 0 && (!found || strcmp((*entry)->name, found->name) < 0))
            found = *entry;
    return found;
}

const struct tb_scenario_kind *tb_scenario_at(size_t i)
{
    const struct tb_scenario_kind *kind = next("");
    for (; kind && i > 0; i--)
        kind = next(kind->name);
    return kind;
}

const struct tb_scenario_kind *tb_scenario_find(const char *name)
{
    size_t i = 0;
    while (tb_scenario_at(i) && strcmp(tb_scenario_at(i)->name, name))
        i++;
    return tb_scenario_at(i);
}

// A made scenario has no columns, and ids of the size that it has.
static int refuse_said(const char *name, const struct tb_scenario *scenario, const struct tb_trace_said *said, struct tb_why *why)
{
    uint32_t id_tokens = said->id_tokens;
    if (!said->format && (id_tokens == 0 || id_tokens == scenario->id_tokens))
        return 0;
    if (said->format)
        tb_why_set(why, name, 0, "is made, not recorded, and has no columns (--map)");
    else if (scenario->id_tokens)
        tb_why_set(why, name, 0, "an id stands for %u tokens, not %u (--id-tokens)", scenario->id_tokens, id_tokens);
    else
        tb_why_set(why, name, 0, "its prompts have no ids, so none stands for %u tokens (--id-tokens)", id_tokens);
    return -EINVAL;
}

static int make(const struct tb_scenario_kind *kind, size_t requests, const struct tb_trace_said *said, struct tb_scenario **out,
                struct tb_why *why)
{
    struct tb_scenario *scenario = calloc(1, sizeof *scenario);
    int error = scenario ? kind->make(scenario) : -ENOMEM;
    if (!error)
        error = refuse_said(kind->name, scenario, said, why);
    if (!error && requests && requests < scenario->count)
        scenario->count = requests;
    if (!error)
        error = tb_scenario_seal(scenario);
    if (error)
        tb_scenario_close(scenario);
    else
        *out = scenario;
    return error;
}

static int open_trace(const char *path, size_t requests, const struct tb_trace_said *said, struct tb_scenario **out,
                      struct tb_why *why)
{
    struct tb_trace *trace = NULL;
    int error = tb_trace_load(path, said->format, &trace, why);
    if (error)
        return error;
    error = tb_trace_settle_ids(trace, said->id_tokens, why);
    if (!error && trace->ids_count)
        error = tb_trace_chained(trace, why);
    if (!error)
        error = tb_scenario_of_trace(trace, requests, out);
    if (error == -EINVAL && !why->text[0])
        tb_why_set(why, trace->path, 0, "no request has both a prompt and an output");
    tb_trace_close(trace);
    return error;
}

int tb_scenario_open(const char *name, size_t requests, const struct tb_trace_said *said, struct tb_scenario **out,
                     struct tb_why *why)
{
    static const struct tb_trace_said nothing = {0, NULL};
    bool piped = strcmp(name, "-") == 0;
    char path[4096] = "";
    said = said ? said : &nothing;
    int error = -ENOENT;
    why->text[0] = '\0';
    if (tb_scenario_find(name))
        error = make(tb_scenario_find(name), requests, said, out, why);
    if (error == -ENOENT && tb_known_trace(name)) {
        if (tb_known_trace_missing(name, why->text, sizeof why->text))
            return -ENOENT;
        error = tb_known_trace_path(name, path, sizeof path);
        error = error ? error : open_trace(path, requests, said, out, why);
    } else if (error == -ENOENT) {
        error = open_trace(name, requests, said, out, why);
    }
    if (error)
        return error;
    const char *slash = strrchr(name, '/');
    snprintf((*out)->name, sizeof((*out)->name), "%s", piped ? "stdin" : slash ? slash + 1 : name);
    snprintf((*out)->file, sizeof((*out)->file), "%.255s", piped ? "standard input" : tb_known_trace(name) ? path : name);
    return 0;
}

int tb_scenario_of_trace(const struct tb_trace *trace, size_t requests, struct tb_scenario **out)
{
    size_t count = requests && requests < trace->count ? requests : trace->count;
    struct tb_scenario *scenario = calloc(1, sizeof *scenario);
    int error = scenario ? 0 : -ENOMEM;
    if (!error) {
        char understood[TB_UNDERSTOOD], left_out[TB_LEFT_OUT];
        tb_trace_left_out(trace, requests, left_out, sizeof left_out);
        snprintf(scenario->about, sizeof scenario->about, "%s%s%s", tb_trace_understood(trace, understood), *left_out ? "; " : "",
                 left_out);
        scenario->id_tokens = trace->id_tokens;
        scenario->id_tokens_least = trace->ids_count ? trace->id_tokens_least : 0;
        scenario->id_tokens_most = trace->ids_count ? trace->id_tokens_most : 0;
    }
    for (size_t i = 0; i < count && !error; i++) {
        const struct tb_trace_request *from = &trace->requests[i];
        const struct tb_request request = {
            .arrival_ns = from->arrival_ns,
            .prompt_tokens = from->prompt_tokens,
            .output_tokens = from->output_tokens,
            .line = from->line,
            .width = 1,
        };
        if (!tb_trace_whole(from))
            continue;
        error = tb_scenario_add(scenario, &request);
        for (uint32_t id = 0; id < from->ids_count && !error; id++)
            error = tb_scenario_add_id(scenario, trace->ids[from->ids + id]);
    }
    if (!error)
        error = tb_scenario_seal(scenario);
    if (error) {
        tb_scenario_close(scenario);
        return error;
    }
    snprintf(scenario->name, sizeof scenario->name, "%.47s", trace->format);
    *out = scenario;
    return 0;
}
