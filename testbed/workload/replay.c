// SPDX-License-Identifier: Apache-2.0
//
// replay: turns a recorded trace into a schedule, by the model in trace.h.
//
// The model is simulated token by token. That costs a few additions and comparisons per decoded token, hundredths of a second for
// an hour of service, and follows the model literally. Admission reserves all blocks of a request, which makes the replay
// deterministic: an admitted request can always go on, so nothing is preempted, and no outcome depends on how fast blocks come
// home. The whole trace is one lap, and each request has a slot of its own.
//
// Each tick that takes or retires something begins and ends with a drain. Between two such ticks there is only one drain, because
// no worker time passes there in this model. In a tick without takes or retirements no contender has anything to do.
#include "testbed/workload/trace.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, POOL_BLOCKS_MAX = (1 << 28) - 1 }; // one TAKE may take the whole pool, and its count has 28 bits

const struct tb_replay_config tb_replay_defaults = {.tokens_per_block = 16, .pool_blocks = 8192, .tick_ns = 50000000, .speedup = 1};

struct request {
    uint32_t slot;     // place in the trace
    uint32_t left;     // tokens still to be decoded
    uint32_t to_block; // tokens until one begins a new block; 0: the next one
    uint32_t prompt;   // tokens that the next step appends first
};

struct replay {
    const struct tb_trace_request *requests; // without those that are left out
    size_t count;
    struct tb_replay_config config;
    uint32_t take_tokens, take_blocks; // blocks taken together, and what they hold
    struct tb_builder *builder;
    struct request *live; // in order of admission
    size_t live_count;
    size_t admitted;      // requests admitted; the next one is the head of the queue, or has not arrived
    uint64_t reserved;    // blocks
    uint64_t now_ns, last_tick_ns;
    uint64_t ticks, decoded_tokens;
    uint64_t queued, queue_ns_max;
    bool drained;         // the last operation in the stream is a drain
};

static uint64_t blocks_for(uint64_t tokens, uint32_t per_block)
{
    return tokens / per_block + (tokens % per_block != 0);
}

// The model's blocks, which are reserved.
static uint64_t blocks_of(const struct replay *replay, const struct tb_trace_request *recorded)
{
    return blocks_for((uint64_t)recorded->prompt_tokens + recorded->output_tokens, replay->config.tokens_per_block);
}

// When the request arrives on the virtual clock.
static uint64_t arrival_ns(const struct replay *replay, const struct tb_trace_request *recorded)
{
    double ns = (double)recorded->arrival_ns / replay->config.speedup; // 0 for a speedup of INFINITY

    return ns < 0x1p63 ? (uint64_t)ns : UINT64_MAX; // the clock never runs that far: it only jumps
}

static void drain(struct replay *replay)
{
    if (!replay->drained)
        tb_builder_add(replay->builder, TB_OP_DRAIN, 0, 0);
    replay->drained = true;
}

static void add(struct replay *replay, enum tb_op_kind kind, uint32_t slot, uint64_t count)
{
    replay->drained = false;
    tb_builder_add(replay->builder, kind, slot, (uint32_t)count);
}

// A request that an earlier tick could have admitted had to wait for blocks; others wait for the next tick at most.
static void note_wait(struct replay *replay, uint64_t arrived_ns)
{
    if (replay->ticks == 0 || arrived_ns > replay->last_tick_ns)
        return;
    replay->queued++;
    if (replay->now_ns - arrived_ns > replay->queue_ns_max)
        replay->queue_ns_max = replay->now_ns - arrived_ns;
}

static void admit(struct replay *replay)
{
    while (replay->admitted < replay->count) {
        const struct tb_trace_request *recorded = &replay->requests[replay->admitted];
        uint64_t blocks = blocks_of(replay, recorded), groups = blocks_for(recorded->prompt_tokens, replay->take_tokens);
        uint32_t slot = (uint32_t)replay->admitted;

        if (arrival_ns(replay, recorded) > replay->now_ns || replay->reserved + blocks > replay->config.pool_blocks)
            break;
        note_wait(replay, arrival_ns(replay, recorded));
        replay->reserved += blocks;
        replay->admitted++;
        replay->live[replay->live_count++] = (struct request){
            .slot = slot,
            .left = recorded->output_tokens,
            .to_block = (uint32_t)(groups * replay->take_tokens - recorded->prompt_tokens),
            .prompt = recorded->prompt_tokens,
        };
        if (groups > 0)
            add(replay, TB_OP_TAKE, slot, groups * replay->take_blocks);
    }
}

