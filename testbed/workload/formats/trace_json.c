// SPDX-License-Identifier: Apache-2.0
//
// trace_json: recorded requests as JSON Lines, one object a line. Other keys than those of the format are ignored.
//
// hash_ids is optional: it names shared prefixes, which a replay without prefix sharing does not use. But a broken hash_ids means a
// broken file, and ids that blocks of no size explain are broken. Whether ids form chains is tb_trace_chained()'s question. An id
// is 64 bits that mean nothing but themselves, written with a sign or without: -1 and 2^64 - 1 are one id.

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "testbed/workload/formats/trace_read.h"

// --- numbers and times ---------------------------------------------------------------------------------------------------------

// A key that the present line has not. What stands there in its place has a remedy.
static int complain_missing(struct parse *parse, const json_t *request, int column)
{
    const char *key = parse->format->column[column];
    const char *other = column == TB_TRACE_TIME ? "delay" : column == TB_TRACE_PROMPT ? "text_input" : NULL;
    if (other && json_object_get(request, other))
        return trace_complain(parse, "%s is missing, and %s is none: testbed/workload/README.md has a line of jq for that", key,
                              other);
    if (parse->trace->count == 0)
        return trace_complain(parse, "%s is missing: say which keys have what (--map time=KEY,prompt=KEY,output=KEY)", key);
    return trace_complain(parse, "%s is missing", key);
}

static int read_tokens(struct parse *parse, const json_t *request, int column, uint32_t *out)
{
    const char *key = parse->format->column[column];
    const json_t *value = json_object_get(request, key);
    if (!value)
        return complain_missing(parse, request, column);
    if (!json_is_integer(value))
        return trace_complain(parse, "%s is not a whole number", key);
    json_int_t number = json_integer_value(value);
    if (number < 0)
        return trace_complain(parse, "%s %" JSON_INTEGER_FORMAT " is negative", key, number);
    if (number > UINT32_MAX)
        return trace_complain(parse, "%s %" JSON_INTEGER_FORMAT " is too large", key, number);
    *out = (uint32_t)number;
    return 0;
}

// A time of whole milliseconds with a fraction is in seconds, from a related format: read as milliseconds it would silently be
// wrong by a factor of a thousand.
static int read_time(struct parse *parse, const json_t *request, uint64_t *out_ns)
{
    const char *key = parse->format->column[TB_TRACE_TIME];
    const json_t *value = json_object_get(request, key);
    char number[64];
    if (!value)
        return complain_missing(parse, request, TB_TRACE_TIME);
    if (parse->clock == TB_CLOCK_WHOLE_MS && !json_is_integer(value))
        return trace_complain(parse,
                              "%s is not a whole number of milliseconds (if it is seconds: --map time=%s:s,prompt=%s,output=%s)",
                              key, key, parse->format->column[TB_TRACE_PROMPT], parse->format->column[TB_TRACE_OUTPUT]);
    if (json_is_string(value))
        return trace_time(parse, key, (struct text){json_string_value(value), json_string_length(value)}, out_ns);
    if (!json_is_number(value))
        return trace_complain(parse, "%s is neither a number nor a time", key);
    if (json_is_integer(value))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(number, sizeof number, "%.17g", json_real_value(value));
    return trace_time(parse, key, (struct text){number, strlen(number)}, out_ns);
}

// --- ids -----------------------------------------------------------------------------------------------------------------------

#define IDS "hash_ids"          // in every format

static const char *ids_key(const struct parse *parse)
{
    return parse->format->ids ? parse->format->ids : IDS;
}

// The token of a JSON text that begins here: a string, a number, or a single character.
static size_t token_bytes(const char *at, const char *end)
{
    const char *next = at + 1;
    if (*at == '"') {
        while (next < end && *next != '"')
            next += *next == '\\' && next + 1 < end ? 2 : 1;
        return (size_t)(next - at) + (next < end);
    }
    if (isdigit((unsigned char)*at) || *at == '-')
        while (next < end && (isdigit((unsigned char)*next) || strchr("+-.eE", *next)))
            next++;
    return (size_t)(next - at);
}

