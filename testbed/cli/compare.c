// SPDX-License-Identifier: Apache-2.0
//
// locus compare: all hosts side by side, or two runs.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/base/terminal.h"
#include "testbed/cli/commands.h"
#include "testbed/doc/emit.h"
#include "testbed/host/head.h"
#include "testbed/record/store.h"
#include "testbed/report/hosts/compare.h"
#include "testbed/report/hosts/fleet.h"

#define ROOT "logs"
#define NAMES_MAX 32

struct arguments {
    const char *names[NAMES_MAX + 1]; // as given: two runs, or postulates
    size_t count;
    bool postulates;
    char wanted[NAMES_MAX][16];     // "0013" or "0013/P2"
    const char *logs, *host;
    bool json;
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "JSON on standard output", 0},
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
        postulates += postulate_name(arguments->names[i], arguments->wanted[i]);
    arguments->postulates = postulates == arguments->count;
    if (arguments->postulates)
        return 0;
    if (postulates > 0)
        return tb_cli_bad(state, "either two runs, or postulates such as 0013 or 0013/P2 (see: locus compare --help)");
    if (arguments->count > 2)
        return tb_cli_bad(state, "unexpected argument '%s' (see: locus compare --help)", arguments->names[2]);
    if (arguments->count < 2)
        return tb_cli_bad(state, "locus compare: which two runs? (locus compare a1b2c3 d4e5f6; of all hosts: locus compare 0013)");
    if (arguments->host || arguments->logs)
        return tb_cli_bad(state, "--host and --logs are for all hosts side by side, and not for two runs");
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct stat about;
    switch (key) {
    case 'j': arguments->json = true; return 0;
    case 'H': arguments->host = argument; return 0;
    case 'l':
        if (stat(argument, &about) || !S_ISDIR(about.st_mode))
            return tb_cli_bad(state, "--logs %s: there is no such folder", argument);
        arguments->logs = argument;
        return 0;
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
    "rather than too wide. What else changed is listed below it.\n\n"
    "Examples:\n"
    "  locus compare                             all hosts, all postulates\n"
    "  locus compare 0005                        the predictions of one, by host\n"
    "  locus compare 0005/P2                     on which machines does P2 survive?\n"
    "  locus compare --json 0005/P2 | jq '.postulates[0].predictions[0].results[] | {host, verdict, low, high}'\n"
    "  locus compare a1b2c3 d4e5f6               two runs\n"
    "  locus compare logs/bm1/0002-x/A.jsonl logs/bm2/0002-x/B.jsonl\n"
    "  locus compare --json a1b2c3 d4e5f6 | jq '.cells[].arms[].ratio'\n\n"
    "Exit status: 0 compared, 1 it failed, there is nothing to compare, or a ledger is broken, 2 bad input.";

static int show(struct tb_doc *doc, bool json)
{
    int rc = -ENOMEM;
    if (doc)
        rc = json ? tb_emit_json(stdout, doc) : tb_emit_text(stdout, doc, tb_report_style(stdout));
    tb_doc_close(doc);
    if (rc == 0)
        return tb_cli_flush();
    if (rc != -ENOMEM)
        return tb_cli_output_failed(rc);
    tb_error("out of memory");
    return TB_EXIT_FAILED;
}

// --- two runs ------------------------------------------------------------------------------------------------------------------

static int print_runs(const struct arguments *arguments, const struct tb_log_view views[2])
{
    json_t *comparison = NULL;
    int rc = tb_compare(&views[0], &views[1], &comparison);
    if (rc < 0) {
        tb_error("compare: %s", strerror(-rc));
        return TB_EXIT_FAILED;
    }
    int status = show(tb_compare_doc(arguments->json ? tb_head("compare-runs") : NULL, comparison), arguments->json);
    json_decref(comparison);
    return status;
}

static int compare_runs(const struct arguments *arguments)
{
    struct tb_log_view views[2];
    char why[1024];
    int loaded = 0;
    while (loaded < 2 && tb_store_load(arguments->names[loaded], &views[loaded], why, sizeof why) == 0)
        loaded++;
    if (loaded < 2)
        tb_error("%s", why);
    int status = loaded < 2 ? TB_EXIT_USAGE : print_runs(arguments, views);
    while (loaded-- > 0)
        tb_log_view_close(&views[loaded]);
    return status;
}

// --- all hosts -----------------------------------------------------------------------------------------------------------------

// "P1 to P4", of those that the postulate has.
static void refuse_prediction(const json_t *postulate, const char *wanted)
{
    size_t count = json_array_size(tb_member(postulate, "ids"));
    const char *first = json_string_value(json_array_get(tb_member(postulate, "ids"), 0));
    const char *last = json_string_value(json_array_get(tb_member(postulate, "ids"), count - 1));
    if (count == 0)
        tb_error("%s: no run of it has judged a prediction yet (locus compare %.4s)", wanted, wanted);
    else
        tb_error("%s: %.4s has no such prediction; it has %s%s%s", wanted, wanted, first, count > 1 ? " to " : "",
                 count > 1 ? last : "");
}

// Is there something to show of each that was named?
static int check(const struct arguments *arguments, const json_t *fleet)
{
    const char *logs = arguments->logs ? arguments->logs : ROOT;
    if (json_array_size(tb_member(fleet, "postulates")) == 0 && arguments->count == 0) {
        tb_error("there is no official run %s%s%s%s. Make one: locus run 0001 --official", arguments->host ? "of " : "",
                 arguments->host ? arguments->host : "", arguments->host ? " below " : "below ", logs);
        return TB_EXIT_FAILED;
    }
    for (size_t i = 0; i < arguments->count; i++) {
        const char *wanted = arguments->wanted[i];
        char id[5];
        snprintf(id, sizeof id, "%.4s", wanted);
        const json_t *postulate = tb_fleet_find(tb_member(fleet, "postulates"), id);
        if (!postulate) {
            tb_error("%s: there is no official run of it below %s (locus list shows what there is; locus run %s --official)", id,
                     logs, id);
            return TB_EXIT_FAILED;
        }
        if (wanted[4] && !tb_fleet_find(tb_member(postulate, "predictions"), wanted + 5)) {
            refuse_prediction(postulate, wanted);
            return TB_EXIT_USAGE;
        }
    }
    return TB_EXIT_OK;
}

static int print_hosts(const struct arguments *arguments, json_t *fleet)
{
    const char *wanted[NAMES_MAX + 1] = {NULL};
    for (size_t i = 0; i < arguments->count; i++)
        wanted[i] = arguments->wanted[i];
    return show(tb_fleet_doc(arguments->json ? tb_head("compare") : NULL, fleet, wanted), arguments->json);
}

static int compare_hosts(const struct arguments *arguments)
{
    const char *wanted[NAMES_MAX + 1] = {NULL}, *logs = arguments->logs ? arguments->logs : ROOT;
    struct tb_store store = {0};
    json_t *fleet = NULL;
    for (size_t i = 0; i < arguments->count; i++)
        wanted[i] = arguments->wanted[i];
    int rc = tb_store_add(&store, logs), status = TB_EXIT_FAILED;
    if (rc == 0)
        rc = tb_fleet(&store, &(struct tb_fleet_wanted){arguments->host, arguments->count ? wanted : NULL}, &fleet);
    if (rc < 0)
        tb_error("%s: %s", logs, strerror(-rc));
    else
        status = check(arguments, fleet);
    if (status == TB_EXIT_OK)
        status = print_hosts(arguments, fleet);
    int broken = status == TB_EXIT_USAGE ? TB_EXIT_OK : tb_ledgers_whole(&store);
    json_decref(fleet);
    tb_store_close(&store);
    return status ? status : broken;
}

int tb_cmd_compare(int argc, char **argv)
{
    struct arguments arguments = {.json = false};
    const struct argp argp = {options, parse, "[NNNN[/P2]... | RUN RUN]", documentation, NULL, NULL, NULL};
    int status = tb_cli_parse(&argp, "compare", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    return arguments.postulates ? compare_hosts(&arguments) : compare_runs(&arguments);
}
