// SPDX-License-Identifier: Apache-2.0
//
// locus matrix: what it costs the CPUs of each node to reach the memory of each.
//
// What is asked for in vain is refused before anything is measured: a path that cannot be written, a drawing of times that an
// emulated machine does not have. A file that fails afterwards does not take the others, or the page, with it.
#include "testbed/cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testbed/base/cli.h"
#include "testbed/base/cpus/cpus.h"
#include "testbed/base/file.h"
#include "testbed/base/terminal.h"
#include "testbed/cli/forms.h"
#include "testbed/cli/machine/machine.h"
#include "testbed/host/environment.h"
#include "testbed/host/head.h"
#include "testbed/host/topology/topo_view.h"
#include "testbed/matrix/view/view.h"
#include "topo/pin.h"
#include "topo/topo.h"

enum { KEY_FULL = 'f', KEY_KINDS = 'k', KEY_ROUNDS = 'r', KEY_SEED = 's', KEY_QUIET = 'q' };
enum { KEY_HWLOC = 2000, KEY_PLAN, KEY_CPUS };

struct arguments {
    struct tb_matrix_config config;
    struct tb_forms forms;
    struct tb_machine machine;
    bool plan, quiet;
    const char *hwloc_path, *cpus; // NULL: none
};

static const struct argp_option options[] = {
    {"full", KEY_FULL, NULL, 0, "Every number of CPUs and the whole curves: minutes instead of seconds", 1},
    {"kinds", KEY_KINDS, "LIST", 0, "What to measure, comma-separated (all; see below)", 1},
    {"rounds", KEY_ROUNDS, "N", 0, "Rounds: every cell once in each, in random order, 1 to 64 (6; full: 9)", 1},
    {"seed", KEY_SEED, "N", 0, "Seed of that order (from the clock, and printed)", 1},
    {"cpus", KEY_CPUS, "LIST", 0, TB_CPUS_SUMMARY, 1},
    {"plan", KEY_PLAN, NULL, 0, "Say what would be measured, and measure nothing", 2},
    {"hwloc-xml", KEY_HWLOC, "FILE.xml", 0, "Write this machine for hwloc, with what was measured as its memory attributes", 3},
    {"quiet", KEY_QUIET, NULL, 0, "No progress line", 3},
    {0},
};

static const char documentation[] =
    "What it costs the CPUs of each node to reach the memory of each: measured, with the proof that it was that memory.\v"
    "Kinds:\n"
    "  latency      ns a load when each needs the one before: a chain in random\n"
    "               order through all lines of a span far larger than the caches\n"
    "  read, write, copy, 3:1, 2:1, nt-write\n"
    "               bandwidth of one and of all CPUs of a node at once; 3:1 reads\n"
    "               three lines for each one written, nt-write passes the caches\n"
    "               by. What the program asks for is counted: a write that reads\n"
    "               its line first counts once\n"
    "  loaded       the latency while the other CPUs of the node read, from\n"
    "               hardly to as fast as they can\n"
    "  working-set  the latency by how much is walked over: it steps where a\n"
    "               cache ends\n"
    "  migration    how fast move_pages takes pages from node to node\n"
    "  line         until a line that one CPU wrote is seen by another, by the\n"
    "               node whose memory it is\n"
    "  push, drain  sending a finished request's blocks home to another node,\n"
    "               and freeing them there (the library's own)\n\n"
    "How to read it: rows are nodes with CPUs, columns are nodes with memory. 1.00x is the best of a table, 2.00x takes twice "
    "as long or moves half as much. The last line is the answer: flat, or which node is far and by how much. What could not be "
    "measured is listed with the reason, and what failed a check is INVALID: bytes moved against bytes planned, and every page "
    "asked for its node before and after.\n\n"
    "What it wants: an idle machine (see `locus doctor`), the right to mbind and move_pages (a container needs --cap-add "
    "SYS_NICE), and huge pages, without which the latencies hold translation misses as well: transparent ones (madvise or "
    "always) or reserved ones. It runs without them, and says what it had.\n\n"
    "Examples:\n"
    "  locus matrix                                  seconds\n"
    "  locus matrix --full --json=matrix.json --plot matrix.svg\n"
    "  locus matrix -k latency,read --csv | sort\n"
    "  locus matrix --hwloc-xml here.xml; lstopo-no-graphics -i here.xml --memattrs\n"
    "  locus matrix --plan --topology 'pack:2 [numa(memory=64GB)] core:4 pu:2'\n"
    "  locus guest --machine n2 -- matrix            emulated: pages, bytes, no times\n\n"
    "Exit status: 0 done, 1 a cell is INVALID or the run failed, 2 bad input.";

