// SPDX-License-Identifier: Apache-2.0
//
// locus advise: which placement should the KV cache use on this machine, and how much is it worth?
//
// All placements side by side on one trace: times on hardware of several nodes, counts in an emulated machine, and on one node
// nothing at all, because there is nothing to choose. With --shape it asks about the blocks of a model (advise_shape.h), with --pid
// about an engine that runs (advise_pid.h).

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/share.h"
#include "testbed/cli/advise/advise_pid.h"
#include "testbed/cli/advise/advise_shape.h"
#include "testbed/cli/command.h"
#include "testbed/cli/machine/machine.h"
#include "testbed/cli/options.h"
#include "testbed/host/head.h"
#include "testbed/measure/contender.h"
#include "testbed/report/advise/advise.h"
#include "testbed/workload/workload.h"

// 16 tokens of one layer of an 8B model have 64 KiB (8 heads of 128, keys and values, two bytes each), and a pool of such blocks
// does not fit into a cache, which has no node. An emulated machine has no cache, and little memory.
#define BLOCK_BYTES_HARDWARE 65536u
#define BLOCK_BYTES_EMULATED 4096u
#define ROUNDS_EMULATED 2u
#define ROUNDS_SHAPE 10u // of many cells: some minutes

static const char *const default_arms[] = {
    "home-steered",   "first-touch", "preferred", "preferred-many", "interleave", "weighted-interleave", "one-node", "repair",
    "bind-balancing", "cross-node",  "mimalloc",  "glibc",          NULL,
};

struct arguments {
    struct tb_options options;
    struct tb_options_trace trace;
    struct tb_advise_shape shape;
    struct tb_machine machine;
    const char *path, *workload;
    const char *measuring;      // the last option that says what or how to measure, or NULL
    uint64_t cross_percent, pid; // pid 0: not given
    bool rounds_given, block_bytes_given, plan;
};

enum { KEY_TRACE = 3000, KEY_CROSS, KEY_PID, KEY_PLAN };

static const struct argp_option option_table[] = {
    {"pid", KEY_PID, "N", 0,
     "Look at this running process instead, and measure nothing: where its memory lies, where its threads run, which share of its "
     "reads must be remote, and what would cure it",
     0},
    {"plan", KEY_PLAN, NULL, 0, "Say what would be compared, and how each is set, and measure nothing", 0},
    {"trace", KEY_TRACE, "FILE", 0, "A recorded trace of requests, as for `locus replay` (the sample that comes along)", 0},
    {"workload", 'W', "NAME", 0,
     "Instead of a trace: steady-decode, burst-storm, long-tail or churn-touch; with --shape a batch (batch-4x1024x4, or longer "
     "for a small shape)",
     0},
    {"cross", KEY_CROSS, "PERCENT", 0, "So many of the requests end on another node than they began on (50)", 1},
    {"contenders", TB_KEY_CONTENDERS, "LIST", 0, "Only these instead of all, comma-separated. The first runs twice, as A/A", 1},
    {"dispatch", TB_KEY_DISPATCH, "HOW", 0,
     "inline, spin or futex: how a finished request reaches a worker (spin; inline where a node has one CPU, and emulated)", 1},
    {"cpus", TB_KEY_CPUS, "LIST", 0, TB_CPUS_SUMMARY, 2},
    {"rounds", TB_KEY_ROUNDS, "N", 0,
     "Rounds: each of them once, in random order, in a fresh process (20; of --shape on one node: 10; emulated: 2)", 2},
    {"seed", TB_KEY_SEED, "N", 0, "Seed of that order (from the clock, and printed)", 2},
    {"block-bytes", TB_KEY_BLOCK_BYTES, "BYTES", 0, "Size of a block, such as 4KiB or 1M (64KiB; emulated: 4KiB)", 2},
    {"log", TB_KEY_LOG, "FILE", 0, "Keep every sample in a log that `locus report FILE` shows again", 3},
    {"quiet", TB_KEY_QUIET, NULL, 0, "No progress line", 3},
    {0},
};

