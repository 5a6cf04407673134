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
#include "testbed/measure/cell.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/decoding/decoding.h"
#include "testbed/workload/batch.h"
#include "testbed/workload/known_trace.h"
#include "testbed/workload/suite.h"
#include "testbed/workload/workload.h"

#define CELLS_MAX 64u

// The base is there twice as well: what disturbs a slow contender may leave a fast one alone.
static const char *const default_contenders[] = {"locus",           "locus#2",      "locus-backpressure",
                                                 "locus-published", "locus-shared", "oracle",
                                                 "mimalloc",        "mimalloc#2",   "jemalloc",
                                                 "jemalloc-tuned",  "tcmalloc",     "glibc",
                                                 "glibc-tuned",     "null",         NULL};

struct eval_plan {
    struct tb_cell cells[CELLS_MAX];
    struct tb_schedule *schedules[CELLS_MAX]; // what the cell owns, or NULL
    char workloads[CELLS_MAX][TB_WORKLOAD_NAME], names[CELLS_MAX][160];
    uint32_t cells_count;
};

struct arguments {
    struct tb_options options;
    const char *workloads;      // NULL: not given
    const char *whole[CELLS_MAX]; // cells, as a postulate has them
    uint32_t whole_count;
    bool touch_given;
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
    case ARGP_KEY_ARG:
        if (!strchr(argument, '/'))
            return tb_cli_bad(state, "'%s' is no cell, such as churn-touch/full; a workload is -W %s (see: locus eval --help)",
                              argument, argument);
        if (arguments->whole_count == CELLS_MAX)
            return tb_cli_bad(state, "%u cells at most", CELLS_MAX);
        arguments->whole[arguments->whole_count++] = argument;
        return 0;
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
    "long-tail-cancels (v2), cycle-256 (only the way home); batch-8x4096 (8 sequences of 4096 tokens that decode, each for 64 "
    "steps; batch-8x4096x256: for 256).\n\n"
    "CELL is a whole cell, as in a postulate: churn-touch/full/4w/64KiB, azure-conv/byte/futex. Of a batch or a recorded trace "
    "(sample, azure-conv, azure-code, mooncake) it may be batch-8x4096/decode: K and V of each token are appended, and a step "
    "attends over all of its sequence. Its settings are a shape (Llama-3-8B, 32x32x8x128), tokens of a block (128t), a layout, a "
    "type of values (f32, f16, bf16), CPUs that compute (2c), workers (4w) and dispatch.\n\n"
    "-c bill stands for the arms of the bill of a step: locus; locus without attention, without appending, without both, and then "
    "without drains and without frees, too; locus on pages that are new in each lap; the oracle; and pages of 4 KiB. bill:NAME "
    "stands for those of NAME. Below the table stands what each part of a step costs, and what the parts "
    "add up to; below that the same in cycles, TLB misses and page faults, as far as this host counts them (locus counters). Its "
    "small parts want many short laps: --laps 200.\n\n"
    "Mallocs have their default settings; those called -tuned keep their memory and pass on more blocks at once. "
    "The same name twice is an A/A control; NAME+4w has 4 workers. Faults, to see that they are noticed: NAME@skip-touch, "
    "NAME@drop-chunk, NAME@double-free, NAME@delay:PERCENT.\n\n"
    "Examples:\n"
    "  locus eval                      full touch, spinning worker, 20 rounds\n"
    "  locus eval --touch all --json=eval.json --plot eval.svg\n"
    "  locus eval -d futex -w 4        four workers that sleep when idle\n"
    "  locus eval -W churn-touch -c locus,locus@delay:3,mimalloc -r 30\n"
    "  locus eval batch-8x4096/decode/Llama-3-8B batch-8x4096/decode/Llama-3-8B/contiguous\n"
    "  locus eval batch-8x512/decode -c bill,mimalloc\n"
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

// The schedule of a cell, which has its workload, touch and settings: an exit status.
static int schedule_make(struct tb_cell *cell, struct tb_schedule **out)
{
    struct tb_why why = {""};
    bool plain = cell->touch != TB_TOUCH_DECODE, is_trace = tb_known_trace(cell->workload);
    int error = !plain     ? tb_decoding_open(cell, &(struct tb_decoding_source){.workload = cell->workload}, out, &why)
                : is_trace ? tb_known_trace_schedule(cell->workload, out, &why)
                           : tb_workload_schedule(cell->workload, out);
    struct tb_batch batch;
    if (error == -ENOENT && plain && !is_trace)
        return unknown(cell->workload);
    if (error && plain && !is_trace)
        tb_batch_read(cell->workload, &batch, &why); // if it is one, this says what is wrong with it
    cell->schedule = *out;
    if (!error && plain && cell->block_bytes)
        cell->pool_blocks = 2 * (*out)->blocks_peak;
    if (error)
        tb_error("%s", why.text[0] ? why.text : strerror(-error));
    return !error ? 0 : error == -EINVAL || error == -ENOENT ? TB_EXIT_USAGE : TB_EXIT_FAILED;
}

// Several cells may have the same schedule: those of one workload in plain touch modes.
static int cell_add(const struct arguments *arguments, const char *workload, const struct tb_cell *what, struct eval_plan *plan)
{
    uint32_t at = plan->cells_count;
    struct tb_cell *cell = &plan->cells[at];
    int status = 0;
    if (at == CELLS_MAX) {
        tb_error("%u cells at most", CELLS_MAX);
        return TB_EXIT_USAGE;
    }
    *cell = *what;
    snprintf(plan->workloads[at], sizeof plan->workloads[at], "%s", workload);
    cell->workload = plan->workloads[at];
    for (uint32_t i = 0; i < at && cell->touch != TB_TOUCH_DECODE && !cell->schedule; i++)
        if (plan->cells[i].touch != TB_TOUCH_DECODE && strcmp(plan->workloads[i], workload) == 0)
            cell->schedule = plan->cells[i].schedule;
    if (!cell->schedule)
        status = schedule_make(cell, &plan->schedules[at]);
    if (status)
        return status;
    snprintf(plan->workloads[at], sizeof plan->workloads[at], "%s", cell->schedule->name);
    tb_cell_text(cell->workload, what, plan->names[at], sizeof plan->names[at]);
    cell->name = plan->names[at];
    tb_options_laps(&arguments->options, cell);
    plan->cells_count++;
    return 0;
}

// A whole cell, as in a postulate.
static int whole_add(const struct arguments *arguments, const char *text, struct eval_plan *plan)
{
    char workload[TB_WORKLOAD_NAME], why[640];
    struct tb_cell cell;
    int error = tb_cell_parse(text, workload, &cell);
    if (error)
        tb_cell_why(text, why, sizeof why);
    if (error)
        tb_error("%s (see: locus eval --help)", why);
    else if (tb_touch_serves(cell.touch))
        tb_error("cell '%s': its arms are no contenders: locus serve %s", text, text);
    else if (cell.touch == TB_TOUCH_PINS)
        tb_error("cell '%s': its arms are ways to hold a range, which only a postulate names: locus postulate new", text);
    else if (cell.touch == TB_TOUCH_LINE)
        tb_error("cell '%s': only runs of many nodes touch 'line'", text);
    else
        return cell_add(arguments, workload, &cell, plan);
    return TB_EXIT_USAGE;
}

static int workload_add(const struct arguments *arguments, const char *name, struct eval_plan *plan)
{
    const struct tb_options *given = &arguments->options;
    char text[160];
    int status = 0;
    for (int touch = TB_TOUCH_NONE; touch <= TB_TOUCH_FULL && !status; touch++)
        if (given->touch[touch])
            status = cell_add(arguments, name, &(struct tb_cell){.touch = (enum tb_touch)touch}, plan);
    if (status || !given->decode)
        return status;
    snprintf(text, sizeof text, "%s/%s", name, given->decode);
    return whole_add(arguments, text, plan);
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

static int list_add(const struct arguments *arguments, const char *workloads, struct eval_plan *plan)
{
    char list[512], *rest = NULL;
    int status = 0;
    if (snprintf(list, sizeof list, "%s", workloads) >= (int)sizeof list) {
        tb_error("--workload: the list is too long");
        return TB_EXIT_USAGE;
    }
    for (char *word = strtok_r(list, ",", &rest); word && !status; word = strtok_r(NULL, ",", &rest))
        status = word_add(arguments, word, plan);
    if (status || plan->cells_count)
        return status;
    tb_error("--workload: '%s' names no workload", workloads);
    return TB_EXIT_USAGE;
}

// Workloads in the touch modes of --touch, then whole cells. Without either, v1.
static int cells_make(const struct arguments *arguments, struct eval_plan *plan)
{
    int status = 0;
    if (arguments->whole_count && !arguments->workloads && arguments->touch_given) {
        tb_error("--touch is for --workload: a whole cell has its touch mode as a word");
        return TB_EXIT_USAGE;
    }
    if (arguments->workloads || !arguments->whole_count)
        status = list_add(arguments, arguments->workloads ? arguments->workloads : "v1", plan);
    for (uint32_t i = 0; i < arguments->whole_count && !status; i++)
        status = whole_add(arguments, arguments->whole[i], plan);
    return status;
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp_child children[] = {{&tb_options_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse, "[CELL...]", documentation, children, with_contenders, NULL};
    static struct eval_plan plan;
    tb_options_init(&arguments.options);
    int status = tb_cli_parse(&argp, "eval", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    const struct tb_options *given = &arguments.options;
    arguments.touch_given =
        given->touch[TB_TOUCH_NONE] || given->touch[TB_TOUCH_BYTE] || given->touch[TB_TOUCH_FULL] || given->decode;
    status = tb_options_arms(&arguments.options, default_contenders);
    if (!status)
        status = cells_make(&arguments, &plan);
    if (!status)
        status = tb_options_run(&arguments.options, plan.cells, plan.cells_count, "eval", NULL);
    for (uint32_t i = 0; i < CELLS_MAX; i++)
        free(plan.schedules[i]);
    return status;
}

TB_COMMAND(50, "eval", "the scoreboard: contenders side by side on LOCUS-EVAL", command);
