// SPDX-License-Identifier: Apache-2.0
//
// locus serve: strategies side by side on a trace, under a scheduler that decides in virtual time; or policies of retention, in a
// model of a prefix cache; or batchers and policies of residency, of requests with adapters; or scores of eviction, in an arena of
// pages.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/words.h"
#include "testbed/cli/command.h"
#include "testbed/cli/options.h"
#include "testbed/cli/serve/serve_adapters.h"
#include "testbed/cli/serve/serve_here.h"
#include "testbed/cli/serve/serve_settings.h"
#include "testbed/measure/cell.h"
#include "testbed/measure/contender.h"
#include "testbed/serving/keep.h"
#include "testbed/workload/known_trace.h"
#include "testbed/workload/scenarios/scenario.h"

// In this order: settings of strategies, then of policies of retention as well, then of all, then of policies of retention alone.
enum {
    KEY_BLOCK = 2000,
    KEY_LOAD,
    KEY_WATERMARK,
    KEY_VICTIM,
    KEY_RETENTION,
    KEY_READ_PS,
    KEY_STEP_US,
    KEY_SWAP,
    KEY_RANDOM,
    KEY_POOL,
    KEY_SHAPE,
    KEY_REQUESTS,
    KEY_FAR,                    // from here to KEY_ALIKE: of policies alone
    KEY_FILE,
    KEY_FAR_GBS,
    KEY_FAR_US,
    KEY_FILE_GBS,
    KEY_FILE_US,
    KEY_TOKEN_US,
    KEY_ALIKE,
    KEY_POLICIES,
    KEY_BATCHERS,
    KEY_RESIDENCY,
    KEY_PAGES,
    KEY_HERE,
    KEY_ID_TOKENS,
    KEY_MAP
};

// So that the bytes of a tier stay far below 2^64.
#define ID_TOKENS_MAX (1u << 24)

// Blocks of the cache, where none are said: from far too few to more than most traces use.
static const uint32_t kept_blocks[] = {1000, 3000, 10000, 30000, 50000, 100000};
#define SIZES (sizeof kept_blocks / sizeof *kept_blocks)

struct arguments {
    struct tb_options options;
    struct tb_cell cell;        // of the argument, if that is one
    struct tb_serve_said said;  // of its settings, by options
    char name[256];             // of the scenario, or a path
    const char *pool;           // tokens, or bytes of the shape
    uint64_t id_tokens;         // that an id of the trace stands for; 0: as the trace has it
    struct tb_trace_map map;    // of --map
    const struct tb_trace_format *format; // its format, or NULL: as the trace has it
    bool traps;
    bool cell_given;            // the argument is one
    const char *setting, *scheduled; // the last option that is a setting, and the last that is one of strategies alone
    const char *sized, *tiered; // the last one that adapters have not, and the last that policies of retention alone have
    bool strategies_given;
    enum tb_touch view;         // what is compared: strategies (TB_TOUCH_SERVE), or others; TB_TOUCH_NONE: nothing was said
    bool here;                  // the clock is measured before
    const char *here_what;      // by which workload; NULL: the usual one
};

