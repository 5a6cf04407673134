// SPDX-License-Identifier: Apache-2.0
//
// member: see member.h.

#include "testbed/record/member.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testbed/report_text.h"

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
