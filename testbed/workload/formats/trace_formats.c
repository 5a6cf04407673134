// SPDX-License-Identifier: Apache-2.0
//
// trace_formats: which columns or keys of a recorded trace are what. A new format is a row of this table.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "testbed/workload/trace.h"

// One that needs a column more comes before the one that does without it.
static const struct tb_trace_format formats[] = {
    {.name = "Azure multimodal",
     .column = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
     .mark = "NumImages",
     .from = "github.com/Azure/AzurePublicDataset"},
    {.name = "Azure", .column = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}, .from = "github.com/Azure/AzurePublicDataset"},
    {.name = "BurstGPT", .column = {"Timestamp", "Request tokens", "Response tokens"}, .from = "github.com/HPMLL/BurstGPT"},
    {.name = "vidur", .column = {"arrived_at", "num_prefill_tokens", "num_decode_tokens"}, .from = "github.com/microsoft/vidur"},
    {.name = "Splitwise",
     .column = {"arrival_timestamp", "prompt_size", "token_size"},
     .from = "github.com/Mutinifni/splitwise-sim"},
    {.name = "Bailian",
     .json = true,
     .column = {"timestamp", "input_length", "output_length"},
     .mark = "chat_id",
     .from = "github.com/alibaba-edu/qwen-bailian-usagetraces-anon"},
    {.name = "aiperf",
     .json = true,
     .column = {"timestamp", "input_length", "output_length"},
     .mark = "session_id",
     .clock = TB_CLOCK_MS,
     .from = "github.com/ai-dynamo/aiperf"},
    {.name = "Mooncake",
     .json = true,
     .column = {"timestamp", "input_length", "output_length"},
     .clock = TB_CLOCK_WHOLE_MS,
     .from = "github.com/kvcache-ai/Mooncake"},
};

const struct tb_trace_format *tb_trace_format_at(size_t i)
{
    return i < sizeof formats / sizeof *formats ? &formats[i] : NULL;
}

// --- by hand -------------------------------------------------------------------------------------------------------------------

// "arrival:ms" is the column "arrival" and a clock; a colon before anything else belongs to the name.
static enum tb_trace_clock clock_split(char *column)
{
    static const struct {
        const char *unit;
        enum tb_trace_clock clock;
    } units[] = {{"s", TB_CLOCK_S}, {"ms", TB_CLOCK_MS}, {"us", TB_CLOCK_US}, {"ns", TB_CLOCK_NS}};
    char *colon = strrchr(column, ':');
    for (size_t i = 0; colon && i < sizeof units / sizeof *units; i++)
        if (strcmp(colon + 1, units[i].unit) == 0) {
            *colon = '\0';
            return units[i].clock;
        }
    return TB_CLOCK_ANY;
}

// NULL: there is no such role.
static const char **role_find(struct tb_trace_format *format, const char *name)
{
    static const char *const roles[TB_TRACE_COLUMNS] = {"time", "prompt", "output"};
    for (int i = 0; i < TB_TRACE_COLUMNS; i++)
        if (strcmp(name, roles[i]) == 0)
            return &format->column[i];
    return strcmp(name, "ids") == 0 ? &format->ids : NULL;
}

int tb_trace_map_read(const char *text, struct tb_trace_map *out, char *why, size_t why_bytes)
{
    char *rest = NULL;
    *out = (struct tb_trace_map){.format = {.name = "mapped"}};
    if ((size_t)snprintf(out->text, sizeof out->text, "%s", text) >= sizeof out->text) {
        snprintf(why, why_bytes, "the names are too long");
        return -EINVAL;
    }
    for (char *word = strtok_r(out->text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *column = strchr(word, '=');
        if (column)
            *column++ = '\0';
        const char **role = role_find(&out->format, word);
        if (!role || !column || *role) {
            snprintf(why, why_bytes, "'%.40s' %s", word,
                     !role     ? "is not time, prompt, output or ids"
                     : !column ? "names no column"
                               : "is said twice");
            return -EINVAL;
        }
        if (role == &out->format.column[TB_TRACE_TIME])
            out->format.clock = clock_split(column);
        *role = column;
    }
    for (int i = 0; i < TB_TRACE_COLUMNS; i++)
        if (!out->format.column[i] || !*out->format.column[i]) {
            snprintf(why, why_bytes, "it takes all of time=COLUMN,prompt=COLUMN,output=COLUMN");
            return -EINVAL;
        }
    return 0;
}
