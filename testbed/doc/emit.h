// SPDX-License-Identifier: Apache-2.0
//
// emit: a document in each form. All write to a stream that the caller opened and return 0 or -errno: a full disk is an error, not
// a short file.
#ifndef TB_EMIT_H
#define TB_EMIT_H

#include <stdio.h>

#include "testbed/base/terminal.h"
#include "testbed/doc/doc.h"

int tb_emit_text(FILE *out, const struct tb_doc *doc, struct tb_report_style style);

// {"head": ..., and what has a key}. tb_doc_as_json(): the same as a value, a new reference, or NULL without memory.
int tb_emit_json(FILE *out, const struct tb_doc *doc);
json_t *tb_doc_as_json(const struct tb_doc *doc);

// The table of that key; NULL: the first that has one, or else the first, whose columns are then called by their titles.
// An interval is three columns, KEY, KEY_low and KEY_high. A row with samples
// is a line for each, with its number from 1 in KEY_nth. -ENOENT: there is no such table.
int tb_emit_csv(FILE *out, const struct tb_doc *doc, const char *key);

int tb_emit_markdown(FILE *out, const struct tb_doc *doc);

// A page that loads nothing and runs no script. `template` has the words @TITLE@, @STYLE@, @INDEX@ (links to the sections) and
// @BODY@; both are text that is not escaped.
int tb_emit_html(FILE *out, const struct tb_doc *doc, const char *template, const char *style);

// What of it is drawn, one drawing below the other. -ENODATA: nothing.
int tb_emit_svg(FILE *out, const struct tb_doc *doc);

#endif
