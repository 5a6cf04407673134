// SPDX-License-Identifier: Apache-2.0
//
// trace: reads a whole file of recorded requests, detects its format, and parses it.
//
// It is strict on purpose: a measurement on a half-understood trace is worse than none. So any deviation from the format is an
// error that names the line, and nothing is repaired: no sorting, no skipping, no default for a missing value. Only what editors
// and transfers do to a text file is accepted: CRLF, and a missing newline at the end.
#include "testbed/workload/trace.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

// Arbitrary: far above the largest published trace that one machine can replay, and far below what would make it swap. It also
// keeps line numbers and counts of requests within 32 bits.
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

#define AZURE_HEADER "TIMESTAMP,ContextTokens,GeneratedTokens"
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define QUOTE_BYTES 64

struct text {                   // a piece of the file: neither terminated nor owned
    const char *at;
    size_t bytes;
};

struct parse {
    struct text rest;           // what was not read yet
    struct text line;           // without its end of line, LF or CRLF
    uint32_t line_number;       // of `line`, from 1
    struct tb_trace *trace;     // what was read; requests has room for `room`, ids for `ids_room`
    size_t room, ids_room;
    uint64_t first_ns;          // of the first request, on the file's own clock
    struct tb_why *why;
};

// Complains about the present line (line_number 0: about the file): "FILE:7: ...". Always -EINVAL.
__attribute__((format(printf, 2, 3))) static int complain(struct parse *parse, const char *format, ...)
{
    char message[sizeof(parse->why->text)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    tb_why_set(parse->why, parse->trace->path, parse->line_number, "%s", message);
    return -EINVAL;
}

// A piece of the file made fit to be quoted: at most 40 characters, and of printable ASCII only.
static const char *quote(struct text text, char out[QUOTE_BYTES])
{
    enum { SHOWN = 40 };
    size_t length = text.bytes < SHOWN ? text.bytes : SHOWN;
    for (size_t i = 0; i < length; i++)
        out[i] = text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?';
    strcpy(out + length, length < text.bytes ? "..." : "");
    return out;
}

static bool equals(struct text text, const char *expected)
{
    return text.bytes == strlen(expected) && memcmp(text.at, expected, text.bytes) == 0;
}

// The next line. false at the end of the text. A last line without an end of line counts.
static bool next_line(struct parse *parse)
{
    if (parse->rest.bytes == 0)
        return false;
    const char *end = memchr(parse->rest.at, '\n', parse->rest.bytes);
    size_t bytes = end ? (size_t)(end - parse->rest.at) : parse->rest.bytes, used = bytes + (end != NULL);
    parse->line = (struct text){parse->rest.at, bytes};
    if (bytes > 0 && parse->line.at[bytes - 1] == '\r')
        parse->line.bytes--;
    parse->rest.at += used;
    parse->rest.bytes -= used;
    parse->line_number++;
    return true;
}

static int room_for_record(struct parse *parse)
{
    if (parse->trace->count < parse->room)
        return 0;
    size_t room = parse->room ? parse->room * 2 : 1024;
    struct tb_trace_request *requests = reallocarray(parse->trace->requests, room, sizeof(*requests));
    if (!requests)
        return -ENOMEM;
    parse->trace->requests = requests;
    parse->room = room;
    return 0;
}

// Appends a request that was read from the present line. `time_ns` is on the file's own clock, which may start anywhere. 0,
// -ENOMEM, or -EINVAL (complained about): time goes backwards, or there are no tokens at all.
static int add_record(struct parse *parse, uint64_t time_ns, uint32_t prompt_tokens, uint32_t output_tokens)
{
    struct tb_trace *trace = parse->trace;
    int error = room_for_record(parse);
    if (error)
        return error;
    if (prompt_tokens == 0 && output_tokens == 0)
        return complain(parse, "the request has neither prompt nor output tokens");
    if (trace->count == 0)
        parse->first_ns = time_ns;
    if (trace->count > 0 && time_ns < parse->first_ns + trace->requests[trace->count - 1].arrival_ns)
        return complain(parse, "the request arrives before the one in line %u", trace->requests[trace->count - 1].line);
    trace->requests[trace->count++] = (struct tb_trace_request){
        .arrival_ns = time_ns - parse->first_ns,
        .prompt_tokens = prompt_tokens,
        .output_tokens = output_tokens,
        .line = parse->line_number,
    };
    return 0;
}

// --- the CSV of the Azure LLM inference traces ---------------------------------------------------------------------------------
//
// The dialect has no quotes and no blanks, so a line is split at its commas and nothing more. Times are those of the trace of 2023
// ("2023-11-16 18:15:46.6805900") and of 2024 ("2024-05-10 00:00:00.009930+00:00"): any number of digits down to
// the nanosecond, or none, and no zone but UTC. Times become nanoseconds since 1970, in 64 bits, which last until 2554; only
// differences are used, so leap seconds do not matter more than they do to the service's own clock.

enum { TIMESTAMP, CONTEXT_TOKENS, GENERATED_TOKENS, COLUMNS };
enum { YEAR_FIRST = 1970, YEAR_LAST = 2553 };

static const char *const column_names[COLUMNS] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};

