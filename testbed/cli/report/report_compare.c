// SPDX-License-Identifier: Apache-2.0
//
// locus report compare: all hosts side by side, or two runs.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/host/head.h"
#include "testbed/record/store.h"
#include "testbed/report/hosts/compare.h"
#include "testbed/report/hosts/fleet.h"

#define NAMES_MAX 32

struct arguments {
    const char *names[NAMES_MAX];   // as given: two runs, or postulates
    size_t count;
    char ids[NAMES_MAX][16];        // "0013" or "0013/P2"
    const char *wanted[NAMES_MAX + 1]; // these, NULL-terminated; two runs have none
    const char *logs, *host;
    struct tb_forms forms;
};

static const struct argp_child children[] = {{&tb_forms_json_argp, 0, NULL, 0}, {0}};
static const struct argp_option options[] = {
    {"host", 'H', "GLOB", 0, "These hosts alone, such as 'bm*' (all that have a ledger)", 0},
    {"logs", 'l', "FOLDER", 0, "Where the hosts' ledgers and logs are (logs)", 0},
    {0},
};

// "13/P2" as "0013/P2". false: it is no postulate's name.
static bool postulate_name(const char *name, char out[16])
{
    size_t digits = strspn(name, "0123456789"), length = strlen(name + digits);
    if (digits < 1 || digits > 4 || length > 6 || (length > 0 && (name[digits] != '/' || name[digits + 1] != 'P')))
        return false;
    snprintf(out, 16, "%04lu%s", strtoul(name, NULL, 10), name + digits);
    return true;
}

