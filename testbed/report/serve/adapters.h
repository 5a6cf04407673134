// SPDX-License-Identifier: Apache-2.0
//
// adapters: batchers, policies of residency, or scores side by side, from a log of `locus serve --batchers`, `--residency` or
// `--pages`: one table with a group of rows for each load, or rate, and a curve over these.
#ifndef TB_REPORT_ADAPTERS_H
#define TB_REPORT_ADAPTERS_H

#include <jansson.h>
#include <stdbool.h>

#include "testbed/doc/doc.h"
#include "testbed/record/log.h"

// Are the log's cells of touch `adapters`, `residency` or `pages`?
bool tb_adapters_is(const struct tb_log_view *view);

// Programs get `batchers`, `residents` or `scores`, a row for each cell and arm with all that is counted, and `cells` with their
// settings. Takes over `head`. NULL without memory.
struct tb_doc *tb_adapters_doc(json_t *head, const struct tb_log_view *view);

#endif