// Splits the line into its columns. Returns how many there are; those beyond COLUMNS are only counted.
static size_t split(struct text line, struct text columns[COLUMNS])
{
    for (size_t count = 0;; count++) {
        const char *comma = memchr(line.at, ',', line.bytes);
        size_t bytes = comma ? (size_t)(comma - line.at) : line.bytes;

        if (count < COLUMNS)
            columns[count] = (struct text){line.at, bytes};
        if (!comma)
            return count + 1;
        line.at += bytes + 1;
        line.bytes -= bytes + 1;
    }
}

// Seconds since 1970 of "2023-11-16 18:15:46". A day or an hour that does not exist comes back from timegm() as another one.
static bool read_seconds(const char *text, uint64_t *seconds)
{
    static const char form[] = "0000-00-00 00:00:00";
    struct tm given = {0}, found;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    if (sscanf(text, "%4d-%2d-%2d %2d:%2d:%2d", &given.tm_year, &given.tm_mon, &given.tm_mday, &given.tm_hour, &given.tm_min,
               &given.tm_sec) != 6 ||
        given.tm_year < YEAR_FIRST || given.tm_year > YEAR_LAST)
        return false;
    given.tm_year -= 1900;
    given.tm_mon -= 1;
    found = given;
    *seconds = (uint64_t)timegm(&found);
    return found.tm_mon == given.tm_mon && found.tm_mday == given.tm_mday && found.tm_hour == given.tm_hour &&
           found.tm_min == given.tm_min && found.tm_sec == given.tm_sec;
}

// Then nothing, or a point and one to nine digits; then nothing, or the zone.
static bool read_time(struct text text, uint64_t *time_ns)
{
    enum { SECONDS = 19 };      // characters
    char copy[48];
    uint64_t seconds = 0;
    if (text.bytes >= sizeof copy)
        return false;
    snprintf(copy, sizeof copy, "%.*s", (int)text.bytes, text.at);
    if (!read_seconds(copy, &seconds))
        return false;
    *time_ns = seconds * NS_PER_S;
    const char *at = copy + SECONDS;
    if (*at == '.') {
        size_t digits = strspn(++at, "0123456789");
        if (digits < 1 || digits > 9)
            return false;
        for (uint64_t worth = NS_PER_S / 10; digits > 0; digits--, worth /= 10)
            *time_ns += worth * (uint64_t)(*at++ - '0');
    }
    return *at == '\0' || strcmp(at, "+00:00") == 0;
}

static int read_tokens(struct parse *parse, unsigned column, struct text text, uint32_t *out)
{
    char quoted[QUOTE_BYTES];
    bool negative = text.bytes > 1 && text.at[0] == '-';
    uint64_t value = 0;
    for (size_t i = negative; i < text.bytes; i++) {
        if (!isdigit((unsigned char)text.at[i]))
            return complain(parse, "%s \"%s\" is not a number", column_names[column], quote(text, quoted));
        value = value * 10 + (uint64_t)(text.at[i] - '0');
        if (value > UINT32_MAX)
            value = (uint64_t)UINT32_MAX + 1; // and stays there, so that it cannot wrap
    }
    if (text.bytes == 0)
        return complain(parse, "%s is missing", column_names[column]);
    if (negative)
        return complain(parse, "%s \"%s\" is negative", column_names[column], quote(text, quoted));
    if (value > UINT32_MAX)
        return complain(parse, "%s \"%s\" is too large", column_names[column], quote(text, quoted));
    *out = (uint32_t)value;
    return 0;
}

