// SPDX-License-Identifier: Apache-2.0
//
// trace_csv: recorded requests as comma-separated values. The header says which column is what, in any order and among any others.
//
// A field may be in quotes, so that a column that nobody reads may have commas. Nothing is trimmed.

#include <ctype.h>
#include <stdio.h>

#include "testbed/workload/formats/trace_read.h"

#define NONE UINT32_MAX

struct header {
    struct text line;           // of the file
    uint32_t columns;
    uint32_t at[TB_TRACE_COLUMNS]; // which of them has time, prompt and output
};

// Takes the next field off the line, without its quotes. false: a quote is not closed, or followed by more than a comma.
static bool next_field(struct text *line, struct text *out, bool *last)
{
    const char *from = line->at, *end = line->at + line->bytes, *to;
    bool quoted = from < end && *from == '"';
    if (quoted) {
        for (to = ++from; to < end && (*to != '"' || (to + 1 < end && to[1] == '"')); to++)
            to += *to == '"';
        if (to >= end)
            return false;
    } else {
        to = from < end ? memchr(from, ',', (size_t)(end - from)) : NULL;
        to = to ? to : end;
    }
    *out = (struct text){from, (size_t)(to - from)};
    to += quoted;
    *last = to == end;
    if (!*last && *to != ',')
        return false;
    line->at = to + !*last;
    line->bytes = (size_t)(end - line->at);
    return true;
}

// How many columns have this name; *at: the first one's number.
static uint32_t find_column(struct text line, const char *name, uint32_t *at)
{
    struct text field;
    uint32_t found = 0;
    bool last = false;
    *at = NONE;
    for (uint32_t i = 0; !last && next_field(&line, &field, &last); i++) {
        if (!trace_equals(field, name))
            continue;
        *at = found++ ? *at : i;
    }
    return found;
}

// How much of what the format needs is in the header; *lacking: the first thing that is not, or NULL.
static uint32_t format_fits(const struct tb_trace_format *format, struct text line, const char **lacking)
{
    uint32_t fits = 0, at;
    *lacking = NULL;
    for (int i = TB_TRACE_COLUMNS; i >= 0; i--) {
        const char *name = i < TB_TRACE_COLUMNS ? format->column[i] : format->mark;
        if (!name)
            continue;
        if (find_column(line, name, &at))
            fits++;
        else
            *lacking = name;
    }
    return fits;
}

// The format that fits the header, or else the one that nearly does. NULL: none has a column of it.
static const struct tb_trace_format *format_find(struct text line, const char **lacking)
{
    const struct tb_trace_format *near = NULL, *format;
    uint32_t most = 0;
    const char *without;
    for (size_t i = 0; (format = tb_trace_format_at(i)); i++) {
        uint32_t fits = format->json ? 0 : format_fits(format, line, &without);
        if (fits && !without) {
            *lacking = NULL;
            return format;
        }
        if (fits > most && !format->mark) {
            most = fits;
            near = format;
            *lacking = without;
        }
    }
    return near;
}

static int read_header(struct parse *parse, struct header *header)
{
    char quoted[QUOTE_BYTES];
    const char *lacking = NULL;
    uint32_t found;
    struct text rest = parse->line, field;
    header->line = parse->line;
    header->columns = 0;
    for (bool last = false; !last; header->columns++)
        if (!next_field(&rest, &field, &last))
            return trace_complain(parse, "a quote in the header is not closed, or followed by more than a comma");
    if (parse->format)
        format_fits(parse->format, parse->line, &lacking);
    else
        parse->format = format_find(parse->line, &lacking);
    if (!parse->format)
        return trace_complain(parse,
                              "\"%s\" is the header of no known trace, and no JSON object: say which columns have what "
                              "(--map time=COLUMN,prompt=COLUMN,output=COLUMN)",
                              trace_quote(parse->line, quoted));
    if (lacking)
        return trace_complain(parse, "the header \"%s\" has no column %s", trace_quote(parse->line, quoted), lacking);
    if (parse->format->ids)
        return trace_complain(parse, "ids (%s) are read of JSON Lines alone", parse->format->ids);
    for (int i = 0; i < TB_TRACE_COLUMNS; i++)
        if ((found = find_column(parse->line, parse->format->column[i], &header->at[i])) > 1)
            return trace_complain(parse, "the header has a column %s %u times", parse->format->column[i], found);
    return 0;
}

static int read_tokens(struct parse *parse, const char *column, struct text text, uint32_t *out)
{
    char quoted[QUOTE_BYTES];
    bool negative = text.bytes > 1 && text.at[0] == '-';
    uint64_t value = 0;
    for (size_t i = negative; i < text.bytes; i++) {
        if (!isdigit((unsigned char)text.at[i]))
            return trace_complain(parse, "%s \"%s\" is not a number", column, trace_quote(text, quoted));
        value = value * 10 + (uint64_t)(text.at[i] - '0');
        if (value > UINT32_MAX)
            value = (uint64_t)UINT32_MAX + 1; // and stays there, so that it cannot wrap
    }
    if (text.bytes == 0)
        return trace_complain(parse, "%s is missing", column);
    if (negative)
        return trace_complain(parse, "%s \"%s\" is negative", column, trace_quote(text, quoted));
    if (value > UINT32_MAX)
        return trace_complain(parse, "%s \"%s\" is too large", column, trace_quote(text, quoted));
    *out = (uint32_t)value;
    return 0;
}

static int read_row(struct parse *parse, const struct header *header)
{
    struct text fields[TB_TRACE_COLUMNS] = {{NULL, 0}}, rest = parse->line, field;
    const char *const *names = parse->format->column;
    char quoted[QUOTE_BYTES];
    uint32_t prompt_tokens = 0, output_tokens = 0, count = 0;
    uint64_t time_ns = 0;
    for (bool last = false; !last; count++) {
        if (!next_field(&rest, &field, &last))
            return trace_complain(parse, "a quote is not closed, or followed by more than a comma");
        for (int i = 0; i < TB_TRACE_COLUMNS; i++)
            if (header->at[i] == count)
                fields[i] = field;
    }
    if (count != header->columns)
        return trace_complain(parse, "%u column%s instead of %u (%s)", count, count == 1 ? "" : "s", header->columns,
                              trace_quote(header->line, quoted));
    int error = trace_time(parse, names[TB_TRACE_TIME], fields[TB_TRACE_TIME], &time_ns);
    if (!error)
        error = read_tokens(parse, names[TB_TRACE_PROMPT], fields[TB_TRACE_PROMPT], &prompt_tokens);
    if (!error)
        error = read_tokens(parse, names[TB_TRACE_OUTPUT], fields[TB_TRACE_OUTPUT], &output_tokens);
    return error ? error : trace_add(parse, time_ns, prompt_tokens, output_tokens);
}

int trace_read_csv(struct parse *parse)
{
    struct header header;
    if (!trace_next_line(parse))
        return 0;
    int error = read_header(parse, &header);
    if (!error)
        parse->clock = parse->format->clock;
    while (!error && trace_next_line(parse))
        error = read_row(parse, &header);
    return error;
}
