// SPDX-License-Identifier: Apache-2.0
//
// trace: recorded requests of production services, and their replay as a schedule.
//
// Formats, told apart by their first line: Azure LLM inference CSV (TIMESTAMP,ContextTokens,GeneratedTokens) and Mooncake JSON
// Lines (timestamp in ms, input_length, output_length, hash_ids). An error in a file is reported in one sentence, with file and
// line.
#ifndef TB_TRACE_H
#define TB_TRACE_H

#include "testbed/workload/why.h"
#include "testbed/workload/schedule.h"

struct tb_trace_request {
    uint64_t arrival_ns;        // since the first request of the file; never decreasing
    uint32_t prompt_tokens;
    uint32_t output_tokens;
    uint32_t line;              // in the file, from 1
    uint32_t ids_count;         // blocks of its prompt that have an id; 0 in formats without ids
    size_t ids;                 // the first one's place in tb_trace.ids
};

struct tb_trace {
    char format[16];            // "azure-csv" or "mooncake-jsonl"
    char path[4096];
    size_t count;
    struct tb_trace_request *requests;
    size_t ids_count;
    uint64_t *ids;              // hash_ids of all requests: an id stands for a block of the prompt and all that is before it
};

// 0, or -errno with the reason in why: -ENOENT and the like for files, -EINVAL for contents (an empty file too).
int tb_trace_load(const char *path, struct tb_trace **out, struct tb_why *why);

// The same from memory; `path` is only for messages. The fuzzer calls it.
int tb_trace_parse(const char *path, const char *text, size_t bytes, struct tb_trace **out, struct tb_why *why);
void tb_trace_close(struct tb_trace *trace);

// For those who ask for prefixes: does every id have one parent, which is the id before it in every request that has it, or none
// if it is the first? Then equal ids are equal prefixes. 0; -EINVAL with the reason in why: an id has two parents (file and line
// of the second), or no request has ids; -ENOMEM.
int tb_trace_chained(const struct tb_trace *trace, struct tb_why *why);

struct tb_replay_config {
    uint32_t tokens_per_block;
    uint32_t pool_blocks;
    uint64_t tick_ns;           // virtual time of one decode step
    double speedup;             // arrivals come this many times faster; INFINITY: all wait at the start
    size_t requests;            // only the first `requests`; 0: all
    uint32_t block_tokens, blocks_per_group; // of touch `decode`, as in tb_builder_decodes(); 0: another touch mode
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
// With `block_tokens` each tick that has live requests extends them all, a new one by its prompt as well, and then makes a step.
// Who is admitted when is still decided by the blocks of tokens_per_block, so the same tokens are decoded whatever the layout.
// Only what is taken is in its blocks. The pool has room for as many tokens as the model's; if larger blocks have a higher peak, a
// quarter more than that.
//
// -ENOSPC: a request needs more blocks than the pool has (why names file and line); -EINVAL: the config is out of range.
int tb_schedule_replay(const struct tb_trace *trace, const struct tb_replay_config *config, struct tb_schedule **out,
                       struct tb_why *why);

#endif
