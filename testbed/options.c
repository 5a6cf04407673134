// SPDX-License-Identifier: Apache-2.0
//
// options: see options.h.

#include "testbed/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "testbed/contender.h"
#include "testbed/job.h"
#include "testbed/report.h"
#include "topo/pin.h"

enum { KEY_JSON = 1000, KEY_CSV, KEY_PLOT, KEY_BLOCK_BYTES, KEY_LAPS, KEY_SUMMARY };

static const struct argp_option option_table[] = {
    {"contenders", 'c', "LIST", 0, "Which to run, comma-separated. NAME@FAULT puts a fault in on purpose (below)", 1},
    {"touch", 't', "MODE", 0, "none, byte (one per block), full (every byte), or all: what is written into each block (full)", 1},
    {"dispatch", 'd', "HOW", 0, "inline, spin or futex: how a finished request reaches a worker (spin; inline on one CPU)", 1},
    {"workers", 'w', "N", 0, "Workers that send blocks home, 1 to 64 (1)", 1},
    {"rounds", 'r', "N", 0, "Rounds: every contender once each, in random order, in a fresh process (20)", 2},
    {"seed", 's', "N", 0, "Seed of that order (from the clock, and printed)", 2},
    {"laps", KEY_LAPS, "N", 0, "Timed laps in each process (20 at full touch, else 60; replay: 1)", 2},
    {"block-bytes", KEY_BLOCK_BYTES, "BYTES", 0, "Size of a block, such as 4KiB or 1M (4KiB)", 2},
    {"json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL, "Write JSON to FILE, or instead of the table", 3},
    {"csv", KEY_CSV, "FILE", OPTION_ARG_OPTIONAL, "Write every sample as CSV to FILE, or instead of the table", 3},
    {"plot", KEY_PLOT, "FILE.svg", 0, "Draw the samples", 3},
    {"summary", KEY_SUMMARY, "FILE", 0, "Write the summary in plain words to FILE, not below the table", 3},
    {"quiet", 'q', NULL, 0, "No progress line", 3},
    {0},
};

static error_t parse_arms(struct argp_state *state, struct tb_options *options, const char *list)
{
    char copy[4096], why[4500], *rest = NULL;
    if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy)
        return tb_cli_bad(state, "--contenders: the list is too long");
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        if (tb_arms_add(options->arms, &options->arms_count, name, why, sizeof why))
            return tb_cli_bad(state, "--contenders: %s", why);
        else if (!tb_arm_on_one_node(&options->arms[options->arms_count - 1]))
            return tb_cli_bad(state, "--contenders: '%s' is for several nodes: locus advise, or locus run 0005", name);
    return options->arms_count ? 0 : tb_cli_bad(state, "--contenders: the list is empty");
}

static error_t parse_touch(struct argp_state *state, struct tb_options *options, const char *argument)
{
    bool known = strcmp(argument, "all") == 0;
    for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_FULL; touch++) {
        bool named = strcmp(argument, tb_touch_name((enum tb_touch)touch)) == 0;
        options->touch[touch] |= named || strcmp(argument, "all") == 0;
        known |= named;
    }
    return known ? 0 : tb_cli_bad(state, "--touch: '%s' is not none, byte, full or all", argument);
}

static error_t parse_dispatch(struct argp_state *state, struct tb_options *options, const char *argument)
{
    for (int dispatch = TB_DISPATCH_INLINE; dispatch <= TB_DISPATCH_FUTEX; dispatch++) {
        if (strcmp(argument, tb_dispatch_name((enum tb_dispatch)dispatch)) == 0) {
            options->dispatch = (enum tb_dispatch)dispatch;
            options->dispatch_given = true;
            return 0;
        }
    }
    return tb_cli_bad(state, "--dispatch: '%s' is not inline, spin or futex", argument);
}

