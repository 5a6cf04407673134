// SPDX-License-Identifier: Apache-2.0
//
// locus run: one run of an experiment, and what it says about its postulate.

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/cpus/cpus.h"
#include "testbed/base/json.h"
#include "testbed/base/share.h"
#include "testbed/cli/command.h"
#include "testbed/host/environment.h"
#include "testbed/host/head.h"
#include "testbed/judge/shown.h"
#include "testbed/record/git.h"
#include "testbed/run/official.h"
#include "testbed/run/profile.h"
#include "testbed/run/room/room.h"
#include "testbed/run/run.h"

struct arguments {
    const char *id, *root, *host, *cpus;
    bool official, quiet;
    struct tb_plan_options plan;
    struct tb_profile_config profile;
};

enum { KEY_RECORD = 0x100, KEY_C2C, KEY_MEM, KEY_ARM, KEY_OFFICIAL, KEY_CPUS };

static const struct argp_option options[] = {
    {"official", KEY_OFFICIAL, NULL, 0, "For the record: postulate filed and committed, tree clean; the log goes to logs/HOST/", 1},
    {"smoke", 'S', NULL, 0, "As short as possible, to see that it runs; no verdict comes of it", 1},
    {"seed", 's', "N", 0, "Seed of the order (the postulate's)", 2},
    {"rounds", 'r', "N", 0, "Rounds (the postulate's; not with --official or --smoke)", 2},
    {"cpus", KEY_CPUS, "LIST", 0, TB_CPUS_SUMMARY, 2},
    {"logs", 'l', "FOLDER", 0, "Folder of the logs (build/logs; official: logs)", 2},
    {"host", 'H', "NAME", 0, "This host's name in the record (LOCUS_HOST, or the host name)", 2},
    {"quiet", 'q', NULL, 0, "No progress line", 3},
    {"perf-record", KEY_RECORD, "OPTIONS", OPTION_ARG_OPTIONAL, "Afterwards profile each arm, with perf record and OPTIONS", 4},
    {"c2c", KEY_C2C, NULL, 0, "The same with perf c2c record: cache lines that travel", 4},
    {"mem", KEY_MEM, NULL, 0, "The same with perf mem record: where loads and stores were served", 4},
    {"profile-arm", KEY_ARM, "KEY", 0, "Profile this arm only (A, B, ...)", 4},
    {0},
};

static bool profiles(const struct arguments *arguments)
{
    const bool *wanted = arguments->profile.wanted;
    return wanted[TB_PROFILE_RECORD] || wanted[TB_PROFILE_C2C] || wanted[TB_PROFILE_MEM];
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case KEY_OFFICIAL: arguments->official = true; return 0;
    case 'S': arguments->plan.smoke = true; return 0;
    case 's':
        arguments->plan.seed_given = true;
        return tb_cli_u64(argument, 0, INT64_MAX, &arguments->plan.seed)
                   ? 0
                   : tb_cli_bad(state, "--seed: '%s' is not a number from 0 to 2^63 - 1", argument);
    case 'r':
        return tb_cli_u64(argument, 1, 10000, &arguments->plan.rounds)
                   ? 0
                   : tb_cli_bad(state, "--rounds: '%s' is not a number from 1 to 10000", argument);
    case KEY_CPUS: arguments->cpus = argument; return 0;
    case 'l': arguments->root = argument; return 0;
    case 'H': arguments->host = argument; return 0;
    case 'q': arguments->quiet = true; return 0;
    case KEY_RECORD:
        arguments->profile.wanted[TB_PROFILE_RECORD] = true;
        arguments->profile.options = argument;
        return 0;
    case KEY_C2C: arguments->profile.wanted[TB_PROFILE_C2C] = true; return 0;
    case KEY_MEM: arguments->profile.wanted[TB_PROFILE_MEM] = true; return 0;
    case KEY_ARM: arguments->profile.arm = argument; return 0;
    case ARGP_KEY_ARG:
        if (arguments->id)
            return tb_cli_bad(state, "one experiment at a time: '%s' is too much", argument);
        arguments->id = argument;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->id)
            return tb_cli_bad(state, "which experiment? (its number; see: locus postulate list)");
        if (arguments->official && (arguments->plan.smoke || arguments->plan.rounds || arguments->plan.seed_given))
            return tb_cli_bad(state, "--official runs what was filed: no --smoke, --rounds or --seed with it");
        if (arguments->plan.smoke && arguments->plan.rounds)
            return tb_cli_bad(state, "--smoke is as short as possible: no --rounds with it");
        if (arguments->profile.arm && !profiles(arguments))
            return tb_cli_bad(state, "--profile-arm: which profile? --perf-record, --c2c or --mem");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "Runs an experiment, writes a sealed log, and computes the verdict on each filed prediction.\v"
    "Without --official everything goes to build/logs and proves nothing to others. An official run wants the postulate filed "
    "(locus postulate file) and committed, and a clean tree, and its ledger entry stands before the first sample is taken. Where "
    "this host's ledger has a verdict on the postulate from an earlier official run, the new one is a replication: its log, its "
    "page and its record name that run. "
    "Rounds come in two blocks; when they differ by more than five percent, a third is added.\n\n"
    "What an experiment needs and this host lacks, memory for its pools as well, is said, and no sample is taken. Recorded "
    "traces are looked for in the folder that LOCUS_TRACES names (../shared/traces). In an emulated guest predictions of "
    "counts are judged, those of times are not.\n\n"
    "Profiling disturbs. So --perf-record, --c2c and --mem run each arm once more in each cell when the log is sealed, and those "
    "processes are no samples. What perf says lies beside the log, in a folder of its name with .perf at its end; git keeps the "
    "reports and ignores perf's data. What this host cannot do is said, and does not make the run fail.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus run 0002 --smoke     does it run here?\n"
    "  locus run 0002             a trial, in full length\n"
    "  locus run 0002 --official  for the record\n"
    "  locus run 0002 --perf-record='-F 10000 -g' --profile-arm A\n\n"
    "Exit status: 0 the run was sealed, whatever it says of the predictions; 1 it is INVALID, or could not be sealed; 2 bad input.";

