// SPDX-License-Identifier: Apache-2.0
//
// member: reads a log's objects by path, "env.cpu.model". A member that is absent, null or of another type is "" or NAN: a log of
// another version is then shown with gaps, and not refused.
#ifndef TB_MEMBER_H
#define TB_MEMBER_H

#include <jansson.h>
#include <stddef.h>

const json_t *tb_member(const json_t *object, const char *path);      // borrowed, or NULL
const char *tb_member_text(const json_t *object, const char *path);   // borrowed; "" when it is no string
double tb_member_number(const json_t *object, const char *path);      // NAN when it is no number

// A string or number for people, without control characters; "-" for anything else. Returns out.
const char *tb_member_show(const json_t *object, const char *path, char *out, size_t bytes);

// What a cell of a header is called; logs that are older than the name have it from workload and touch. Returns out.
const char *tb_member_cell(const json_t *cell, char *out, size_t bytes);

#endif
