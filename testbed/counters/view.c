// SPDX-License-Identifier: Apache-2.0
//
// view: see view.h.

#include "testbed/counters/view.h"

#include <inttypes.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"

#define COLUMNS 80
#define EVENT_WIDTH 37

// --- values --------------------------------------------------------------------------------------------------------------------

bool tb_counter_multiplexed(const struct tb_counter_value *value)
{
    return !value->error && value->running_ns < value->enabled_ns;
}

void tb_counter_value_text(const struct tb_counter_value *value, char *out, size_t bytes)
{
    if (value->error)
        snprintf(out, bytes, "none (%s)", strerrorname_np(value->error));
    else if (tb_counter_multiplexed(value))
        snprintf(out, bytes, "%" PRIu64 " (multiplexed: counted %.0f %% of the time)", value->value,
                 100.0 * (double)value->running_ns / (double)value->enabled_ns);
    else
        snprintf(out, bytes, "%" PRIu64, value->value);
}

// --- JSON ----------------------------------------------------------------------------------------------------------------------

static json_t *hexadecimal(bool there, uint64_t value)
{
    return there ? json_sprintf("0x%" PRIx64, value) : json_null();
}

static json_t *parts_json(const struct tb_counter_set *set, const struct tb_counter *counter)
{
    json_t *parts = json_array();
    for (int i = 0; i < 3 && counter->derived_from[i] >= 0; i++)
        parts = tb_json_appended(parts, json_string(set->counter[counter->derived_from[i]].name));
    return parts;
}

static json_t *counter_json(const struct tb_counter_set *set, const struct tb_counter *c, bool probed)
{
    bool code = c->source[0] && c->derived_from[0] < 0 && !c->device[0];
    const char *why = probed || !c->source[0] ? c->why : NULL;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:o}", "name", c->name, "kind",
                     tb_counter_kind_name(c->kind), "event", tb_json_clean(c->event), "source", tb_json_clean(c->source), "type",
                     code ? json_integer(c->attr.type) : json_null(), "config", hexadecimal(code, c->attr.config), "config1",
                     hexadecimal(code && c->attr.config1, c->attr.config1), "device", tb_json_clean(c->device), "code",
                     tb_json_clean(c->code), "derived_from", parts_json(set, c), "group", (int)c->group, "user_only",
                     (int)c->attr.exclude_kernel, "why", tb_json_clean(why));
}

static json_t *id_json(const struct tb_cpu_id *id)
{
    return json_sprintf("%s:%u:%u", id->vendor, id->family, id->model);
}

json_t *tb_counters_json(const struct tb_counter_set *set, bool probed)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < set->count; i++)
        list = tb_json_appended(list, counter_json(set, &set->counter[i], probed));
    return json_pack("{s:s, s:o, s:b, s:o}", "cpu", set->cpu_name, "id", id_json(&set->cpu), "probed", (int)probed, "counters",
                     list);
}

// --- text ----------------------------------------------------------------------------------------------------------------------

static void print_answer(FILE *to, const struct tb_counter_set *set, bool probed)
{
    unsigned works = 0;
    for (unsigned i = 0; i < set->count; i++)
        works += !set->counter[i].error;
    if (probed)
        fprintf(to, "%u of %u counters work on this host.\n", works, set->count);
    else
        fprintf(to, "%u counters. This is not about this host: nothing was tried.\n", works);
}

static void print_code(const struct tb_counter *counter, char *out, size_t bytes)
{
    if (counter->derived_from[0] >= 0)
        snprintf(out, bytes, "derived");
    else if (counter->device[0])
        snprintf(out, bytes, "%s", counter->device);
    else if (strcmp(counter->source, "kernel") == 0)
        snprintf(out, bytes, "kernel");
    else if (counter->attr.config1)
        snprintf(out, bytes, "0x%" PRIx64 ",0x%" PRIx64, (uint64_t)counter->attr.config, (uint64_t)counter->attr.config1);
    else
        snprintf(out, bytes, "0x%" PRIx64, (uint64_t)counter->attr.config);
}

static void print_counter(FILE *to, const struct tb_counter *counter)
{
    char code[48], event[sizeof counter->event + 16];
    print_code(counter, code, sizeof code);
    snprintf(event, sizeof event, "%s%s", counter->event, counter->attr.exclude_kernel ? " (user mode only)" : "");
    tb_text_shorten(event, EVENT_WIDTH);
    fprintf(to, "  %-20s %-18s %s\n", counter->name, code, event);
}

static void print_works(FILE *to, const struct tb_counter_set *set)
{
    const char *kind = "";
    for (unsigned i = 0; i < set->count; i++) {
        const struct tb_counter *counter = &set->counter[i];
        if (counter->error)
            continue;
        if (strcmp(kind, tb_counter_kind_name(counter->kind))) {
            kind = tb_counter_kind_name(counter->kind);
            fprintf(to, "%s%s\n", kind, counter->kind == TB_COUNTER_UNCORE ? ", of whole packages and all that runs there" : "");
        }
        print_counter(to, counter);
    }
}

static bool said_before(const struct tb_counter_set *set, unsigned at)
{
    for (unsigned i = 0; i < at; i++)
        if (set->counter[i].error && strcmp(set->counter[i].why, set->counter[at].why) == 0)
            return true;
    return false;
}

// Each reason once, under the names that share it.
static void print_missing(FILE *to, const struct tb_counter_set *set)
{
    bool any = false;
    for (unsigned i = 0; i < set->count; i++) {
        struct tb_words names = {0};
        if (!set->counter[i].error || said_before(set, i))
            continue;
        fprintf(to, "%s  ", any ? "" : "missing\n");
        any = true;
        for (unsigned j = i; j < set->count; j++)
            if (set->counter[j].error && strcmp(set->counter[j].why, set->counter[i].why) == 0)
                tb_say(&names, "%s%s", j > i ? ", " : "", set->counter[j].name);
        tb_text_wrap(to, COLUMNS, 2, 2, names.text);
        fprintf(to, "    ");
        tb_text_wrap(to, COLUMNS, 4, 4, set->counter[i].why);
    }
}

void tb_counters_text(FILE *to, const struct tb_counter_set *set, bool probed)
{
    fprintf(to, "%s (%s:%u:%u)\n", set->cpu_name, set->cpu.vendor, set->cpu.family, set->cpu.model);
    print_works(to, set);
    print_missing(to, set);
    print_answer(to, set, probed);
}
