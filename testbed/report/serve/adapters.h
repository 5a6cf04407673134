// SPDX-License-Identifier: Apache-2.0
//
// adapters: batchers, or policies of residency, side by side, from a log of `locus serve --batchers` or `--residency`: one table
// with a group of rows for each load, or rate, and a curve over these.
#ifndef TB_REPORT_ADAPTERS_H
#define TB_REPORT_ADAPTERS_H

#include <jansson.h>
#include <stdbool.h>

#include "testbed/doc/doc.h"
#include "testbed/record/log.h"

// Are the log's cells of touch `adapters` or `residency`?
bool tb_adapters_is(const struct tb_log_view *view);

// Programs get `batchers` or `residents`, a row for each cell and arm with all that is counted, and `cells` with their settings.
// Takes over `head`. NULL without memory.
struct tb_doc *tb_adapters_doc(json_t *head, const struct tb_log_view *view);

#endif
