// SPDX-License-Identifier: Apache-2.0
//
// serve: strategies side by side under the scheduler, from a log: a table for each cell, and which one to use.
#ifndef TB_REPORT_SERVE_H
#define TB_REPORT_SERVE_H

#include <jansson.h>

#include "testbed/doc/doc.h"
#include "testbed/record/log.h"

// Programs get `cells` with their settings and `strategies`. Takes over `head`. NULL without memory.
struct tb_doc *tb_serve_doc(json_t *head, const struct tb_log_view *view);

#endif
