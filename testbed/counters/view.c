// SPDX-License-Identifier: Apache-2.0
//
// view: see view.h.
#include "testbed/counters/view.h"

#include <inttypes.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/doc/emit.h"

static struct tb_value text_value(const char *text)
{
    return *text ? tb_text_value(text) : tb_none(NULL);
}

static struct tb_value hexadecimal(bool there, uint64_t value, char out[24])
{
    snprintf(out, 24, "0x%" PRIx64, value);
    return there ? tb_text_value(out) : tb_none(NULL);
}

static json_t *parts_json(const struct tb_counter_set *set, const struct tb_counter *counter)
{
    json_t *parts = json_array();
    for (int i = 0; i < 3 && counter->derived_from[i] >= 0; i++)
        parts = tb_json_appended(parts, json_string(set->counter[counter->derived_from[i]].name));
    return parts;
}

static void put_programs(struct tb_doc *doc, const struct tb_counter_set *set, bool probed)
{
    struct tb_table *table = tb_doc_grid(doc, "counters", NULL,
                                         "name|kind|event|source|type|config|config1|device|code|derived_from|group|user_only|why");
    for (const struct tb_counter *c = set->counter; c < set->counter + set->count; c++) {
        bool code = c->source[0] && c->derived_from[0] < 0 && !c->device[0];
        char config[24];
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(c->name));
        tb_table_put(table, tb_text_value(tb_counter_kind_name(c->kind)));
        tb_table_put(table, text_value(c->event));
        tb_table_put(table, text_value(c->source));
        tb_table_put(table, code ? tb_count(c->attr.type) : tb_none(NULL));
        tb_table_put(table, hexadecimal(code, c->attr.config, config));
        tb_table_put(table, hexadecimal(code && c->attr.config1, c->attr.config1, config));
        tb_table_put(table, text_value(c->device));
        tb_table_put(table, text_value(c->code));
        tb_table_put(table, tb_json_value(parts_json(set, c)));
        tb_table_put(table, tb_count(c->group));
        tb_table_put(table, tb_flag(c->attr.exclude_kernel));
        tb_table_put(table, text_value(probed || !c->source[0] ? c->why : ""));
    }
}

static const char *code_text(const struct tb_counter *counter, char out[48])
{
    if (counter->derived_from[0] >= 0)
        return "derived";
    if (counter->device[0] || strcmp(counter->source, "kernel") == 0)
        return counter->device[0] ? counter->device : "kernel";
    snprintf(out, 48, counter->attr.config1 ? "0x%" PRIx64 ",0x%" PRIx64 : "0x%" PRIx64, (uint64_t)counter->attr.config,
             (uint64_t)counter->attr.config1);
    return out;
}

static void put_works(struct tb_doc *doc, const struct tb_counter_set *set)
{
    static const struct tb_column columns[] = {{NULL, "counter", 0, 0},
                                               {NULL, "code", 0, 0},
                                               {NULL, "event", 0, 0},
                                               {NULL, NULL, 0, 0}};
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, columns);
    for (const struct tb_counter *counter = set->counter; counter < set->counter + set->count; counter++) {
        char code[48], event[sizeof counter->event + 32];
        if (counter->error)
            continue;
        snprintf(event, sizeof event, "%s%s", counter->event, counter->attr.exclude_kernel ? " (user mode only)" : "");
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(counter->name));
        tb_table_put(table, tb_text_value(code_text(counter, code)));
        tb_table_put(table, tb_text_value(event));
    }
}

// Each reason once, after the names that share it.
static void put_missing(struct tb_doc *doc, const struct tb_counter_set *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        struct tb_words names = {0};
        unsigned first = set->count;
        for (unsigned j = 0; j < set->count; j++) {
            if (!set->counter[i].error || !set->counter[j].error || strcmp(set->counter[j].why, set->counter[i].why))
                continue;
            first = j < first ? j : first;
            tb_say(&names, "%s%s", names.used ? ", " : "", set->counter[j].name);
        }
        if (first == i)
            tb_doc_say(doc, NULL, "%s: %s", names.text, set->counter[i].why);
    }
}

struct tb_doc *tb_counters_doc(json_t *head, const struct tb_counter_set *set, bool probed)
{
    struct tb_doc *doc = tb_doc_open(head);
    char id[64];
    unsigned works = 0;
    if (!doc)
        return NULL;
    for (unsigned i = 0; i < set->count; i++)
        works += !set->counter[i].error;
    snprintf(id, sizeof id, "%s:%u:%u", set->cpu.vendor, set->cpu.family, set->cpu.model);
    tb_doc_fact(doc, "cpu", NULL, TB_AS_IS, tb_text_value(set->cpu_name));
    tb_doc_fact(doc, "id", NULL, TB_AS_IS, tb_text_value(id));
    tb_doc_fact(doc, "probed", NULL, TB_AS_IS, tb_flag(probed));
    tb_doc_say(doc, NULL, "%s (%s)", set->cpu_name, id);
    put_programs(doc, set, probed);
    put_works(doc, set);
    put_missing(doc, set);
    tb_doc_heading(doc, 1, NULL, NULL); // apart from what is missing
    if (probed)
        tb_doc_answer(doc, NULL, "%u of %u counters work on this host.", works, set->count);
    else
        tb_doc_answer(doc, NULL, "%u counters. This is not about this host: nothing was tried.", works);
    return doc;
}

json_t *tb_counters_json(const struct tb_counter_set *set)
{
    struct tb_doc *doc = tb_counters_doc(NULL, set, true);
    json_t *object = doc ? tb_doc_as_json(doc) : NULL;
    tb_doc_close(doc);
    return object;
}
