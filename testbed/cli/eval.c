// SPDX-License-Identifier: Apache-2.0
//
// locus eval: the scoreboard of LOCUS-EVAL.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/words.h"
#include "testbed/cli/command.h"
#include "testbed/cli/options.h"
#include "testbed/measure/contender.h"
#include "testbed/workload/suite.h"
#include "testbed/workload/workload.h"

#define WORKLOADS_MAX 16u

// The base is there twice as well: what disturbs a slow contender may leave a fast one alone.
static const char *const default_contenders[] = {"locus",           "locus#2",      "locus-backpressure",
                                                 "locus-published", "locus-shared", "oracle",
                                                 "mimalloc",        "mimalloc#2",   "jemalloc",
                                                 "jemalloc-tuned",  "tcmalloc",     "glibc",
                                                 "glibc-tuned",     "null",         NULL};

struct eval_plan {
    struct tb_schedule *schedules[WORKLOADS_MAX];
    uint32_t schedules_count;
    struct tb_cell cells[3 * WORKLOADS_MAX]; // by touch
    uint32_t cells_count;
};

struct arguments {
    struct tb_options options;
    const char *workloads;
};

static const struct argp_option options[] = {
    {"workload", 'W', "LIST", 0, "Workloads, comma-separated; v1: the four of LOCUS-EVAL v1; v2: its six; all (v1)", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->options; return 0;
    case 'W': arguments->workloads = argument; return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s' (see: locus eval --help)", argument);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "The scoreboard: contenders side by side on the four workloads of LOCUS-EVAL, at equal work.\v"
    "Every contender executes the same stream of takes, touches and retirements, each round in a fresh process, in random "
    "order. Ratios are formed within a round; the interval holds the true ratio with 95 % confidence, if others leave the machine "
    "alone. A row says how many times faster than the best malloc of that workload, and than mimalloc; \"over floor\" is how many "
    "times as long as the oracle, which knows all blocks beforehand. --json has the ratio to each malloc by name.\n\n"
    "A row is noisy when its processes waited for a CPU in more than a quarter of the rounds, or when its spread is over 20 %; a "
    "ratio also when its interval ends 1.5 times above where it begins. What is noisy leaves the answer, which says so. Below 6 "
    "rounds there is no interval, and nothing is said.\n\n"
    "Ratios at --touch none are larger and mean less: an engine writes its blocks. Full touch is what counts.\n\n"
    "Workloads: steady-decode, burst-storm, long-tail, churn-touch (v1), burst-queued (a pool too small for the burst), "
    "long-tail-cancels (v2), cycle-256 (only the way home).\n\n"
    "Mallocs have their default settings; those called -tuned keep their memory and pass on more blocks at once. "
    "The same name twice is an A/A control; NAME+4w has 4 workers. Faults, to see that they are noticed: NAME@skip-touch, "
    "NAME@drop-chunk, NAME@double-free, NAME@delay:PERCENT.\n\n"
    "Examples:\n"
    "  locus eval                      full touch, spinning worker, 20 rounds\n"
    "  locus eval --touch all --json=eval.json --plot eval.svg\n"
    "  locus eval -d futex -w 4        four workers that sleep when idle\n"
    "  locus eval -W churn-touch -c locus,locus@delay:3,mimalloc -r 30\n"
    "  locus eval -c locus,mimalloc,snmalloc=malloc:/opt/lib/libsnmalloc.so\n\n"
    "Exit status: 0 all gates passed, 1 an arm is INVALID or the run failed, 2 bad input.";

// The contenders stand before the examples.
static char *with_contenders(int key, const char *text, void *input)
{
    const char *examples = key == ARGP_KEY_HELP_POST_DOC && text ? strstr(text, "Examples:") : NULL;
    char *all = NULL;
    size_t bytes = 0;
    FILE *out = examples ? open_memstream(&all, &bytes) : NULL;
    (void)input;
    if (!out)
        return (char *)text;
    fprintf(out, "%.*sContenders:\n", (int)(examples - text), text);
    tb_contender_list(out);
    fprintf(out, "\n%s", examples);
    return fclose(out) == 0 ? all : (char *)text;
}

static int unknown(const char *name)
{
    const struct tb_workload *workload;
    struct tb_words names = {0};
    char meant[64];
    for (size_t i = 0; (workload = tb_workload_at(i)); i++)
        tb_say(&names, "%s, ", workload->name);
    tb_error("--workload: '%s' is none of %sall, v1 or v2%s", name, names.text, tb_workload_meant(name, meant, sizeof meant));
    return TB_EXIT_USAGE;
}

static int workload_add(const struct arguments *arguments, const char *name, struct eval_plan *plan)
{
    if (plan->schedules_count == WORKLOADS_MAX) {
        tb_error("--workload: %u at most", WORKLOADS_MAX);
        return TB_EXIT_USAGE;
    }
    struct tb_schedule **schedule = &plan->schedules[plan->schedules_count];
    int error = tb_workload_schedule(name, schedule);
    if (error == -ENOENT)
        return unknown(name);
    if (error) {
        tb_error("--workload %s: %s", name, strerror(-error));
        return TB_EXIT_FAILED;
    }
    plan->schedules_count++;
    for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_FULL; touch++) {
        struct tb_cell *cell = &plan->cells[plan->cells_count];
        if (!arguments->options.touch[touch])
            continue;
        *cell = (struct tb_cell){.schedule = *schedule, .touch = (enum tb_touch)touch};
        tb_options_laps(&arguments->options, cell);
        plan->cells_count++;
    }
    return 0;
}

// A workload, a suite, or all there are.
static int word_add(const struct arguments *arguments, const char *word, struct eval_plan *plan)
{
    unsigned version = strcmp(word, "v1") == 0 ? 1 : strcmp(word, "v2") == 0 ? 2 : 0;
    bool all = strcmp(word, "all") == 0;
    const struct tb_workload *workload;
    int status = 0;
    if (!version && !all)
        return workload_add(arguments, word, plan);
    for (size_t i = 0; all && !status && (workload = tb_workload_at(i)); i++)
        status = workload_add(arguments, workload->name, plan);
    for (const char *const *name = version ? tb_suite(version)->workloads : NULL; name && *name && !status; name++)
        status = workload_add(arguments, *name, plan);
    return status;
}

static int cells_make(const struct arguments *arguments, struct eval_plan *plan)
{
    char list[512], *rest = NULL;
    int status = 0;
    if (snprintf(list, sizeof list, "%s", arguments->workloads) >= (int)sizeof list) {
        tb_error("--workload: the list is too long");
        return TB_EXIT_USAGE;
    }
    for (char *word = strtok_r(list, ",", &rest); word && !status; word = strtok_r(NULL, ",", &rest))
        status = word_add(arguments, word, plan);
    if (status || plan->cells_count)
        return status;
    tb_error("--workload: '%s' names no workload", arguments->workloads);
    return TB_EXIT_USAGE;
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp_child children[] = {{&tb_options_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse, NULL, documentation, children, with_contenders, NULL};
    static struct eval_plan plan;
    tb_options_init(&arguments.options);
    arguments.workloads = "v1";
    int status = tb_cli_parse(&argp, "eval", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_options_arms(&arguments.options, default_contenders);
    if (!status)
        status = cells_make(&arguments, &plan);
    if (!status)
        status = tb_options_run(&arguments.options, plan.cells, plan.cells_count, "eval", NULL);
    for (uint32_t i = 0; i < plan.schedules_count; i++)
        free(plan.schedules[i]);
    return status;
}

TB_COMMAND(50, "eval", "the scoreboard: contenders side by side on LOCUS-EVAL", command);
