// SPDX-License-Identifier: Apache-2.0
//
// trace_fuzz: what both loader fuzzers require of any input: it is read completely, in order, and can be replayed; or it is
// refused in one line. The fuzzer finds crashes, leaks and sanitizer reports; abort() turns a broken requirement into a crash.
#ifndef TB_TRACE_FUZZ_H
#define TB_TRACE_FUZZ_H

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/workload/trace.h"

static inline void trace_fuzz_hold(int truth)
{
    if (!truth)
        abort();
}

// Small requests only: what a replay costs is proportional to the tokens, and one number of ten digits would be the whole run.
static inline void trace_fuzz_replay(const struct tb_trace *trace)
{
    struct tb_replay_config config = {7, 600, 1000000, trace->count % 2 ? INFINITY : 3, 0, 0, 0};
    struct tb_schedule *schedule = NULL;
    struct tb_why why;
    uint64_t blocks = 0;
    char left_out[TB_LEFT_OUT];
    int error = tb_schedule_replay(trace, &config, &schedule, &why);

    bool nobody = tb_trace_left_out(trace, 0, left_out, TB_LEFT_OUT) == 0;

    trace_fuzz_hold(nobody ? error == -EINVAL : error == 0 || error == -ENOSPC);
    trace_fuzz_hold((error == 0) == (schedule != NULL) && (error == 0) == (why.text[0] == '\0'));
    for (size_t i = 0; i < trace->count; i++)
        if (tb_trace_whole(&trace->requests[i]))
            blocks += ((uint64_t)trace->requests[i].prompt_tokens + trace->requests[i].output_tokens + 6) / 7;
    trace_fuzz_hold(!schedule || schedule->blocks_per_lap == blocks);
    free(schedule);
}

static inline void trace_fuzz_records(const struct tb_trace *trace)
{
    trace_fuzz_hold(trace->count > 0 && trace->requests[0].arrival_ns == 0);
    for (size_t i = 0; i < trace->count; i++) {
        const struct tb_trace_request *recorded = &trace->requests[i];

        trace_fuzz_hold(recorded->line > 0 && (recorded->prompt_tokens > 0 || recorded->output_tokens > 0));
        if (i > 0)
            trace_fuzz_hold(recorded->arrival_ns >= recorded[-1].arrival_ns && recorded->line > recorded[-1].line);
    }
}

static inline void trace_fuzz_ids(const struct tb_trace *trace)
{
    struct tb_why why;
    size_t ids = 0;

    for (size_t i = 0; i < trace->count; i++) {
        uint64_t tokens = trace->requests[i].prompt_tokens, count = trace->requests[i].ids_count;
        trace_fuzz_hold(trace->requests[i].ids == ids);
        trace_fuzz_hold(!count || (tokens + trace->id_tokens_least - 1) / trace->id_tokens_least == count);
        trace_fuzz_hold(!count || (tokens + trace->id_tokens_most - 1) / trace->id_tokens_most == count);
        ids += count;
    }
    trace_fuzz_hold(ids == trace->ids_count);

    int error = tb_trace_chained(trace, &why);

    trace_fuzz_hold(error == 0 || error == -EINVAL);
    trace_fuzz_hold((error == 0) == (why.text[0] == '\0') && !strchr(why.text, '\n'));
}

static inline void trace_fuzz_text(const char *text, size_t bytes)
{
    struct tb_trace *trace = NULL;
    struct tb_why why;
    int error = tb_trace_parse("fuzz", NULL, text, bytes, &trace, &why);

    trace_fuzz_hold((error == 0) == (trace != NULL));
    trace_fuzz_hold((error == 0) == (why.text[0] == '\0') && !strchr(why.text, '\n'));
    trace_fuzz_hold(error == 0 || strncmp(why.text, "fuzz:", 5) == 0);
    if (trace) {
        trace_fuzz_records(trace);
        trace_fuzz_ids(trace);
        trace_fuzz_replay(trace);
    }
    tb_trace_close(trace);
}

// Once as it is, and once after a correct beginning, so that most of the time is spent beyond the first line.
static inline void trace_fuzz_input(const char *beginning, const uint8_t *data, size_t bytes)
{
    size_t before = strlen(beginning);
    char *text = malloc(before + bytes); // exactly, so that ASan sees a read beyond it

    trace_fuzz_hold(text != NULL);
    memcpy(text, beginning, before);
    if (bytes > 0)
        memcpy(text + before, data, bytes);
    trace_fuzz_text(text, before + bytes);
    trace_fuzz_text(text + before, bytes);
    free(text);
}

#endif