// --- options -------------------------------------------------------------------------------------------------------------------

static error_t parse_kinds(struct argp_state *state, struct tb_matrix_config *config, const char *list)
{
    char copy[512], *rest = NULL;
    bool any = false;
    if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy)
        return tb_cli_bad(state, "--kinds: the list is too long");
    memset(config->kinds, 0, sizeof config->kinds);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        bool known = false;
        for (int kind = 0; kind < TB_MATRIX_KINDS; kind++) {
            bool named = strcmp(name, "all") == 0 || strcmp(name, tb_matrix_kind_name((enum tb_matrix_kind)kind)) == 0;
            config->kinds[kind] |= named;
            known |= named;
        }
        if (!known)
            return tb_cli_bad(state,
                              "--kinds: '%s' is none of latency, read, write, copy, 3:1, 2:1, nt-write, loaded, working-set, "
                              "migration, line, push, drain, all",
                              name);
        any = true;
    }
    return any ? 0 : tb_cli_bad(state, "--kinds: the list is empty");
}

static error_t check_together(struct argp_state *state, const struct arguments *arguments)
{
    if (arguments->machine.source && arguments->cpus)
        return tb_cli_bad(state, "--cpus: a machine that is only described has no CPUs to measure on: leave it out");
    if (arguments->plan && (arguments->forms.plot.wanted || arguments->hwloc_path))
        return tb_cli_bad(state, "%s: a plan has no figures: leave out --plan",
                          arguments->forms.plot.wanted ? "--plot" : "--hwloc-xml");
    return tb_machine_check(state, &arguments->machine, arguments->plan);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    uint64_t number;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->machine;
        state->child_inputs[1] = &arguments->forms;
        return 0;
    case KEY_FULL: arguments->config.full = true; return 0;
    case KEY_KINDS: return parse_kinds(state, &arguments->config, argument);
    case KEY_ROUNDS:
        if (!tb_cli_u64(argument, 1, TB_MATRIX_ROUNDS_MAX, &number))
            return tb_cli_bad(state, "--rounds: '%s' is not a number from 1 to %u", argument, TB_MATRIX_ROUNDS_MAX);
        arguments->config.rounds = (unsigned)number;
        return 0;
    case KEY_SEED:
        if (!tb_cli_u64(argument, 0, INT64_MAX, &arguments->config.seed))
            return tb_cli_bad(state, "--seed: '%s' is not a number from 0 to 9223372036854775807", argument);
        return 0;
    case KEY_PLAN: arguments->plan = true; return 0;
    case KEY_CPUS: arguments->cpus = argument; return 0;
    case KEY_HWLOC: arguments->hwloc_path = argument; return 0;
    case KEY_QUIET: arguments->quiet = true; return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s' (see: locus matrix --help)", argument);
    case ARGP_KEY_END: return check_together(state, arguments);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tb_machine_argp, 0, NULL, 2}, {&tb_forms_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, NULL, documentation, children, NULL, NULL};

// 0 or an exit status.
static int check_outputs(const struct arguments *arguments)
{
    const char *emulated = tb_environment_guest();
    if (tb_cli_outputs_check(&arguments->hwloc_path, 1))
        return TB_EXIT_FAILED;
    if (emulated && (arguments->forms.plot.wanted || arguments->hwloc_path)) {
        tb_error("%s: this machine is emulated (%s), and has no times to show: --json has pages and bytes",
                 arguments->forms.plot.wanted ? "--plot" : "--hwloc-xml", emulated);
        return TB_EXIT_USAGE;
    }
    return 0;
}

// --- what is written -----------------------------------------------------------------------------------------------------------

