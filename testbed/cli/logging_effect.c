// SPDX-License-Identifier: Apache-2.0
//
// locus __logging-effect: does writing the log change what is measured? Internal, started by `make logging-effect`.
//
// A log is written between the rounds of a run, while nothing is measured. What might linger is a disk that still works, a cache
// full of other data, a CPU that was woken. So the same contender is measured in pairs: once directly after a round's worth of
// lines was appended and fsynced, once without, in random order. That a difference is not significant would prove nothing, a noisy
// host always offers that; this is an equivalence test: the whole interval of the ratio has to lie inside 1 / 1.02 .. 1.02. Where
// the host is too noisy for it, the answer is "not shown", and the width says how much too noisy.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/cli/commands.h"
#include "testbed/cli/options.h"
#include "testbed/measure/contender.h"
#include "testbed/record/log.h"
#include "testbed/stats/stats.h"
#include "testbed/workload/workload.h"

#define MARGIN 1.02
#define CONFIDENCE 0.95
#define LINES_A_ROUND 96u       // 12 arms in 8 cells: as much as the largest experiment writes at once
#define PAIRS_MIN 40u
#define PAIRS_MAX 10000u

struct arguments {
    uint64_t pairs, seed;
    const char *folder;
};

struct pairs {
    uint64_t count;
    bool *logged;               // of each process: two of a pair, one behind the other
    struct tb_log *log;
    json_t *line;
};

static const struct argp_option options[] = {
    {"pairs", 'p', "N", 0, "pairs of processes (100), 40 at least", 0},
    {"folder", 'f', "FOLDER", 0, "where the log is written: on the disk that logs are on (build)", 0},
    {"seed", 's', "N", 0, "of the random order (1)", 0},
    {0},
};

static const char documentation[] =
    "Does writing the log change the medians? locus on steady-decode at full touch, measured in pairs: directly after a round's "
    "lines were appended and fsynced, and without. Prints the ratio of the times, its interval and its width.\v"
    "Example:\n  locus __logging-effect --pairs 400 --folder logs\n\n"
    "Exit status: 0 equivalent within 2 %, 1 not shown, 2 bad input.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'p':
        return tb_cli_u64(argument, PAIRS_MIN, PAIRS_MAX, &arguments->pairs)
                   ? 0
                   : tb_cli_bad(state, "--pairs: '%s' is not a number from %u to %u", argument, PAIRS_MIN, PAIRS_MAX);
    case 's':
        return tb_cli_u64(argument, 0, UINT32_MAX, &arguments->seed) ? 0
                                                                     : tb_cli_bad(state, "--seed: '%s' is not a number", argument);
    case 'f': arguments->folder = argument; return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s'", argument);
    default: return ARGP_ERR_UNKNOWN;
    }
}

// A sample's line as a run writes it: about as long.
static json_t *line_like(void)
{
    return json_pack("{s:s s:i s:i s:i s:i s:s s:b s:b s:n s:s s:f s:f s:i s:i s:i s:i s:i s:i s:i s:i s:b}", "t", "s", "block", 0,
                     "round", 0, "cell", 0, "pos", 0, "arm", "A", "ran", 1, "valid", 1, "invalid", "version", "mimalloc 2.0.9",
                     "time_ns", 1234567.5, "time_ns_min", 1234000.5, "allocated", 268800, "freed", 268800, "pushed", 16800,
                     "drained", 16800, "touched_bytes", 1073741824, "touched_bytes_expected", 1073741824, "outstanding_high", 672,
                     "distinct", 672, "workers_pinned", 1);
}

// Before process number `next`: writes a round's lines, or does not. 0 or -errno.
static int prepare(struct pairs *pairs, uint32_t next)
{
    int error = 0;
    if (next >= 2 * pairs->count || !pairs->logged[next])
        return 0;
    for (unsigned i = 0; i < LINES_A_ROUND && !error; i++)
        error = tb_log_add(pairs->log, pairs->line);
    return error ? error : tb_log_flush(pairs->log);
}

static int after_process(void *context, const struct tb_campaign *campaign, uint32_t round)
{
    (void)campaign;
    return prepare(context, round + 1);
}

static int log_open(struct pairs *pairs, const char *folder, char *path, size_t bytes)
{
    json_t *header = json_pack("{s:s s:i s:s}", "t", "hdr", "v", 1, "kind", "smoke");
    pairs->line = line_like();
    int error = header && pairs->line ? 0 : -ENOMEM;
    if (!error && snprintf(path, bytes, "%s/logging-effect-%ld.jsonl", folder, (long)getpid()) >= (int)bytes)
        error = -ENAMETOOLONG;
    if (!error)
        error = tb_log_create(&pairs->log, path, header);
    json_decref(header);
    return error;
}

