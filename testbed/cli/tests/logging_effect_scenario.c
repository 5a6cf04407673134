// SPDX-License-Identifier: Apache-2.0
//
// logging_effect: does writing the log change what is measured? Started by `make logging-effect`.
//
//   logging_effect_scenario [PAIRS [FOLDER]]        100 pairs, in build: on the disk that logs are on
//
// A log is written between the rounds of a run, while nothing is measured. What might linger is a disk that still works, a cache
// full of other data, a CPU that was woken. So the same contender is measured in pairs: once directly after a round's worth of
// lines was appended and fsynced, once without, in random order. That a difference is not significant would prove nothing, a noisy
// host always offers that; this is an equivalence test: the whole interval of the ratio has to lie inside 1 / 1.02 .. 1.02. Where
// the host is too noisy for it, the answer is "not shown", and the width says how much too noisy.
//
// Exit status: 0 equivalent within 2 %, 1 not shown.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/measure/rounds.h"
#include "testbed/measure/contender.h"
#include "testbed/record/log.h"
#include "testbed/stats/stats.h"
#include "testbed/workload/workload.h"

#define MARGIN 1.02
#define CONFIDENCE 0.95
#define LINES_A_ROUND 96u       // 12 arms in 8 cells: as much as the largest experiment writes at once
#define PAIRS_MAX 10000u

// A sample's line as a run writes it: about as long.
#define LINE                                                                                                                       \
    "{\"t\": \"s\", \"block\": 0, \"round\": 0, \"cell\": 0, \"pos\": 0, \"arm\": \"A\", \"ran\": true, \"valid\": true, "         \
    "\"invalid\": null, \"version\": \"mimalloc 2.0.9\", \"time_ns\": 1234567.5, \"time_ns_min\": 1234000.5, \"allocated\": "      \
    "268800, \"freed\": 268800, \"pushed\": 16800, \"drained\": 16800, \"touched_bytes\": 1073741824, "                            \
    "\"touched_bytes_expected\": 1073741824, \"outstanding_high\": 672, \"distinct\": 672, \"workers_pinned\": true}"

static struct {
    uint32_t count;
    bool logged[2 * PAIRS_MAX];  // of each process: two of a pair, one after the other
    double times[2][PAIRS_MAX]; // without and with a log before them, in the order of the pairs
    struct tb_log *log;
    json_t *line;
} pairs;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return EXIT_FAILURE;
}

// Before process number `next`: writes a round's lines, or does not. 0 or -errno.
static int prepare(uint32_t next)
{
    int error = 0;
    if (next >= 2 * pairs.count || !pairs.logged[next])
        return 0;
    for (unsigned i = 0; i < LINES_A_ROUND && !error; i++)
        error = tb_log_add(pairs.log, pairs.line);
    return error ? error : tb_log_flush(pairs.log);
}

static int after_process(void *context, const struct tb_rounds *rounds, uint32_t round)
{
    (void)context;
    (void)rounds;
    return prepare(round + 1);
}

static int judge(const struct tb_rounds *rounds)
{
    struct tb_ratio ratio;
    for (uint32_t i = 0; i < rounds->count; i++) {
        const struct tb_sample *sample = &rounds->samples[i];
        if (!sample->ran || !sample->valid)
            return fail("a process", sample->invalid);
        pairs.times[pairs.logged[i]][i / 2] = sample->lap_ns;
    }
    int error = tb_ratio(pairs.times[0], pairs.times[1], pairs.count, CONFIDENCE, &ratio);
    if (error)
        return fail("cannot compare", strerror(-error));
    bool equivalent = ratio.bounded && ratio.low >= 1 / MARGIN && ratio.high <= MARGIN;
    printf("time with a log written before / without: %.4f, %.1f %% interval %.4f .. %.4f, width %.2f %%\n", ratio.estimate,
           100 * ratio.confidence, ratio.low, ratio.high, 100 * (ratio.high - ratio.low));
    printf("%s\n", equivalent ? "equivalent within 2 %" : "not shown to be equivalent within 2 %");
    return equivalent ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int measure(const struct tb_arm *arm, const struct tb_schedule *schedule)
{
    const struct tb_cell cell = {.schedule = schedule, .touch = TB_TOUCH_FULL, .laps = 20, .laps_warmup = 8};
    const struct tb_rounds_hooks hooks = {.round = after_process};
    struct tb_rounds rounds = {.arms = arm,
                               .arms_count = 1,
                               .cells = &cell,
                               .cells_count = 1,
                               .count = 2 * pairs.count,
                               .dispatch = TB_DISPATCH_SPIN,
                               .workers = 1,
                               .block_bytes = 4096};
    rounds.samples = calloc(rounds.count, sizeof *rounds.samples);
    for (uint32_t pair = 0; pair < pairs.count; pair++)
        pairs.logged[2 * pair + (random() >> 16 & 1)] = true;
    int error = rounds.samples ? prepare(0) : -ENOMEM;
    if (!error)
        error = tb_rounds_run(&rounds, 0, rounds.count, &hooks);
    int status = error ? fail("cannot measure and write a log", strerror(-error)) : judge(&rounds);
    free(rounds.samples);
    return status;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 2 ? argv[2] : "build";
    struct tb_schedule *schedule = NULL;
    struct tb_arm arm;
    char path[4096], why[512];
    pairs.count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100;
    if (pairs.count < 40 || pairs.count > PAIRS_MAX)
        return fail("PAIRS", "40 to 10000");
    if (tb_arm_parse("locus", &arm, why, sizeof why))
        return fail("locus", why);
    snprintf(path, sizeof path, "%s/logging-effect-%ld.jsonl", folder, (long)getpid());
    pairs.line = json_loads(LINE, 0, NULL);
    int error = tb_workload_schedule("steady-decode", &schedule);
    if (!error)
        error = tb_log_create(&pairs.log, path, NULL);
    if (error || !pairs.line)
        return fail(path, strerror(error ? -error : ENOMEM));
    printf("locus, steady-decode/full, %u pairs in random order; %u lines by %s to %s\n", pairs.count, LINES_A_ROUND,
           tb_log_engine(pairs.log), folder);
    fflush(stdout);
    int status = measure(&arm, schedule);
    tb_log_abandon(pairs.log);
    unlink(path);
    json_decref(pairs.line);
    free(schedule);
    return status;
}
