// SPDX-License-Identifier: Apache-2.0
//
// words: composes, cleans and breaks text.
//
// Labels have paths that a person typed, so they may contain anything. Each report cleans them for its own syntax. None lets a
// control character or a broken UTF-8 sequence through: the first could drive a terminal, and the second makes a whole JSON or
// SVG file unreadable.
#include "testbed/base/words.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int tb_text_open(struct tb_text *text)
{
    *text = (struct tb_text){0};
    text->stream = open_memstream(&text->bytes, &text->count);
    return text->stream ? 0 : -errno;
}

static int write_all(const struct tb_text *text, FILE *to)
{
    errno = 0;
    bool written = fwrite(text->bytes, 1, text->count, to) == text->count;
    if (written && fflush(to) == 0 && !ferror(to))
        return 0;
    return errno ? -errno : -EIO;
}

int tb_text_close(struct tb_text *text, FILE *to, int rc)
{
    bool composed = !ferror(text->stream);
    if (fclose(text->stream) != 0 || !composed)
        rc = rc < 0 ? rc : -ENOMEM; // memory is the only thing that can run out here
    if (rc >= 0)
        rc = write_all(text, to);
    free(text->bytes);
    *text = (struct tb_text){0};
    return rc;
}

// The length of the UTF-8 character at `in`; 0 if it is invalid: also overlong forms, surrogates, and anything beyond U+10FFFF.
static size_t utf8_bytes(const unsigned char *in)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t bytes;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    if (in[0] < 0x80)
        return in[0] >= 0x20 && in[0] != 0x7f;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        if (in[0] < forms[f].first_low || in[0] > forms[f].first_high)
            continue;
        if (in[1] < forms[f].second_low || in[1] > forms[f].second_high)
            return 0;
        for (size_t i = 2; i < forms[f].bytes; i++)
            if ((in[i] & 0xc0) != 0x80)
                return 0;
        bool c1_control = in[0] == 0xc2 && in[1] < 0xa0;
        return c1_control ? 0 : forms[f].bytes;
    }
    return 0;
}

void tb_text_clean(const char *in, bool ascii, char *out, size_t size)
{
    size_t used = 0;
    while (*in) {
        size_t bytes = utf8_bytes((const unsigned char *)in);
        bool keep = bytes == 1 || (bytes > 1 && !ascii);
        size_t wanted = keep ? bytes : 1;
        if (used + wanted >= size)
            break;
        memcpy(out + used, keep ? in : "?", wanted);
        used += wanted;
        in += bytes > 0 ? bytes : 1;
    }
    out[used] = '\0';
}

void tb_text_shorten(char *text, size_t width)
{
    size_t length = strlen(text);
    if (length <= width)
        return;
    size_t head = strncmp(text, "malloc:", 7) == 0 && width > 14 ? 7 : width / 3;
    size_t tail = width > head + 2 ? width - head - 2 : 0;
    memcpy(text + head, "..", 2);
    memmove(text + head + 2, text + length - tail, tail + 1);
}

void tb_text_wrap(FILE *stream, int columns, int start, int indent, const char *text)
{
    int room = columns > indent + 8 ? columns - indent : 8, column = start;
    bool begun = false;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column + begun + word > columns && (begun || column > indent)) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
            begun = false;
        }
        int printed = word < room ? word : room; // a path may be longer than a line
        column += fprintf(stream, "%s%.*s", begun ? " " : "", printed, text);
        begun = printed == word;
        text += printed;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}

void tb_say(struct tb_words *words, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(words->text + words->used, sizeof words->text - words->used, format, arguments);
    va_end(arguments);
    size_t room = sizeof words->text - words->used - 1;
    words->used += wanted < 0 ? 0 : (size_t)wanted < room ? (size_t)wanted : room;
}

const char *tb_text_number(char *out, double value)
{
    // The thresholds allow for rounding into another digit: 9.996 is "10.0".
    int decimals = value < 0.9995 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(out, 16, value < 1e7 ? "%.*f" : "%.*e", decimals, value);
    return out;
}

const char *tb_text_ratio(char *out, double value)
{
    if (value >= 0.9995)
        return tb_text_number(out, value);
    snprintf(out, 16, "%.2f", value);
    return out;
}

const char *tb_text_significant(char *out, double value)
{
    if (value >= 0.9995 || !(value > 0))
        return tb_text_number(out, value);
    int decimals = 2 - (int)floor(log10(value * 1.0005)); // 0.09996 is "0.100"
    snprintf(out, 16, decimals <= 8 ? "%.*f" : "%.*e", decimals <= 8 ? decimals : 2, value);
    return out;
}

const char *tb_text_percent_up(char *out, double difference)
{
    double percent = 100 * difference;
    double step = percent < 10 ? 10 : 1;
    snprintf(out, 16, "%.*f", percent < 10, fmax(ceil(percent * step - 1e-6), 1) / step);
    return out;
}

struct tb_unit tb_text_unit(double smallest_ns, double largest_ns)
{
    static const struct tb_unit units[] = {{"ns", 1, 0}, {"us", 1e3, 0}, {"ms", 1e6, 0}, {"s", 1e9, 0}};
    size_t u = 0;
    // The smallest keeps two digits before the point if possible; the largest never needs more than five.
    while (u + 1 < sizeof units / sizeof *units && (smallest_ns >= 10 * units[u + 1].ns || largest_ns >= 99999.5 * units[u].ns))
        u++;
    struct tb_unit unit = units[u];
    double smallest = smallest_ns / unit.ns, largest = largest_ns / unit.ns;
    if (smallest < 0.995)
        unit.decimals = TB_DIGITS;
    else
        unit.decimals = smallest >= 99.95 || largest >= 9999.5 ? 0 : smallest >= 9.995 || largest >= 999.5 ? 1 : 2;
    return unit;
}