static error_t settle(struct arguments *arguments, struct argp_state *state)
{
    size_t postulates = 0;
    for (size_t i = 0; i < arguments->count; i++)
        if (postulate_name(arguments->names[i], arguments->ids[postulates]))
            arguments->wanted[postulates] = arguments->ids[postulates], postulates++;
    if (postulates == arguments->count)
        return 0;
    if (postulates > 0)
        return tb_cli_bad(state, "either two runs, or postulates such as 0013 or 0013/P2 (see: locus report compare --help)");
    if (arguments->count > 2)
        return tb_cli_bad(state, "unexpected argument '%s' (see: locus report compare --help)", arguments->names[2]);
    if (arguments->count < 2)
        return tb_cli_bad(state,
                          "'%s' is no postulate: which run is it to be compared with? (locus report compare a1b2c3 d4e5f6; of all "
                          "hosts: locus report compare 0013)",
                          arguments->names[0]);
    if (arguments->host || arguments->logs)
        return tb_cli_bad(state, "--host and --logs are for all hosts side by side, and not for two runs");
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case 'H': arguments->host = argument; return 0;
    case 'l': arguments->logs = argument; return tb_cli_folder(state, "--logs", argument);
    case ARGP_KEY_ARG:
        if (arguments->count == NAMES_MAX)
            return tb_cli_bad(state, "unexpected argument '%s': %d postulates are enough at a time", argument, NAMES_MAX);
        arguments->names[arguments->count++] = argument;
        return 0;
    case ARGP_KEY_END: return settle(arguments, state);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "All hosts side by side: on which machines does a prediction survive? Or two runs, contender by contender.\v"
    "Without an argument: one verdict for every postulate on every host, machines that are alike (CPU model, sockets, nodes, CPUs) "
    "side by side. With a postulate, its predictions; with one of those, what each machine observed. The last lines are the "
    "answer. Of a host's official runs the newest stands that says something; older ones, and those that are invalid, noise, "
    "crashed or damaged, are counted beside it. An emulated machine judges counts, and no times.\n\n"
    "With two runs: RUN is a run's id, the last six digits of it, or its log. The runs may be of different experiments and hosts. "
    "Within a run contenders are compared round by round, so that what disturbs a round cancels. Between two runs nothing "
    "cancels: the interval holds how the samples scatter (rank-sum, unpaired), and not what else changed, so it is too narrow "
    "rather than too wide. What else changed is listed below it. Of two runs of one experiment each predicted figure is "
    "held against the other run's: it is reproduced when the two intervals overlap; an exact figure when it, or "
    "what it means for the claim, is the same. testbed/run/reproduce.sh RUN makes a second run from the log of the first.\n\n"
    "Examples:\n"
    "  locus report compare                             all hosts, all postulates\n"
    "  locus report compare 0005                        the predictions of one, by host\n"
    "  locus report compare 0005/P2                     on which machines does P2 survive?\n"
    "  locus report compare --json 0005/P2 | jq '.postulates[0].predictions[0].results[] | {host, verdict, low, high}'\n"
    "  locus report compare a1b2c3 d4e5f6               two runs\n"
    "  locus report compare logs/bm1/0002-x/A.jsonl logs/bm2/0002-x/B.jsonl\n"
    "  locus report compare --json a1b2c3 d4e5f6 | jq '.cells[].arms[].ratio'\n\n"
    "Exit status: 0 compared, 1 it failed, there is nothing to compare, or a ledger is broken, 2 bad input.";

// --- two runs ------------------------------------------------------------------------------------------------------------------

static int compare_runs(const struct arguments *arguments)
{
    struct tb_log_view views[2];
    char why[1024];
    json_t *comparison = NULL;
    int loaded = 0, status = TB_EXIT_USAGE;
    while (loaded < 2 && tb_store_load(arguments->names[loaded], &views[loaded], why, sizeof why) == 0)
        loaded++;
    if (loaded < 2) {
        tb_error("%s", why);
    } else {
        struct tb_doc *doc = NULL; // without memory
        if (tb_compare(&views[0], &views[1], &comparison) == 0)
            doc = tb_compare_doc(arguments->forms.json.wanted ? tb_head("compare-runs") : NULL, comparison);
        status = tb_forms_write(&arguments->forms, doc);
    }
    json_decref(comparison);
    while (loaded-- > 0)
        tb_log_view_close(&views[loaded]);
    return status;
}

// --- all hosts -----------------------------------------------------------------------------------------------------------------

// Is there something to show of each that was named?
static int check(const struct arguments *arguments, const json_t *fleet)
{
    const char *logs = arguments->logs ? arguments->logs : "logs", *host = arguments->host;
    if (json_array_size(tb_member(fleet, "postulates")) == 0 && arguments->count == 0) {
        tb_error("there is no official run %s%s%sbelow %s. Make one: locus run 0001 --official", host ? "of " : "",
                 host ? host : "", host ? " " : "", logs);
        return TB_EXIT_FAILED;
    }
    for (const char *const *wanted = arguments->wanted; *wanted; wanted++) {
        char id[5];
        snprintf(id, sizeof id, "%.4s", *wanted);
        const json_t *postulate = tb_fleet_find(tb_member(fleet, "postulates"), id), *ids = tb_member(postulate, "ids");
        if (!postulate) {
            tb_error(
                "%s: there is no official run of it below %s (locus postulate list shows what there is; locus run %s --official)",
                id, logs, id);
            return TB_EXIT_FAILED;
        }
        if (!(*wanted)[4] || tb_fleet_find(tb_member(postulate, "predictions"), *wanted + 5))
            continue;
        if (json_array_size(ids) == 0)
            tb_error("%s: no run of it has judged a prediction yet (locus report compare %s)", *wanted, id);
        else
            tb_error("%s: %s has no such prediction; it has %s to %s", *wanted, id, json_string_value(json_array_get(ids, 0)),
                     json_string_value(json_array_get(ids, json_array_size(ids) - 1)));
        return TB_EXIT_USAGE;
    }
    return TB_EXIT_OK;
}

static int compare_hosts(const struct arguments *arguments)
{
    struct tb_store store = {0};
    json_t *fleet = NULL;
    int status = tb_logs_open(&store, arguments->logs);
    if (!status && tb_fleet(&store, &(struct tb_fleet_wanted){arguments->host, arguments->wanted}, &fleet) == 0)
        status = check(arguments, fleet);
    if (!status)
        status = tb_forms_write(&arguments->forms, fleet ? tb_fleet_doc(arguments->forms.json.wanted ? tb_head("compare") : NULL,
                                                                        fleet, arguments->wanted)
                                                         : NULL);
    int broken = status == TB_EXIT_USAGE ? TB_EXIT_OK : tb_ledgers_whole(&store);
    json_decref(fleet);
    tb_store_close(&store);
    return status ? status : broken;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp argp = {options, parse, "[NNNN[/P2]...]\nRUN RUN", documentation, children, NULL, NULL};
    int status = tb_cli_parse(&argp, "report compare", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    return arguments.count == 0 || arguments.wanted[0] ? compare_hosts(&arguments) : compare_runs(&arguments);
}

TB_COMMAND(144, "report compare", "all hosts side by side, or two runs", command);
