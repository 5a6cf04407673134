// SPDX-License-Identifier: Apache-2.0
//
// trace: recorded requests of production services, and their replay as a schedule.
//
// CSV with a header, or JSON Lines. A format says which column or key is what. A file has the first format that its header or first
// object fits (tb_trace_format_at()), or the one that a user made (tb_trace_map_read()). An error in a file is reported in one
// sentence, with file and line.
#ifndef TB_TRACE_H
#define TB_TRACE_H

#include <stdbool.h>

#include "testbed/workload/schedule.h"
#include "testbed/workload/why.h"

struct tb_trace_request {
    uint64_t arrival_ns;        // since the first request of the file; never decreasing
    uint32_t prompt_tokens;
    uint32_t output_tokens;
    uint32_t line;              // in the file, from 1
    uint32_t ids_count;         // blocks of its prompt that have an id; 0 in formats without ids
    size_t ids;                 // the first one's place in tb_trace.ids
};

enum { TB_TRACE_TIME, TB_TRACE_PROMPT, TB_TRACE_OUTPUT, TB_TRACE_COLUMNS };

// What a time is: a date, or a number of these. ANY: what the first request has.
enum tb_trace_clock { TB_CLOCK_ANY, TB_CLOCK_DATE, TB_CLOCK_S, TB_CLOCK_MS, TB_CLOCK_WHOLE_MS, TB_CLOCK_US, TB_CLOCK_NS };

const char *tb_trace_clock_unit(enum tb_trace_clock clock); // "milliseconds"; NULL: no number

struct tb_trace_format {
    const char *name;           // "Azure"
    bool json;                  // JSON Lines, else CSV
    const char *column[TB_TRACE_COLUMNS];
    const char *mark;           // one that it has besides, by which it is known; NULL: none
    const char *ids;            // of JSON Lines: the key of the prefix ids; NULL: hash_ids
    enum tb_trace_clock clock;
    const char *from;           // where such traces can be had
};

const struct tb_trace_format *tb_trace_format_at(size_t i); // NULL after the last

struct tb_trace_map {           // a format made by hand
    struct tb_trace_format format; // its names are in `text`, so it is not copied
    char text[256];
};

// "time=COLUMN[:s|ms|us|ns],prompt=COLUMN,output=COLUMN[,ids=KEY]". 0; -EINVAL with the reason in why, without the option's name.
int tb_trace_map_read(const char *text, struct tb_trace_map *out, char *why, size_t why_bytes);

struct tb_trace {
    char format[64];            // "Azure 2023 CSV": the year is the first request's, where times are dates
    char path[4096];            // for messages
    size_t count;
    struct tb_trace_request *requests;
    size_t ids_count;
    uint64_t *ids;              // hash_ids of all requests: an id stands for a block of the prompt and all that is before it
    uint32_t id_tokens_least, id_tokens_most; // the sizes of such a block that fit every request with ids; UINT32_MAX: any above
    uint32_t id_tokens_least_line, id_tokens_most_line; // the first requests that say so; 0: none does
    uint32_t id_tokens;         // the one to use; 0: there are no ids, or tb_trace_settle_ids() must be told
    bool ids_above_2_63;        // for messages: ids of the file are written without a sign
};

// Reads a file, or standard input ("-"), which gzip or zstd may have packed. `format`: a map's; NULL: by header or first object.
// What is no trace is refused after its first MiB. 0, or -errno with the reason in why: -ENOENT and the like for files, -EINVAL for
// contents (an empty file too), -EFBIG.
int tb_trace_load(const char *path, const struct tb_trace_format *format, struct tb_trace **out, struct tb_why *why);

// The same from memory; `path` is only for messages. The fuzzer calls it.
int tb_trace_parse(const char *path, const struct tb_trace_format *format, const char *text, size_t bytes, struct tb_trace **out,
                   struct tb_why *why);
void tb_trace_close(struct tb_trace *trace);

// What was understood: "Azure 2023 CSV, 19,366 requests, 1 h". Returns out.
#define TB_UNDERSTOOD 160 // bytes that are enough
const char *tb_trace_understood(const struct tb_trace *trace, char out[TB_UNDERSTOOD]);

// How many tokens does an id stand for? A prompt of n tokens has ceil(n / size) ids, the last one for the rest, so each request
// with ids allows an interval of sizes. A trace whose intervals have none in common is not read. Of several in common id_tokens is
// the power of two. There is at most one as soon as a prompt has two ids: then the largest size is less than twice the smallest. If
// none has, every size that fits means the same, an id for a whole prompt, and the smallest power of two is as good as any.
//
// Settles what that leaves open: `id_tokens` is what the user says (--id-tokens), 0 if nothing. 0; -EINVAL with the reason in why:
// it does not fit, or is said of a trace without ids, or nothing is said and several sizes fit, none of them a power of two.
int tb_trace_settle_ids(struct tb_trace *trace, uint32_t id_tokens, struct tb_why *why);

// What serve and replay leave out of the first `requests` (0: of all): those without a prompt or without an output, in which there
// is nothing to decode or nothing to keep. "2 requests are left out: 1 without a prompt, 1 without an output"; "": none. Returns
// how many are not left out.
#define TB_LEFT_OUT 96 // bytes that are enough
size_t tb_trace_left_out(const struct tb_trace *trace, size_t requests, char *out, size_t bytes);

static inline bool tb_trace_whole(const struct tb_trace_request *request)
{
    return request->prompt_tokens > 0 && request->output_tokens > 0;
}

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
// Requests without a prompt or without an output are left out (tb_trace_left_out()).
//
// -ENOSPC: a request needs more blocks than the pool has (why names file and line); -EINVAL: the config is out of range, or no
// request is left.
int tb_schedule_replay(const struct tb_trace *trace, const struct tb_replay_config *config, struct tb_schedule **out,
                       struct tb_why *why);

#endif
