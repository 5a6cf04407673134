// SPDX-License-Identifier: Apache-2.0
//
// locus scoreboard: the standing table, from the record.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/cli/command.h"
#include "testbed/host/head.h"
#include "testbed/report/board/board.h"
#include "testbed/report/standing/scoreboard.h"

#define ROOT "logs"

// Where one form of the board goes: NULL and not wanted: nowhere; NULL: standard output, in place of the text.
struct output {
    const char *path;
    bool wanted;
};

struct arguments {
    const char *logs;
    struct tb_scoreboard_wanted wanted;
    struct output markdown, json, csv;
    const char *plot;
};

static const struct argp_option options[] = {
    {"host", 'H', "HOST", 0, "Of this host alone (all that have a ledger)", 0},
    {"cell", 'c', "GLOB", 0, "Of these cells alone, such as '*/full' or 'churn-touch/*/futex/*'", 0},
    {"markdown", 'm', "FILE", OPTION_ARG_OPTIONAL, "A page to be read alone, to FILE or instead of the text", 0},
    {"json", 'j', "FILE", OPTION_ARG_OPTIONAL, "Everything as one JSON object, to FILE or instead of the text", 0},
    {"csv", 'C', "FILE", OPTION_ARG_OPTIONAL, "One line for each contender in each cell, to FILE or instead of the text", 0},
    {"plot", 'p', "FILE.svg", 0, "Draw how many times faster each is (needs gnuplot)", 0},
    {"logs", 'l', "FOLDER", 0, "Where ledgers and logs are (logs)", 0},
    {0},
};

static const char documentation[] =
    "The standing table of contenders, from the sealed logs of official runs. It measures nothing.\v"
    "One table for each host and cell: workload, touch, dispatch, workers, block size. Of several runs of a cell the newest one "
    "counts; an older one stays beside it where it has contenders that the newer one lacks. A run gives figures if it is official, "
    "sealed, closed in its host's ledger, made on real hardware, valid, and not noise; all others are named with the reason. "
    "Whether a log is as it was written, `locus verify` says.\n\n"
    "Ranks are for rivals alone: not for oracle and null, A/A twins, faults. Who cannot be told apart from the first of a "
    "place shares it (1=). The predicted rank is that of an order in the run's postulate: stat: order(A<D<E).\n\n"
    "What this program has and no run has measured is listed with the command that would do it, so a contender or a workload "
    "that you have just added is there by its name.\n\n"
    "Examples:\n"
    "  locus scoreboard\n"
    "  locus scoreboard --cell '*/full' --host bm1\n"
    "  locus scoreboard --cell 'steady-decode/full/spin/1w/4KiB'    the long form of a cell\n"
    "  locus scoreboard --markdown=build/scoreboard.md --plot build/scoreboard.svg\n"
    "  locus scoreboard --json | jq '.tables[] | {cell, first: .contenders[0].name}'\n\n"
    "Exit status: 0 shown, 1 there is nothing to show, 2 bad input.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct stat about;
    switch (key) {
    case 'H': arguments->wanted.host = argument; return 0;
    case 'c': arguments->wanted.cell = argument; return 0;
    case 'm': arguments->markdown = (struct output){argument, true}; return 0;
    case 'j': arguments->json = (struct output){argument, true}; return 0;
    case 'C': arguments->csv = (struct output){argument, true}; return 0;
    case 'p': arguments->plot = argument; return 0;
    case 'l':
        if (stat(argument, &about) || !S_ISDIR(about.st_mode))
            return tb_cli_bad(state, "--logs %s: there is no such folder", argument);
        arguments->logs = argument;
        return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s': a host is given by --host, a cell by --cell", argument);
    case ARGP_KEY_END:
        if ((arguments->markdown.wanted && !arguments->markdown.path) + (arguments->json.wanted && !arguments->json.path) +
                (arguments->csv.wanted && !arguments->csv.path) >
            1)
            return tb_cli_bad(state, "only one of --markdown, --json and --csv can go to standard output: give the others a file");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// --- output --------------------------------------------------------------------------------------------------------------------

static void put_json(const json_t *board, FILE *out)
{
    json_t *whole = tb_headed(tb_head("scoreboard"), json_copy((json_t *)(uintptr_t)board)); // which is shared, and not changed
    json_dumpf(whole, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(whole);
}

typedef void put_form(const json_t *board, FILE *out);

static int write_form(const json_t *board, put_form *put, const char *path)
{
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc)
        return rc;
    put(board, text.stream);
    if (!path)
        return tb_text_close(&text, stdout, 0);
    rc = fclose(text.stream) ? -ENOMEM : tb_output_replace(path, text.bytes, text.count);
    free(text.bytes);
    return rc;
}

static int say(const char *path, int rc)
{
    if (!rc)
        return TB_EXIT_OK;
    if (!path)
        return tb_cli_output_failed(rc);
    tb_error("%s: %s", path, tb_output_why(rc));
    return TB_EXIT_FAILED;
}

static int write_all(const struct arguments *arguments, const json_t *board)
{
    const struct {
        const struct output *output;
        put_form *put;
    } forms[] = {{&arguments->markdown, tb_scoreboard_markdown},
                 {&arguments->json, put_json},
                 {&arguments->csv, tb_scoreboard_csv}};
    int status = TB_EXIT_OK;
    bool instead = false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !status; i++) {
        if (!forms[i].output->wanted)
            continue;
        instead |= !forms[i].output->path;
        status = say(forms[i].output->path, write_form(board, forms[i].put, forms[i].output->path));
    }
    if (!status && !instead)
        status = say(NULL, write_form(board, tb_scoreboard_text, NULL));
    return status;
}