// Writes a token of hash_ids to `out`: a number from 2^63 to 2^64 - 1 as the negative one of the same bits, anything else as it is.
// Returns the bytes, which may be one more.
static size_t put_id(struct parse *parse, const char *at, size_t bytes, char *out)
{
    enum { DIGITS_MAX = 20 };
    uint64_t value = 0;
    bool wide = bytes <= DIGITS_MAX && *at != '0';
    for (size_t i = 0; i < bytes && wide; i++)
        wide = isdigit((unsigned char)at[i]) && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(at[i] - '0'), &value);
    if (!wide || value <= INT64_MAX) {
        memcpy(out, at, bytes);
        return bytes;
    }
    parse->trace->ids_above_2_63 = true;
    return (size_t)sprintf(out, "%" PRIi64, (int64_t)value);
}

#define WIDE_DIGITS 19u // of 2^63, the first one that jansson does not read

// Is there a number so long that jansson may not read it?
static bool has_wide(struct text line)
{
    size_t digits = 0;
    for (size_t i = 0; i < line.bytes && digits < WIDE_DIGITS; i++)
        digits = isdigit((unsigned char)line.at[i]) ? digits + 1 : 0;
    return digits == WIDE_DIGITS;
}

// The present line with its ids as jansson reads them: only in the array `key` of the outermost object. malloc'd; NULL: -ENOMEM.
static char *with_signed_ids(struct parse *parse, const char *key, size_t *bytes)
{
    size_t key_bytes = strlen(key);
    const char *at = parse->line.at, *end = at + parse->line.bytes;
    char *out = malloc(parse->line.bytes + parse->line.bytes / WIDE_DIGITS + 8);
    bool named = false, inside = false; // behind the key, and in its array
    unsigned depth = 0;
    *bytes = 0;
    for (size_t length; out && at < end; at += length) {
        length = token_bytes(at, end);
        if (*at == '[' || *at == '{') {
            depth++;
            inside = *at == '[' && named && depth == 2;
        } else if (*at == ']' || *at == '}') {
            depth -= depth > 0;
            inside = false;
        }
        named = (depth == 1 && *at == '"' && length == key_bytes + 2 && memcmp(at + 1, key, key_bytes) == 0) ||
                (named && strchr(": \t", *at));
        if (inside) {
            *bytes += put_id(parse, at, length, out + *bytes);
        } else {
            memcpy(out + *bytes, at, length);
            *bytes += length;
        }
    }
    return out;
}

