// SPDX-License-Identifier: Apache-2.0
//
// known_trace: see known_trace.h.

#include "testbed/workload/known_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/share.h"

#define TRACES_DEFAULT "../shared/traces"

static const struct known {
    const char *name, *file;
    const char *from;           // where it can be had, for LOCUS_TRACES; NULL: it comes along
} traces[] = {
    {"sample", "workload/sample.csv", NULL},
    {"azure-conv", "AzureLLMInferenceTrace_conv.csv", "github.com/Azure/AzurePublicDataset/tree/master/data"},
    {"azure-code", "AzureLLMInferenceTrace_code.csv", "github.com/Azure/AzurePublicDataset/tree/master/data"},
    {"mooncake", "conversation_trace.jsonl", "github.com/kvcache-ai/Mooncake/tree/main/FAST25-release/traces"},
};

static const struct known *find(const char *name)
{
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        if (strcmp(traces[i].name, name) == 0)
            return &traces[i];
    return NULL;
}

bool tb_known_trace(const char *name)
{
    return find(name) != NULL;
}

static const char *folder(void)
{
    const char *named = getenv("LOCUS_TRACES");
    return named && *named ? named : TRACES_DEFAULT;
}

int tb_known_trace_path(const char *name, char *path, size_t bytes)
{
    const struct known *known = find(name);
    char why[1024];
    if (!known)
        return -ENOENT;
    if ((size_t)snprintf(path, bytes, "%s/%s", known->from ? folder() : "testbed", known->file) >= bytes)
        return -ENAMETOOLONG;
    if (known->from || access(path, R_OK) == 0) // the short one, as logs name it
        return 0;
    return tb_share(known->file, path, bytes, why, sizeof why);
}

bool tb_known_trace_missing(const char *name, char *why, size_t why_bytes)
{
    const struct known *known = find(name);
    char path[4096];
    if (tb_known_trace_path(name, path, sizeof path) == 0 && access(path, R_OK) == 0)
        return false;
    if (!known)
        snprintf(why, why_bytes, "there is no trace named %s", name);
    else if (!known->from)
        tb_share(known->file, path, sizeof path, why, why_bytes);
    else
        snprintf(why, why_bytes, "there is no %s: set LOCUS_TRACES to the folder that has %s (it is not in %.120s; %s has it)",
                 name, known->file, folder(), known->from);
    return true;
}

int tb_known_trace_schedule(const char *name, struct tb_schedule **out, struct tb_why *why)
{
    return tb_known_trace_replay(name, &tb_replay_defaults, out, why);
}

int tb_known_trace_replay(const char *name, const struct tb_replay_config *config, struct tb_schedule **out, struct tb_why *why)
{
    struct tb_trace *trace = NULL;
    char path[4096];
    *out = NULL;
    if (tb_known_trace_missing(name, why->text, sizeof why->text))
        return -ENOENT;
    int error = tb_known_trace_path(name, path, sizeof path);
    if (!error)
        error = tb_trace_load(path, NULL, &trace, why);
    if (error)
        return error;
    error = tb_schedule_replay(trace, config, out, why);
    if (!error)
        snprintf((*out)->name, sizeof(*out)->name, "%s", name);
    tb_trace_close(trace);
    return error;
}
