// SPDX-License-Identifier: Apache-2.0
//
// locus export: a run's samples for other tools.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/cli/commands.h"
#include "testbed/record/store.h"
#include "testbed/report/hosts/pyperf.h"

struct arguments {
    const char *run, *output;
    bool pyperf;
};

static const struct argp_option options[] = {
    {"pyperf", 'p', NULL, 0, "as JSON of pyperf (version 1.0)", 0},
    {"output", 'o', "FILE", 0, "instead of standard output; replaced if it is there", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'p': arguments->pyperf = true; return 0;
    case 'o': arguments->output = argument; return 0;
    case ARGP_KEY_ARG:
        if (arguments->run)
            return tb_cli_bad(state, "unexpected argument '%s' (see: locus export --help)", argument);
        arguments->run = argument;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->pyperf)
            return tb_cli_bad(state, "locus export: in which form? (--pyperf is the only one)");
        return arguments->run ? 0 : tb_cli_bad(state, "locus export: which run? (locus export --pyperf a1b2c3)");
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "A run's samples for other tools.\v"
    "RUN is a run's id, the last six digits of it, or its log. Each contender in each cell becomes one benchmark, each of its "
    "processes one run. Samples that are not valid are left out, and that is said. Times are exported and nothing else, so a run "
    "that was made in an emulated guest is not.\n\n"
    "Examples:\n"
    "  locus export --pyperf a1b2c3 -o run.json\n"
    "  python3 -m pyperf stats run.json\n\n"
    "Exit status: 0 written, 1 it failed, 2 bad input.";

static int write_json(FILE *out, const void *object)
{
    return json_dumpf(object, out, JSON_INDENT(1)) || fputc('\n', out) == EOF ? -EIO : 0;
}

static int save(const char *path, const json_t *object)
{
    int error = path ? tb_output_write(path, write_json, object) : write_json(stdout, object);
    if (!path)
        return tb_cli_flush();
    if (error)
        tb_error("%s: %s", path, tb_output_why(error));
    return error ? TB_EXIT_FAILED : TB_EXIT_OK;
}

int tb_cmd_export(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp argp = {options, parse, "RUN", documentation, NULL, NULL, NULL};
    struct tb_log_view view;
    json_t *object = NULL;
    size_t left_out = 0;
    char why[1024];
    int status = tb_cli_parse(&argp, "export", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    if (tb_store_load(arguments.run, &view, why, sizeof why) < 0) {
        tb_error("%s", why);
        return TB_EXIT_USAGE;
    }
    int rc = tb_pyperf(&view, &object, &left_out);
    if (rc < 0)
        tb_error("%s: %s", view.path,
                 rc == -ENODATA   ? "has no valid sample to export"
                 : rc == -ENOTSUP ? "was made in an emulated guest, whose times mean nothing, and pyperf knows nothing but times"
                                  : strerror(-rc));
    else if (left_out > 0)
        tb_error("%s: %zu samples are not valid and were left out", view.path, left_out);
    status = rc < 0 ? TB_EXIT_FAILED : save(arguments.output, object);
    json_decref(object);
    tb_log_view_close(&view);
    return status;
}