static int draw(const char *path, const json_t *board)
{
    int rc = path ? tb_scoreboard_plot(board, path) : 0;
    if (rc == -ENODATA)
        tb_error("--plot: there is no velocity to draw");
    else if (rc == -ENOENT)
        tb_error("--plot: gnuplot is not installed (apt install gnuplot-nox)");
    else if (rc < 0)
        return say(path, rc);
    return rc ? TB_EXIT_FAILED : TB_EXIT_OK;
}

// --- input ---------------------------------------------------------------------------------------------------------------------

static int load(const struct arguments *arguments, struct tb_store *store)
{
    struct tb_words hosts = {0};
    bool known = !arguments->wanted.host;
    int rc = tb_store_add(store, arguments->logs);
    if (rc < 0) {
        tb_error("%s: %s", arguments->logs, strerror(-rc));
        return TB_EXIT_FAILED;
    }
    for (size_t i = 0; i < store->hosts_count; i++) {
        known |= arguments->wanted.host && strcmp(store->hosts[i]->name, arguments->wanted.host) == 0;
        tb_say(&hosts, "%s%s", i ? ", " : "", store->hosts[i]->name);
    }
    if (known)
        return TB_EXIT_OK;
    tb_error("--host %s: no such host below %s (there %s %s)", arguments->wanted.host, arguments->logs,
             store->hosts_count == 1 ? "is" : "are", hosts.used ? hosts.text : "none");
    return TB_EXIT_USAGE;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {.logs = ROOT};
    const struct argp argp = {options, parse, NULL, documentation, NULL, NULL, NULL};
    struct tb_store store = {0};
    json_t *board = NULL;
    int status = tb_cli_parse(&argp, "scoreboard", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    const char *paths[] = {arguments.markdown.path, arguments.json.path, arguments.csv.path, arguments.plot};
    if (tb_cli_outputs_check(paths, sizeof paths / sizeof *paths))
        return TB_EXIT_FAILED;
    status = load(&arguments, &store);
    if (!status) {
        int rc = tb_scoreboard(&store, &arguments.wanted, &board);
        if (rc < 0)
            tb_error("scoreboard: %s", strerror(-rc));
        status = rc < 0 ? TB_EXIT_FAILED : write_all(&arguments, board);
    }
    if (!status)
        status = draw(arguments.plot, board);
    if (!status && json_array_size(tb_member(board, "tables")) == 0)
        status = TB_EXIT_FAILED;
    json_decref(board);
    tb_store_close(&store);
    return status;
}

TB_COMMAND(150, "scoreboard", "the standing table of contenders, from the record", command);
