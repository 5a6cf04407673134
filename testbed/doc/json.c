// SPDX-License-Identifier: Apache-2.0
//
// json: a document for programs: values as they are, by their keys.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/doc/doc_internal.h"
#include "testbed/doc/emit.h"

#define LEVELS 8

static json_t *samples_json(const struct tb_value *value)
{
    json_t *array = json_array();
    for (uint64_t i = 0; i < value->count; i++)
        array = tb_json_appended(array, tb_json_number(value->samples[i]));
    return array;
}

static json_t *interval_json(const struct tb_value *value)
{
    const struct tb_json_member members[] = {
        {"estimate", tb_json_number(value->number)},
        {"low", tb_json_number(value->low)},
        {"high", tb_json_number(value->high)},
        {"confidence", tb_json_number(value->confidence)},
    };
    return TB_JSON_OBJECT(members);
}

// "0-3,8" as [0, 1, 2, 3, 8].
static json_t *ids_json(const char *list)
{
    json_t *array = json_array();
    for (char *end; list && *list; list = *end ? end + 1 : end) {
        unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (; first <= last; first++)
            array = tb_json_appended(array, json_integer((json_int_t)first));
    }
    return array;
}

static json_t *value_json(const struct tb_value *value)
{
    switch (value->kind) {
    case TB_VALUE_TEXT: return json_string(value->text ? value->text : "");
    case TB_VALUE_COUNT: return tb_json_whole(value->count);
    case TB_VALUE_NUMBER: return tb_json_number(value->number);
    case TB_VALUE_INTERVAL: return interval_json(value);
    case TB_VALUE_FLAG: return json_boolean(value->count);
    case TB_VALUE_SAMPLES: return samples_json(value);
    case TB_VALUE_IDS: return ids_json(value->text);
    case TB_VALUE_JSON: return json_incref(value->json);
    case TB_VALUE_NONE: break;
    }
    return json_null();
}

// A key with a '.' is a member of a member. True: failed.
static bool member_set(json_t *object, const char *key, json_t *value)
{
    const char *dot = strchr(key, '.');
    if (!dot)
        return json_object_set_new(object, key, value);
    char outer[64];
    snprintf(outer, sizeof outer, "%.*s", (int)(dot - key), key);
    json_t *inner = json_object_get(object, outer);
    if (!inner && json_object_set_new(object, outer, inner = json_object())) {
        json_decref(value);
        return true;
    }
    return json_object_set_new(inner, dot + 1, value);
}

// What a row has nothing of is null, rather than an object of nulls.
static bool empty_members_clear(json_t *object)
{
    const char *key, *inner_key;
    json_t *value, *inner;
    void *next;
    bool failed = false;
    json_object_foreach_safe(object, next, key, value)
    {
        bool known = !json_is_object(value) || json_object_get(value, "estimate");
        json_object_foreach (value, inner_key, inner)
            known |= !json_is_null(inner);
        failed |= !known && json_object_set_new(object, key, json_null());
    }
    return failed;
}

static json_t *row_json(const struct tb_table *table, const struct tb_row *row)
{
    json_t *object = json_object();
    bool failed = !object;
    for (size_t c = 0; c < table->columns_count && !failed; c++)
        if (table->columns[c].key)
            failed = member_set(object, table->columns[c].key, c < row->count ? value_json(&row->cells[c]) : json_null());
    if (!failed && !empty_members_clear(object))
        return object;
    json_decref(object);
    return NULL;
}

static json_t *table_json(const struct tb_table *table)
{
    json_t *array = json_array();
    for (const struct tb_row *row = table->rows; row; row = row->next)
        array = tb_json_appended(array, row_json(table, row));
    return array;
}

static json_t *curves_json(const struct tb_curves *curves)
{
    json_t *object = json_object();
    bool failed = !object;
    for (const struct tb_line *line = curves->lines; line && !failed; line = line->next) {
        json_t *points = json_array();
        for (const struct tb_point *point = line->points; point; point = point->next) {
            const struct tb_json_member members[] = {{"x", tb_json_number(point->x)}, {"y", value_json(&point->y)}};
            points = tb_json_appended(points, TB_JSON_OBJECT(members));
        }
        failed = json_object_set_new(object, line->name ? line->name : "", points);
    }
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *block_json(const struct tb_block *block)
{
    switch (block->kind) {
    case TB_BLOCK_FACT: return value_json(&block->value);
    case TB_BLOCK_JSON: return json_incref(block->json);
    case TB_BLOCK_TABLE: return block->table ? table_json(block->table) : NULL;
    case TB_BLOCK_CURVES: return block->curves ? curves_json(block->curves) : NULL;
    case TB_BLOCK_HEADING: return json_object();
    default: return json_string(block->text ? block->text : "");
    }
}

// A key that is there already becomes an array: paragraphs, and the tables of many cells.
static int member_add(json_t *object, const char *key, json_t *value)
{
    json_t *there = json_object_get(object, key);
    if (!there || !value)
        return json_object_set_new(object, key, value);
    if (json_is_array(there) && json_is_array(value)) {
        int failed = json_array_extend(there, value);
        json_decref(value);
        return failed;
    }
    if (json_is_array(there))
        return json_array_append_new(there, value);
    return json_object_set_new(object, key, json_pack("[O, o]", there, value));
}

json_t *tb_doc_as_json(const struct tb_doc *doc)
{
    json_t *whole = json_object(), *at[LEVELS + 1];
    bool failed = doc->failed || !whole || (doc->head && json_object_set(whole, "head", doc->head));
    for (int level = 0; level <= LEVELS; level++)
        at[level] = whole;
    int level = 0;
    for (const struct tb_block *block = doc->blocks; block && !failed; block = block->next) {
        json_t *value = block->key ? block_json(block) : NULL;
        if (block->kind == TB_BLOCK_HEADING) {
            level = block->level < LEVELS ? block->level : LEVELS;
            at[level] = block->key ? value : at[level - 1];
            failed = block->key && member_add(at[level - 1], block->key, value);
            for (int below = level + 1; below <= LEVELS; below++)
                at[below] = at[level];
        } else if (block->key) {
            failed = member_add(at[level], block->key, value);
        }
    }
    if (!failed)
        return whole;
    json_decref(whole);
    return NULL;
}

int tb_emit_json(FILE *out, const struct tb_doc *doc)
{
    json_t *whole = tb_doc_as_json(doc);
    char *text = whole ? json_dumps(whole, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(whole);
    if (!text)
        return -ENOMEM;
    errno = 0;
    bool failed = fputs(text, out) == EOF || fputc('\n', out) == EOF || fflush(out);
    free(text);
    return failed ? errno ? -errno : -EIO : 0;
}