// Nobody should learn afterwards that what he ran was no first run. The log's header says it again (tb_run).
static int replication_tell(const struct tb_ledger *ledger, const char *id, struct tb_words *replicated)
{
    json_t *runs = NULL;
    int error = tb_ledger_replicated(tb_ledger_chain(ledger), SIZE_MAX, id, &runs);
    if (tb_replicated_words(runs, tb_ledger_chain(ledger), replicated)[0])
        printf("%s was run here before, %s: this run is a replication\n", id, replicated->text);
    json_decref(runs);
    fflush(stdout); // if it cannot be written, that is said at the end
    return error;
}

static int official_check(const struct arguments *arguments, const struct tb_postulate *postulate, const char *host,
                          struct tb_words *replicated)
{
    struct tb_ledger *ledger = NULL;
    char why[300];
    if (tb_official_refuse(postulate))
        return TB_EXIT_FAILED;
    int error = tb_ledger_open(&ledger, arguments->root, host, false, why, sizeof why);
    const json_t *filed = error ? NULL : tb_ledger_filed(ledger, postulate->id);
    const char *sha256 = filed ? json_string_value(json_object_get(filed, "sha256")) : NULL;
    bool same = sha256 && strcmp(sha256, postulate->sha256) == 0;
    if (error && error != -ENOENT)
        tb_error("%s", why);
    else if (!sha256)
        tb_error("postulate %s is not filed on this host. File it: locus postulate file %s", postulate->id, postulate->id);
    else if (!same)
        tb_error("%s is not what was filed. A filed postulate is never edited: write a new one that supersedes it",
                 postulate->path);
    else if (replication_tell(ledger, postulate->id, replicated))
        same = (tb_error("out of memory"), false);
    tb_ledger_close(ledger);
    return same ? 0 : TB_EXIT_FAILED;
}

// An exact figure in full.
static void print_interval(const json_t *prediction)
{
    const json_t *low = json_object_get(prediction, "low"), *high = json_object_get(prediction, "high");
    const json_t *estimate = json_object_get(prediction, "estimate");
    bool bounded = json_is_number(low) && json_is_number(high), exact = bounded && json_equal(low, high);
    if (json_is_number(estimate))
        printf("  observed %.*g", exact ? 12 : 4, json_number_value(estimate));
    if (bounded && !exact)
        printf(" [%.4g, %.4g]", json_number_value(low), json_number_value(high));
}

// A conjunction by rules 2 has its figures in its parts, and all of them are shown.
static void print_parts(const json_t *prediction)
{
    const json_t *part;
    size_t i;
    if (json_is_number(json_object_get(prediction, "estimate")))
        return;
    json_array_foreach (json_object_get(prediction, "parts"), i, part) {
        const char *over = tb_member_text(part, "over"), *under = tb_member_text(part, "under");
        under = *under ? under : tb_member_text(prediction, "under");
        printf("          %s, %s%s%s", tb_member_text(part, "cell"), over, *under ? "/" : "", under);
        print_interval(part);
        printf("  %s\n", tb_member_text(part, "verdict"));
    }
}

