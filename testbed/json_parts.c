// SPDX-License-Identifier: Apache-2.0
//
// json_parts: see json_parts.h.

#include "testbed/json_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "testbed/report_text.h"

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
    for (size_t i = 0; i < count; i++) // all of them, so that none leaks
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
