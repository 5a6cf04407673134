// SPDX-License-Identifier: Apache-2.0
//
// trace_parse: shared by the two formats: lines of a text in memory, records in order, and errors that name file and line.
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
    struct tb_text rest;        // not read yet
    struct tb_text line;        // without LF or CRLF
    uint32_t line_number;       // of `line`, from 1
    struct tb_trace *trace;     // the records so far; there is room for `room`
    size_t room;
    uint64_t first_ns;          // of the first record, on the file's own clock
    struct tb_why *why;
};

// The next line; false at the end of the text. The last line may lack its newline.
bool tb_parse_line(struct tb_parse *parse);

// Appends the record of the current line. `time_ns` is on the file's own clock, which may start anywhere. 0, -ENOMEM, or -EINVAL
// (reported): time goes backwards, or there are no tokens.
int tb_parse_record(struct tb_parse *parse, uint64_t time_ns, uint32_t prompt_tokens, uint32_t output_tokens);

// Reports an error in the current line (line_number 0: in the file): "FILE:7: ...". Always -EINVAL.
int tb_parse_bad(struct tb_parse *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));

// "FILE:7: " or, for line 0, "FILE: ", and then the message. A very long path is cut to its end.
void tb_why_set(struct tb_why *why, const char *path, uint32_t line, const char *format, ...) __attribute__((format(printf, 4, 5)));

#define TB_QUOTE_BYTES 64

// A piece of the file, fit to be quoted: at most 40 characters of printable ASCII.
const char *tb_quote(struct tb_text text, char out[TB_QUOTE_BYTES]);

// Is the text exactly this string?
bool tb_text_equals(struct tb_text text, const char *expected);

// The two formats. Each reads all of parse->rest. 0, -ENOMEM, or -EINVAL (reported).
int tb_parse_azure(struct tb_parse *parse);
int tb_parse_mooncake(struct tb_parse *parse);

#define TB_AZURE_HEADER "TIMESTAMP,ContextTokens,GeneratedTokens"

#endif