static bool hwloc_failed(const char *path, const struct tb_matrix *matrix, const struct locus_topo *topo)
{
    int error = path ? tb_matrix_hwloc_xml(path, matrix, topo) : 0;
    if (error)
        tb_error("%s: %s", path,
                 error == -EINVAL ? "nothing that hwloc knows was measured: it needs latency, read, write or loaded"
                 : error == -EXDEV
                     ? "hwloc does not see this machine: unset HWLOC_XMLFILE, HWLOC_SYNTHETIC and HWLOC_FSROOT, or leave the "
                       "sandbox that hides /sys"
                     : tb_output_why(error));
    return error != 0;
}

static int write_all(const struct arguments *arguments, const struct tb_matrix *matrix, const struct locus_topo *topo, json_t *head)
{
    struct tb_topo_host host = {.numa_balancing = -1};
    const char *described = arguments->machine.source;
    if (!described)
        tb_topo_host_probe(topo, &host);
    json_t *machine = tb_topo_json(topo, described, described ? NULL : &host);
    bool bad = tb_forms_write(&arguments->forms, tb_matrix_doc(head, matrix, topo, machine));
    bad |= hwloc_failed(arguments->hwloc_path, matrix, topo);
    for (size_t i = 0; i < matrix->cells_count; i++)
        bad |= matrix->cells[i].state == TB_MATRIX_INVALID;
    return bad ? TB_EXIT_FAILED : TB_EXIT_OK;
}

// --- the command ---------------------------------------------------------------------------------------------------------------

static void show_progress(void *context, const struct tb_matrix *matrix, uint64_t done, uint64_t total)
{
    char where[64];
    (void)matrix;
    snprintf(where, sizeof where, "%llu of %llu samples", (unsigned long long)done, (unsigned long long)total);
    tb_progress_show(context, where, done, total);
}

static int run(const struct arguments *arguments, struct tb_matrix *matrix, const struct locus_topo *topo)
{
    struct tb_progress *progress = NULL;
    int error = arguments->quiet ? 0 : tb_progress_open(&progress, stderr);
    if (!error)
        error = tb_matrix_run(matrix, topo, progress ? show_progress : NULL, progress);
    tb_progress_close(progress);
    if (error)
        tb_error("cannot measure: %s", strerror(-error));
    return error ? TB_EXIT_FAILED : 0;
}

static int plan(const struct arguments *arguments, const struct locus_topo *topo, struct tb_matrix *out)
{
    struct tb_matrix_caches caches = {0};
    unsigned cpu = 0, count = 0;
    const char *described = arguments->machine.source;
    if (!described && locus_pin_allowed(&cpu, 1, &count) == 0 && count > 0)
        tb_matrix_caches_read("", cpu, &caches);
    int error = tb_matrix_plan(out, topo, &caches, &arguments->config);
    if (error && described)
        tb_error("%s: cannot plan: %s", described,
                 error == -ENODEV ? "no node there has CPUs, or none has memory" : strerror(-error));
    else if (error)
        tb_error("cannot plan: %s",
                 error == -ENODEV ? "no node has CPUs, or none has memory, that this process may use" : strerror(-error));
    return error == -ENODEV && described ? TB_EXIT_USAGE : error ? TB_EXIT_FAILED : 0;
}

static int command(int argc, char **argv)
{
    struct timespec now;
    char why[1024] = "";
    clock_gettime(CLOCK_REALTIME, &now);
    struct arguments arguments = {.forms = {.csv_table = "cells"}, .config = {.seed = (uint64_t)now.tv_nsec % 1000000}};
    memset(arguments.config.kinds, true, sizeof arguments.config.kinds);
    int status = tb_cli_parse(&argp, "matrix", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = check_outputs(&arguments);
    if (status)
        return status;
    if (!arguments.machine.source && tb_cpus_ask(arguments.cpus, true, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_USAGE;
    }
    tb_cpus_leave();
    struct locus_topo *topo = NULL;
    status = tb_machine_open(&arguments.machine, &topo);
    if (status)
        return status;
    struct tb_matrix matrix = {0};
    json_t *head = arguments.forms.json.wanted ? tb_head("matrix") : NULL;
    status = plan(&arguments, topo, &matrix);
    if (!status && !arguments.plan)
        status = run(&arguments, &matrix, topo);
    if (status)
        json_decref(head);
    else
        status = write_all(&arguments, &matrix, topo, head);
    tb_matrix_close(&matrix);
    locus_topo_close(topo);
    return status;
}

TB_COMMAND(20, "matrix", "the cost of memory from every node to every node", command);
