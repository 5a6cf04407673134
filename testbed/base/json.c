// SPDX-License-Identifier: Apache-2.0
//
// json: see json.h.
#include "testbed/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/words.h"

json_t *tb_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *tb_json_whole(uint64_t value)
{
    char digits[24];
    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    return json_string(digits);
}

json_t *tb_json_clean(const char *text)
{
    char clean[4096];
    if (!text || !*text)
        return json_null();
    tb_text_clean(text, false, clean, sizeof clean);
    return json_string(clean);
}

json_t *tb_json_appended(json_t *array, json_t *value)
{
    if (array && json_array_append_new(array, value) == 0)
        return array;
    if (!array)
        json_decref(value);
    json_decref(array);
    return NULL;
}

json_t *tb_json_object(const struct tb_json_member members[], size_t count)
{
    json_t *object = json_object();
    bool whole_object = object;
    for (size_t i = 0; i < count; i++) // even after a failure, so that none leaks
        whole_object &= json_object_set_new(object, members[i].key, members[i].value) == 0;
    if (whole_object)
        return object;
    json_decref(object);
    return NULL;
}

json_t *tb_json_ratio(const struct tb_ratio *ratio)
{
    if (!ratio)
        return json_null();
    const struct tb_json_member members[] = {
        {"estimate", tb_json_number(ratio->estimate)},
        {"low", ratio->bounded ? tb_json_number(ratio->low) : json_null()},
        {"high", tb_json_number(ratio->high)},
        {"confidence", ratio->bounded ? tb_json_number(ratio->confidence) : json_null()},
    };
    return TB_JSON_OBJECT(members);
}

const json_t *tb_member(const json_t *object, const char *path)
{
    while (object && *path) {
        char key[64];
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        object = json_object_get(object, key);
        path += length + (path[length] == '.');
    }
    return object;
}

const char *tb_member_text(const json_t *object, const char *path)
{
    const char *text = json_string_value(tb_member(object, path));
    return text ? text : "";
}

double tb_member_number(const json_t *object, const char *path)
{
    const json_t *value = tb_member(object, path);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *tb_member_show(const json_t *object, const char *path, char *out, size_t bytes)
{
    const json_t *value = tb_member(object, path);
    if (json_is_string(value) && json_string_length(value) > 0)
        tb_text_clean(json_string_value(value), false, out, bytes);
    else if (json_is_integer(value))
        snprintf(out, bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(out, bytes, "%g", json_real_value(value));
    else
        snprintf(out, bytes, "-");
    return out;
}

const char *tb_member_cell(const json_t *cell, char *out, size_t bytes)
{
    const char *name = tb_member_text(cell, "name");
    if (*name)
        snprintf(out, bytes, "%s", name);
    else
        snprintf(out, bytes, "%s/%s", tb_member_text(cell, "workload"), tb_member_text(cell, "touch"));
    return out;
}