static int room_for_ids(struct parse *parse, size_t count)
{
    size_t room = parse->ids_room ? parse->ids_room : 1024;
    while (room - parse->trace->ids_count < count)
        room *= 2;
    if (room == parse->ids_room)
        return 0;
    uint64_t *ids = reallocarray(parse->trace->ids, room, sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    parse->trace->ids = ids;
    parse->ids_room = room;
    return 0;
}

// Appends the ids to the trace's. *count: how many there are.
static int read_hash_ids(struct parse *parse, const json_t *request, uint32_t *count)
{
    const char *key = ids_key(parse);
    const json_t *ids = json_object_get(request, key);
    size_t i;
    const json_t *id;
    *count = (uint32_t)json_array_size(ids);
    if (!ids)
        return 0;
    if (!json_is_array(ids))
        return trace_complain(parse, "%s is not an array", key);
    int error = room_for_ids(parse, *count);
    if (error)
        return error;
    json_array_foreach (ids, i, id) {
        if (!json_is_integer(id))
            return trace_complain(parse, "%s: element %zu is not a whole number", key, i + 1);
        parse->trace->ids[parse->trace->ids_count++] = (uint64_t)json_integer_value(id);
    }
    return 0;
}

// Narrows the sizes of a block that fit all requests so far by one of so many tokens and ids.
static int narrow_id_tokens(struct parse *parse, uint32_t tokens, uint32_t count)
{
    struct tb_trace *trace = parse->trace;
    if (count == 0)
        return 0;
    if (count > tokens)
        return trace_complain(parse, "%u hash_ids for a prompt of %u tokens: an id stands for at least one", count, tokens);
    uint32_t least = tokens / count + (tokens % count != 0), most = count > 1 ? (tokens - 1) / (count - 1) : UINT32_MAX;
    if (least > most)
        return trace_complain(parse, "no size of an id gives %u hash_ids for a prompt of %u tokens", count, tokens);
    if (least > trace->id_tokens_most)
        return trace_complain(parse, "%u hash_ids for %u tokens: an id has at least %u, and by line %u at most %u", count, tokens,
                              least, trace->id_tokens_most_line, trace->id_tokens_most);
    if (most < trace->id_tokens_least)
        return trace_complain(parse, "%u hash_ids for %u tokens: an id has at most %u, and by line %u at least %u", count, tokens,
                              most, trace->id_tokens_least_line, trace->id_tokens_least);
    if (least > trace->id_tokens_least) {
        trace->id_tokens_least = least;
        trace->id_tokens_least_line = parse->line_number;
    }
    if (most < trace->id_tokens_most) {
        trace->id_tokens_most = most;
        trace->id_tokens_most_line = parse->line_number;
    }
    return 0;
}

// --- lines ---------------------------------------------------------------------------------------------------------------------

static bool format_fits(const struct tb_trace_format *format, const json_t *request)
{
    for (int i = 0; i < TB_TRACE_COLUMNS; i++)
        if (!json_object_get(request, format->column[i]))
            return false;
    return !format->mark || json_object_get(request, format->mark);
}

// The first one that the request fits, or else the last one, which then says what it misses.
static const struct tb_trace_format *format_find(const json_t *request)
{
    const struct tb_trace_format *found = NULL, *format;
    for (size_t i = 0; (format = tb_trace_format_at(i)); i++)
        if (format->json && !(found && format_fits(found, request)))
            found = format;
    return found;
}

static int read_request(struct parse *parse, const json_t *request)
{
    uint64_t time_ns = 0;
    uint32_t prompt_tokens = 0, output_tokens = 0, ids_count = 0;
    if (!json_is_object(request))
        return trace_complain(parse, "not a JSON object");
    if (!parse->format)
        parse->format = format_find(request);
    if (parse->trace->count == 0)
        parse->clock = parse->format->clock;
    int error = read_time(parse, request, &time_ns);
    if (!error)
        error = read_tokens(parse, request, TB_TRACE_PROMPT, &prompt_tokens);
    if (!error)
        error = read_tokens(parse, request, TB_TRACE_OUTPUT, &output_tokens);
    if (!error)
        error = read_hash_ids(parse, request, &ids_count);
    if (!error)
        error = narrow_id_tokens(parse, prompt_tokens, ids_count);
    if (!error)
        error = trace_add(parse, time_ns, prompt_tokens, output_tokens);
    if (error)
        return error;
    struct tb_trace_request *added = &parse->trace->requests[parse->trace->count - 1];
    added->ids_count = ids_count;
    added->ids = parse->trace->ids_count - ids_count;
    return 0;
}

static int read_object(struct parse *parse)
{
    json_error_t json_error;
    char quoted[QUOTE_BYTES], *copy = NULL;
    size_t bytes = parse->line.bytes;
    const char *key = parse->format ? ids_key(parse) : IDS;
    if (has_wide(parse->line) && !(copy = with_signed_ids(parse, key, &bytes)))
        return -ENOMEM;
    json_t *request = json_loadb(copy ? copy : parse->line.at, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &json_error);
    free(copy);
    // When memory runs out jansson says so, or says nothing at all.
    if (!request && (json_error.text[0] == '\0' || json_error_code(&json_error) == json_error_out_of_memory))
        return -ENOMEM;
    if (!request) {
        struct text said = {json_error.text, strlen(json_error.text)};
        return trace_complain(parse, "not valid JSON at column %d: %s", json_error.column, trace_quote(said, quoted));
    }
    int error = read_request(parse, request);
    json_decref(request);
    return error;
}

int trace_read_json(struct parse *parse)
{
    int error = 0;
    while (!error && trace_next_line(parse))
        error = read_object(parse);
    return error;
}