static const struct argp_option option_table[] = {
    {"strategies", TB_KEY_CONTENDERS, "LIST", 0, "Which to run, comma-separated; `traps`: the faulty listings as well (all others)",
     1},
    {"policies", KEY_POLICIES, "LIST", OPTION_ARG_OPTIONAL,
     "Compare policies of retention instead: which part of the prompts a prefix cache finds, by its size, or in --pool", 1},
    {"batchers", KEY_BATCHERS, "LIST", OPTION_ARG_OPTIONAL,
     "Compare batchers of requests with 10,000 adapters instead: who waits, and who starves, by load", 1},
    {"residency", KEY_RESIDENCY, "LIST", OPTION_ARG_OPTIONAL,
     "Compare policies of which adapters are in memory instead: who is found hot, by uses a second", 1},
    {"pages", KEY_PAGES, "LIST", OPTION_ARG_OPTIONAL,
     "Compare scores of eviction in an arena of pages instead: what is found again, and how full it is, by watermark", 1},
    {"far", KEY_FAR, "BLOCKS", 0, "Policies: below the cache is a far tier of so many blocks; what leaves the cache sinks there",
     1},
    {"file", KEY_FILE, "BLOCKS", 0, "Policies: below that, or below the cache, is a file of so many", 1},
    {"far-gbs", KEY_FAR_GBS, "GB/S", 0, "What a block takes to the far tier or back: its bytes at so many GB/s (30)", 1},
    {"far-us", KEY_FAR_US, "US", 0, "And so many microseconds before the first byte (1)", 1},
    {"file-gbs", KEY_FILE_GBS, "GB/S", 0, "The same of the file (3)", 1},
    {"file-us", KEY_FILE_US, "US", 0, "The same of the file (100)", 1},
    {"token-us", KEY_TOKEN_US, "US", 0, "What computing one token of a prompt takes, in microseconds (by the shape, at 2 Tflop/s)",
     1},
    {"alike", KEY_ALIKE, NULL, 0, "A tier's victim is chosen as the cache's is, not as what sank there first", 1},
    {"pool", KEY_POOL, "SIZE", 0, "Of the region: tokens (131072t) or bytes (4GiB)", 1},
    {"shape", KEY_SHAPE, "MODEL", 0, "Bytes of a token, and the clock of a step (" TB_SHAPE_DEFAULT ")", 1},
    {"block", KEY_BLOCK, "TOKENS", 0, "Tokens per block, where a strategy has blocks (16)", 1},
    {"load", KEY_LOAD, "PERCENT", 0, "Arrivals, in percent of what the pool can finish (90); `all`: everybody waits at the start",
     1},
    {"random", KEY_RANDOM, NULL, 0, "No scheduler: requests come and go at random, to see how that scatters what is free", 1},
    {"requests", KEY_REQUESTS, "N", 0, "Only the first N", 1},
    {"id-tokens", KEY_ID_TOKENS, "N", 0, "Tokens that an id of the trace stands for, where its prompts do not tell (below)", 1},
    {"map", KEY_MAP, "COLUMNS", 0, TB_MAP_HELP, 1},
    {"watermark", KEY_WATERMARK, "PERCENT", 0, "What an admission leaves free, where a strategy has a watermark (5)", 1},
    {"victim", KEY_VICTIM, "WHO", 0, "Who is thrown out for room: last, largest or cheapest (last)", 1},
    {"retention", KEY_RETENTION, "POLICY", 0, "What paged-shared keeps of prompts that nobody uses (chain); policies: below", 1},
    {"read-ps", KEY_READ_PS, "PS", 0, "What a step takes for each byte of KV that it reads, in picoseconds (10)", 1},
    {"step-us", KEY_STEP_US, "US", 0, "What it takes besides, in microseconds (by the shape: its weights at 100 GB/s)", 1},
    {"here", KEY_HERE, "BATCH", OPTION_ARG_OPTIONAL,
     "Measure the clock of this machine before, by decode steps of the shape; BATCH/SETTING...: by these, such as "
     "batch-8x4096x16/128t/4c",
     1},
    {"swap", KEY_SWAP, NULL, 0, "Move a victim's tokens out and in, instead of computing them again", 1},
    {"rounds", TB_KEY_ROUNDS, "N", 0, "Processes of each strategy, for the time of a call (1)", 2},
    {"cpus", TB_KEY_CPUS, "LIST", 0, TB_CPUS_SUMMARY, 2},
    {"log", TB_KEY_LOG, "FILE", 0, "Keep every sample in a log that `locus report FILE` shows again", 3},
    {"quiet", TB_KEY_QUIET, NULL, 0, "No progress line", 3},
    {0},
};

static error_t setting_of_unit(struct argp_state *state, struct arguments *arguments, const char *option, const char *word,
                               const char *argument, const char *unit)
{
    return tb_serve_setting(state, &arguments->said, &arguments->cell.serving, option, word, argument, unit, tb_serving_setting);
}

static error_t kept(struct argp_state *state, struct arguments *arguments, const char *option, const char *word,
                    const char *argument, const char *unit)
{
    return tb_serve_setting(state, &arguments->said, &arguments->cell.serving, option, word, argument, unit, tb_keep_setting);
}

static error_t setting(struct argp_state *state, struct arguments *arguments, const char *option, const char *word,
                       const char *argument)
{
    return setting_of_unit(state, arguments, option, word, argument, "");
}

static error_t parse_strategies(struct argp_state *state, struct arguments *arguments, const char *list)
{
    char copy[1024], why[256], *rest = NULL;
    arguments->strategies_given = true;
    if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy)
        return tb_cli_bad(state, "--strategies: the list is too long");
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (strcmp(name, "traps") == 0)
            arguments->traps = true;
        else if (tb_strategies_add(arguments->options.arms, &arguments->options.arms_count, name, why, sizeof why))
            return tb_cli_bad(state, "--strategies: %s", why);
    }
    return 0;
}

