// SPDX-License-Identifier: Apache-2.0
//
// locus topo: says what a machine is, for people and (--json) for programs.
//
// Whether mbind and move_pages are allowed is found out by calling them (probe.h). For a machine that is only described there is
// nothing to probe.
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/cli/machine/machine.h"

#include "testbed/base/cli.h"
#include "testbed/host/head.h"
#include "testbed/host/topology/topo_view.h"
#include "topo/topo.h"

struct arguments {
    struct tb_machine machine;
    struct tb_forms forms;
};

static const char doc[] =
    "Show a machine's NUMA nodes: their CPUs, memory and distances, and what this process may use."
    "\v"
    "Nodes and CPUs have the numbers that the operating system gives them. \"reclaimable\" is memory that holds file pages "
    "and caches: a strict bind can have it, although it is not free.\n"
    "\n"
    "Examples:\n"
    "  locus topo\n"
    "  locus topo --json | jq '.nodes[].os_index'\n"
    "  lstopo machine.xml; locus topo --topology machine.xml\n"
    "  locus topo --topology 'pack:2 [numa(memory=64GB)] core:4 pu:2'\n"
    "  hwloc-gather-topology box; tar -xf box.tar.bz2; locus topo --root box\n"
    "\n"
    "Exit status: 0 shown, 1 this machine could not be read, 2 bad input.";

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->machine;
        state->child_inputs[1] = &arguments->forms;
        return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s': to read a file, use --topology %s", value, value);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tb_machine_argp, 0, NULL, 0}, {&tb_forms_json_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {NULL, parse_option, NULL, doc, children, NULL, NULL};

static int command(int argc, char **argv)
{
    struct arguments arguments = {0};
    int status = tb_cli_parse(&argp, "topo", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    struct locus_topo *topo = NULL;
    const char *described = arguments.machine.source;
    status = tb_machine_open(&arguments.machine, &topo);
    if (status)
        return status;
    struct tb_topo_host host = {.numa_balancing = -1};
    if (!described)
        tb_topo_host_probe(topo, &host);
    json_t *head = arguments.forms.json.wanted ? tb_head("topo") : NULL;
    status = tb_forms_write(&arguments.forms, tb_topo_doc(head, topo, described, described ? NULL : &host));
    locus_topo_close(topo);
    return status;
}

TB_COMMAND(10, "topo", "what this machine is: nodes, CPUs, memory, distances", command);