static void decode_one(struct replay *replay, struct request *request)
{
    if (request->to_block == 0) {
        add(replay, TB_OP_TAKE, request->slot, replay->take_blocks);
        request->to_block = replay->take_tokens;
    }
    request->to_block--;
    request->left--;
    replay->decoded_tokens++;
}

static void decode(struct replay *replay)
{
    for (size_t i = 0; i < replay->live_count; i++) {
        struct request *request = &replay->live[i];
        uint64_t tokens = (uint64_t)request->prompt + 1;

        decode_one(replay, request);
        if (replay->config.block_tokens)
            add(replay, TB_OP_EXTEND, request->slot, tokens);
        request->prompt = 0;
    }
    if (replay->config.block_tokens)
        add(replay, TB_OP_STEP, 0, 0);
}

// Finished requests leave; the others close the gaps, so that the order of admission is kept.
static void leave(struct replay *replay)
{
    size_t kept = 0;
    for (size_t i = 0; i < replay->live_count; i++) {
        struct request request = replay->live[i];

        if (request.left > 0) {
            replay->live[kept++] = request;
            continue;
        }
        add(replay, TB_OP_RETIRE, request.slot, 0);
        replay->reserved -= blocks_of(replay, &replay->requests[request.slot]);
    }
    replay->live_count = kept;
}

static void tick(struct replay *replay)
{
    admit(replay);
    decode(replay);
    leave(replay);
    drain(replay);
    replay->ticks++;
    replay->last_tick_ns = replay->now_ns;
    if (__builtin_add_overflow(replay->now_ns, replay->config.tick_ns, &replay->now_ns))
        replay->now_ns = UINT64_MAX;
}

static void run(struct replay *replay)
{
    tb_builder_mark_lap(replay->builder);
    drain(replay); // begins the first tick; later ticks begin with the drain that ended the one before
    while (replay->live_count > 0 || replay->admitted < replay->count) {
        if (replay->live_count == 0) { // a head that has arrived would be admitted: jump to its arrival
            uint64_t next_ns = arrival_ns(replay, &replay->requests[replay->admitted]);
            if (next_ns > replay->now_ns)
                replay->now_ns = next_ns;
        }
        tick(replay);
    }
    tb_builder_mark_epilogue(replay->builder);
}

static int check_config(const struct tb_replay_config *config, struct tb_why *why)
{
    const char *bad = NULL;
    if (config->tokens_per_block == 0)
        bad = "a block must hold at least one token";
    else if (config->pool_blocks == 0 || config->pool_blocks > POOL_BLOCKS_MAX)
        bad = "the pool must have between 1 and 268435455 blocks";
    else if (config->tick_ns == 0)
        bad = "a tick must last at least one nanosecond";
    else if (!(config->speedup > 0)) // NaN is refused as well
        bad = "the speed-up must be greater than zero";
    else if (config->block_tokens > 0 && config->blocks_per_group == 0)
        bad = "a group must have at least one block";
    if (bad)
        strcpy(why->text, bad);
    return bad ? -EINVAL : 0;
}

static int check_sizes(const struct replay *replay, const struct tb_trace *trace, struct tb_why *why)
{
    for (size_t i = 0; i < replay->count; i++) {
        const struct tb_trace_request *recorded = &replay->requests[i];
        uint64_t blocks = blocks_of(replay, recorded);

        if (blocks > replay->config.pool_blocks) {
            tb_why_set(why, trace->path, recorded->line, "the request needs %llu blocks of %u tokens, and the pool has only %u",
                       (unsigned long long)blocks, replay->config.tokens_per_block, replay->config.pool_blocks);
            return -ENOSPC;
        }
    }
    return 0;
}

