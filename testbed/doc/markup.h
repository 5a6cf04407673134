// SPDX-License-Identifier: Apache-2.0
//
// markup (private to doc): writes HTML and SVG whose text cannot become markup.
//
//     tb_html(out, "<td data-arm=\"@\">@</td>\n", key, name);
//
// Each `@` stands for the next text, and every text is escaped: there is no way to put one in that is not. What is markup is in the
// template alone, and that is a constant.
#ifndef TB_MARKUP_H
#define TB_MARKUP_H

#include <stdio.h>

// At least one text; a template without is put by fputs. The number of texts and of `@` must agree (asserted).
#define tb_html(out, template, ...) tb_html_fill(out, template, (const char *const[]){__VA_ARGS__, NULL})
void tb_html_fill(FILE *out, const char *template, const char *const texts[]);

// For text and for attributes in double quotes. Control characters but newline and tab, and what is not UTF-8, become '?'. NULL is
// written as nothing.
void tb_html_text(FILE *out, const char *text);

// Numbers as texts, valid until the end of the block they are made in.
#define TB_HTML_DIGITS 32
#define TB_EXACT(value) tb_html_exact((char[TB_HTML_DIGITS]){0}, value)     // for data-attributes: read back, it is the same double
#define TB_PERCENT(value) tb_html_percent((char[TB_HTML_DIGITS]){0}, value) // a place in a drawing: "12.34%"

const char *tb_html_exact(char out[TB_HTML_DIGITS], double value); // as short as it can be; "" for what is not finite
const char *tb_html_percent(char out[TB_HTML_DIGITS], double value);

#endif