static error_t parse_end(struct argp_state *state, struct arguments *arguments)
{
    const struct tb_advise_shape *shape = &arguments->shape;
    const char *measuring = arguments->measuring     ? arguments->measuring
                            : shape->setting         ? shape->setting
                            : shape->shape           ? "--shape"
                            : arguments->trace.given ? "options of a trace"
                                                     : NULL;
    if (arguments->pid)
        return measuring
                   ? tb_cli_bad(state, "%s: not with --pid, which looks at a process and measures nothing: leave it out", measuring)
               : arguments->plan || arguments->machine.source
                   ? tb_cli_bad(state, "--pid: a process is of this machine, and there is no plan for it: leave out %s",
                                arguments->plan ? "--plan" : arguments->machine.option)
                   : 0;
    if (arguments->plan && measuring)
        return tb_cli_bad(state, "%s: not with --plan, which measures nothing: leave it out", measuring);
    if (!arguments->plan && arguments->machine.source)
        return tb_machine_check(state, &arguments->machine, false);
    if (!shape->shape && shape->setting)
        return tb_cli_bad(state, "%s: only of a model: --shape MODEL, such as --shape Llama-3.2-1B", shape->setting);
    if (shape->shape && arguments->block_bytes_given)
        return tb_cli_bad(state, "--block-bytes: with --shape a block has the bytes of its tokens: say --blocks 16,32");
    if (shape->shape && arguments->trace.given && !arguments->path)
        return tb_cli_bad(state, "--trace: which trace? With --shape a batch is run unless --trace FILE names one");
    return tb_options_parse(ARGP_KEY_END, NULL, state, &arguments->options);
}

// Options that say what or how to measure, which --pid does not.
static void note_measuring(int key, struct arguments *arguments)
{
    static char name[32];
    for (const struct argp_option *option = option_table; option->name; option++)
        if (option->key == key && key != KEY_PID && key != KEY_PLAN && key != TB_KEY_QUIET) {
            snprintf(name, sizeof name, "--%s", option->name);
            arguments->measuring = name;
        }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    note_measuring(key, arguments);
    arguments->rounds_given |= key == TB_KEY_ROUNDS;
    arguments->block_bytes_given |= key == TB_KEY_BLOCK_BYTES;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->trace;
        state->child_inputs[1] = &arguments->shape;
        state->child_inputs[2] = &arguments->machine;
        state->child_inputs[3] = &arguments->options.forms;
        return 0;
    case KEY_TRACE: arguments->path = argument; return 0;
    case 'W': arguments->workload = argument; return 0;
    case KEY_PLAN: arguments->plan = true; return 0;
    case KEY_PID:
        if (!tb_cli_u64(argument, 1, TB_PID_MAX, &arguments->pid))
            return tb_cli_bad(state, "--pid: '%s' is not the number of a process, from 1 to %u (ps -e lists them)", argument,
                              TB_PID_MAX);
        return 0;
    case KEY_CROSS:
        if (!tb_cli_u64(argument, 0, 100, &arguments->cross_percent))
            return tb_cli_bad(state, "--cross: '%s' is not a share from 0 to 100 (percent)", argument);
        return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s': a trace is named by --trace %s", argument, argument);
    case ARGP_KEY_END:
        if (arguments->workload && (arguments->path || arguments->trace.given))
            return tb_cli_bad(state, "--workload: a workload of the suite is no trace: leave out --trace and its options");
        return parse_end(state, arguments);
    default: return tb_options_parse(key, argument, state, &arguments->options);
    }
}

