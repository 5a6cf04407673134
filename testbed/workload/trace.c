// SPDX-License-Identifier: Apache-2.0
//
// trace: reads a whole file of recorded requests, detects its format, and calls that format's parser.
//
// It is strict on purpose: a measurement on a half-understood trace is worse than none. So any deviation from the format is an
// error that names the line, and nothing is repaired: no sorting, no skipping, no default for a missing value. Only what editors
// and transfers do to a text file is accepted: CRLF, and a missing newline at the end.
#include "testbed/workload/trace.h"
#include "testbed/workload/trace_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Arbitrary: far above the largest published trace that one machine can replay, and far below what would make it swap. It also
// keeps line numbers and counts of records within 32 bits.
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

void tb_why_set(struct tb_why *why, const char *path, uint32_t line, const char *format, ...)
{
    enum { PATH_SHOWN = 200 };
    size_t length = strlen(path);
    const char *shown = length > PATH_SHOWN ? path + length - PATH_SHOWN : path;
    const char *dots = length > PATH_SHOWN ? "..." : "";
    int at = line ? snprintf(why->text, sizeof(why->text), "%s%s:%u: ", dots, shown, line)
                  : snprintf(why->text, sizeof(why->text), "%s%s: ", dots, shown);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why->text + at, sizeof(why->text) - (size_t)at, format, arguments);
    va_end(arguments);
}

int tb_parse_bad(struct tb_parse *parse, const char *format, ...)
{
    char message[sizeof(parse->why->text)];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    tb_why_set(parse->why, parse->trace->path, parse->line_number, "%s", message);
    return -EINVAL;
}

const char *tb_quote(struct tb_text text, char out[TB_QUOTE_BYTES])
{
    enum { SHOWN = 40 };
    size_t length = text.bytes < SHOWN ? text.bytes : SHOWN;

    for (size_t i = 0; i < length; i++)
        out[i] = text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?';
    strcpy(out + length, length < text.bytes ? "..." : "");
    return out;
}

bool tb_text_equals(struct tb_text text, const char *expected)
{
    return text.bytes == strlen(expected) && memcmp(text.at, expected, text.bytes) == 0;
}

bool tb_parse_line(struct tb_parse *parse)
{
    if (parse->rest.bytes == 0)
        return false;

    const char *end = memchr(parse->rest.at, '\n', parse->rest.bytes);
    size_t bytes = end ? (size_t)(end - parse->rest.at) : parse->rest.bytes, used = bytes + (end != NULL);

    parse->line = (struct tb_text){parse->rest.at, bytes};
    if (bytes > 0 && parse->line.at[bytes - 1] == '\r')
        parse->line.bytes--;
    parse->rest.at += used;
    parse->rest.bytes -= used;
    parse->line_number++;
    return true;
}

static int room_for_record(struct tb_parse *parse)
{
    if (parse->trace->count < parse->room)
        return 0;

    size_t room = parse->room ? parse->room * 2 : 1024;
    struct tb_record *records = reallocarray(parse->trace->records, room, sizeof(*records));

    if (!records)
        return -ENOMEM;
    parse->trace->records = records;
    parse->room = room;
    return 0;
}

int tb_parse_record(struct tb_parse *parse, uint64_t time_ns, uint32_t prompt_tokens, uint32_t output_tokens)
{
    struct tb_trace *trace = parse->trace;
    int error = room_for_record(parse);

    if (error)
        return error;
    if (prompt_tokens == 0 && output_tokens == 0)
        return tb_parse_bad(parse, "the request has neither prompt nor output tokens");
    if (trace->count == 0)
        parse->first_ns = time_ns;
    if (trace->count > 0 && time_ns < parse->first_ns + trace->records[trace->count - 1].arrival_ns)
        return tb_parse_bad(parse, "the request arrives before the one in line %u", trace->records[trace->count - 1].line);
    trace->records[trace->count++] = (struct tb_record){
        .arrival_ns = time_ns - parse->first_ns,
        .prompt_tokens = prompt_tokens,
        .output_tokens = output_tokens,
        .line = parse->line_number,
    };
    return 0;
}

// A text has no NUL bytes. Any other file is refused, with the line, before a parser sees it.
static int refuse_nul(struct tb_parse *parse)
{
    const char *nul = memchr(parse->rest.at, '\0', parse->rest.bytes);

    if (!nul)
        return 0;
    parse->line_number = 1;
    for (const char *at = parse->rest.at; at < nul; at++)
        parse->line_number += *at == '\n';
    return tb_parse_bad(parse, "there is a NUL byte: this is not a text file");
}

// The first line decides. The CSV parser explains a CSV header that is nearly right.
static int parse_format(struct tb_parse *parse)
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
        return tb_parse_bad(parse, "neither the header %s nor a JSON object", TB_AZURE_HEADER);
    }
    strcpy(parse->trace->format, csv ? "azure-csv" : "mooncake-jsonl");
    return csv ? tb_parse_azure(parse) : tb_parse_mooncake(parse);
}

static int parse_all(struct tb_parse *parse)
{
    if (parse->rest.bytes == 0)
        return tb_parse_bad(parse, "is empty");

    int error = refuse_nul(parse);

    if (!error)
        error = parse_format(parse);
    if (!error && parse->trace->count == 0) {
        parse->line_number = 0;
        error = tb_parse_bad(parse, "has a header but no requests");
    }
    return error;
}

int tb_trace_parse(const char *path, const char *text, size_t bytes, struct tb_trace **out, struct tb_why *why)
{
    struct tb_parse parse = {.rest = {text, bytes}, .why = why};
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

void tb_trace_close(struct tb_trace *trace)
{
    if (!trace)
        return;
    free(trace->records);
    free(trace);
}

// Reads to the end instead of trusting the size: a pipe has none. One byte beyond the limit shows that there is more. The size is
// trusted only if it is over the limit.
static int read_all(int file, char **text, size_t *bytes)
{
    struct stat status;
    size_t room = 0;

    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size > FILE_BYTES_MAX)
        return -EFBIG;
    for (;;) {
        if (*bytes == room) {
            if (room > FILE_BYTES_MAX)
                return -EFBIG;
            room = room ? room * 2 : 1 << 16;
            if (room > FILE_BYTES_MAX)
                room = FILE_BYTES_MAX + 1;

            char *grown = realloc(*text, room);

            if (!grown)
                return -ENOMEM;
            *text = grown;
        }

        ssize_t got = read(file, *text + *bytes, room - *bytes);

        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got > 0)
            *bytes += (size_t)got;
    }
}

int tb_trace_load(const char *path, struct tb_trace **out, struct tb_why *why)
{
    char *text = NULL;
    size_t bytes = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int error = file < 0 ? -errno : read_all(file, &text, &bytes);

    *out = NULL;
    if (error == -EFBIG)
        tb_why_set(why, path, 0, "is larger than %llu MiB", (unsigned long long)(FILE_BYTES_MAX >> 20));
    else if (error)
        tb_why_set(why, path, 0, "cannot be read: %s", strerror(-error));
    else
        error = tb_trace_parse(path, text ? text : "", bytes, out, why);
    free(text);
    if (file >= 0)
        close(file);
    return error;
}
