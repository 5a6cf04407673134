// SPDX-License-Identifier: Apache-2.0
//
// json_parts: what the JSON of the reports is put together from. A part for which there was no memory is NULL and makes the whole
// NULL: so a failure deep inside arrives at the top by itself, and a member never goes missing in silence.
#ifndef TB_JSON_PARTS_H
#define TB_JSON_PARTS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/stats.h"

json_t *tb_json_number(double value);   // null: not finite
json_t *tb_json_whole(uint64_t value);  // above 2^63 - 1 a string rather than wrong
json_t *tb_json_clean(const char *text); // as tb_text_clean(); null: NULL or ""

// Appends, or gives up the array: NULL. Takes over both.
json_t *tb_json_appended(json_t *array, json_t *value);

// An object of finished parts, all of which it takes over.
struct tb_json_member {
    const char *key;
    json_t *value;
};
json_t *tb_json_object(const struct tb_json_member members[], size_t count);
#define TB_JSON_OBJECT(members) tb_json_object(members, sizeof(members) / sizeof(members)[0])

json_t *tb_json_ratio(const struct tb_ratio *ratio); // estimate, low, high, confidence; null: NULL

#endif
