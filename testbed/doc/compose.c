// SPDX-License-Identifier: Apache-2.0
//
// compose: printf for the sentences of a document, in which a figure that is none is a dash, as it is in a table.
//
// A log of another version lacks figures, and reading one gives NAN (base/json.h). Sentences are where that would reach people as
// "nan": values go through tb_number(). So each conversion is made by itself, and a double that is not finite is nothing but the
// dash. Wide characters and %n are no conversions here.
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/doc/doc_internal.h"

struct spec {
    char text[48];              // "%-5.1" without the length and the conversion
    char length;                // 0, h, l, q for ll, z, j, t or L
    char conversion;
};

// A copy, so that a callee may take arguments one by one.
struct arguments {
    va_list list;
};

// Flags, width and precision; '*' becomes its number. Returns what follows.
static const char *spec_read(const char *at, struct arguments *arguments, struct spec *out)
{
    char *to = out->text, *end = to + sizeof out->text - 12;
    *to++ = '%';
    for (; (isdigit((unsigned char)*at) || (*at && strchr("-+ #.*", *at))) && to < end; at++) {
        int number = *at == '*' ? va_arg(arguments->list, int) : 0;
        if (*at == '*' && number < 0 && to[-1] == '.')
            to--; // as if there were none
        else if (*at == '*')
            to += sprintf(to, "%d", number);
        else
            *to++ = *at;
    }
    *to = '\0';
    out->length = *at && strchr("hlzjtL", *at) ? *at++ : '\0';
    if (out->length && *at == out->length) { // hh, ll
        out->length = out->length == 'l' ? 'q' : 'h';
        at++;
    }
    out->conversion = *at;
    return *at ? at + 1 : at;
}

static intmax_t whole(struct arguments *arguments, char length, bool has_sign)
{
    switch (length) {
    case 'l': return va_arg(arguments->list, long);
    case 'q': return va_arg(arguments->list, long long);
    case 'z': return (intmax_t)va_arg(arguments->list, size_t);
    case 'j': return va_arg(arguments->list, intmax_t);
    case 't': return va_arg(arguments->list, ptrdiff_t);
    default: return has_sign ? va_arg(arguments->list, int) : (intmax_t)va_arg(arguments->list, unsigned);
    }
}

static void real_put(FILE *out, const struct spec *spec, struct arguments *arguments)
{
    char format[sizeof spec->text + 4];
    long double number = spec->length == 'L' ? va_arg(arguments->list, long double) : va_arg(arguments->list, double);
    snprintf(format, sizeof format, "%sL%c", spec->text, spec->conversion);
    if (isfinite(number))
        fprintf(out, format, number);
    else
        fputc('-', out);
}

static void put(FILE *out, const struct spec *spec, struct arguments *arguments)
{
    char format[sizeof spec->text + 4];
    bool is_whole = spec->conversion && strchr("diuxXo", spec->conversion);
    snprintf(format, sizeof format, "%s%s%c", spec->text, is_whole ? "j" : "", spec->conversion);
    if (spec->conversion && strchr("fFeEgGaA", spec->conversion))
        real_put(out, spec, arguments);
    else if (is_whole)
        fprintf(out, format, whole(arguments, spec->length, strchr("di", spec->conversion)));
    else if (spec->conversion == 's')
        fprintf(out, format, va_arg(arguments->list, const char *));
    else if (spec->conversion == 'c')
        fprintf(out, format, va_arg(arguments->list, int));
    else if (spec->conversion == 'p')
        fprintf(out, format, va_arg(arguments->list, void *));
    else
        fputc('%', out);
}

char *tb_compose(const char *format, va_list given)
{
    struct arguments arguments;
    struct spec spec;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    va_copy(arguments.list, given);
    while (*format) {
        size_t plain = strcspn(format, "%");
        fwrite(format, 1, plain, out);
        format += plain;
        if (*format) {
            format = spec_read(format + 1, &arguments, &spec);
            put(out, &spec, &arguments);
        }
    }
    va_end(arguments.list);
    bool failed = ferror(out);
    if (!fclose(out) && !failed)
        return text;
    free(text);
    return NULL;
}
