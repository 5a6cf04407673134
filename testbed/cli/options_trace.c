// SPDX-License-Identifier: Apache-2.0
//
// options_trace: see options_trace.h.

#include "testbed/cli/options_trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement/blocks/block.h"

enum { KEY_TOKENS = 'b', KEY_POOL = 2000, KEY_TICK, KEY_SPEEDUP, KEY_REQUESTS };

static const struct argp_option option_table[] = {
    {"tokens-per-block", KEY_TOKENS, "N", 0, "Tokens that one block holds (16)", 0},
    {"pool-blocks", KEY_POOL, "N", 0, "Blocks in the pool; smaller makes requests queue (8192)", 0},
    {"tick-ms", KEY_TICK, "MS", 0, "Virtual time of one decode step (50)", 0},
    {"speedup", KEY_SPEEDUP, "X", 0, "Arrivals come X times faster; all: everything waits at the start (1)", 0},
    {"requests", KEY_REQUESTS, "N", 0, "Only the first N requests (all)", 0},
    {0},
};

static error_t parse_number(struct argp_state *state, const char *flag, const char *argument, uint64_t max, uint64_t *out)
{
    return tb_cli_u64(argument, 1, max, out)
               ? 0
               : tb_cli_bad(state, "%s: '%s' is not a number from 1 to %llu", flag, argument, (unsigned long long)max);
}

static error_t parse_speedup(struct argp_state *state, const char *argument, double *out)
{
    char *end;
    if (strcmp(argument, "all") == 0) {
        *out = INFINITY;
        return 0;
    }
    *out = strtod(argument, &end);
    bool good = end != argument && *end == '\0' && *out > 0 && isfinite(*out);
    return good ? 0 : tb_cli_bad(state, "--speedup: '%s' is neither a positive number nor 'all'", argument);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct tb_options_trace *options = state->input;
    struct tb_replay_config *replay = &options->replay;
    uint64_t number = 0;
    error_t error;
    options->given |= key == KEY_TOKENS || (key >= KEY_POOL && key <= KEY_REQUESTS);
    switch (key) {
    case KEY_TOKENS:
        error = parse_number(state, "--tokens-per-block", argument, 1 << 20, &number);
        replay->tokens_per_block = (uint32_t)number;
        return error;
    case KEY_POOL:
        error = parse_number(state, "--pool-blocks", argument, LOCUS_BLOCKS_MAX, &number);
        replay->pool_blocks = (uint32_t)number;
        return error;
    case KEY_TICK:
        error = parse_number(state, "--tick-ms", argument, 3600000, &number);
        replay->tick_ns = number * 1000000;
        return error;
    case KEY_SPEEDUP: return parse_speedup(state, argument, &replay->speedup);
    case KEY_REQUESTS:
        error = parse_number(state, "--requests", argument, UINT32_MAX, &number);
        replay->requests = number;
        return error;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tb_options_trace_argp = {option_table, parse, NULL, NULL, NULL, NULL, NULL};

void tb_options_trace_init(struct tb_options_trace *options)
{
    *options = (struct tb_options_trace){.replay = tb_replay_defaults};
}

static void headline_make(const struct tb_trace *trace, const struct tb_replay_config *replay, const struct tb_schedule *schedule,
                          char *out, size_t bytes)
{
    const char *name = strrchr(trace->path, '/');
    snprintf(out, bytes,
             "%.40s (%s): %llu requests, %llu blocks of %u tokens, pool %u blocks\n"
             "%llu ticks, %llu tokens decoded, at most %llu live, peak %u blocks\n"
             "%llu requests waited for blocks, the longest %.1f s (virtual)\n",
             name ? name + 1 : trace->path, trace->format, (unsigned long long)schedule->requests_per_lap,
             (unsigned long long)schedule->blocks_per_lap, replay->tokens_per_block, schedule->pool_blocks,
             (unsigned long long)schedule->ticks, (unsigned long long)schedule->decoded_tokens,
             (unsigned long long)schedule->live_max, schedule->blocks_peak, (unsigned long long)schedule->requests_queued,
             (double)schedule->queue_ns_max / 1e9);
}

int tb_options_trace_load(const struct tb_options_trace *options, const char *path, struct tb_schedule **out, char *headline,
                          size_t headline_bytes)
{
    struct tb_trace *trace = NULL;
    struct tb_why why = {""};
    int error = tb_trace_load(path, &trace, &why);
    if (error) {
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
        return TB_EXIT_USAGE;
    }
    error = tb_schedule_replay(trace, &options->replay, out, &why);
    if (error)
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
    else
        headline_make(trace, &options->replay, *out, headline, headline_bytes);
    tb_trace_close(trace);
    return !error ? 0 : error == -EINVAL ? TB_EXIT_USAGE : TB_EXIT_FAILED;
}
