// SPDX-License-Identifier: Apache-2.0
//
// html: see html.h. A log holds what allocators, firmware and other people's hosts call themselves, so all of it is text until it
// was escaped, and the escaping is where the text is put and not where it came from.
#include "testbed/report/page/html.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/report/board/board.h"

static void put_escaped(FILE *out, char c)
{
    switch (c) {
    case '&': fputs("&amp;", out); break;
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '"': fputs("&quot;", out); break;
    case '\'': fputs("&#39;", out); break;
    default: fputc(c, out);
    }
}

void tb_html_text(FILE *out, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *clean = size ? malloc(size) : NULL;
    if (!clean) {
        fputs(size ? "?" : "", out);
        return;
    }
    tb_text_clean(text, false, clean, size);
    for (size_t i = 0; clean[i]; i++) // cleaning keeps every byte at its place
        put_escaped(out, text[i] == '\n' || text[i] == '\t' ? text[i] : clean[i]);
    free(clean);
}

void tb_html_fill(FILE *out, const char *template, const char *const texts[])
{
    for (; *template; template ++) {
        if (*template != '@') {
            fputc(*template, out);
            continue;
        }
        assert(*texts);
        if (*texts)
            tb_html_text(out, *texts++);
    }
    assert(!*texts);
}

const char *tb_html_exact(char out[TB_HTML_DIGITS], double value)
{
    if (!isfinite(value))
        return "";
    snprintf(out, TB_HTML_DIGITS, "%.17g", value);
    return out;
}

const char *tb_html_figure(char out[TB_HTML_DIGITS], double value)
{
    if (isnan(value))
        return "none";
    if (isinf(value))
        return value > 0 ? "\u221e" : "\u2212\u221e";
    char digits[16];
    if (value == floor(value) && fabs(value) < 1000)
        snprintf(out, TB_HTML_DIGITS, "%.0f", value);
    else
        snprintf(out, TB_HTML_DIGITS, "%s%s", value < 0 ? "\u2212" : "", tb_text_number(digits, fabs(value)));
    return out;
}

const char *tb_html_percent(char out[TB_HTML_DIGITS], double value)
{
    snprintf(out, TB_HTML_DIGITS, "%.2f%%", value);
    return out;
}

const char *tb_html_count(char out[TB_HTML_DIGITS], size_t value)
{
    snprintf(out, TB_HTML_DIGITS, "%zu", value);
    return out;
}

// A median of whole numbers may be a half.
const char *tb_html_whole(char out[TB_HTML_DIGITS], double value)
{
    char digits[TB_HTML_DIGITS];
    if (!(value >= 0 && value < 1e15))
        return tb_html_figure(out, value);
    int count = snprintf(digits, sizeof digits, "%.0f", floor(value)), used = 0;
    for (int i = 0; i < count; i++)
        used +=
            snprintf(out + used, TB_HTML_DIGITS - (size_t)used, "%s%c", i > 0 && (count - i) % 3 == 0 ? "\u202f" : "", digits[i]);
    if (value != floor(value))
        snprintf(out + used, TB_HTML_DIGITS - (size_t)used, ".5");
    return out;
}

// What is nearly nothing must not read as nothing, nor what is nearly all as all.
const char *tb_html_share(char out[TB_HTML_DIGITS], double value)
{
    double percent = 100 * value;
    if (percent > 0 && percent < 0.0005)
        return "<0.001";
    if (percent < 100 && percent >= 99.95)
        return ">99.9";
    return tb_html_figure(out, percent);
}
