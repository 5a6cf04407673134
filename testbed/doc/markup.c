// SPDX-License-Identifier: Apache-2.0
//
// markup: see markup.h. A log holds what allocators, firmware and other people's hosts call themselves, so all of it is text until
// it was escaped, and the escaping is where the text is put and not where it came from.
#include "testbed/doc/markup.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/words.h"

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
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, TB_HTML_DIGITS, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}

const char *tb_html_percent(char out[TB_HTML_DIGITS], double value)
{
    snprintf(out, TB_HTML_DIGITS, "%.4g%%", value);
    return out;
}
