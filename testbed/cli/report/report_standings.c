// SPDX-License-Identifier: Apache-2.0
//
// locus report standings: the standing table, from the record.

#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/host/head.h"
#include "testbed/report/standing/scoreboard.h"

struct arguments {
    const char *logs;
    struct tb_scoreboard_wanted wanted;
    bool all;
    struct tb_forms forms;
};

enum { KEY_CELL = 0x100 };

static const struct argp_option options[] = {
    {"host", 'H', "HOST", 0, "Of this host alone (all that have a ledger)", 0},
    {"cell", KEY_CELL, "GLOB", 0, "These cells in full, such as '*/full' or 'churn-touch/*/futex/*'", 0},
    {"all", 'a', NULL, 0, "Every cell in full, every contender, what was left out and what has no figure yet", 0},
    {"logs", 'l', "FOLDER", 0, "Where ledgers and logs are (logs)", 0},
    {0},
};

static const char documentation[] =
    "The standing table of contenders, from the sealed logs of official runs. It measures nothing.\v"
    "For each host, how many times as fast as mimalloc each contender is, over all cells that both were measured on; beside it, "
    "how fast locus is on the same cells, and on how many cells nobody was measurably faster. A cell is workload, touch, dispatch, "
    "workers and block size. Of several runs of a cell the newest one counts; an older one stays beside it where it has contenders "
    "that the newer one lacks. A run gives figures if it is official, sealed, closed in its host's ledger, made on real hardware, "
    "valid, and not noise; all others are named with the reason. Whether a log is as it was written, `locus verify` says.\n\n"
    "Ranks are for rivals alone: not for oracle and null, A/A twins, faults. Who cannot be told apart from the first of a "
    "place shares it (1=). The claimed rank is that of an order in the run's postulate: stat: order(A<D<E).\n\n"
    "With --all, what this program has and no run has measured is listed with the command that would do it, so a contender or a "
    "workload that you have just added is there by its name.\n\n"
    "Examples:\n"
    "  locus report standings\n"
    "  locus report standings --cell '*/full' --host bm1\n"
    "  locus report standings --cell 'steady-decode/full/spin/1w/4KiB'    the long form of a cell\n"
    "  locus report standings --all --markdown=build/scoreboard.md --plot build/scoreboard.svg\n"
    "  locus report standings --csv                                       a line for each contender in each cell\n"
    "  locus report standings --json | jq '.tables[] | {cell, first: .contenders[0].name}'\n\n"
    "Exit status: 0 shown, 1 there is nothing to show, 2 bad input.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case 'H': arguments->wanted.host = argument; return 0;
    case KEY_CELL: arguments->wanted.cell = argument; return 0;
    case 'a': arguments->all = true; return 0;
    case 'l': arguments->logs = argument; return tb_cli_folder(state, "--logs", argument);
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s': a host is given by --host, a cell by --cell", argument);
    default: return ARGP_ERR_UNKNOWN;
    }
}

// Is there the host that was asked for?
static int check_host(const struct arguments *arguments, const struct tb_store *store)
{
    struct tb_words hosts = {0};
    for (size_t i = 0; i < store->hosts_count; i++) {
        if (strcmp(store->hosts[i]->name, arguments->wanted.host) == 0)
            return TB_EXIT_OK;
        tb_say(&hosts, "%s%s", i ? ", " : "", store->hosts[i]->name);
    }
    tb_error("--host %s: no such host below %s (there: %s)", arguments->wanted.host, arguments->logs ? arguments->logs : "logs",
             hosts.used ? hosts.text : "none");
    return TB_EXIT_USAGE;
}

// CSV has its own document: every contender in every cell.
static int show(const struct arguments *arguments, json_t *board)
{
    const struct tb_forms rows = {.csv = arguments->forms.csv, .csv_table = "rows"};
    struct tb_forms forms = arguments->forms;
    bool cells = arguments->all || arguments->wanted.cell, standing = arguments->all || !arguments->wanted.cell;
    struct tb_doc *doc = tb_scoreboard_doc(tb_head("scoreboard"), board, standing, cells);
    int status = rows.csv.wanted ? tb_forms_write_files(&rows, tb_scoreboard_rows_doc(board)) : TB_EXIT_OK;
    forms.csv = (struct tb_form){false, NULL};
    status |= tb_forms_take_output(&rows) ? tb_forms_write_files(&forms, doc) : tb_forms_write(&forms, doc);
    return status == TB_EXIT_OK && json_array_size(tb_member(board, "tables")) == 0 ? TB_EXIT_FAILED : status;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp_child children[] = {{&tb_forms_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse, NULL, documentation, children, NULL, NULL};
    struct tb_store store = {0};
    json_t *board = NULL;
    int status = tb_cli_parse(&argp, "report standings", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_logs_open(&store, arguments.logs);
    if (!status && arguments.wanted.host)
        status = check_host(&arguments, &store);
    if (!status && tb_scoreboard(&store, &arguments.wanted, &board) < 0)
        status = tb_forms_write(&arguments.forms, NULL); // out of memory
    if (!status)
        status = show(&arguments, board);
    json_decref(board);
    tb_store_close(&store);
    return status;
}

TB_COMMAND(142, "report standings", "the standing table of contenders, from the record", command);