static int campaign_run(struct tb_campaign *campaign, struct pairs *pairs, uint64_t seed)
{
    const struct tb_campaign_hooks hooks = {.round = after_process, .context = pairs};
    campaign->samples = calloc(campaign->rounds, sizeof *campaign->samples);
    pairs->logged = calloc(campaign->rounds, sizeof *pairs->logged);
    if (!campaign->samples || !pairs->logged)
        return -ENOMEM;
    srandom((unsigned)seed);
    for (uint64_t pair = 0; pair < pairs->count; pair++)
        pairs->logged[2 * pair + (random() >> 16 & 1)] = true;
    int error = prepare(pairs, 0);
    return error ? error : tb_campaign_run_rounds(campaign, 0, campaign->rounds, &hooks);
}

// Times of the processes with (`logged`) or without a log before them, in the order of the pairs. False: one is not valid.
static bool times(const struct tb_campaign *campaign, const struct pairs *pairs, bool logged, double out[])
{
    for (uint32_t i = 0; i < campaign->rounds; i++) {
        const struct tb_sample *sample = &campaign->samples[i];
        if (!sample->ran || !sample->valid) {
            tb_error("process %u: %s", i + 1, sample->invalid);
            return false;
        }
        if (pairs->logged[i] == logged)
            out[i / 2] = sample->lap_ns;
    }
    return true;
}

static int judge(const struct tb_campaign *campaign, const struct pairs *pairs)
{
    struct tb_ratio ratio;
    double *without = calloc(pairs->count, sizeof *without), *with = calloc(pairs->count, sizeof *with);
    int status = TB_EXIT_FAILED;
    int error = without && with ? 0 : -ENOMEM;
    if (!error && (!times(campaign, pairs, false, without) || !times(campaign, pairs, true, with)))
        goto out;
    if (!error)
        error = tb_ratio(without, with, pairs->count, CONFIDENCE, &ratio);
    if (error) {
        tb_error("cannot compare: %s", strerror(-error));
        goto out;
    }
    bool equivalent = ratio.bounded && ratio.low >= 1 / MARGIN && ratio.high <= MARGIN;
    printf("time with a log written before / without: %.4f, %.1f %% interval %.4f .. %.4f, width %.2f %%\n", ratio.estimate,
           100 * ratio.confidence, ratio.low, ratio.high, 100 * (ratio.high - ratio.low));
    printf("%s\n", equivalent ? "equivalent within 2 %" : "not shown to be equivalent within 2 %");
    status = tb_cli_flush();
    if (status == TB_EXIT_OK && !equivalent)
        status = TB_EXIT_FAILED;
out:
    free(without);
    free(with);
    return status;
}

static int measure(const struct arguments *arguments, struct pairs *pairs, const struct tb_arm *arm,
                   const struct tb_schedule *schedule)
{
    const struct tb_cell cell = {.schedule = schedule, .touch = TB_TOUCH_FULL, .laps = 20, .laps_warmup = 8};
    struct tb_campaign campaign = {
        .arms = arm,
        .arms_count = 1,
        .cells = &cell,
        .cells_count = 1,
        .rounds = 2 * (uint32_t)pairs->count,
        .dispatch = TB_DISPATCH_SPIN,
        .workers = 1,
        .block_bytes = 4096,
    };
    int error = campaign_run(&campaign, pairs, arguments->seed);
    if (error)
        tb_error("--folder %s: cannot measure and write a log there: %s", arguments->folder, strerror(-error));
    int status = error ? TB_EXIT_FAILED : judge(&campaign, pairs);
    free(campaign.samples);
    free(pairs->logged);
    return status;
}

int tb_cmd_logging_effect(int argc, char **argv)
{
    struct arguments arguments = {.pairs = 100, .seed = 1, .folder = "build"};
    const struct argp argp = {options, parse, NULL, documentation, NULL, NULL, NULL};
    struct tb_arm arm;
    struct tb_schedule *schedule = NULL;
    char path[4096] = "", why[512];
    int status = tb_cli_parse(&argp, "__logging-effect", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    struct pairs pairs = {.count = arguments.pairs};
    int error = tb_arm_parse("locus", &arm, why, sizeof why);
    if (!error)
        error = tb_workload_schedule("steady-decode", &schedule);
    if (!error)
        error = log_open(&pairs, arguments.folder, path, sizeof path);
    if (error) {
        tb_error("--folder %s: cannot write a log there: %s", arguments.folder, strerror(-error));
        status = TB_EXIT_USAGE;
    } else {
        printf("locus, steady-decode/full, %llu pairs in random order; %u lines by %s to %s\n", (unsigned long long)pairs.count,
               LINES_A_ROUND, tb_log_engine(pairs.log), arguments.folder);
        fflush(stdout);
        status = measure(&arguments, &pairs, &arm, schedule);
        unlink(path);
    }
    tb_log_abandon(pairs.log);
    json_decref(pairs.line);
    free(schedule);
    return status;
}
