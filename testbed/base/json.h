// SPDX-License-Identifier: Apache-2.0
//
// json: builds JSON from parts, and reads it by path.
//
// A part that could not be allocated is NULL and makes the whole NULL. So a failure deep inside reaches the top, and no member
// goes missing silently. Reading a member ("env.cpu.model") that is absent, null or of another type gives "" or NAN: a log of
// another version is shown with gaps instead of being refused.
#ifndef TB_JSON_H
#define TB_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/stats/stats.h"

json_t *tb_json_number(double value);   // null: not finite
json_t *tb_json_whole(uint64_t value);  // above 2^63 - 1 as a string, to stay exact
json_t *tb_json_clean(const char *text); // as tb_text_clean(); null: NULL or ""

// Appends; on failure it frees both and returns NULL. Takes over both references.
json_t *tb_json_appended(json_t *array, json_t *value);

// An object made of parts; it takes over their references.
struct tb_json_member {
    const char *key;
    json_t *value;
};
json_t *tb_json_object(const struct tb_json_member members[], size_t count);
#define TB_JSON_OBJECT(members) tb_json_object(members, sizeof(members) / sizeof(members)[0])

json_t *tb_json_ratio(const struct tb_ratio *ratio); // estimate, low, high, confidence; null: NULL

const json_t *tb_member(const json_t *object, const char *path);      // borrowed, or NULL
const char *tb_member_text(const json_t *object, const char *path);   // borrowed; "" if it is not a string
double tb_member_number(const json_t *object, const char *path);      // NAN if it is not a number

// A string or number for people, without control characters; "-" for anything else. Returns out.
const char *tb_member_show(const json_t *object, const char *path, char *out, size_t bytes);

// The name of a cell in a log's header; in older logs without names it is made of workload and touch. Returns out.
const char *tb_member_cell(const json_t *cell, char *out, size_t bytes);

#endif