// What may be compared, by the touch of its cells.
static const struct view {
    const char *option, *what;
    int (*add)(struct tb_arm arms[], uint32_t *count, const char *text, char *why, size_t why_bytes);
} views[] = {
    [TB_TOUCH_SERVE] = {"strategies", "strategies", tb_strategies_add},
    [TB_TOUCH_KEEP] = {"policies", "policies of retention", tb_policies_add},
    [TB_TOUCH_ADAPTERS] = {"batchers", "batchers", tb_batchers_add},
    [TB_TOUCH_RESIDENCY] = {"residency", "policies of residency", tb_residents_add},
    [TB_TOUCH_PAGES] = {"pages", "scores", tb_scores_add},
};

static error_t parse_view(struct argp_state *state, struct arguments *arguments, enum tb_touch touch, const char *list)
{
    char copy[1024], why[256], *rest = NULL;
    const char *option = views[touch].option;
    if (arguments->view != TB_TOUCH_NONE && arguments->view != touch)
        return tb_cli_bad(state, "%s and %s are not compared with each other: --%s or --%s", views[arguments->view].what,
                          views[touch].what, views[arguments->view].option, option);
    arguments->view = touch;
    if (snprintf(copy, sizeof copy, "%s", list ? list : "") >= (int)sizeof copy)
        return tb_cli_bad(state, "--%s: the list is too long", option);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (views[touch].add(arguments->options.arms, &arguments->options.arms_count, name, why, sizeof why))
            return tb_cli_bad(state, "--%s: %s", option, why);
    return 0;
}

// A path may have such a folder, too.
static bool is_cell(const char *argument)
{
    for (int touch = TB_TOUCH_SERVE; touch <= TB_TOUCH_PAGES; touch++) {
        const char *name = tb_touch_name((enum tb_touch)touch), *at = strchr(argument, '/');
        size_t length = strlen(name);
        if (at && strncmp(at + 1, name, length) == 0 && (at[length + 1] == '/' || at[length + 1] == '\0'))
            return access(argument, F_OK) != 0;
    }
    return false;
}

