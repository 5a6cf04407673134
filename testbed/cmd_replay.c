// SPDX-License-Identifier: Apache-2.0
//
// locus replay: contenders side by side on a recorded trace of requests.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/commands.h"
#include "testbed/options.h"
#include "placement/block.h"
#include "testbed/trace.h"

static const char *const default_contenders[] = {"locus",    "locus#2",  "locus-backpressure", "locus-published", "oracle",
                                                 "mimalloc", "jemalloc", "tcmalloc",           "glibc-tuned",     NULL};

struct arguments {
    struct tb_options options;
    struct tb_replay_config replay;
    const char *path;
};

enum { KEY_TICK = 2000, KEY_SPEEDUP, KEY_REQUESTS };

static const struct argp_option options[] = {
    {"tokens-per-block", 'b', "N", 0, "Tokens that one block holds (16)", 0},
    {"pool-blocks", 'p', "N", 0, "Blocks in the pool; smaller makes requests queue (8192)", 0},
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
    struct arguments *arguments = state->input;
    uint64_t number = 0;
    error_t error = 0;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->options; return 0;
    case 'b':
        error = parse_number(state, "--tokens-per-block", argument, 1 << 20, &number);
        arguments->replay.tokens_per_block = (uint32_t)number;
        return error;
    case 'p':
        error = parse_number(state, "--pool-blocks", argument, LOCUS_BLOCKS_MAX, &number);
        arguments->replay.pool_blocks = (uint32_t)number;
        return error;
    case KEY_TICK:
        error = parse_number(state, "--tick-ms", argument, 3600000, &number);
        arguments->replay.tick_ns = number * 1000000;
        return error;
    case KEY_SPEEDUP: return parse_speedup(state, argument, &arguments->replay.speedup);
    case KEY_REQUESTS:
        error = parse_number(state, "--requests", argument, UINT32_MAX, &number);
        arguments->replay.requests = number;
        return error;
    case ARGP_KEY_ARG:
        if (arguments->path)
            return tb_cli_bad(state, "one trace at a time: '%s' is one too many", argument);
        arguments->path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS: return tb_cli_bad(state, "which trace? (locus replay FILE; see: locus replay --help)");
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Contenders side by side on a recorded trace of requests, at equal work.\v"
    "FILE is an Azure LLM inference trace (CSV: TIMESTAMP,ContextTokens,GeneratedTokens) or a Mooncake trace (JSON Lines). A "
    "request is admitted in order of arrival when its blocks, ceil((prompt + output) / tokens per block), are free, and "
    "reserves them; it takes the blocks of its prompt at once, one more whenever a decoded token begins one, and sends them "
    "all home at its end. Which request gets what and when depends on the trace and on these flags alone, so every contender "
    "does the same.\n\n"
    "Examples:\n"
    "  locus replay trace.csv\n"
    "  locus replay trace.csv --tokens-per-block 32 --pool-blocks 4096\n"
    "  locus replay trace.jsonl --speedup all --requests 1000 -d inline\n\n"
    "Exit status: 0 all gates passed, 1 an arm is INVALID, a request is larger than the pool, or the run failed, 2 bad input.";

static void headline_make(const struct arguments *arguments, const struct tb_trace *trace, const struct tb_schedule *schedule,
                          char *out, size_t bytes)
{
    const char *name = strrchr(trace->path, '/');
    snprintf(out, bytes,
             "%.40s (%s): %llu requests, %llu blocks of %u tokens, pool %u blocks\n"
             "%llu ticks, %llu tokens decoded, at most %llu live, peak %u blocks\n"
             "%llu requests waited for blocks, the longest %.1f s (virtual)\n",
             name ? name + 1 : trace->path, trace->format, (unsigned long long)schedule->requests_per_lap,
             (unsigned long long)schedule->blocks_per_lap, arguments->replay.tokens_per_block, schedule->pool_blocks,
             (unsigned long long)schedule->ticks, (unsigned long long)schedule->decoded_tokens,
             (unsigned long long)schedule->live_max, schedule->blocks_peak, (unsigned long long)schedule->requests_queued,
             (double)schedule->queue_ns_max / 1e9);
}

static int replay(struct arguments *arguments, const struct tb_trace *trace)
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    struct tb_cell cells[3];
    uint32_t cells_count = 0;
    char headline[512];
    int error = tb_schedule_replay(trace, &arguments->replay, &schedule, &why);
    if (error) {
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
        return error == -EINVAL ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    }
    for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_FULL; touch++) {
        if (arguments->options.touch[touch]) {
            uint32_t laps = arguments->options.laps ? (uint32_t)arguments->options.laps : 1;
            cells[cells_count++] =
                (struct tb_cell){.schedule = schedule, .touch = (enum tb_touch)touch, .laps = laps, .laps_warmup = 1};
        }
    }
    headline_make(arguments, trace, schedule, headline, sizeof headline);
    int status = tb_options_run(&arguments->options, cells, cells_count, false, "replay", headline);
    free(schedule);
    return status;
}

int tb_cmd_replay(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp_child children[] = {{&tb_options_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse, "FILE", documentation, children, NULL, NULL};
    struct tb_trace *trace = NULL;
    struct tb_why why = {""};
    tb_options_init(&arguments.options);
    arguments.replay = tb_replay_defaults;
    int status = tb_cli_parse(&argp, "replay", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    bool *touch = arguments.options.touch;
    touch[TB_TOUCH_FULL] |= !touch[TB_TOUCH_NONE] && !touch[TB_TOUCH_BYTE];
    status = tb_options_arms(&arguments.options, default_contenders);
    if (status)
        return status;
    int error = tb_trace_load(arguments.path, &trace, &why);
    if (error) {
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
        return TB_EXIT_USAGE;
    }
    status = replay(&arguments, trace);
    tb_trace_close(trace);
    return status;
}
