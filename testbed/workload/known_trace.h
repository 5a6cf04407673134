// SPDX-License-Identifier: Apache-2.0
//
// known_trace: recorded traces by name, so that a cell can name one ("azure-conv/line") like a workload of the suite.
//
//   sample       workload/sample.csv, made by the project
//   azure-conv   AzureLLMInferenceTrace_conv.csv
//   azure-code   AzureLLMInferenceTrace_code.csv
//   mooncake     conversation_trace.jsonl
//
// The first comes along with the program, installed or built (base/share.h). The project has no copy of the others: LOCUS_TRACES
// names their folder; the default is ../shared/traces, seen from the current folder, which is the project's.
#ifndef TB_KNOWN_TRACE_H
#define TB_KNOWN_TRACE_H

#include <stdbool.h>

#include "testbed/workload/trace.h"

bool tb_known_trace(const char *name);

// Its file, which need not exist. 0, -ENOENT (no such name), -ENAMETOOLONG.
int tb_known_trace_path(const char *name, char *path, size_t bytes);

// Is its file missing? `why` says in one sentence what to do.
bool tb_known_trace_missing(const char *name, char *why, size_t why_bytes);

// Its replay with the defaults of `locus replay`, under its name. *out is malloc'd. 0, or -errno with the reason in why.
int tb_known_trace_schedule(const char *name, struct tb_schedule **out, struct tb_why *why);
int tb_known_trace_replay(const char *name, const struct tb_replay_config *config, struct tb_schedule **out, struct tb_why *why);

#endif