static int read_row(struct parse *parse)
{
    struct text columns[COLUMNS] = {{NULL, 0}};
    char quoted[QUOTE_BYTES];
    uint32_t prompt_tokens = 0, output_tokens = 0;
    uint64_t time_ns = 0;
    if (parse->line.bytes == 0)
        return complain(parse, "the line is empty");
    size_t count = split(parse->line, columns);
    if (count != COLUMNS)
        return complain(parse, "%zu column%s instead of 3 (%s)", count, count == 1 ? "" : "s", AZURE_HEADER);
    if (!read_time(columns[TIMESTAMP], &time_ns))
        return complain(parse, "TIMESTAMP \"%s\" is not a time like 2023-11-16 18:15:46.6805900",
                        quote(columns[TIMESTAMP], quoted));
    int error = read_tokens(parse, CONTEXT_TOKENS, columns[CONTEXT_TOKENS], &prompt_tokens);
    if (!error)
        error = read_tokens(parse, GENERATED_TOKENS, columns[GENERATED_TOKENS], &output_tokens);
    return error ? error : add_record(parse, time_ns, prompt_tokens, output_tokens);
}

static int parse_azure(struct parse *parse)
{
    char quoted[QUOTE_BYTES];
    int error = 0;
    if (next_line(parse) && !equals(parse->line, AZURE_HEADER))
        return complain(parse, "the header is \"%s\" and must be %s", quote(parse->line, quoted), AZURE_HEADER);
    while (!error && next_line(parse))
        error = read_row(parse);
    return error;
}

// --- the JSON Lines of the Mooncake traces -------------------------------------------------------------------------------------
//
// One object a line, with timestamp (ms), input_length, output_length and hash_ids.
//
// Only whole numbers are accepted: a timestamp with a fraction is in seconds, from a related format, and read as milliseconds it
// would silently be wrong by a factor of a thousand. hash_ids is optional: it names shared prefixes, which a replay without prefix
// sharing does not use. But a broken hash_ids means a broken file, and ids that blocks of no size explain are broken. Whether ids
// form chains is tb_trace_chained()'s question. Other keys are ignored.
//
// An id is 64 bits that mean nothing but themselves, written with a sign or without: -1 and 2^64 - 1 are one id.

