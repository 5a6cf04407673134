// SPDX-License-Identifier: Apache-2.0
//
// locus counters: what this host can count while something is timed, and why not the rest.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/counters/view.h"
#include "testbed/host/head.h"

enum { KEY_CPU = 0x100 };

struct arguments {
    struct tb_cpu_id cpu;
    bool other;                 // `cpu` was said
    struct tb_forms forms;
};

static const char doc[] =
    "List the performance counters of this host: which work, and why the others do not."
    "\v"
    "software    the kernel's own: faults, migrations, switches. They work nearly everywhere.\n"
    "hardware    cycles, instructions, last-level cache and data TLB.\n"
    "memory      where the data came from, by the names of the CPU's maker: dram_local and dram_remote are demand loads (on AMD "
    "stores, too) from the memory of the core's node and of others, dram_rfo_* demand stores, reads_* everything with prefetches, "
    "nt_writes* stores past the caches. On AMD \"remote\" is another NUMA node, of the same socket or not; on Intel another "
    "socket, and *_snc the other half of this one; Arm counts accesses to another socket, to memory or caches.\n"
    "uncore      of whole packages and all that runs there; needs kernel.perf_event_paranoid <= 0 or CAP_PERFMON.\n"
    "\n"
    "`locus run` counts them in laps of their own, after those that are timed, because a thread that is counted runs slower, and "
    "writes each value with the time it was wanted and the time it had the hardware; a value is never scaled. Software, "
    "cycles and instructions are counted in every round. The others take turns by rounds, one group of those that fit side by "
    "side, and what a prediction is about is counted in every round as well. `locus eval -c bill` counts alike, and what a bill is "
    "about in every round.\n"
    "\n"
    "Codes come from libpfm4 by name, or from a table where it does not know the CPU (\"source\" in the JSON says which).\n"
    "\n"
    "Examples:\n"
    "  locus counters\n"
    "  locus counters --json | jq -r '.counters[] | select(.why) | .name + \": \" + .why'\n"
    "  locus counters --cpu GenuineIntel:6:143      what a Sapphire Rapids would have\n"
    "  LOCUS_CPU=GenuineIntel:6:143 locus counters  take this host for one: its own events say why they cannot work\n"
    "\n"
    "Exit status: 0 listed, 1 they could not be looked up, 2 bad input.";

static const struct argp_option options[] = {
    {"cpu", KEY_CPU, "VENDOR:FAMILY:MODEL[:STEPPING]", 0,
     "the codes of another CPU, with nothing tried; for Arm ARM:IMPLEMENTER:PART, for Power IBM:9:0", 0},
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case KEY_CPU:
        arguments->other = true;
        if (tb_cpu_id_parse(value, &arguments->cpu))
            return tb_cli_bad(state, "--cpu '%s' is not VENDOR:FAMILY:MODEL, as in GenuineIntel:6:143", value);
        return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s' (see: locus counters --help)", value);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tb_forms_json_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse_option, NULL, doc, children, NULL, NULL};

// Which CPU; 0, or an exit status with its report made.
static int choose_cpu(struct arguments *arguments)
{
    const char *told = getenv("LOCUS_CPU");
    int error = arguments->other ? 0 : tb_cpu_id_read("", &arguments->cpu);
    if (error == -EINVAL && told) {
        tb_error("LOCUS_CPU '%s' is not VENDOR:FAMILY:MODEL, as in GenuineIntel:6:143", told);
        return TB_EXIT_USAGE;
    }
    if (error) // still, what is generic can be tried
        snprintf(arguments->cpu.vendor, sizeof arguments->cpu.vendor, "unknown");
    return 0;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {.other = false};
    static struct tb_counter_set set;
    int status = tb_cli_parse(&argp, "counters", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = choose_cpu(&arguments);
    if (status)
        return status;
    int error = tb_counters_resolve(&set, &arguments.cpu);
    if (error) {
        tb_error("cannot resolve the counters: %s", strerror(-error));
        return TB_EXIT_FAILED;
    }
    if (!arguments.other)
        tb_counters_probe(&set);
    json_t *head = arguments.forms.json.wanted ? tb_head("counters") : NULL;
    return tb_forms_write(&arguments.forms, tb_counters_doc(head, &set, !arguments.other));
}

TB_COMMAND(40, "counters", "what can be counted here besides time, and why the rest cannot", command);
