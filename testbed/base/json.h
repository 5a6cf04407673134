// SPDX-License-Identifier: Apache-2.0
//
// json: JSON is built of parts and read by path.
//
// A part for which there was no memory is NULL and makes the whole NULL: so a failure deep inside arrives at the top by itself, and
// a member never goes missing in silence. A member that is read, "env.cpu.model", and is absent, null or of another type is "" or
// NAN: a log of another version is then shown with gaps, and not refused.
#ifndef TB_JSON_H
#define TB_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/stats/stats.h"

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

const json_t *tb_member(const json_t *object, const char *path);      // borrowed, or NULL
const char *tb_member_text(const json_t *object, const char *path);   // borrowed; "" when it is no string
double tb_member_number(const json_t *object, const char *path);      // NAN when it is no number

// A string or number for people, without control characters; "-" for anything else. Returns out.
const char *tb_member_show(const json_t *object, const char *path, char *out, size_t bytes);

// What a cell of a header is called; logs that are older than the name have it from workload and touch. Returns out.
const char *tb_member_cell(const json_t *cell, char *out, size_t bytes);

#endif
