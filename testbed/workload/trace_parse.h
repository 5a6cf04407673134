// SPDX-License-Identifier: Apache-2.0
//
// trace_parse: what the two formats share: lines of a text in memory, records in order, and complaints that name file and line.
// Private to trace*.c and replay.c.
#ifndef TB_TRACE_PARSE_H
#define TB_TRACE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/workload/trace.h"

struct tb_text {                // a piece of the file: neither terminated nor owned
    const char *at;
    size_t bytes;
};

struct tb_parse {
    struct tb_text rest;        // what was not read yet
    struct tb_text line;        // without its end of line, LF or CRLF
    uint32_t line_number;       // of `line`, from 1
    struct tb_trace *trace;     // what was read; records has room for `room`
    size_t room;
    uint64_t first_ns;          // of the first record, on the file's own clock
    struct tb_why *why;
};

// The next line. false at the end of the text. A last line without an end of line counts.
bool tb_parse_line(struct tb_parse *parse);

// Appends a record that was read from the present line. `time_ns` is on the file's own clock, which may start anywhere. 0,
// -ENOMEM, or -EINVAL (complained about): time goes backwards, or there are no tokens at all.
int tb_parse_record(struct tb_parse *parse, uint64_t time_ns, uint32_t prompt_tokens, uint32_t output_tokens);

// Complains about the present line (line_number 0: about the file): "FILE:7: ...". Always -EINVAL.
int tb_parse_bad(struct tb_parse *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));

// "FILE:7: " or, for line 0, "FILE: ", and then the message. Of a very long path only the end is shown.
void tb_why_set(struct tb_why *why, const char *path, uint32_t line, const char *format, ...) __attribute__((format(printf, 4, 5)));

#define TB_QUOTE_BYTES 64

// A piece of the file made fit to be quoted: at most 40 characters, and of printable ASCII only.
const char *tb_quote(struct tb_text text, char out[TB_QUOTE_BYTES]);

// The text is exactly this string.
bool tb_text_equals(struct tb_text text, const char *expected);

// The two formats. Each reads all of parse->rest. 0, -ENOMEM, or -EINVAL (complained about).
int tb_parse_azure(struct tb_parse *parse);
int tb_parse_mooncake(struct tb_parse *parse);

#define TB_AZURE_HEADER "TIMESTAMP,ContextTokens,GeneratedTokens"

#endif
