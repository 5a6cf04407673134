// SPDX-License-Identifier: Apache-2.0
//
// find_run: the log that a person means by "a1b2c3".
//
// A run is named by its full id ("0002-20261121T101500Z-a1b2c3"), by the last six digits of it, or by its file. Names are looked up
// below logs/ and build/logs/ of the current folder, which is the repository's.
#ifndef TB_FIND_RUN_H
#define TB_FIND_RUN_H

#include <stddef.h>

#include "testbed/record/log.h"

// The path of the log, relative to the current folder where it lies below it. 0, -ENOENT (no such run), -EEXIST (several), -EINVAL
// (not a name of a run), -errno; why is one sentence that names the remedy.
int tb_find_run(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes);

// Finds, loads and checks it: the chain holds to its end, and there is a summary and a seal. 0, or -errno with why.
int tb_find_run_load(const char *name, struct tb_log_view *out, char *why, size_t why_bytes);

// The host of a log by its folder, logs/HOST/NNNN-slug/FILE, or "unknown".
void tb_find_run_host(const char *path, char *out, size_t bytes);

#endif
