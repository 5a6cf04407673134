// SPDX-License-Identifier: Apache-2.0
//
// locus reproduce: a run once more, from its log's header alone.

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/child.h"
#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/cli/commands.h"
#include "testbed/record/store.h"
#include "testbed/report/board/board.h"
#include "testbed/report/hosts/reproduce.h"

struct arguments {
    const char *log;
    bool keep;
    uint64_t rounds;
};

static const struct argp_option options[] = {
    {"keep", 'k', NULL, 0, "leave the temporary folder, with the program and the new log", 0},
    {"rounds", 'r', "N", 0, "another number of rounds than the log's (2 to 10000)", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'k': arguments->keep = true; return 0;
    case 'r':
        return tb_cli_u64(argument, 2, 10000, &arguments->rounds)
                   ? 0
                   : tb_cli_bad(state, "--rounds: '%s' is not a number from 2 to 10000", argument);
    case ARGP_KEY_ARG:
        if (arguments->log)
            return tb_cli_bad(state, "unexpected argument '%s' (see: locus reproduce --help)", argument);
        arguments->log = argument;
        return 0;
    case ARGP_KEY_END:
        return arguments->log ? 0 : tb_cli_bad(state, "locus reproduce: which log? (locus reproduce logs/HOST/0002-x/FILE.jsonl)");
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "A run once more, from its log's header alone.\v"
    "Clones the repository around the current folder into a temporary one ($TMPDIR), checks out the commit that the log "
    "names, builds it, and runs the same experiment with the same arms, seed and rounds, as a trial. Every predicted figure "
    "is then held against the log's: it is reproduced when the two intervals overlap; an exact figure when it, or what it "
    "means for the claim, is the same.\n\n"
    "LOG is a log's file, a run's id, or the last six digits of it.\n\n"
    "Examples:\n"
    "  locus reproduce logs/bm1/0002-x/20261121T101500Z-a1b2c3.jsonl\n"
    "  locus reproduce a1b2c3 --rounds 6\n"
    "  locus reproduce a1b2c3 --keep\n\n"
    "Exit status: 0 reproduced, 1 not, or the run failed, 2 bad input, or it cannot be done here.";

static void print_figure(const char *name, const json_t *figure)
{
    double low = tb_member_number(figure, "low"), high = tb_member_number(figure, "high");
    char text[64];
    printf("        %-6s ", name);
    if (isnan(tb_member_number(figure, "estimate")))
        printf("-");
    else
        printf("%.4f", tb_member_number(figure, "estimate"));
    if (low < high)
        printf(" [%.4f, %.4f]", low, high);
    printf("  %s\n", tb_member_show(figure, "verdict", text, sizeof text));
}

static void print_figures(const json_t *figures)
{
    const json_t *entry;
    size_t i;
    json_array_foreach (figures, i, entry) {
        char id[32], text[256], cell[128], over[32];
        tb_text_clean(tb_member_text(entry, "over"), true, over, sizeof over);
        printf("%-6s  %s, %s%s%s\n", tb_member_show(entry, "id", id, sizeof id), tb_member_show(entry, "text", text, sizeof text),
               tb_member_show(entry, "cell", cell, sizeof cell), *over ? ", arm " : "", over);
        print_figure("log", tb_member(entry, "log"));
        print_figure("again", tb_member(entry, "again"));
        printf("        %s: %s\n", json_is_true(tb_member(entry, "agrees")) ? "reproduced" : "NOT reproduced",
               tb_member_text(entry, "how"));
    }
}

// An invalid run reproduces only an invalid one.
static int verdict(const struct tb_log_view *log, const struct tb_log_view *again)
{
    json_t *figures = NULL;
    char shown[64];
    size_t agreed = 0;
    int rc = tb_reproduce_compare(log, again, &figures, &agreed);
    if (rc < 0) {
        tb_error("%s: %s", log->path,
                 rc == -EINVAL ? "its commit runs other arms or cells than the log has, so the log is not of that commit"
                               : strerror(-rc));
        return TB_EXIT_FAILED;
    }
    size_t count = json_array_size(figures);
    const char *before = tb_member_text(log->summary, "verdict"), *now = tb_member_text(again->summary, "verdict");
    bool same_validity = (strcmp(before, "invalid") == 0) == (strcmp(now, "invalid") == 0);
    bool reproduced = agreed == count && count > 0 && same_validity;
    print_figures(figures);
    printf("verdict of the log: %s, of the new run: %s\n", tb_member_show(log->summary, "verdict", shown, sizeof shown), now);
    printf("%s: %zu of %zu figures%s\n", reproduced ? "reproduced" : "not reproduced", agreed, count,
           same_validity ? "" : ", and only one of the runs is valid");
    json_decref(figures);
    int status = tb_cli_flush();
    return status ? status : reproduced ? TB_EXIT_OK : TB_EXIT_FAILED;
}

static int again(const struct arguments *arguments, const struct tb_log_view *log)
{
    char folder[PATH_MAX] = "", path[PATH_MAX], why[1024], run[64], kind[32];
    struct tb_log_view view;
    const char *commit = tb_member_text(log->header, "env.build.commit");
    printf("run     %s, %s\nagain   commit %.12s, seed %" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT " rounds\n",
           tb_member_show(log->header, "run", run, sizeof run), tb_member_show(log->header, "kind", kind, sizeof kind), commit,
           json_integer_value(tb_member(log->header, "design.seed")),
           arguments->rounds ? (json_int_t)arguments->rounds : json_integer_value(tb_member(log->header, "design.rounds")));
    fflush(stdout);
    int rc = tb_reproduce_run(log, arguments->rounds, folder, sizeof folder, path, sizeof path, why, sizeof why);
    if (!rc)
        rc = tb_store_load(path, &view, why, sizeof why);
    if (rc)
        tb_error("%s%s", why, arguments->keep ? "" : " (with --keep the folder stays)");
    int status = rc ? TB_EXIT_FAILED : verdict(log, &view);
    if (!rc)
        tb_log_view_close(&view);
    if (arguments->keep && folder[0])
        printf("kept    %s\n", folder);
    else if (folder[0] && (rc = tb_child_remove(folder)) != 0)
        tb_error("%s: could not be removed: %s", folder, strerror(-rc));
    return status;
}

int tb_cmd_reproduce(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp argp = {options, parse, "LOG", documentation, NULL, NULL, NULL};
    struct tb_log_view log;
    char why[1024], note[512];
    int status = tb_cli_parse(&argp, "reproduce", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    if (tb_store_load(arguments.log, &log, why, sizeof why) < 0) {
        tb_error("%s", why);
        return TB_EXIT_USAGE;
    }
    if (tb_reproduce_check(&log, why, sizeof why, note, sizeof note) < 0) {
        tb_error("%s", why);
        status = TB_EXIT_USAGE;
    } else {
        if (note[0])
            tb_error("note: %s", note);
        status = again(&arguments, &log);
    }
    tb_log_view_close(&log);
    return status;
}