static void print_result(const struct tb_plan *plan, const struct tb_run_result *result, const char *commit, enum tb_run_kind kind,
                         const char *replicated)
{
    const json_t *predictions = json_object_get(result->summary, "predictions"), *prediction;
    const char *why = json_string_value(json_object_get(result->summary, "why"));
    char checkpoint[160];
    size_t i;
    printf("%s  %s\n", plan->postulate->id, plan->postulate->title);
    printf("run     %s, %s, postulate %s%.12s\n", result->run, tb_run_kind_name(kind), commit ? "of commit " : "not committed",
           commit ? commit : "");
    if (replicated[0])
        printf("        replication of %s\n", replicated);
    printf("rounds  %u, randomised (seed %llu)\n", result->rounds, (unsigned long long)plan->rounds.seed);
    if (tb_environment_guest())
        printf("guest   made in an emulated guest (%s): counts, no times\n", tb_environment_guest());
    json_array_foreach (predictions, i, prediction) {
        const char *part_why = json_string_value(json_object_get(prediction, "why"));
        const char *claim = json_string_value(json_object_get(prediction, "claim"));
        const char *cell = json_string_value(json_object_get(prediction, "cell"));
        printf("%-6s  %s%s%s%s%s%s", json_string_value(json_object_get(prediction, "id")), claim ? claim : "", claim ? " (" : "",
               json_string_value(json_object_get(prediction, "text")), *cell ? " on " : "", cell, claim ? ")" : "");
        print_interval(prediction);
        printf("  %s%s%s\n", json_string_value(json_object_get(prediction, "verdict")), part_why ? ": " : "",
               part_why ? part_why : "");
        print_parts(prediction);
    }
    printf("verdict %s%s%s\n", tb_verdict_name(result->verdict), why ? ": " : "", why ? why : "");
    printf("log %s\n", result->log);
    tb_checkpoint_text(&result->checkpoint, checkpoint, sizeof checkpoint);
    printf("checkpoint %s\n", checkpoint);
    const char *last = result->run + strlen(result->run) - 6;
    if (kind == TB_RUN_OFFICIAL)
        printf("next    locus record draft %s %s     locus report\n", plan->postulate->id, last);
    else if (kind == TB_RUN_TRIAL)
        printf("next    locus record show %s     locus report\n", last);
}

// A log without a round is one of a host that lacks something: then there is nothing to profile.
static int profile(const struct arguments *arguments, const struct tb_plan *plan, const struct tb_run_result *result)
{
    char why[400];
    if (json_integer_value(json_object_get(result->summary, "rounds")) == 0) {
        printf("profile none: nothing was run\n");
        return 0;
    }
    int error = tb_profile(&arguments->profile, plan, result->log, stdout, why, sizeof why);
    if (error)
        tb_error("the run was sealed, but not profiled: %s", why);
    return error;
}

static int execute(const struct arguments *arguments, struct tb_plan *plan, const char *host, const char *replicated)
{
    char commit[48], why[400], time[64];
    bool committed = tb_git_committed(plan->postulate->path) && tb_git_commit_of(plan->postulate->path, commit, sizeof commit) == 0;
    struct tb_run_result result;
    const struct tb_run_config config = {
        .plan = plan,
        .kind = arguments->official     ? TB_RUN_OFFICIAL
                : arguments->plan.smoke ? TB_RUN_SMOKE
                                        : TB_RUN_TRIAL,
        .root = arguments->root,
        .host = host,
        .commit = committed ? commit : NULL,
        .quiet = arguments->quiet,
    };
    if (!arguments->quiet && isatty(STDERR_FILENO) && *tb_room_time(tb_room_seconds(&plan->rounds), time, sizeof time))
        fprintf(stderr, "%s\n", time);
    int error = tb_run(&config, &result, why, sizeof why);
    if (error) {
        tb_error("the run was not sealed: %s", why);
        return TB_EXIT_FAILED;
    }
    error = profiles(arguments) ? profile(arguments, plan, &result) : 0;
    print_result(plan, &result, config.commit, config.kind, replicated);
    json_decref(result.summary);
    return tb_cli_flush() || error || result.verdict == TB_VERDICT_INVALID ? TB_EXIT_FAILED : TB_EXIT_OK;
}

static int run(struct arguments *arguments)
{
    struct tb_postulate *postulate = NULL;
    struct tb_postulate_why postulate_why;
    struct tb_plan *plan = NULL;
    struct tb_words replicated = {.used = 0};
    char why[512] = "", host[64], lap[PATH_MAX];
    int status = TB_EXIT_USAGE;
    if (tb_postulate_open(arguments->id, &postulate, &postulate_why))
        tb_error("%s", postulate_why.text);
    else if (arguments->host ? (size_t)snprintf(host, sizeof host, "%s", arguments->host) >= sizeof host
                             : tb_host_name(host, sizeof host) != 0)
        tb_error("this host has no usable name: give it one by --host or LOCUS_HOST");
    else if (tb_plan_open(&plan, postulate, &arguments->plan, why, sizeof why) || tb_share_lap(lap, why, sizeof why) ||
             tb_cpus_ask(arguments->cpus, tb_plan_touch(postulate) != TB_TOUCH_ENGINE, why, sizeof why))
        tb_error("%s", why);
    else if (profiles(arguments) && tb_profile_check(&arguments->profile, plan, why, sizeof why))
        tb_error("%s", why);
    else
        status = arguments->official ? official_check(arguments, postulate, host, &replicated) : 0;
    tb_cpus_leave();
    if (status == 0)
        status = execute(arguments, plan, host, replicated.text);
    tb_plan_close(plan);
    tb_postulate_close(postulate);
    return status;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp argp = {options, parse, "NNNN", documentation, NULL, NULL, NULL};
    int status = tb_cli_parse(&argp, "run", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("run");
    if (status)
        return status;
    if (!arguments.root)
        arguments.root = arguments.official ? "logs" : "build/logs";
    return run(&arguments);
}

TB_COMMAND(110, "run", "one run of an experiment, and its verdict *", command);