// A scenario, a path, or a whole cell.
static error_t parse_what(struct argp_state *state, struct arguments *arguments, const char *argument)
{
    char workload[TB_WORKLOAD_NAME], why[256];
    if (arguments->name[0])
        return tb_cli_bad(state, "one trace at a time: '%s' is one too many", argument);
    if (!*argument || strlen(argument) >= sizeof arguments->name)
        return tb_cli_bad(state, "which trace? '%.40s' is none (see: locus serve --help)", argument);
    arguments->cell_given = is_cell(argument);
    if (!arguments->cell_given) {
        strcpy(arguments->name, argument);
        return 0;
    }
    if (tb_cell_parse(argument, workload, &arguments->cell)) {
        tb_cell_why(argument, why, sizeof why);
        return tb_cli_bad(state, "%s", why);
    }
    strcpy(arguments->name, workload);
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    uint64_t number;
    for (const struct argp_option *option = option_table; option->name; option++)
        if (option->key == key && key >= KEY_BLOCK && key <= KEY_ALIKE) {
            arguments->setting = option->name;
            arguments->scheduled = key <= KEY_RANDOM ? option->name : arguments->scheduled;
            arguments->sized = key <= KEY_SHAPE ? option->name : arguments->sized;
            arguments->tiered = key >= KEY_FAR ? option->name : arguments->tiered;
        }
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->options.forms; return 0;
    case ARGP_KEY_ARG: return parse_what(state, arguments, argument);
    case ARGP_KEY_NO_ARGS: return tb_cli_bad(state, "which trace? (locus serve TRACE; see: locus serve --help)");
    case TB_KEY_CONTENDERS: return parse_strategies(state, arguments, argument);
    case KEY_POOL: arguments->pool = argument; return 0;
    case KEY_SHAPE: return setting(state, arguments, "shape", "", argument);
    case KEY_BLOCK:
        if (tb_cli_u64(argument, 1, TB_POOL_TOKENS_MAX, &number)) {
            arguments->cell.serving.block_tokens = (uint32_t)number;
            return 0;
        }
        return tb_cli_bad(state, "--block: '%s' is not a number of tokens", argument);
    case KEY_LOAD:
        return strcmp(argument, "all") ? setting(state, arguments, "load", "load", argument)
                                       : setting(state, arguments, "load", "line", "");
    case KEY_WATERMARK: return setting(state, arguments, "watermark", "watermark", argument);
    case KEY_REQUESTS: return setting(state, arguments, "requests", "first", argument);
    case KEY_POLICIES: return parse_view(state, arguments, TB_TOUCH_KEEP, argument);
    case KEY_BATCHERS: return parse_view(state, arguments, TB_TOUCH_ADAPTERS, argument);
    case KEY_RESIDENCY: return parse_view(state, arguments, TB_TOUCH_RESIDENCY, argument);
    case KEY_PAGES: return parse_view(state, arguments, TB_TOUCH_PAGES, argument);
    case KEY_FAR: return kept(state, arguments, "far", "far", argument, "b");
    case KEY_FILE: return kept(state, arguments, "file", "file", argument, "b");
    case KEY_FAR_GBS: return kept(state, arguments, "far-gbs", "far", argument, "gbs");
    case KEY_FAR_US: return kept(state, arguments, "far-us", "far", argument, "us");
    case KEY_FILE_GBS: return kept(state, arguments, "file-gbs", "file", argument, "gbs");
    case KEY_FILE_US: return kept(state, arguments, "file-us", "file", argument, "us");
    case KEY_TOKEN_US: return kept(state, arguments, "token-us", "token", argument, "us");
    case KEY_ALIKE: return kept(state, arguments, "alike", "alike", "", "");
    case KEY_ID_TOKENS:
        return tb_cli_u64(argument, 1, ID_TOKENS_MAX, &arguments->id_tokens)
                   ? 0
                   : tb_cli_bad(state, "--id-tokens: '%s' is not a number of tokens from 1 to %u", argument, ID_TOKENS_MAX);
    case KEY_MAP: return tb_options_map(state, argument, &arguments->map, &arguments->format);
    case KEY_VICTIM: return setting(state, arguments, "victim", "", argument);
    case KEY_RETENTION:
        return locus_evict_find(argument)
                   ? setting(state, arguments, "retention", "", argument)
                   : tb_cli_bad(state, "--retention: there is no policy '%s' (see: locus serve --help)", argument);
    case KEY_HERE:
        arguments->here = true;
        arguments->here_what = argument;
        return 0;
    case KEY_RANDOM: return setting(state, arguments, "random", "random", "");
    case KEY_READ_PS: return setting_of_unit(state, arguments, "read-ps", "read", argument, "ps");
    case KEY_STEP_US: return setting_of_unit(state, arguments, "step-us", "step", argument, "us");
    case KEY_SWAP: return setting(state, arguments, "swap", "swap", "");
    default: return tb_options_parse(key, argument, state, &arguments->options);
    }
}

