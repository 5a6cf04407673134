// SPDX-License-Identifier: Apache-2.0
//
// trace: reads a whole file of recorded requests, finds its format (formats/), and parses it.
//
// It is strict on purpose: a measurement on a half-understood trace is worse than none. So any deviation from the format is an
// error that names the line, and nothing is repaired: no sorting, no skipping, no default for a missing value. Only what editors
// and transfers do to a text file is accepted: a byte order mark, CRLF, blank lines, and a missing newline at the end.
#include "testbed/workload/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "testbed/workload/formats/trace_read.h"

// Arbitrary: far above the largest published trace that one machine can replay, and far below what would make it swap. It also
// keeps line numbers and counts of requests within 32 bits, and bounds what a packed file may come to.
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

#define LOOK_BYTES (UINT64_C(1) << 20) // of a file that is longer: these must be a trace

int trace_complain(struct parse *parse, const char *format, ...)
{
    char message[sizeof(parse->why->text)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    tb_why_set(parse->why, parse->trace->path, parse->line_number, "%s", message);
    return -EINVAL;
}

const char *trace_quote(struct text text, char out[QUOTE_BYTES])
{
    enum { SHOWN = 40 };
    size_t length = text.bytes < SHOWN ? text.bytes : SHOWN;
    for (size_t i = 0; i < length; i++)
        out[i] = text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?';
    strcpy(out + length, length < text.bytes ? "..." : "");
    return out;
}

static bool is_blank(struct text line)
{
    while (line.bytes > 0 && (*line.at == ' ' || *line.at == '\t')) {
        line.at++;
        line.bytes--;
    }
    return line.bytes == 0;
}

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

bool trace_next_line(struct parse *parse)
{
    bool found;
    while ((found = next_line(parse)) && is_blank(parse->line)) {}
    return found;
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

int trace_add(struct parse *parse, uint64_t time_ns, uint32_t prompt_tokens, uint32_t output_tokens)
{
    struct tb_trace *trace = parse->trace;
    int error = room_for_record(parse);
    if (error)
        return error;
    if (prompt_tokens == 0 && output_tokens == 0)
        return trace_complain(parse, "the request has neither prompt nor output tokens");
    if (trace->count == 0)
        parse->first_ns = time_ns;
    if (trace->count > 0 && time_ns < parse->first_ns + trace->requests[trace->count - 1].arrival_ns)
        return trace_complain(parse, "the request arrives before the one in line %u: sort the requests by time",
                              trace->requests[trace->count - 1].line);
    trace->requests[trace->count++] = (struct tb_trace_request){
        .arrival_ns = time_ns - parse->first_ns,
        .prompt_tokens = prompt_tokens,
        .output_tokens = output_tokens,
        .line = parse->line_number,
    };
    return 0;
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
    return trace_complain(parse, "there is a NUL byte: this is not a text file");
}

// What begins so is not text, or not a trace yet.
static int refuse_stranger(struct parse *parse)
{
    static const struct {
        struct text begins;
        const char *what;
    } strangers[] = {
        {{"\xff\xfe", 2}, "is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {{"\xfe\xff", 2}, "is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {{"\xfd"
          "7zXZ",
          5},
         "is packed by xz: unpack it (xz -dc), and name the trace - to read it from a pipe"},
        {{"BZh", 3}, "is packed by bzip2: unpack it (bzip2 -dc), and name the trace - to read it from a pipe"},
        {{"PK\3\4", 4}, "is a zip archive: unpack it"},
        {{"PAR1", 4}, "is Parquet: CSV and JSON Lines are read"},
        {{"version https://git-lfs", 23}, "is where Git LFS would put the file: git lfs pull fetches it"},
        {{"[", 1}, "is a JSON array: one object a line is read (jq -c '.[]')"},
    };
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (parse->rest.bytes >= strangers[i].begins.bytes &&
            memcmp(parse->rest.at, strangers[i].begins.at, strangers[i].begins.bytes) == 0)
            return trace_complain(parse, "%s", strangers[i].what);
    return 0;
}

static void skip_mark(struct text *text)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (text->bytes < strlen(mark) || memcmp(text->at, mark, strlen(mark)))
        return;
    text->at += strlen(mark);
    text->bytes -= strlen(mark);
}

// Which year the first request has, if it has one; in which unit its time is, if that is not said anywhere and no seconds.
static void name_format(struct parse *parse)
{
    time_t seconds = (time_t)(parse->first_ns / NS_PER_S);
    bool guessed = parse->format->clock == TB_CLOCK_ANY && parse->clock > TB_CLOCK_S;
    struct tm date = {0};
    char year[16] = "";
    if (parse->clock == TB_CLOCK_DATE && gmtime_r(&seconds, &date))
        snprintf(year, sizeof year, " %d", date.tm_year + 1900);
    snprintf(parse->trace->format, sizeof parse->trace->format, "%.20s%s %s%s%.12s", parse->format->name, year,
             parse->json ? "JSON Lines" : "CSV", guessed ? " in " : "", guessed ? tb_trace_clock_unit(parse->clock) : "");
}

// What begins with a brace is JSON Lines.
static int parse_format(struct parse *parse)
{
    size_t blanks = 0;
    while (blanks < parse->rest.bytes && strchr(" \t\r\n", parse->rest.at[blanks]))
        blanks++;
    parse->json = blanks < parse->rest.bytes && parse->rest.at[blanks] == '{';
    int error = parse->json ? trace_read_json(parse) : trace_read_csv(parse);
    if (!error && parse->trace->count > 0)
        name_format(parse);
    return error;
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
        return trace_complain(parse, "is empty");
    parse->trace->id_tokens_least = 1;
    parse->trace->id_tokens_most = UINT32_MAX;
    skip_mark(&parse->rest);
    int error = refuse_stranger(parse);
    if (!error)
        error = refuse_nul(parse);
    if (!error)
        error = parse_format(parse);
    if (!error)
        parse->trace->id_tokens = id_tokens_of(parse->trace);
    if (!error && parse->trace->count == 0) {
        parse->line_number = 0;
        error = trace_complain(parse, parse->json || !parse->format ? "has no requests" : "has a header but no requests");
    }
    return error;
}

int tb_trace_parse(const char *path, const struct tb_trace_format *format, const char *text, size_t bytes, struct tb_trace **out,
                   struct tb_why *why)
{
    struct parse parse = {.rest = {text, bytes}, .why = why, .format = format};
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
        tb_why_set(why, trace->path, trace->id_tokens_least_line,
                   "by these hash_ids an id stands for at least %u tokens, not %u "
                   "(--id-tokens)",
                   least, id_tokens);
    else if (id_tokens > most)
        tb_why_set(why, trace->path, trace->id_tokens_most_line,
                   "by these hash_ids an id stands for at most %u tokens, not %u "
                   "(--id-tokens)",
                   most, id_tokens);
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

// "19,366"
static void group(char out[32], uint64_t number)
{
    char plain[24];
    size_t digits = (size_t)snprintf(plain, sizeof plain, "%llu", (unsigned long long)number), at = 0;
    for (size_t i = 0; i < digits; i++) {
        if (i > 0 && (digits - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = plain[i];
    }
    out[at] = '\0';
}

const char *tb_trace_understood(const struct tb_trace *trace, char out[TB_UNDERSTOOD])
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
    double seconds = (double)trace->requests[trace->count - 1].arrival_ns / 1e9;
    char count[32], duration[32];
    size_t unit = 0;
    while (unit < sizeof units / sizeof *units - 1 && seconds < 0.95 * units[unit].s)
        unit++;
    group(count, trace->count);
    snprintf(duration, sizeof duration, "%.1f", seconds / units[unit].s);
    char *point = strstr(duration, ".0");
    if (point)
        *point = '\0';
    snprintf(out, TB_UNDERSTOOD, "%s, %s request%s, %s %s", trace->format, count, trace->count == 1 ? "" : "s", duration,
             units[unit].name);
    return out;
}

// --- files ---------------------------------------------------------------------------------------------------------------------

// Is the beginning of a long file a trace's? It ends where its last whole line does.
static int look(const char *name, const struct tb_trace_format *format, const char *text, size_t bytes, struct tb_why *why)
{
    struct tb_trace *trace = NULL;
    const char *end = memrchr(text, '\n', bytes);
    int error = tb_trace_parse(name, format, text, end ? (size_t)(end - text) + 1 : bytes, &trace, why);
    tb_trace_close(trace);
    if (error == -EINVAL && !end && !memchr(text, '\0', bytes))
        tb_why_set(why, name, 1, "the first line does not end within a MiB: this is no trace");
    return error;
}

// Reads to the end instead of trusting the size: a pipe has none, and what is packed another one. What look() finds it says in why.
static int read_all(struct trace_input *input, const char *name, const struct tb_trace_format *format, char **text, size_t *bytes,
                    struct tb_why *why)
{
    for (size_t room = LOOK_BYTES; *bytes <= FILE_BYTES_MAX; room = room * 2 <= FILE_BYTES_MAX ? room * 2 : FILE_BYTES_MAX + 1) {
        char *grown = realloc(*text, room);
        if (!grown)
            return -ENOMEM;
        *text = grown;
        ssize_t got = trace_input_read(input, *text + *bytes, room - *bytes);
        if (got < 0)
            return (int)got;
        *bytes += (size_t)got;
        if (*bytes < room)
            return 0;
        int error = room == LOOK_BYTES ? look(name, format, *text, *bytes, why) : 0;
        if (error)
            return error;
    }
    return -EFBIG;
}

int tb_trace_load(const char *path, const struct tb_trace_format *format, struct tb_trace **out, struct tb_why *why)
{
    const char *name = strcmp(path, "-") ? path : "standard input";
    struct trace_input *input = NULL;
    struct stat status;
    char *text = NULL;
    size_t bytes = 0;
    *out = NULL;
    why->text[0] = '\0';
    int error = trace_input_open(path, &input);
    if (!error && stat(path, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size > FILE_BYTES_MAX)
        error = -EFBIG;
    if (!error)
        error = read_all(input, name, format, &text, &bytes, why);
    if (error == -EBADMSG)
        tb_why_set(why, name, 0, "cannot be unpacked: its %s data is broken, or ends too early", trace_input_packing(input));
    else if (error && error != -EFBIG && !why->text[0]) // which look() has set
        tb_why_set(why, name, 0, "cannot be read: %s", strerror(-error));
    else if (!why->text[0]) // the parser refuses what is too large
        error = tb_trace_parse(name, format, text ? text : "", error ? SIZE_MAX : bytes, out, why);
    free(text);
    trace_input_close(input);
    return error;
}