static error_t parse_u64(struct argp_state *state, const char *flag, const char *argument, uint64_t min, uint64_t max,
                         uint64_t *out)
{
    return tb_cli_u64(argument, min, max, out) ? 0
                                               : tb_cli_bad(state, "%s: '%s' is not a number from %llu to %llu", flag, argument,
                                                            (unsigned long long)min, (unsigned long long)max);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct tb_options *options = state->input;
    switch (key) {
    case 'c': return parse_arms(state, options, argument);
    case 't': return parse_touch(state, options, argument);
    case 'd': return parse_dispatch(state, options, argument);
    case 'w': return parse_u64(state, "--workers", argument, 1, TB_WORKERS_MAX, &options->workers);
    case 'r': return parse_u64(state, "--rounds", argument, 1, 10000, &options->rounds);
    case 's': return parse_u64(state, "--seed", argument, 0, UINT64_MAX, &options->seed);
    case KEY_LAPS: return parse_u64(state, "--laps", argument, 1, TB_LAPS_MAX, &options->laps);
    case KEY_BLOCK_BYTES:
        return tb_cli_bytes(argument, 64, UINT64_C(1) << 30, &options->block_bytes)
                   ? 0
                   : tb_cli_bad(state, "--block-bytes: '%s' is not a size from 64 bytes to 1 GiB", argument);
    case KEY_JSON:
        options->json = true;
        options->json_path = argument;
        return 0;
    case KEY_CSV:
        options->csv = true;
        options->csv_path = argument;
        return 0;
    case KEY_PLOT: options->plot_path = argument; return 0;
    case KEY_SUMMARY: options->summary_path = argument; return 0;
    case 'q': options->quiet = true; return 0;
    case ARGP_KEY_END:
        if (options->json && options->csv && !options->json_path && !options->csv_path)
            return tb_cli_bad(state, "--json and --csv both to standard output: give one of them a file, as in --csv=FILE");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tb_options_argp = {option_table, parse, NULL, NULL, NULL, NULL, NULL};

void tb_options_init(struct tb_options *options)
{
    struct timespec now;
    unsigned cpus[2], cpus_count = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    locus_pin_allowed(cpus, 2, &cpus_count);
    *options = (struct tb_options){
        .dispatch = cpus_count > 1 ? TB_DISPATCH_SPIN : TB_DISPATCH_INLINE,
        .workers = 1,
        .rounds = 20,
        .seed = (uint64_t)now.tv_nsec % 1000000,
        .block_bytes = 4096,
    };
}

int tb_options_arms(struct tb_options *options, const char *const defaults[])
{
    char why[4500];
    if (options->arms_count)
        return 0;
    for (; *defaults; defaults++) {
        struct tb_arm *arm = &options->arms[options->arms_count];
        char name[sizeof arm->label];
        snprintf(name, sizeof name, "%s", *defaults);
        name[strcspn(name, "#")] = '\0';
        if (tb_arm_parse(name, arm, why, sizeof why)) {
            tb_error("left out: %s", why);
            continue;
        }
        snprintf(arm->label, sizeof arm->label, "%s", *defaults);
        options->arms_count++;
    }
    return options->arms_count ? 0 : TB_EXIT_USAGE;
}

void tb_options_laps(const struct tb_options *options, struct tb_cell *cell)
{
    cell->laps = options->laps ? (uint32_t)options->laps : cell->touch == TB_TOUCH_FULL ? 20 : 60;
    cell->laps_warmup = cell->laps / 4 + 3 < TB_LAPS_MAX ? cell->laps / 4 + 3 : TB_LAPS_MAX;
}

enum form { FORM_JSON, FORM_CSV, FORM_TABLE, FORM_SUMMARY };

static int write_form(FILE *stream, enum form form, const struct tb_campaign *campaign, const char *command)
{
    switch (form) {
    case FORM_JSON: return tb_report_json(stream, campaign, command);
    case FORM_CSV: return tb_report_csv(stream, campaign);
    case FORM_TABLE: return tb_report_table(stream, campaign, tb_report_style(stream));
    default: return tb_report_summary(stream, campaign);
    }
}

// To `path`, or to standard output. What went wrong is reported with the name.
static int write_report(const char *path, enum form form, const struct tb_campaign *campaign, const char *command)
{
    FILE *stream = path ? fopen(path, "w") : stdout;
    int error = stream ? write_form(stream, form, campaign, command) : -errno;
    if (stream && stream != stdout && fclose(stream) && !error)
        error = -errno;
    if (error)
        tb_error("%s: %s", path ? path : "standard output", strerror(-error));
    return error;
}

static int draw(const char *path, const struct tb_campaign *campaign)
{
    int error = tb_report_plot(path, campaign);
    if (error)
        tb_error("%s: %s", path, error == -ENOENT ? "cannot draw: gnuplot is not installed" : strerror(-error));
    return error;
}

static int report(const struct tb_options *options, const struct tb_campaign *campaign, const char *command, const char *headline)
{
    bool to_stdout = (options->json && !options->json_path) || (options->csv && !options->csv_path);
    int failed = 0;
    if (options->json)
        failed |= write_report(options->json_path, FORM_JSON, campaign, command);
    if (options->csv)
        failed |= write_report(options->csv_path, FORM_CSV, campaign, command);
    if (options->plot_path)
        failed |= draw(options->plot_path, campaign);
    if (!to_stdout && headline)
        printf("%s\n", headline);
    if (!to_stdout)
        failed |= write_report(NULL, FORM_TABLE, campaign, command);
    if (!to_stdout || options->summary_path)
        failed |= write_report(options->summary_path, FORM_SUMMARY, campaign, command);
    return failed;
}

static bool any_invalid(const struct tb_campaign *campaign)
{
    uint64_t count = (uint64_t)campaign->cells_count * campaign->arms_count * campaign->rounds;
    for (uint64_t i = 0; i < count; i++)
        if (!campaign->samples[i].ran || !campaign->samples[i].valid)
            return true;
    return false;
}

int tb_options_run(const struct tb_options *options, const struct tb_cell cells[], uint32_t cells_count, bool bench,
                   const char *command, const char *headline)
{
    struct tb_progress *progress = NULL;
    struct tb_campaign campaign = {
        .arms = options->arms,
        .arms_count = options->arms_count,
        .cells = cells,
        .cells_count = cells_count,
        .rounds = (uint32_t)options->rounds,
        .seed = options->seed,
        .dispatch = options->dispatch,
        .workers = (uint32_t)options->workers,
        .block_bytes = options->block_bytes,
        .bench = bench,
    };
    int status = TB_EXIT_FAILED;
    campaign.samples = calloc((size_t)cells_count * campaign.arms_count * campaign.rounds, sizeof *campaign.samples);
    int error = campaign.samples ? 0 : -ENOMEM;
    if (!error && !options->quiet)
        error = tb_progress_open(&progress, stderr);
    if (!error)
        error = tb_campaign_run(&campaign, progress ? tb_progress_step : NULL, progress);
    tb_progress_close(progress);
    if (error)
        tb_error("cannot run the contenders: %s", strerror(-error));
    else if (report(options, &campaign, command, headline) == 0)
        status = any_invalid(&campaign) ? TB_EXIT_FAILED : TB_EXIT_OK;
    free(campaign.samples);
    return status;
}