static const char documentation[] =
    "Which placement of the KV cache does a trace want? Every strategy under the same scheduler, on the same requests.\v"
    "TRACE is a name (azure-conv, azure-code, mooncake, sample; LOCUS_TRACES names the folder of the first three), a "
    "scenario that is made, or a file in a format that is listed below, with where such traces can be had; - is standard input. "
    "gzip and zstd are unpacked. Columns may stand in any order, among others; --map names those of another format, CSV or JSON "
    "Lines. A time is a date, or counts from anywhere. TRACE may also be a whole cell, as in a postulate, without options that say "
    "what its words do: azure-conv/serve/16t/131072t/watermark5/load90, mooncake/keep/1000b.\n\n"
    "The scheduler decides in virtual time: who is admitted, who waits, who is thrown out. Its counts are exact and the "
    "same on every host. `load` is the rate of arrivals, over what the pool can finish when somebody always waits "
    "(paged-full, blocks of 16 tokens). Each token's place is written and checked. The nanoseconds of a call are real: the "
    "calls that were made are executed again, timed.\n\n"
    "An id of a prompt (hash_ids) stands for a block of it. Of how many tokens, the prompts and their numbers of ids tell: "
    "it is the one size that fits all requests, of several the power of two, or --id-tokens. A trace that no size fits is refused. "
    "Requests without a prompt or without an output are left out.\n\n"
    "In use: tokens of live sequences, over the pool. Held: what is reserved for them. Blocked: admissions refused although "
    "enough is free, but not in one piece. Thrown out: requests that lost their place. Hits: prompts' tokens that were in "
    "the cache. Tokens a second: those decoded, over the virtual time from the first arrival to the last finish. Where all wait "
    "at the start, that is what a strategy can do; under a load it is bound by what arrives.\n\n"
    "The clock of a step is stated: by default it reads 100 GB/s, so a byte of KV takes 10 ps, and the weights of the shape are "
    "read once. --read-ps and --step-us state another. --here measures one: in fresh processes it "
    "takes decode steps of the shape, with attention over paged blocks, on all CPUs that it may use. A byte of KV then takes what "
    "attention took, and weights are read as fast as its floor, locus@stream, reads. Strategies serve by the estimates and by the "
    "ends of their intervals, and by a clock in which attention is as fast as its floor. All requests wait at the start unless "
    "--load says otherwise. The time of prompts is never measured.\n\n"
    "With --random nobody waits: in two of five steps one of the live requests leaves, otherwise one is drawn and wants all of its "
    "tokens at once; without room for it, it is dropped. Scattered: free tokens outside the longest free piece, over the free "
    "ones, at its worst.\n\n"
    "With --policies nothing is scheduled: a prefix cache holds so many blocks, each request looks for its prompt's in order, "
    "and what it finds before the first that is missing is a hit. `clairvoyant` knows the future. With --far and --file what "
    "leaves the cache sinks to tiers below, and is raised when a prompt finds it there. Counts are exact. What a tier is worth "
    "follows from stated prices: a hit takes the block's move, and saves the computing of its tokens, so the tier wins from a "
    "price of a token on.\n\n"
    "With --batchers each request uses one of 10,000 adapters, of which the first 10 have 28 % of the uses and the first 100 have "
    "68.8 %, and a batch takes at most 256 of those that wait. `load` is what arrives during a batch, over that. Every batcher "
    "takes as many as wait or fit, so all are equally fast, and differ in who waits. Starved: a request whose adapter got nothing "
    "in more batches in succession than if all adapters had their turns. A cell says more: "
    "azure-conv/adapters/2000a/batch64/load120/times10/again60/seed7 has 2,000 adapters, batches of 64, the arrivals ten times, "
    "in 60 % of its uses one of the last 64 adapters once more, and other draws.\n\n"
    "With --residency the same uses find their adapter hot (f16 in memory, 100 places), warm (int8, 1,000 places) or cold (in a "
    "file). `clairvoyant` knows the future, `fixed` the popularity. A cell says more: "
    "azure-conv/residency/50hot/500warm/rank64/rate20 has 20 uses a second, of adapters of rank 64.\n\n"
    "With --pages each request pins a range of pages for its KV, one for its adapter and one for its activations in one arena, "
    "scratch comes and goes beside them, and KV of a conversation and adapters stay until they are used again or must go. Who goes "
    "first, a score says; when, the watermarks: without a cell there is one for each of five. The pages are as many as hold the "
    "longest request eight times, of Llama-3.2-1B. A cell says more: azure-conv/pages/4096p/mark950-900/zones50-40/rank64/firstfit "
    "has the kinds in zones of their own, adapters of rank 64, and takes the first hole that is long enough.\n\n"
    "Examples:\n"
    "  locus serve trace.csv --pool 4GiB --shape Llama-3.2-1B\n"
    "  locus serve calls.csv --map time=started:ms,prompt=in,output=out\n"
    "  locus serve azure-conv --load all --requests 6000\n"
    "  locus serve azure-conv --load all --read-ps 14.5 --step-us 30000\n"
    "  locus serve azure-conv --here --requests 6000\n"
    "  locus serve beam --strategies paged,first-fit -r 20 --log serve.jsonl\n"
    "  locus serve random-sizes --random --pool 163840t --block 2\n"
    "  locus serve mooncake --policies\n"
    "  locus serve mooncake/keep/3000b/far7000b/file200000b --plot tiers.svg\n"
    "  locus serve mooncake --policies=lru,chain --far 7000 --file 200000 --token-us 20\n"
    "  locus serve azure-conv --batchers\n"
    "  locus serve poisson/adapters/load120/seed3 --batchers=seed,robin\n"
    "  locus serve azure-conv --residency\n"
    "  locus serve mooncake --pages\n"
    "  locus serve azure-conv/pages/rankmix --pages=lru,cost\n\n"
    "Exit status: 0 every strategy kept its contract, 1 one did not or the run failed, 2 bad input.";

// --- what is run -----------------------------------------------------------------------------------------------------------------