// A whole number between 0 and max, which must be there.
static int read_number(struct parse *parse, const json_t *request, const char *key, uint64_t max, uint64_t *out)
{
    const json_t *value = json_object_get(request, key);
    if (!value)
        return complain(parse, "%s is missing", key);
    if (!json_is_integer(value))
        return complain(parse, "%s is not a whole number", key);
    json_int_t number = json_integer_value(value);
    if (number < 0)
        return complain(parse, "%s %" JSON_INTEGER_FORMAT " is negative", key, number);
    if ((uint64_t)number > max)
        return complain(parse, "%s %" JSON_INTEGER_FORMAT " is too large", key, number);
    *out = (uint64_t)number;
    return 0;
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

// The present line with its ids as jansson reads them: only in the array hash_ids of the outermost object. malloc'd; NULL: -ENOMEM.
static char *with_signed_ids(struct parse *parse, size_t *bytes)
{
    static const char key[] = "\"hash_ids\"";
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
        named = (depth == 1 && length == strlen(key) && memcmp(at, key, length) == 0) || (named && strchr(": \t", *at));
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
    const json_t *ids = json_object_get(request, "hash_ids");
    size_t i;
    const json_t *id;
    *count = (uint32_t)json_array_size(ids);
    if (!ids)
        return 0;
    if (!json_is_array(ids))
        return complain(parse, "hash_ids is not an array");
    int error = room_for_ids(parse, *count);
    if (error)
        return error;
    json_array_foreach (ids, i, id) {
        if (!json_is_integer(id))
            return complain(parse, "hash_ids: element %zu is not a whole number", i + 1);
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
        return complain(parse, "%u hash_ids for a prompt of %u tokens: an id stands for at least one", count, tokens);
    uint32_t least = tokens / count + (tokens % count != 0), most = count > 1 ? (tokens - 1) / (count - 1) : UINT32_MAX;
    if (least > most)
        return complain(parse, "no size of an id gives %u hash_ids for a prompt of %u tokens", count, tokens);
    if (least > trace->id_tokens_most)
        return complain(parse, "%u hash_ids for %u tokens: an id has at least %u, and by line %u at most %u", count, tokens, least,
                        trace->id_tokens_most_line, trace->id_tokens_most);
    if (most < trace->id_tokens_least)
        return complain(parse, "%u hash_ids for %u tokens: an id has at most %u, and by line %u at least %u", count, tokens, most,
                        trace->id_tokens_least_line, trace->id_tokens_least);
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

static int read_request(struct parse *parse, const json_t *request)
{
    uint64_t time_ms = 0, prompt_tokens = 0, output_tokens = 0;
    uint32_t ids_count = 0;
    if (!json_is_object(request))
        return complain(parse, "not a JSON object");
    int error = read_number(parse, request, "timestamp", UINT64_MAX / NS_PER_MS, &time_ms);
    if (!error)
        error = read_number(parse, request, "input_length", UINT32_MAX, &prompt_tokens);
    if (!error)
        error = read_number(parse, request, "output_length", UINT32_MAX, &output_tokens);
    if (!error)
        error = read_hash_ids(parse, request, &ids_count);
    if (!error)
        error = narrow_id_tokens(parse, (uint32_t)prompt_tokens, ids_count);
    if (!error)
        error = add_record(parse, time_ms * NS_PER_MS, (uint32_t)prompt_tokens, (uint32_t)output_tokens);
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
    if (bytes == 0)
        return complain(parse, "the line is empty");
    if (has_wide(parse->line) && !(copy = with_signed_ids(parse, &bytes)))
        return -ENOMEM;
    json_t *request = json_loadb(copy ? copy : parse->line.at, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &json_error);
    free(copy);
    // When memory runs out jansson says so, or says nothing at all.
    if (!request && (json_error.text[0] == '\0' || json_error_code(&json_error) == json_error_out_of_memory))
        return -ENOMEM;
    if (!request) {
        struct text said = {json_error.text, strlen(json_error.text)};

        return complain(parse, "not valid JSON at column %d: %s", json_error.column, quote(said, quoted));
    }
    int error = read_request(parse, request);
    json_decref(request);
    return error;
}

static int parse_mooncake(struct parse *parse)
{
    int error = 0;
    while (!error && next_line(parse))
        error = read_object(parse);
    return error;
}

// --- files ---------------------------------------------------------------------------------------------------------------------

// A file with a NUL byte is no text: it is refused, with the line, before a parser sees it.
static int refuse_nul(struct parse *parse)
{
    const char *nul = memchr(parse->rest.at, '\0', parse->rest.bytes);
    if (!nul)
        return 0;
    parse->line_number = 1;
    for (const char *at = parse->rest.at; at < nul; at++)
        parse->line_number += *at == '\n';
    return complain(parse, "there is a NUL byte: this is not a text file");
}

// The first line decides. The CSV parser explains a CSV header that is nearly right.
static int parse_format(struct parse *parse)
{
    static const char azure[] = "TIMESTAMP";
    const char *at = parse->rest.at;
    size_t bytes = parse->rest.bytes;
    bool csv = bytes >= strlen(azure) && memcmp(at, azure, strlen(azure)) == 0;
    while (bytes > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        bytes--;
    }
    if (!csv && (bytes == 0 || *at != '{')) {
        parse->line_number = 1;
        return complain(parse, "neither the header %s nor a JSON object", AZURE_HEADER);
    }
    strcpy(parse->trace->format, csv ? "azure-csv" : "mooncake-jsonl");
    return csv ? parse_azure(parse) : parse_mooncake(parse);
}

// The only size that fits, or else the power of two; 0: there are no ids, or no such size.
static uint32_t id_tokens_of(const struct tb_trace *trace)
{
    uint64_t power = 1;
    if (trace->ids_count == 0 || trace->id_tokens_least == trace->id_tokens_most)
        return trace->ids_count ? trace->id_tokens_least : 0;
    while (power < trace->id_tokens_least)
        power *= 2;
    return power <= trace->id_tokens_most ? (uint32_t)power : 0;
}

static int parse_all(struct parse *parse)
{
    if (parse->rest.bytes == 0)
        return complain(parse, "is empty");
    parse->trace->id_tokens_least = 1;
    parse->trace->id_tokens_most = UINT32_MAX;
    int error = refuse_nul(parse);
    if (!error)
        error = parse_format(parse);
    if (!error)
        parse->trace->id_tokens = id_tokens_of(parse->trace);
    if (!error && parse->trace->count == 0) {
        parse->line_number = 0;
        error = complain(parse, "has a header but no requests");
    }
    return error;
}

int tb_trace_parse(const char *path, const char *text, size_t bytes, struct tb_trace **out, struct tb_why *why)
{
    struct parse parse = {.rest = {text, bytes}, .why = why};
    int error = -ENOMEM;
    *out = NULL;
    tb_why_set(why, path, 0, "out of memory");
    if (bytes > FILE_BYTES_MAX) {
        tb_why_set(why, path, 0, "is larger than %llu MiB", (unsigned long long)(FILE_BYTES_MAX >> 20));
        return -EFBIG;
    }
    if (strlen(path) >= sizeof(parse.trace->path)) {
        tb_why_set(why, path, 0, "the path is too long");
        return -ENAMETOOLONG;
    }
    parse.trace = calloc(1, sizeof(*parse.trace));
    if (parse.trace) {
        strcpy(parse.trace->path, path);
        error = parse_all(&parse);
    }
    if (error) {
        tb_trace_close(parse.trace);
        return error;
    }
    why->text[0] = '\0';
    *out = parse.trace;
    return 0;
}

int tb_trace_settle_ids(struct tb_trace *trace, uint32_t id_tokens, struct tb_why *why)
{
    uint32_t least = trace->id_tokens_least, most = trace->id_tokens_most;
    why->text[0] = '\0';
    if (id_tokens == 0 && (trace->id_tokens || trace->ids_count == 0))
        return 0;
    if (id_tokens == 0)
        tb_why_set(why, trace->path, 0, "an id may stand for %u to %u tokens, none of them a power of two: say which (--id-tokens)",
                   least, most);
    else if (trace->ids_count == 0)
        tb_why_set(why, trace->path, 0, "no request has hash_ids, so none stands for %u tokens (--id-tokens)", id_tokens);
    else if (id_tokens < least)
        tb_why_set(why, trace->path, trace->id_tokens_least_line, "by these hash_ids an id stands for at least %u tokens, not %u "
                   "(--id-tokens)", least, id_tokens);
    else if (id_tokens > most)
        tb_why_set(why, trace->path, trace->id_tokens_most_line, "by these hash_ids an id stands for at most %u tokens, not %u "
                   "(--id-tokens)", most, id_tokens);
    else
        trace->id_tokens = id_tokens;
    return why->text[0] ? -EINVAL : 0;
}

size_t tb_trace_left_out(const struct tb_trace *trace, size_t requests, char *out, size_t bytes)
{
    size_t count = requests && requests < trace->count ? requests : trace->count, prompts = 0, outputs = 0;
    for (size_t i = 0; i < count; i++) {
        prompts += trace->requests[i].prompt_tokens == 0;
        outputs += trace->requests[i].output_tokens == 0;
    }
    out[0] = '\0';
    if (prompts + outputs)
        snprintf(out, bytes, "%zu request%s left out: %zu without a prompt, %zu without an output", prompts + outputs,
                 prompts + outputs == 1 ? " is" : "s are", prompts, outputs);
    return count - prompts - outputs;
}

void tb_trace_close(struct tb_trace *trace)
{
    if (!trace)
        return;
    free(trace->requests);
    free(trace->ids);
    free(trace);
}

// Reads to the end instead of trusting the size: a pipe has none. The size is trusted only if it is over the limit.
static int read_all(FILE *file, char **text, size_t *bytes)
{
    struct stat status;
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size > FILE_BYTES_MAX)
        return -EFBIG;
    for (size_t room = 1 << 16; *bytes <= FILE_BYTES_MAX; room *= 2) {
        char *grown = realloc(*text, room);
        if (!grown)
            return -ENOMEM;
        *text = grown;
        errno = 0;
        *bytes += fread(*text + *bytes, 1, room - *bytes, file);
        if (ferror(file))
            return errno ? -errno : -EIO;
        if (*bytes < room)
            return 0;
    }
    return -EFBIG;
}

int tb_trace_load(const char *path, struct tb_trace **out, struct tb_why *why)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = fopen(path, "re");
    int error = file ? read_all(file, &text, &bytes) : -errno;
    *out = NULL;
    if (error && error != -EFBIG)
        tb_why_set(why, path, 0, "cannot be read: %s", strerror(-error));
    else // which refuses what is too large
        error = tb_trace_parse(path, text ? text : "", error ? SIZE_MAX : bytes, out, why);
    free(text);
    if (file)
        fclose(file);
    return error;
}
