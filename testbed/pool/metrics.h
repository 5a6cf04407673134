// SPDX-License-Identifier: Apache-2.0
//
// metrics: an audit as text for Prometheus, in OpenMetrics 1.0 or in the older text format 0.0.4.
//
// The numbers are those of the audit and nothing else. Counters are named *_total; in OpenMetrics their family is named without
// it. Units are base units: seconds, bytes, ratios of 1. A figure that there is not (fragmentation of a full arena) is NaN.
//
// The histogram has the bounds 1e-7 to 1e-3 seconds of the document that the pool is after.
#ifndef TB_POOL_METRICS_H
#define TB_POOL_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include "testbed/pool/audit.h"

enum tb_metrics_form { TB_METRICS_OPEN, TB_METRICS_TEXT }; // application/openmetrics-text 1.0.0; text/plain 0.0.4

const char *tb_metrics_type(enum tb_metrics_form form); // the value of Content-Type

// Which of the two a scraper wants, by its header Accept: OpenMetrics if it says so, and does not like text better. NULL, or a
// header without either: text.
enum tb_metrics_form tb_metrics_accepted(const char *accept);

// 0 or -errno.
int tb_metrics_write(FILE *out, const struct tb_pool_audit *audit, enum tb_metrics_form form);

// Replaces the file at once (base/file.h), for a collector of text files. That reads the older format, so a name that ends with
// ".prom" gets it, and any other name OpenMetrics. 0 or -errno.
int tb_metrics_file(const char *path, const struct tb_pool_audit *audit);

#endif