// Which columns it is known by, and where such traces can be had.
static void format_listed(FILE *out, const struct tb_trace_format *format)
{
    char columns[256];
    snprintf(columns, sizeof columns, "%s: %s, %s, %s%s%s; ", format->json ? "JSON Lines" : "CSV", format->column[TB_TRACE_TIME],
             format->column[TB_TRACE_PROMPT], format->column[TB_TRACE_OUTPUT], format->mark ? ", " : "",
             format->mark ? format->mark : "");
    tb_cli_listed(out, format->name, columns, format->from);
}

static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_EXTRA)
        return (char *)(uintptr_t)text;
    char *all = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&all, &bytes);
    if (!out)
        return NULL;
    fputs("Strategies:\n", out);
    for (size_t i = 0; tb_strategy_at(i); i++)
        tb_cli_listed(out, tb_strategy_at(i)->name, tb_strategy_at(i)->summary, tb_strategy_at(i)->trap ? " (a trap)" : "");
    fputs("\nPolicies of retention:\n", out);
    for (uint32_t i = 0; tb_policy_at(i); i++)
        tb_cli_listed(out, tb_policy_at(i)->name, tb_policy_at(i)->summary, "");
    fputs("\nBatchers:\n", out);
    for (uint32_t i = 0; tb_batcher_at(i); i++)
        tb_cli_listed(out, tb_batcher_at(i)->name, tb_batcher_at(i)->summary, "");
    fputs("\nPolicies of residency:\n", out);
    for (uint32_t i = 0; tb_resident_at(i); i++)
        tb_cli_listed(out, tb_resident_at(i)->name, tb_resident_at(i)->summary, "");
    fputs("\nScores of eviction:\n", out);
    for (uint32_t i = 0; locus_score_at(i); i++)
        tb_cli_listed(out, locus_score_at(i)->name, locus_score_at(i)->summary, "");
    fputs("\nScenarios that are made:\n", out);
    for (size_t i = 0; tb_scenario_at(i); i++)
        tb_cli_listed(out, tb_scenario_at(i)->name, tb_scenario_at(i)->summary, "");
    fputs("\nFormats of recorded traces:\n", out);
    for (size_t i = 0; tb_trace_format_at(i); i++)
        format_listed(out, tb_trace_format_at(i));
    return fclose(out) == 0 ? all : NULL;
}

static int strategies_choose(struct arguments *arguments, const struct tb_scenario *scenario)
{
    struct tb_options *options = &arguments->options;
    bool given = options->arms_count > 0;
    char why[256];
    for (size_t i = 0; tb_strategy_at(i); i++) {
        const struct tb_strategy *strategy = tb_strategy_at(i);
        if (strategy->trap ? !arguments->traps : given || (strategy->needs_ids && scenario->ids_count == 0))
            continue;
        if (tb_strategies_add(options->arms, &options->arms_count, strategy->name, why, sizeof why)) {
            tb_error("%s", why);
            return TB_EXIT_FAILED;
        }
    }
    for (uint32_t i = 0; i < options->arms_count; i++) {
        if (!options->arms[i].strategy->needs_ids || scenario->ids_count)
            continue;
        tb_error("strategy %s finds prompts by their ids, and %s has none", options->arms[i].label, scenario->name);
        return TB_EXIT_USAGE;
    }
    return 0;
}

static const char *view_name(enum tb_touch view, uint32_t i)
{
    if (view == TB_TOUCH_KEEP)
        return tb_policy_at(i) ? tb_policy_at(i)->name : NULL;
    if (view == TB_TOUCH_ADAPTERS)
        return tb_batcher_at(i) ? tb_batcher_at(i)->name : NULL;
    if (view == TB_TOUCH_PAGES)
        return locus_score_at(i) ? locus_score_at(i)->name : NULL;
    return tb_resident_at(i) ? tb_resident_at(i)->name : NULL;
}

// All, where none were named.
static int view_choose(struct arguments *arguments)
{
    struct tb_options *options = &arguments->options;
    char why[256];
    for (uint32_t i = 0, given = options->arms_count; view_name(arguments->view, i) && !given; i++)
        if (views[arguments->view].add(options->arms, &options->arms_count, view_name(arguments->view, i), why, sizeof why)) {
            tb_error("%s", why);
            return TB_EXIT_FAILED;
        }
    return 0;
}