// The file's name without its folders, in printable ASCII, because it goes into tables, JSON and plots.
static void name_of(const char *path, char *name, size_t bytes)
{
    const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : path;
    size_t length = strnlen(base, bytes - 1);
    for (size_t i = 0; i < length; i++)
        name[i] = base[i] >= ' ' && base[i] <= '~' ? base[i] : '?';
    name[length] = '\0';
}

// In touch `decode`: of the layout's blocks, for the same tokens.
static int pool_size(const struct replay *replay, struct tb_schedule *schedule)
{
    uint64_t tokens = (uint64_t)replay->config.pool_blocks * replay->config.tokens_per_block, peak = schedule->blocks_peak;
    uint64_t blocks = blocks_for(tokens, replay->take_tokens) * replay->take_blocks;
    if (blocks < peak)
        blocks = peak + peak / 4;
    schedule->pool_blocks = (uint32_t)blocks;
    return blocks <= UINT32_MAX ? 0 : -EOVERFLOW;
}

static int pack(struct replay *replay, const struct tb_trace *trace, struct tb_schedule **out)
{
    char name[sizeof((*out)->name)];
    bool decodes = replay->config.block_tokens > 0;
    name_of(trace->path, name, sizeof(name));
    int error = tb_builder_pack(replay->builder, name, decodes ? UINT32_MAX : replay->config.pool_blocks, out);
    if (!error && decodes)
        error = pool_size(replay, *out);
    if (error) {
        free(*out);
        *out = NULL;
    }
    return error;
}

static int build(struct replay *replay, const struct tb_trace *trace, struct tb_schedule **out)
{
    int error;
    replay->live = calloc(replay->count, sizeof(*replay->live));
    error = replay->live ? tb_builder_open(&replay->builder) : -ENOMEM;
    if (!error && replay->config.block_tokens)
        error = tb_builder_decodes(replay->builder, replay->config.block_tokens, replay->config.blocks_per_group);
    if (!error) {
        run(replay);
        error = pack(replay, trace, out);
    }
    if (!error) {
        (*out)->ticks = replay->ticks;
        (*out)->decoded_tokens = replay->decoded_tokens;
        (*out)->requests_queued = replay->queued;
        (*out)->queue_ns_max = replay->queue_ns_max;
        (*out)->version = VERSION;
    }
    tb_builder_close(replay->builder);
    free(replay->live);
    return error;
}

// The first `requests` that have a prompt and an output. *out is malloc'd. 0, -ENOMEM, -EINVAL: there is none.
static int requests_choose(const struct tb_trace *trace, size_t requests, struct tb_trace_request **out, size_t *count,
                           struct tb_why *why)
{
    char left_out[TB_LEFT_OUT];
    size_t room = tb_trace_left_out(trace, requests, left_out, sizeof left_out);
    *count = 0;
    *out = calloc(room + 1, sizeof **out);
    if (!*out)
        return -ENOMEM;
    for (const struct tb_trace_request *at = trace->requests; *count < room; at++)
        if (tb_trace_whole(at))
            (*out)[(*count)++] = *at;
    if (*count == 0)
        tb_why_set(why, trace->path, 0, "no request has both a prompt and an output");
    return *count ? 0 : -EINVAL;
}

int tb_schedule_replay(const struct tb_trace *trace, const struct tb_replay_config *config, struct tb_schedule **out,
                       struct tb_why *why)
{
    struct tb_trace_request *requests = NULL;
    struct replay replay = {.config = *config};
    *out = NULL;
    why->text[0] = '\0';
    replay.take_tokens = config->block_tokens ? config->block_tokens : config->tokens_per_block;
    replay.take_blocks = config->block_tokens ? config->blocks_per_group : 1;
    int error = check_config(config, why);
    if (!error)
        error = requests_choose(trace, config->requests, &requests, &replay.count, why);
    replay.requests = requests;
    if (!error)
        error = check_sizes(&replay, trace, why);
    if (!error)
        error = build(&replay, trace, out);
    free(requests);
    if (error && why->text[0] == '\0')
        tb_why_set(why, trace->path, 0, "cannot be replayed: %s", strerror(-error));
    return error;
}
