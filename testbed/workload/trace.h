// SPDX-License-Identifier: Apache-2.0
//
// trace: recorded requests of production services, and their replay as a schedule.
//
// Formats, told apart by their first line: Azure LLM inference CSV (TIMESTAMP,ContextTokens,GeneratedTokens) and Mooncake JSON
// Lines (timestamp in ms, input_length, output_length, hash_ids). An error in a file is reported in one sentence, with file and
// line.
#ifndef TB_TRACE_H
#define TB_TRACE_H

#include "testbed/workload/schedule.h"

struct tb_trace_request {
    uint64_t arrival_ns;        // since the first request of the file; never decreasing
    uint32_t prompt_tokens;
    uint32_t output_tokens;
    uint32_t line;              // in the file, from 1
};

struct tb_trace {
    char format[16];            // "azure-csv" or "mooncake-jsonl"
    char path[4096];
    size_t count;
    struct tb_trace_request *requests;
};

struct tb_why {                 // one sentence for the user, without "locus: " and newline
    char text[512];
};

// "FILE:7: " or, for line 0, "FILE: ", and then the message. Of a very long path only the end is shown.
void tb_why_set(struct tb_why *why, const char *path, uint32_t line, const char *format, ...) __attribute__((format(printf, 4, 5)));

// 0, or -errno with the reason in why: -ENOENT and the like for files, -EINVAL for contents (an empty file too).
int tb_trace_load(const char *path, struct tb_trace **out, struct tb_why *why);

// The same from memory; `path` is only for messages. The fuzzer calls it.
int tb_trace_parse(const char *path, const char *text, size_t bytes, struct tb_trace **out, struct tb_why *why);
void tb_trace_close(struct tb_trace *trace);

struct tb_replay_config {
    uint32_t tokens_per_block;
    uint32_t pool_blocks;
    uint64_t tick_ns;           // virtual time of one decode step
    double speedup;             // arrivals come this many times faster; INFINITY: all wait at the start
    size_t requests;            // only the first `requests`; 0: all
};

// The defaults of `locus replay`, and of each trace that is a cell of an experiment: 16 tokens, 8192 blocks, 50 ms, the recorded
// speed, all requests.
extern const struct tb_replay_config tb_replay_defaults;

// The model. A tick first admits waiting requests in order of arrival: the head of the queue is admitted while ceil((prompt +
// output) / tokens_per_block) blocks are unreserved, reserves them, and takes the blocks of its prompt. Then every live request,
// in order of admission, decodes one token and takes a block when the token begins one. A request whose last token was decoded
// leaves at the end of that tick: it retires, and its reservation is released. When no request is alive or waiting, the clock
// jumps to the next arrival. In the stream each tick begins and ends with a drain; two drains with no take or retirement between
// them become one, so an idle tick adds nothing to the stream.
//
// -ENOSPC: a request needs more blocks than the pool has (why names file and line); -EINVAL: the config is out of range.
int tb_schedule_replay(const struct tb_trace *trace, const struct tb_replay_config *config, struct tb_schedule **out,
                       struct tb_why *why);

#endif
