// SPDX-License-Identifier: Apache-2.0
//
// json_parts: see json_parts.h.

#include "testbed/json_parts.h"

#include <inttypes.h>
#include <math.h>
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
