// SPDX-License-Identifier: Apache-2.0
//
// trace_read: what the readers of trace.c share. Private to this folder and to trace.c.
#ifndef TB_TRACE_READ_H
#define TB_TRACE_READ_H

#include <string.h>
#include <sys/types.h>

#include "testbed/workload/trace.h"

#define NS_PER_S UINT64_C(1000000000)
#define QUOTE_BYTES 64

struct text {                   // a piece of the file: neither terminated nor owned
    const char *at;
    size_t bytes;
};

struct parse {
    struct text rest;           // what was not read yet
    struct text line;           // without its end of line, LF or CRLF
    uint32_t line_number;       // of `line`, from 1
    bool json;                  // else CSV
    const struct tb_trace_format *format; // NULL: not found yet
    enum tb_trace_clock clock;  // the format's; once the first request is read, what it had
    struct tb_trace *trace;     // what was read; requests has room for `room`, ids for `ids_room`
    size_t room, ids_room;
    uint64_t first_ns;          // of the first request, on the file's own clock
    struct tb_why *why;
};

// Complains about the present line (line_number 0: about the file): "FILE:7: ...". Always -EINVAL.
int trace_complain(struct parse *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A piece of the file made fit to be quoted: at most 40 characters, and of printable ASCII only.
const char *trace_quote(struct text text, char out[QUOTE_BYTES]);

static inline bool trace_equals(struct text text, const char *expected)
{
    return text.bytes == strlen(expected) && memcmp(text.at, expected, text.bytes) == 0;
}

// The next line that is not blank. false at the end of the text. A last line without an end of line counts.
bool trace_next_line(struct parse *parse);

// Appends a request that was read from the present line. `time_ns` is on the file's own clock, which may start anywhere. 0,
// -ENOMEM, or -EINVAL (complained about): time goes backwards, or there are no tokens at all.
int trace_add(struct parse *parse, uint64_t time_ns, uint32_t prompt_tokens, uint32_t output_tokens);

// The time in this column or key, in nanoseconds since 1970 or since whenever the file's numbers begin. 0, or -EINVAL (complained
// about).
int trace_time(struct parse *parse, const char *column, struct text text, uint64_t *out_ns);

// The two readers, from the present place to the end. 0, -ENOMEM, or -EINVAL (complained about).
int trace_read_csv(struct parse *parse);
int trace_read_json(struct parse *parse);

// --- files ---

struct trace_input;

// A file, or standard input ("-"), unpacked if gzip or zstd have packed it. *out is there in any case, if memory allows; close it.
// 0 or -errno.
int trace_input_open(const char *path, struct trace_input **out);

// The next `room` bytes of the text; fewer: it ends there. The count, or -errno; -EBADMSG: what is packed is broken or cut.
ssize_t trace_input_read(struct trace_input *input, char *to, size_t room);
const char *trace_input_packing(const struct trace_input *input); // "gzip", "zstd"; "": none
void trace_input_close(struct trace_input *input); // NULL is allowed

#endif