static const char documentation[] =
    "Which placement should the KV cache use on this machine, or which blocks, and how much is it worth?\v"
    "Every placement that the kernel offers, side by side on one trace of requests, at equal work: a scheduler and a pool on each "
    "node, and requests that end on their own node or on another one. On hardware of several nodes: what each placement costs "
    "against the one to use, with its 95 % interval, the share of writes that were remote, and the lines that set it. In an "
    "emulated machine (`locus guest`): counts only. On a machine of one node there is nothing to choose, and it says so.\n\n"
    "To compare with: cross-node (each pool on the wrong node: the worst case), and mallocs, which an engine may have now. "
    "What the kernel or a container refuses is listed with the reason.\n\n"
    "--shape MODEL answers in tokens per second: steps of a model, with attention over K and V in the blocks. On one node it says "
    "which block size, layout, pages, order of blocks and allocator to use, with a table for each. Every block size is tried in "
    "the first of --layouts, and each other layout with the first of --blocks, all in the same rounds. A choice makes \"no "
    "difference\" where its whole interval lies within what the A/A control shows; this run \"cannot tell\" where it is too noisy "
    "for either. Of equal ones the smallest block is used. The arms there are those of `locus eval`: locus, locus-4k, locus-runs, "
    "the first malloc that is installed, and the floors locus@stream and locus@blocks. A trace is cut to its head, unless "
    "--requests says where. On several nodes --shape says which placement to use, and what share of K and V was read on another "
    "node.\n\n"
    "--pid N is for an engine that runs, llama.cpp, vLLM or any other. It reads /proc and asks move_pages where pages are, "
    "and changes nothing; the kernel walks the process's page tables for that, and its calls of mmap may wait meanwhile. It"
    " shows large anonymous regions (heaps, KV caches), large files (weights) and the rest, with pages by node and the "
    "policy; where threads ran in the 200 ms that they were watched, and where they may run. From both follows which share "
    "of reads is remote, if the busy threads read all of it equally often, and what each cure would leave: lines of "
    "numactl, of systemd, and of llama.cpp where it is that. Its memory is shown to the process's user and to root; its "
    "threads to everybody. Ask while it is under load, and of an engine of several processes ask for each.\n\n"
    "Contenders: home-steered (this library: pools bound to their nodes, every block pushed home), preferred, first-touch, "
    "preferred-many, repair, bind-balancing, weighted-interleave, interleave, one-node; to compare with, cross-node, unsteered "
    "(nothing is sent home), home-borrow (the first home is too small), mimalloc, jemalloc, tcmalloc, glibc, "
    "malloc:/path/lib.so, and peers, NAME=malloc:/path/lib.so and NAME@FAULT as in locus eval, or NAME@misplace.\n\n"
    "Examples:\n"
    "  locus advise\n"
    "  locus advise --pid $(pidof llama-server)   reads from other nodes, and cures\n"
    "  sudo locus advise --pid 4711 --json | jq .remote_read_ratio\n"
    "  locus advise --trace trace.csv --tokens-per-block 32 --block-bytes 128KiB\n"
    "  locus advise --workload steady-decode --cross 0 --json=advise.json\n"
    "  locus advise -c home-steered,interleave,mimalloc\n"
    "  locus advise --shape Llama-3.2-1B            some minutes: which blocks, in tokens per second\n"
    "  locus advise --shape Llama-3-8B --trace trace.csv --blocks 16,128 --threads 4\n"
    "  locus advise --shape Qwen2.5-0.5B --layouts columns,runs --type f16 -r 6\n"
    "  locus advise --plan --root box              another machine: what there is to choose, and how\n"
    "  locus guest -- advise            counts, on a machine of one node\n\n"
    "Exit status: 0 all gates passed or nothing to choose, 1 an arm is INVALID, a request is larger than the pool, the run "
    "failed, or --pid could not see the memory, 2 bad input, or no such process.";

// --- what is run ---------------------------------------------------------------------------------------------------------------

static int schedule_make(struct arguments *arguments, struct tb_schedule **out, char *headline, size_t bytes)
{
    char sample[4096], why[1024];
    if (!arguments->workload && !arguments->path && tb_share("workload/sample.csv", sample, sizeof sample, why, sizeof why)) {
        tb_error("which trace? %s; or name one by --trace FILE, or a workload by --workload NAME", why);
        return TB_EXIT_USAGE;
    }
    if (!arguments->workload) {
        int status = tb_options_trace_load(&arguments->trace, arguments->path ? arguments->path : sample, out, headline, bytes);
        headline[strcspn(headline, "\n")] = '\0'; // the first of its lines
        return status;
    }
    int error = tb_workload_schedule(arguments->workload, out);
    char meant[64];
    if (error == -ENOENT)
        tb_error("--workload: '%s' is not steady-decode, burst-storm, long-tail or churn-touch%s", arguments->workload,
                 tb_workload_meant(arguments->workload, meant, sizeof meant));
    else if (error)
        tb_error("--workload %s: %s", arguments->workload, strerror(-error));
    else
        snprintf(headline, bytes, "%s, %llu blocks in a lap", arguments->workload, (unsigned long long)(*out)->blocks_per_lap);
    return error ? TB_EXIT_USAGE : 0;
}

static int check_named(const struct arguments *arguments)
{
    for (uint32_t i = 0; i < arguments->options.arms_count; i++) {
        const struct tb_arm *arm = &arguments->options.arms[i];
        if (!arm->contender->nodes) {
            tb_error("--contenders: '%s' knows one node only: see locus eval, or on one node locus advise --shape MODEL",
                     arm->label);
            return TB_EXIT_USAGE;
        }
        if (strncmp(arm->label, "malloc:", 7) && strchr(arm->label, '%')) {
            tb_error("--contenders: '%s': here the share is the same for all: --cross PERCENT", arm->label);
            return TB_EXIT_USAGE;
        }
    }
    return 0;
}

