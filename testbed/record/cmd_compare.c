// SPDX-License-Identifier: Apache-2.0
//
// locus compare: two runs side by side.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/cli.h"
#include "testbed/commands.h"
#include "testbed/record/compare.h"
#include "testbed/record/find_run.h"

struct arguments {
    const char *runs[2];
    int count;
    bool json;
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "JSON on standard output", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'j': arguments->json = true; return 0;
    case ARGP_KEY_ARG:
        if (arguments->count == 2)
            return tb_cli_bad(state, "unexpected argument '%s' (see: locus compare --help)", argument);
        arguments->runs[arguments->count++] = argument;
        return 0;
    case ARGP_KEY_END:
        return arguments->count == 2 ? 0 : tb_cli_bad(state, "locus compare: which two runs? (locus compare a1b2c3 d4e5f6)");
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Two runs side by side: the contenders and cells that both have, and what differs between the hosts.\v"
    "RUN is a run's id, the last six digits of it, or its log. The runs may be of different experiments and hosts.\n\n"
    "Within a run contenders are compared round by round, so that what disturbs a round cancels. Between two runs nothing "
    "cancels: the interval holds how the samples scatter (rank-sum, unpaired), and not what else changed, so it is too narrow "
    "rather than too wide. What else changed is listed below it.\n\n"
    "Examples:\n"
    "  locus compare a1b2c3 d4e5f6\n"
    "  locus compare logs/bm1/0002-x/A.jsonl logs/bm2/0002-x/B.jsonl\n"
    "  locus compare --json a1b2c3 d4e5f6 | jq '.cells[].arms[].ratio'\n\n"
    "Exit status: 0 compared, 1 it failed, 2 bad input.";

static int print(const struct arguments *arguments, const struct tb_log_view views[2])
{
    json_t *comparison = NULL;
    int rc = tb_compare(&views[0], &views[1], &comparison);
    if (rc < 0) {
        tb_error("compare: %s", strerror(-rc));
        return TB_EXIT_FAILED;
    }
    if (arguments->json) {
        json_dumpf(comparison, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        putchar('\n');
    } else {
        tb_compare_text(comparison, stdout);
    }
    json_decref(comparison);
    return tb_cli_flush();
}

int tb_cmd_compare(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp argp = {options, parse, "RUN RUN", documentation, NULL, NULL, NULL};
    struct tb_log_view views[2];
    char why[1024];
    int loaded = 0, status = tb_cli_parse(&argp, "compare", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    while (loaded < 2 && tb_find_run_load(arguments.runs[loaded], &views[loaded], why, sizeof why) == 0)
        loaded++;
    if (loaded < 2)
        tb_error("%s", why);
    status = loaded < 2 ? TB_EXIT_USAGE : print(&arguments, views);
    while (loaded-- > 0)
        tb_log_view_close(&views[loaded]);
    return status;
}
