// SPDX-License-Identifier: Apache-2.0
//
// Checks on a verdict in JSON: its words, its figures, its reason.
#ifndef TB_JSON_SAYS_H
#define TB_JSON_SAYS_H

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

static inline const char *text_at(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "";
}

static inline double number_at(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

#define SAYS(object, member, expected)                                                                                             \
    cr_assert_str_eq(text_at(object, member), expected, "%s is '%s', because: %s", member, text_at(object, member),                \
                     text_at(object, "why"))
#define WHY_HAS(object, part) cr_assert(strstr(text_at(object, "why"), part), "why is '%s'", text_at(object, "why"))
#define CLOSE(actual, expected, tolerance)                                                                                         \
    cr_assert(fabs((actual) - (expected)) <= (tolerance), "%s is %.12g, not %.12g", #actual, (double)(actual), (double)(expected))

#endif