// Is one thing asked for, and in one way?
static int arguments_fit(struct arguments *arguments)
{
    enum tb_touch touch = arguments->cell_given ? arguments->cell.touch : arguments->view;
    bool strategies = touch == TB_TOUCH_NONE || touch == TB_TOUCH_SERVE;
    if (arguments->view != TB_TOUCH_NONE && arguments->view != touch)
        tb_error("--%s: a cell of touch '%s' has %s", views[arguments->view].option, tb_touch_name(touch), views[touch].what);
    else if (!strategies && arguments->strategies_given)
        tb_error("strategies and %s are not compared with each other: --strategies or --%s", views[touch].what,
                 views[touch].option);
    else if (!strategies && arguments->here)
        tb_error("--here: of strategies alone: %s have no clock", views[touch].what);
    else if (arguments->here && arguments->cell.serving.random)
        tb_error("--here: at random there is no clock");
    else if (arguments->here && (arguments->cell.serving.read_fs || arguments->cell.serving.step_us))
        tb_error("--here: the clock is either measured or stated");
    else if (arguments->cell_given && arguments->setting)
        tb_error("--%s: a whole cell has it as a word, or not at all", arguments->setting);
    else if (touch == TB_TOUCH_KEEP && arguments->scheduled)
        tb_error("--%s: of strategies alone; policies of retention have --pool, --shape and --requests", arguments->scheduled);
    else if (!strategies && touch != TB_TOUCH_KEEP && arguments->sized)
        tb_error("--%s: %s have only --requests; a cell says the rest, such as TRACE/%s/2000a", arguments->sized, views[touch].what,
                 tb_touch_name(touch));
    else if (touch != TB_TOUCH_KEEP && arguments->tiered)
        tb_error("--%s: of policies of retention alone, so with --policies", arguments->tiered);
    else {
        arguments->view = strategies ? TB_TOUCH_SERVE : touch;
        return 0;
    }
    return TB_EXIT_USAGE;
}

// "131072t" is tokens, "4GiB" bytes of this shape's tokens.
static int pool_read(struct arguments *arguments)
{
    struct tb_serving_settings *settings = &arguments->cell.serving;
    size_t token_bytes = tb_shape_token_bytes(tb_serving_shape(settings));
    uint64_t bytes, tokens;
    if (!arguments->pool)
        return 0;
    if (tb_cli_bytes(arguments->pool, token_bytes, TB_POOL_TOKENS_MAX * token_bytes, &bytes))
        settings->pool_tokens = bytes / token_bytes;
    else if (tb_number_word(arguments->pool, "", "t", 1, TB_POOL_TOKENS_MAX, &tokens))
        settings->pool_tokens = tokens;
    else {
        tb_error("--pool: '%s' is neither tokens (131072t) nor bytes of at least one token (4GiB)", arguments->pool);
        return TB_EXIT_USAGE;
    }
    return 0;
}

static int failed(int error, const struct tb_why *why)
{
    tb_error("%s", why->text[0] ? why->text : strerror(-error));
    return error == -ENOMEM ? TB_EXIT_FAILED : TB_EXIT_USAGE;
}

// A pool of this shape has so many of the trace's blocks.
static int keep_size(const struct arguments *arguments, const struct tb_scenario *scenario, struct tb_serving_settings *settings)
{
    if (!arguments->pool || !scenario->id_tokens)
        return 0;
    settings->kept_blocks = (uint32_t)(settings->pool_tokens / scenario->id_tokens);
    if (settings->kept_blocks)
        return 0;
    tb_error("--pool: %llu tokens are less than one block of %s, %u", (unsigned long long)settings->pool_tokens, scenario->name,
             scenario->id_tokens);
    return TB_EXIT_USAGE;
}

// NULL: nothing.
static const char *about_of(const struct tb_scenario *scenario)
{
    return scenario->about[0] ? scenario->about : NULL;
}

// A cell for each size of the cache.
static int keep(struct arguments *arguments, const struct tb_scenario *scenario)
{
    static struct tb_cell cells[SIZES];
    static char names[SIZES][256];
    struct tb_serving_settings settings = arguments->cell.serving;
    struct tb_schedule *schedules[SIZES] = {NULL};
    struct tb_why why = {""};
    char words[192];
    int error = keep_size(arguments, scenario, &settings);
    if (error)
        return error;
    uint32_t count = settings.kept_blocks ? 1 : SIZES;
    for (uint32_t i = 0; i < count && !error; i++) {
        if (count > 1)
            settings.kept_blocks = kept_blocks[i];
        tb_keep_settings_text(&settings, words, sizeof words);
        snprintf(names[i], sizeof names[i], "%s/%s", scenario->name, words);
        error = tb_keep_plan(scenario, scenario->name, &settings, &schedules[i], &why);
        cells[i] = (struct tb_cell){.schedule = schedules[i],
                                    .name = names[i],
                                    .workload = scenario->name,
                                    .touch = TB_TOUCH_KEEP,
                                    .laps = 1,
                                    .serving = settings};
    }
    int status = error ? failed(error, &why) : tb_options_run(&arguments->options, cells, count, "serve", about_of(scenario));
    for (uint32_t i = 0; i < count; i++)
        free(schedules[i]);
    return status;
}

