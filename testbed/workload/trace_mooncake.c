// SPDX-License-Identifier: Apache-2.0
//
// trace_mooncake: the JSON Lines of the Mooncake traces: one object a line, with timestamp (ms), input_length, output_length and
// hash_ids.
//
// Only whole numbers are accepted: a timestamp with a fraction would be in seconds, as in a related format, and reading it as
// milliseconds would silently be wrong by a factor of a thousand. hash_ids may be missing: they name shared prefixes, which a
// replay without prefix sharing does not need. But if they are malformed, the file is. Other keys are ignored.
#include "testbed/workload/trace_parse.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define NS_PER_MS 1000000

// A required whole number between 0 and max.
static int read_number(struct tb_parse *parse, const json_t *request, const char *key, uint64_t max, uint64_t *out)
{
    const json_t *value = json_object_get(request, key);

    if (!value)
        return tb_parse_bad(parse, "%s is missing", key);
    if (!json_is_integer(value))
        return tb_parse_bad(parse, "%s is not a whole number", key);

    json_int_t number = json_integer_value(value);

    if (number < 0)
        return tb_parse_bad(parse, "%s %" JSON_INTEGER_FORMAT " is negative", key, number);
    if ((uint64_t)number > max)
        return tb_parse_bad(parse, "%s %" JSON_INTEGER_FORMAT " is too large", key, number);
    *out = (uint64_t)number;
    return 0;
}

static int check_hash_ids(struct tb_parse *parse, const json_t *request)
{
    const json_t *ids = json_object_get(request, "hash_ids");
    size_t i;
    const json_t *id;

    if (!ids)
        return 0;
    if (!json_is_array(ids))
        return tb_parse_bad(parse, "hash_ids is not an array");
    json_array_foreach (ids, i, id) {
        if (!json_is_integer(id))
            return tb_parse_bad(parse, "hash_ids: element %zu is not a whole number", i + 1);
    }
    return 0;
}

static int read_request(struct tb_parse *parse, const json_t *request)
{
    uint64_t time_ms = 0, prompt_tokens = 0, output_tokens = 0;

    if (!json_is_object(request))
        return tb_parse_bad(parse, "not a JSON object");

    int error = read_number(parse, request, "timestamp", UINT64_MAX / NS_PER_MS, &time_ms);

    if (!error)
        error = read_number(parse, request, "input_length", UINT32_MAX, &prompt_tokens);
    if (!error)
        error = read_number(parse, request, "output_length", UINT32_MAX, &output_tokens);
    if (!error)
        error = check_hash_ids(parse, request);
    return error ? error : tb_parse_record(parse, time_ms * NS_PER_MS, (uint32_t)prompt_tokens, (uint32_t)output_tokens);
}

static int read_line(struct tb_parse *parse)
{
    json_error_t json_error;
    char quoted[TB_QUOTE_BYTES];

    if (parse->line.bytes == 0)
        return tb_parse_bad(parse, "the line is empty");

    json_t *request = json_loadb(parse->line.at, parse->line.bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &json_error);

    // If memory runs out jansson says so, or says nothing.
    if (!request && (json_error.text[0] == '\0' || json_error_code(&json_error) == json_error_out_of_memory))
        return -ENOMEM;
    if (!request) {
        struct tb_text said = {json_error.text, strlen(json_error.text)};

        return tb_parse_bad(parse, "not valid JSON at column %d: %s", json_error.column, tb_quote(said, quoted));
    }

    int error = read_request(parse, request);

    json_decref(request);
    return error;
}

int tb_parse_mooncake(struct tb_parse *parse)
{
    int error = 0;

    while (!error && tb_parse_line(parse))
        error = read_line(parse);
    return error;
}
