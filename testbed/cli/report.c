// SPDX-License-Identifier: Apache-2.0
//
// locus report: the record as one page.
#include "testbed/cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/report/page/html_page.h"

#define DEFAULT_OUTPUT "build/report.html"
#define ROOTS_MAX 16

struct arguments {
    const char *output;
    const char *roots[ROOTS_MAX];
    size_t roots_count;
};

static const char documentation[] =
    "The record as one HTML page: what was predicted, what was seen, and every sample of it."
    "\v"
    "The page is one file. It loads nothing and runs no script, so it can be mailed, kept and printed.\n\n"
    "It shows the official runs below logs/. Where there are none, or with --root build/logs, it shows trial runs and says so. "
    "Runs that crashed are counted. Whether anything was changed afterwards is not its business: see locus verify.\n\n"
    "Examples:\n"
    "  locus report                               writes build/report.html\n"
    "  locus report --root build/logs             the trial runs\n"
    "  locus report --root logs --root build/logs both\n"
    "  locus report -o - | ssh desk 'cat >report.html'\n\n"
    "Exit status: 0 the page was written, 1 it could not be, 2 bad input.";

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "where the page goes (" DEFAULT_OUTPUT "); - is standard output", 0},
    {"root", 'r', "DIR", 0, "ledgers and logs are below this folder (logs, or else build/logs); may be given several times", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct stat about;
    switch (key) {
    case 'o': arguments->output = argument; return 0;
    case 'r':
        if (stat(argument, &about) || !S_ISDIR(about.st_mode))
            return tb_cli_bad(state, "--root %s: there is no such folder", argument);
        if (arguments->roots_count == ROOTS_MAX)
            return tb_cli_bad(state, "--root: more than %d folders", ROOTS_MAX);
        arguments->roots[arguments->roots_count++] = argument;
        return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s': a folder is given by --root %s", argument, argument);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int load(const struct arguments *arguments, struct tb_store *store)
{
    int rc = 0;
    for (size_t i = 0; i < arguments->roots_count && rc == 0; i++) {
        rc = tb_store_add(store, arguments->roots[i]);
        if (rc < 0)
            tb_error("%s: %s", arguments->roots[i], strerror(-rc));
    }
    if (arguments->roots_count == 0) {
        rc = tb_store_add(store, "logs");
        if (rc == 0 && store->runs_count == 0)
            rc = tb_store_add(store, "build/logs");
        if (rc < 0)
            tb_error("logs: %s", strerror(-rc));
    }
    return rc;
}

static int write_page(const char *path, const char *bytes, size_t count)
{
    if (strcmp(path, "-") == 0) {
        if (fwrite(bytes, 1, count, stdout) == count)
            return tb_cli_flush();
        return tb_cli_output_failed(-errno);
    }
    if (strcmp(path, DEFAULT_OUTPUT) == 0 && mkdir("build", 0777) && errno != EEXIST) {
        tb_error("build: %s. Use -o FILE", strerror(errno));
        return TB_EXIT_FAILED;
    }
    int rc = tb_output_replace(path, bytes, count);
    if (rc == 0)
        return TB_EXIT_OK;
    tb_error("%s: %s", path, tb_output_why(rc));
    return TB_EXIT_FAILED;
}

static int make_page(const struct arguments *arguments, const struct tb_store *store)
{
    char *bytes = NULL;
    size_t count = 0;
    FILE *page = open_memstream(&bytes, &count);
    int rc = page ? tb_html_page(page, store) : -ENOMEM;
    if (page && fclose(page))
        rc = -ENOMEM;
    int status = TB_EXIT_FAILED;
    if (rc < 0)
        tb_error("the page: %s", strerror(-rc));
    else
        status = write_page(arguments->output, bytes, count);
    free(bytes);
    if (status || strcmp(arguments->output, "-") == 0)
        return status;
    tb_html_answer(stdout, store);
    putchar(' ');
    tb_html_rest(stdout, store);
    printf("\n%s\n", arguments->output);
    return tb_cli_flush();
}

int tb_cmd_report(int argc, char **argv)
{
    const struct argp argp = {options, parse, NULL, documentation, NULL, NULL, NULL};
    struct arguments arguments = {.output = DEFAULT_OUTPUT};
    struct tb_store store = {0};
    int status = tb_cli_parse(&argp, "report", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = TB_EXIT_FAILED;
    if (load(&arguments, &store) == 0) {
        if (store.runs_count > 0)
            status = make_page(&arguments, &store);
        else
            tb_error("there is no run %s%s. Make one: locus run 0001",
                     arguments.roots_count ? "below " : "below logs or build/logs",
                     arguments.roots_count ? arguments.roots[0] : "");
    }
    tb_store_close(&store);
    return status;
}
