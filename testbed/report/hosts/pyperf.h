// SPDX-License-Identifier: Apache-2.0
//
// pyperf: a run in the JSON of pyperf (version "1.0"), so that a second program can check our statistics.
#ifndef TB_PYPERF_H
#define TB_PYPERF_H

#include <jansson.h>

#include "testbed/record/log.h"

// One benchmark for each cell and arm, named "churn-touch/full A locus", with one run (a process) for each valid sample: its
// value in seconds per lap. An arm without a valid sample is no benchmark, pyperf has no word for it; *left_out counts the samples
// that are not valid. 0, -ENODATA (no valid sample at all), -ENOTSUP (its times are of an emulated machine), -ENOMEM.
int tb_pyperf(const struct tb_log_view *view, json_t **out, size_t *left_out);

#endif
