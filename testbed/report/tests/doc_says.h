// SPDX-License-Identifier: Apache-2.0
//
// doc_says: what a document says as text, wherever its lines are broken, and as JSON; for tests of documents.
#ifndef TB_DOC_SAYS_H
#define TB_DOC_SAYS_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/doc/emit.h"

// malloc'd. Closes the document. As text no line is longer than 80 bytes.
static inline char *doc_shown(struct tb_doc *doc, bool json)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(json ? tb_emit_json(out, doc) : tb_emit_text(out, doc, (struct tb_report_style){.columns = 80}), 0);
    fclose(out);
    tb_doc_close(doc);
    for (char *at = text; *at && !json; at += strcspn(at, "\n"), at += *at == '\n')
        cr_assert_leq(strcspn(at, "\n"), 80, "%.*s", (int)strcspn(at, "\n"), at);
    return text;
}

static inline void doc_says(struct tb_doc *doc, const char *words, bool expected)
{
    char *text = doc_shown(doc, false), *to = text;
    for (const char *from = text; *from; from++) {
        char c = *from == '\n' ? ' ' : *from;
        if (c != ' ' || to == text || to[-1] != ' ')
            *to++ = c;
    }
    *to = '\0';
    cr_expect_eq(strstr(text, words) != NULL, expected, "\"%s\" in:\n%s", words, text);
    free(text);
}

#endif