// Those that are not installed are refused, like those that the kernel does not offer.
static void add_defaults(struct tb_options *options, struct tb_advise *advise)
{
    char why[4500];
    for (const char *const *name = default_arms; *name; name++) {
        if (tb_arms_add(options->arms, &options->arms_count, *name, why, sizeof why) == 0)
            continue;
        struct tb_advise_refusal *refusal = &advise->refusals[advise->refusals_count++];
        snprintf(refusal->arm, sizeof refusal->arm, "%s", *name);
        snprintf(refusal->why, sizeof refusal->why, "%.*s", (int)sizeof refusal->why - 1, why);
    }
}

static int arms_make(struct arguments *arguments, struct tb_advise *advise)
{
    struct tb_options *options = &arguments->options;
    char why[4500];
    bool twins = false;
    uint64_t pool_bytes = advise->pool_blocks * advise->block_bytes;
    if (options->arms_count == 0)
        add_defaults(options, advise);
    tb_advise_refuse(pool_bytes, options->arms, &options->arms_count, advise);
    if (options->arms_count == 0) {
        tb_error("nothing can be run here: %s: %s", advise->refusals[0].arm, advise->refusals[0].why);
        return TB_EXIT_FAILED;
    }
    for (uint32_t i = 0; i < options->arms_count; i++)
        twins |= strchr(options->arms[i].label, '#') != NULL;
    if (!twins && !advise->machine.emulated && options->arms_count < TB_ARMS_MAX)
        tb_arms_add(options->arms, &options->arms_count, options->arms[0].label, why, sizeof why); // counts have no noise
    for (uint32_t i = 0; i < options->arms_count; i++)
        options->arms[i].cross_percent = advise->cross_percent;
    return 0;
}

static void settle_defaults(struct arguments *arguments, const struct tb_advise_machine *machine)
{
    struct tb_options *options = &arguments->options;
    if (!options->dispatch_given)
        options->dispatch = machine->emulated || machine->cpus_least < 2 ? TB_DISPATCH_INLINE : TB_DISPATCH_SPIN;
    if (!arguments->rounds_given && machine->emulated)
        options->rounds = ROUNDS_EMULATED;
    if (!arguments->block_bytes_given)
        options->block_bytes = machine->emulated ? BLOCK_BYTES_EMULATED : BLOCK_BYTES_HARDWARE;
}

// Counted laps, as many as a malloc needs to drift; timed ones only where they mean something.
static struct tb_cell cell_make(const struct arguments *arguments, const struct tb_schedule *schedule, bool emulated)
{
    struct tb_cell cell = {.schedule = schedule,
                           .touch = emulated ? TB_TOUCH_LINE : TB_TOUCH_FULL,
                           .laps = emulated ? 0 : 1,
                           .laps_counted = 1};
    if (arguments->workload) {
        cell.laps_counted = 8;
        if (!emulated)
            tb_options_laps(&arguments->options, &cell);
    } else if (!emulated) {
        cell.laps_warmup = 1;
    }
    return cell;
}

// --- the command ---------------------------------------------------------------------------------------------------------------

static int measure(struct arguments *arguments, const struct tb_cell *cell, struct tb_advise *advise)
{
    struct tb_options *options = &arguments->options;
    int status = arms_make(arguments, advise);
    if (status)
        return status;
    if (advise->machine.balancing > 0)
        tb_error(
            "NUMA balancing is on: it moves pages while they are counted, and what it disturbs will be INVALID. For the time of "
            "the run: sysctl kernel.numa_balancing=0");
    options->advise = tb_advise_json(advise);
    status = tb_options_run(options, cell, 1, "advise", advise->workload);
    json_decref(options->advise);
    return status;
}

// Of a machine on which there is nothing to choose.
static int say_so(const struct arguments *arguments, const struct tb_advise *advise)
{
    const struct tb_forms *forms = &arguments->options.forms;
    if (arguments->options.log_path)
        tb_error("--log: nothing is measured here, so there is no log");
    return tb_forms_write(forms, tb_advise_doc(forms->json.wanted ? tb_head("advise") : NULL, advise));
}

