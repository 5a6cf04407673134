// SPDX-License-Identifier: Apache-2.0
//
// locus bench: nanoseconds of the single operations, one thread, nothing touched.

#include <stdio.h>
#include <stdlib.h>

#include "testbed/cli/command.h"
#include "testbed/cli/options.h"
#include "testbed/workload/workload.h"

static const char *const default_contenders[] = {"null",         "locus",          "locus#2",
                                                 "locus-inline", "locus-mailbox",  "locus-published",
                                                 "locus-shared", "mimalloc",       "mimalloc#2",
                                                 "jemalloc",     "jemalloc-tuned", "mimalloc-3.6.0",
                                                 "tcmalloc",     "glibc-tuned",    NULL};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = state->input; return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s' (see: locus bench --help)", argument);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Nanoseconds of the single operations: alloc and bulk alloc per block, push per chunk of 32, free per block.\v"
    "One thread, no block is touched, 4,096 blocks under way. For pools \"free\" is the drain; for mallocs it is free(), and a "
    "push does not exist. Ratios say how many times faster than the best malloc at that operation, and than mimalloc: alloc and "
    "bulk against its malloc, free against its free, in the same round. What is noisy (locus eval --help) has none. `null` hands "
    "out the same block again and again: its times are the loops' own. mimalloc 3.6.0 is among them once `make peers` has "
    "fetched it. --touch and --dispatch have no meaning here.\n\n"
    "Examples:\n"
    "  locus bench\n"
    "  locus bench -c locus,mimalloc -r 30 --json\n\n"
    "Exit status: 0 all gates passed, 1 an arm is INVALID or the run failed, 2 bad input.";

static int command(int argc, char **argv)
{
    static struct tb_options options;
    const struct argp_child children[] = {{&tb_options_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {NULL, parse, NULL, documentation, children, NULL, NULL};
    struct tb_schedule *schedule = NULL;
    tb_options_init(&options);
    int status = tb_cli_parse(&argp, "bench", argc, argv, &options);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_options_arms(&options, default_contenders);
    if (status)
        return status;
    options.dispatch = TB_DISPATCH_INLINE;
    options.bench = true;
    if (tb_workload_schedule("steady-decode", &schedule)) {
        tb_error("out of memory");
        return TB_EXIT_FAILED;
    }
    snprintf(schedule->name, sizeof schedule->name, "single operations"); // only its pool is used,
    schedule->blocks_peak = schedule->pool_blocks;                        // and by pools that are no larger than its peak, too
    const struct tb_cell cell = {.schedule = schedule, .touch = TB_TOUCH_NONE, .laps = 1};
    status = tb_options_run(&options, &cell, 1, "bench", NULL);
    free(schedule);
    return status;
}

TB_COMMAND(70, "bench", "nanoseconds of the single operations", command);
