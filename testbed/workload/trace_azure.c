// SPDX-License-Identifier: Apache-2.0
//
// trace_azure: the CSV of the Azure LLM inference traces: a header, then TIMESTAMP,ContextTokens,GeneratedTokens.
//
// The dialect has no quotes and no blanks, so a line is simply split at its commas. Times are written as in the traces of 2023
// ("2023-11-16 18:15:46.6805900") and of 2024 ("2024-05-10 00:00:00.009930+00:00"): any number of digits down to the nanosecond,
// or none, and no zone but UTC. They become nanoseconds since 1970, in 64 bits, which last until 2554. Only differences are used,
// so leap seconds matter no more than to the service's own clock.
#include "testbed/workload/trace_parse.h"

#include <errno.h>
#include <string.h>

enum { TIMESTAMP, CONTEXT_TOKENS, GENERATED_TOKENS, COLUMNS };

static const char *const column_names[COLUMNS] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};

enum { YEAR_FIRST = 1970, YEAR_LAST = 2553 };

// Splits the line into columns and returns their number; those beyond COLUMNS are only counted.
static size_t split(struct tb_text line, struct tb_text columns[COLUMNS])
{
    for (size_t count = 0;; count++) {
        const char *comma = memchr(line.at, ',', line.bytes);
        size_t bytes = comma ? (size_t)(comma - line.at) : line.bytes;

        if (count < COLUMNS)
            columns[count] = (struct tb_text){line.at, bytes};
        if (!comma)
            return count + 1;
        line.at += bytes + 1;
        line.bytes -= bytes + 1;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Takes exactly `digits` digits, and then `after` unless that is 0.
static bool take_number(struct tb_text *text, unsigned digits, char after, unsigned *out)
{
    size_t bytes = digits + (after != '\0');

    if (text->bytes < bytes)
        return false;
    *out = 0;
    for (unsigned i = 0; i < digits; i++) {
        if (!is_digit(text->at[i]))
            return false;
        *out = *out * 10 + (unsigned)(text->at[i] - '0');
    }
    if (after && text->at[digits] != after)
        return false;
    text->at += bytes;
    text->bytes -= bytes;
    return true;
}

static bool is_leap(unsigned year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

// Days from 1970-01-01 to a valid date.
static uint64_t days_since_1970(unsigned year, unsigned month, unsigned day)
{
    unsigned before = year - 1; // complete years of the Gregorian calendar
    uint64_t days = 365 * (uint64_t)before + before / 4 - before / 100 + before / 400;

    for (unsigned i = 1; i < month; i++)
        days += days_in_month(year, i);
    return days + day - 1 - 719162; // 719162: the same count for 1970-01-01
}

static bool take_date(struct tb_text *text, uint64_t *days)
{
    unsigned year = 0, month = 0, day = 0;

    if (!take_number(text, 4, '-', &year) || !take_number(text, 2, '-', &month) || !take_number(text, 2, ' ', &day))
        return false;
    if (year < YEAR_FIRST || year > YEAR_LAST || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    *days = days_since_1970(year, month, day);
    return true;
}

static bool take_clock(struct tb_text *text, uint64_t *seconds)
{
    unsigned hour = 0, minute = 0, second = 0;

    if (!take_number(text, 2, ':', &hour) || !take_number(text, 2, ':', &minute) || !take_number(text, 2, '\0', &second))
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *seconds = (hour * 60 + minute) * 60 + second;
    return true;
}

// Nothing, or a point and one to nine digits.
static bool take_fraction(struct tb_text *text, uint64_t *ns)
{
    *ns = 0;
    if (text->bytes == 0 || text->at[0] != '.')
        return true;

    size_t i = 1;

    for (uint64_t worth = 100000000; i < text->bytes && is_digit(text->at[i]); i++, worth /= 10) {
        if (worth == 0)
            return false;
        *ns += worth * (uint64_t)(text->at[i] - '0');
    }
    text->at += i;
    text->bytes -= i;
    return i > 1;
}

static bool read_time(struct tb_text text, uint64_t *time_ns)
{
    uint64_t days = 0, seconds = 0, ns = 0;

    if (!take_date(&text, &days) || !take_clock(&text, &seconds) || !take_fraction(&text, &ns))
        return false;
    if (text.bytes > 0 && !tb_text_equals(text, "+00:00"))
        return false;
    *time_ns = (days * 86400 + seconds) * 1000000000 + ns;
    return true;
}

static int read_tokens(struct tb_parse *parse, unsigned column, struct tb_text text, uint32_t *out)
{
    char quoted[TB_QUOTE_BYTES];
    bool negative = text.bytes > 1 && text.at[0] == '-';
    uint64_t value = 0;

    for (size_t i = negative; i < text.bytes; i++) {
        if (!is_digit(text.at[i]))
            return tb_parse_bad(parse, "%s \"%s\" is not a number", column_names[column], tb_quote(text, quoted));
        value = value * 10 + (uint64_t)(text.at[i] - '0');
        if (value > UINT32_MAX)
            value = (uint64_t)UINT32_MAX + 1; // and stays there, so it cannot overflow
    }
    if (text.bytes == 0)
        return tb_parse_bad(parse, "%s is missing", column_names[column]);
    if (negative)
        return tb_parse_bad(parse, "%s \"%s\" is negative", column_names[column], tb_quote(text, quoted));
    if (value > UINT32_MAX)
        return tb_parse_bad(parse, "%s \"%s\" is too large", column_names[column], tb_quote(text, quoted));
    *out = (uint32_t)value;
    return 0;
}

static int read_line(struct tb_parse *parse)
{
    struct tb_text columns[COLUMNS] = {{NULL, 0}};
    char quoted[TB_QUOTE_BYTES];
    uint32_t prompt_tokens = 0, output_tokens = 0;
    uint64_t time_ns = 0;

    if (parse->line.bytes == 0)
        return tb_parse_bad(parse, "the line is empty");

    size_t count = split(parse->line, columns);

    if (count != COLUMNS)
        return tb_parse_bad(parse, "%zu column%s instead of 3 (%s)", count, count == 1 ? "" : "s", TB_AZURE_HEADER);
    if (!read_time(columns[TIMESTAMP], &time_ns))
        return tb_parse_bad(parse, "TIMESTAMP \"%s\" is not a time like 2023-11-16 18:15:46.6805900",
                            tb_quote(columns[TIMESTAMP], quoted));

    int error = read_tokens(parse, CONTEXT_TOKENS, columns[CONTEXT_TOKENS], &prompt_tokens);

    if (!error)
        error = read_tokens(parse, GENERATED_TOKENS, columns[GENERATED_TOKENS], &output_tokens);
    return error ? error : tb_parse_record(parse, time_ns, prompt_tokens, output_tokens);
}

int tb_parse_azure(struct tb_parse *parse)
{
    char quoted[TB_QUOTE_BYTES];
    int error = 0;

    if (tb_parse_line(parse) && !tb_text_equals(parse->line, TB_AZURE_HEADER))
        return tb_parse_bad(parse, "the header is \"%s\" and must be %s", tb_quote(parse->line, quoted), TB_AZURE_HEADER);
    while (!error && tb_parse_line(parse))
        error = read_line(parse);
    return error;
}
