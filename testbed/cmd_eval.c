// SPDX-License-Identifier: Apache-2.0
//
// locus eval: the scoreboard of LOCUS-EVAL.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/commands.h"
#include "testbed/options.h"

#define CELLS_MAX 16

static const char *const default_contenders[] = {
    "locus",    "locus#2",  "locus-backpressure", "locus-published", "locus-shared", "oracle",
    "mimalloc", "jemalloc", "tcmalloc",           "glibc",           "glibc-tuned",  "null",
    NULL};

struct arguments {
    struct tb_options options;
    const char *workloads;
};

static const struct argp_option options[] = {
    {"workload", 'W', "LIST", 0, "steady-decode, burst-storm, long-tail, churn-touch, comma-separated, or all (all)", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->options; return 0;
    case 'W': arguments->workloads = argument; return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s' (see: locus eval --help)", argument);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "The scoreboard: contenders side by side on the four workloads of LOCUS-EVAL, at equal work.\v"
    "Every contender executes the same stream of takes, touches and retirements, each round in a fresh process, in random "
    "order. Ratios are formed within a round; the interval holds the true ratio with 95 % confidence. \"vs mimalloc\" says how "
    "many times faster; \"vs oracle\" how much slower than the floor, which knows all blocks beforehand.\n\n"
    "Ratios at --touch none are larger and mean less: an engine writes its blocks. Full touch is what counts.\n\n"
    "Contenders: locus, locus-backpressure, locus-coloured (a cache line between blocks), locus-published (the paper's design "
    "as it is), locus-shared (one bounded queue), oracle (the floor), null (what the testbed costs), mimalloc, jemalloc, "
    "tcmalloc, glibc, glibc-tuned, malloc:/path/lib.so. "
    "The same name twice is an A/A control. Faults, to see that they are noticed: NAME@skip-touch, NAME@drop-chunk, "
    "NAME@double-free, NAME@delay:PERCENT.\n\n"
    "Examples:\n"
    "  locus eval                      full touch, spinning worker, 20 rounds\n"
    "  locus eval --touch all --json=eval.json --plot eval.svg\n"
    "  locus eval -d futex -w 4        four workers that sleep when idle\n"
    "  locus eval -W churn-touch -c locus,locus@delay:3,mimalloc -r 30\n"
    "  locus eval -c locus,mimalloc,malloc:/opt/lib/libsnmalloc.so\n\n"
    "Exit status: 0 all gates passed, 1 an arm is INVALID or the run failed, 2 bad input.";

static int cells_make(const struct arguments *arguments, struct tb_cell cells[], struct tb_schedule *schedules[], uint32_t *count)
{
    char list[256], *rest = NULL;
    if (snprintf(list, sizeof list, "%s", arguments->workloads) >= (int)sizeof list)
        list[0] = '\0';
    uint32_t made = 0;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (made == tb_suite_count || tb_schedule_suite(name, &schedules[made])) {
            tb_error("--workload: '%s' is not steady-decode, burst-storm, long-tail, churn-touch or all", name);
            return TB_EXIT_USAGE;
        }
        for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_FULL; touch++) {
            if (!arguments->options.touch[touch])
                continue;
            cells[*count] = (struct tb_cell){.schedule = schedules[made], .touch = (enum tb_touch)touch};
            tb_options_laps(&arguments->options, &cells[(*count)++]);
        }
        made++;
    }
    return made ? 0 : TB_EXIT_USAGE;
}

int tb_cmd_eval(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp_child children[] = {{&tb_options_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse, NULL, documentation, children, NULL, NULL};
    struct tb_schedule *schedules[CELLS_MAX] = {NULL};
    struct tb_cell cells[CELLS_MAX];
    uint32_t cells_count = 0;
    tb_options_init(&arguments.options);
    arguments.workloads = "all";
    int status = tb_cli_parse(&argp, "eval", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    if (strcmp(arguments.workloads, "all") == 0)
        arguments.workloads = "steady-decode,burst-storm,long-tail,churn-touch";
    bool *touch = arguments.options.touch;
    touch[TB_TOUCH_FULL] |= !touch[TB_TOUCH_NONE] && !touch[TB_TOUCH_BYTE];
    status = tb_options_arms(&arguments.options, default_contenders);
    if (!status)
        status = cells_make(&arguments, cells, schedules, &cells_count);
    if (!status)
        status = tb_options_run(&arguments.options, cells, cells_count, "eval", NULL);
    for (int i = 0; i < CELLS_MAX; i++)
        free(schedules[i]);
    return status;
}