static int answer(struct arguments *arguments, const struct tb_cell *cell, struct tb_advise *advise)
{
    const struct tb_advise_machine *machine = &advise->machine;
    unsigned homes = locus_nodes_count(&machine->homes), nodes = homes + locus_nodes_count(&machine->bare);
    advise->pool_blocks = cell->schedule->pool_blocks;
    advise->block_bytes = arguments->options.block_bytes;
    advise->cross_percent = (uint32_t)arguments->cross_percent;
    if (homes < 2)
        return say_so(arguments, advise);
    if (nodes > TB_NODES_MAX) {
        tb_error("%u nodes have memory, and %u are the most: leave some out by numactl --membind or a cpuset", nodes, TB_NODES_MAX);
        return TB_EXIT_FAILED;
    }
    if (tb_advise_room(advise))
        return TB_EXIT_FAILED;
    return measure(arguments, cell, advise);
}

// Placements, in the writes of a trace or a workload of the suite.
static int answer_writes(struct arguments *arguments, struct tb_advise *advise)
{
    struct tb_schedule *schedule = NULL;
    char headline[512] = "";
    int status = check_named(arguments);
    if (!status)
        status = schedule_make(arguments, &schedule, headline, sizeof headline);
    if (!status && tb_advise_machine_look(&advise->machine))
        status = TB_EXIT_FAILED;
    if (!status) {
        settle_defaults(arguments, &advise->machine);
        const struct tb_cell cell = cell_make(arguments, schedule, advise->machine.emulated);
        advise->workload = headline;
        status = answer(arguments, &cell, advise);
    }
    free(schedule);
    return status;
}

// Placements, in the tokens of a model.
static int answer_nodes(struct arguments *arguments, struct tb_advise *advise)
{
    struct tb_options *options = &arguments->options;
    bool emulated = advise->machine.emulated != NULL;
    struct tb_schedule *schedule = NULL;
    struct tb_words about = {0};
    struct tb_cell cell;
    int status = check_named(arguments);
    if (!status)
        status = tb_advise_shape_nodes(&arguments->shape, options, &arguments->trace, arguments->path, arguments->workload,
                                       emulated, &cell, &schedule, &about);
    if (status)
        return status;
    settle_defaults(arguments, &advise->machine);
    options->block_bytes = cell.block_bytes;
    cell.laps_counted = 1;
    if (emulated)
        cell.laps = cell.laps_warmup = 0;
    advise->workload = about.text;
    status = answer(arguments, &cell, advise);
    free(schedule);
    return status;
}

static int answer_shape(struct arguments *arguments, struct tb_advise *advise)
{
    if (tb_advise_machine_look(&advise->machine))
        return TB_EXIT_FAILED;
    if (locus_nodes_count(&advise->machine.homes) > 1)
        return answer_nodes(arguments, advise);
    if (advise->machine.emulated) {
        tb_error("--shape: an emulated machine of one node (%s) has neither times nor placements: run it on hardware, or "
                 "`locus guest --machine n2`",
                 advise->machine.emulated);
        return TB_EXIT_USAGE;
    }
    if (!arguments->rounds_given)
        arguments->options.rounds = ROUNDS_SHAPE;
    return tb_advise_shape(&arguments->shape, &arguments->options, &arguments->trace, arguments->path, arguments->workload);
}

static int answer_plan(const struct arguments *arguments)
{
    const struct tb_forms *forms = &arguments->options.forms;
    struct tb_advise_machine machine;
    struct locus_topo *topo = NULL;
    int status = tb_machine_open(&arguments->machine, &topo);
    if (status)
        return status;
    tb_advise_machine_of(topo, &machine);
    locus_topo_close(topo);
    return tb_forms_write(forms,
                          tb_advise_plan_doc(forms->json.wanted ? tb_head("advise") : NULL, &machine, arguments->machine.source));
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    static struct tb_advise advise;
    const struct argp_child children[] = {{&tb_options_trace_argp, 0, NULL, 0},
                                          {&tb_advise_shape_argp, 0, NULL, 0},
                                          {&tb_machine_argp, 0, NULL, 0},
                                          {&tb_forms_json_argp, 0, NULL, 0},
                                          {0}};
    const struct argp argp = {option_table, parse, NULL, documentation, children, NULL, NULL};
    tb_options_init(&arguments.options);
    arguments.trace.replay = tb_replay_defaults;
    arguments.options.many_nodes = true;
    arguments.cross_percent = 50;
    int status = tb_cli_parse(&argp, "advise", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    if (arguments.pid)
        return tb_advise_pid(arguments.pid, &arguments.options.forms);
    if (arguments.plan)
        return answer_plan(&arguments);
    return (arguments.shape.shape ? answer_shape : answer_writes)(&arguments, &advise);
}

TB_COMMAND(80, "advise", "which placement to use here, or which blocks, and how much it gains", command);