// What could be wrong with the cell or the outputs is found before anything is measured: that takes minutes.
static int here_measure(struct arguments *arguments, const struct tb_scenario *scenario,
                        struct tb_serving_settings out[TB_HERE_CELLS])
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    int error = tb_serving_plan(scenario, scenario->name, &arguments->cell.serving, &schedule, &why);
    free(schedule);
    if (error)
        return failed(error, &why);
    if (tb_options_outputs(&arguments->options))
        return TB_EXIT_FAILED;
    return tb_serve_here(arguments->here_what, &arguments->cell.serving, arguments->options.quiet, &arguments->options.here, out);
}

// One cell, or one for each clock.
static int serve(struct arguments *arguments, const struct tb_scenario *scenario)
{
    static struct tb_cell cells[TB_HERE_CELLS];
    static char names[TB_HERE_CELLS][400];
    struct tb_serving_settings settings[TB_HERE_CELLS] = {arguments->cell.serving};
    struct tb_schedule *schedules[TB_HERE_CELLS] = {NULL};
    struct tb_why why = {""};
    char words[192];
    uint32_t count = arguments->here ? TB_HERE_CELLS : 1;
    int error = 0, status = arguments->here ? here_measure(arguments, scenario, settings) : 0;
    for (uint32_t i = 0; i < count && !error && !status; i++) {
        error = tb_serving_plan(scenario, scenario->name, &settings[i], &schedules[i], &why);
        tb_serving_settings_text(&settings[i], words, sizeof words);
        snprintf(names[i], sizeof names[i], "%s/%s", scenario->name, words);
        cells[i] = (struct tb_cell){.schedule = schedules[i],
                                    .name = names[i],
                                    .workload = scenario->name,
                                    .touch = TB_TOUCH_SERVE,
                                    .laps = 1,
                                    .serving = settings[i]};
    }
    if (!status)
        status = error ? failed(error, &why) : tb_options_run(&arguments->options, cells, count, "serve", about_of(scenario));
    for (uint32_t i = 0; i < count; i++)
        free(schedules[i]);
    json_decref(arguments->options.here);
    return status;
}

static int scenario_serve(struct arguments *arguments)
{
    struct tb_scenario *scenario = NULL;
    struct tb_why why = {""};
    const struct tb_trace_said said = {(uint32_t)arguments->id_tokens, arguments->format};
    int error = tb_scenario_open(arguments->name, arguments->cell.serving.requests, &said, &scenario, &why);
    if (error)
        return failed(error, &why);
    bool strategies = arguments->view == TB_TOUCH_SERVE;
    int status = strategies ? strategies_choose(arguments, scenario) : view_choose(arguments);
    if (!status)
        status = strategies                         ? serve(arguments, scenario)
                 : arguments->view == TB_TOUCH_KEEP ? keep(arguments, scenario)
                                                    : tb_serve_adapters(&arguments->options, scenario, &arguments->cell.serving,
                                                                        arguments->view, arguments->cell_given);
    tb_scenario_close(scenario);
    return status;
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp_child children[] = {{&tb_forms_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {option_table, parse, "TRACE", documentation, children, help_filter, NULL};
    tb_options_init(&arguments.options);
    arguments.options.rounds = 1;
    arguments.options.dispatch = TB_DISPATCH_INLINE;
    arguments.cell.serving.watermark_percent = -1;
    int status = tb_cli_parse(&argp, "serve", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = arguments_fit(&arguments);
    if (!status)
        status = pool_read(&arguments);
    if (status)
        return status;
    struct tb_serving_settings *settings = &arguments.cell.serving;
    if (!arguments.cell_given && !arguments.here && settings->load_percent == 0 && !settings->line && !settings->random)
        settings->load_percent = 90;
    tb_serving_settings_fill(settings);
    return scenario_serve(&arguments);
}

TB_COMMAND(65, "serve", "which placement of the KV cache does a trace want", command);
