// SPDX-License-Identifier: Apache-2.0
//
// mallocs: how many times as fast as the best malloc was locus, in each of a record's cells?
//
// The best malloc of a cell is the one over which the lead of locus is least, tuned or not. The floor is held against that one,
// too: more than that is not to be had.
#ifndef TB_MALLOCS_H
#define TB_MALLOCS_H

#include "testbed/doc/doc.h"
#include "testbed/record/log.h"

// One more table of the document: a row for each cell whose name the pattern of fnmatch(3) covers. `record` is what the log belongs
// to, "0093". 0, -ENOMEM, or -ENODATA: no cell is covered, or one has no malloc, no locus or no floor; why says which.
int tb_mallocs_put(struct tb_doc *doc, const struct tb_log_view *view, const char *record, const char *pattern, char *why,
                   size_t why_bytes);

#endif
