// SPDX-License-Identifier: Apache-2.0
//
// keep: policies of retention side by side, from a log of `locus serve --policies`: one table, a column for each size of the cache.
#ifndef TB_REPORT_KEEP_H
#define TB_REPORT_KEEP_H

#include <jansson.h>
#include <stdbool.h>

#include "testbed/doc/doc.h"
#include "testbed/record/log.h"

// Are the log's cells of touch `keep`?
bool tb_keep_is(const struct tb_log_view *view);

// Programs get `policies`, each with its hit_ratio by the number of blocks, and `cells` with their settings. Takes over `head`.
// NULL without memory.
struct tb_doc *tb_keep_doc(json_t *head, const struct tb_log_view *view);

#endif
