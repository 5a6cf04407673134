// SPDX-License-Identifier: Apache-2.0
//
// locus replay: contenders side by side on a recorded trace of requests.

#include <stdlib.h>

#include "testbed/cli/command.h"
#include "testbed/cli/options.h"
#include "testbed/measure/cell.h"

static const char *const default_contenders[] = {"locus",          "locus#2",  "locus-backpressure", "locus-published",
                                                 "oracle",         "mimalloc", "mimalloc#2",         "jemalloc",
                                                 "jemalloc-tuned", "tcmalloc", "glibc-tuned",        NULL};

struct arguments {
    struct tb_options options;
    struct tb_options_trace trace;
    const char *path;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->trace;
        state->child_inputs[1] = &arguments->options;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->path)
            return tb_cli_bad(state, "one trace at a time: '%s' is one too many", argument);
        if (!*argument)
            return tb_cli_bad(state, "which trace? '' is no file (see: locus replay --help)");
        arguments->path = argument;
        return 0;
    case ARGP_KEY_NO_ARGS: return tb_cli_bad(state, "which trace? (locus replay TRACE; see: locus replay --help)");
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Contenders side by side on a recorded trace of requests, at equal work.\v"
    "TRACE is a file, CSV or JSON Lines, or a name (sample); - is standard input; gzip and zstd are unpacked. locus serve --help "
    "lists the formats and names, and where such traces can be had; --map names the columns of another one. A "
    "request is admitted in order of arrival when its blocks, ceil((prompt + output) / tokens per block), are free, and "
    "reserves them; it takes the blocks of its prompt at once, one more whenever a decoded token begins one, and sends them "
    "all home at its end. Which request gets what and when depends on the trace and on these flags alone, so every contender "
    "does the same. How to read the table: locus eval --help.\n\n"
    "Examples:\n"
    "  locus replay sample\n"
    "  locus replay trace.csv --tokens-per-block 32 --pool-blocks 4096\n"
    "  locus replay trace.csv -t decode/128t   its tokens, and attention over them\n"
    "  locus replay trace.jsonl --speedup all --requests 1000 -d inline\n\n"
    "Exit status: 0 all gates passed, 1 an arm is INVALID, a request is larger than the pool, or the run failed, 2 bad input.";

static int replay(struct arguments *arguments)
{
    struct tb_schedule *schedule = NULL, *decoded = NULL;
    struct tb_cell cells[4];
    uint32_t cells_count = 0, laps = arguments->options.laps ? (uint32_t)arguments->options.laps : 1;
    char headline[512], name[160];
    int status = tb_options_trace_load(&arguments->trace, arguments->path, &schedule, headline, sizeof headline);
    if (status)
        return status;
    for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_FULL; touch++) {
        if (arguments->options.touch[touch]) {
            cells[cells_count++] =
                (struct tb_cell){.schedule = schedule, .touch = (enum tb_touch)touch, .laps = laps, .laps_warmup = 1};
        }
    }
    if (arguments->options.decode) {
        struct tb_cell *cell = &cells[cells_count++];
        status = tb_options_trace_decode(&arguments->trace, arguments->path, arguments->options.decode, cell, &decoded);
        tb_options_laps(&arguments->options, cell);
        cell->name = name;
        tb_cell_text(decoded ? decoded->name : "", cell, name, sizeof name);
    }
    if (!status)
        status = tb_options_run(&arguments->options, cells, cells_count, "replay", headline);
    free(schedule);
    free(decoded);
    tb_trace_close(arguments->trace.trace);
    return status;
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp_child children[] = {{&tb_options_trace_argp, 0, NULL, 0}, {&tb_options_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {NULL, parse, "TRACE", documentation, children, NULL, NULL};
    tb_options_init(&arguments.options);
    arguments.trace.replay = tb_replay_defaults;
    int status = tb_cli_parse(&argp, "replay", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_options_arms(&arguments.options, default_contenders);
    return status ? status : replay(&arguments);
}

TB_COMMAND(60, "replay", "the same on a recorded trace of requests", command);
