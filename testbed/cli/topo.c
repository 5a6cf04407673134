// SPDX-License-Identifier: Apache-2.0
//
// locus topo: says what a machine is, for people and (--json) for programs.
//
// Whether mbind and move_pages are allowed is found out by calling them (probe.h). For a machine that is only described there is
// nothing to probe.
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"

#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/host/head.h"
#include "testbed/host/topology/topo_view.h"
#include "topo/topo.h"

enum { KEY_TOPOLOGY = 0x100 };

struct arguments {
    const char *topology;
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
    "  locus topo --topology 'pack:2 [numa(memory=64GB)] core:4 pu:2'\n";

static const struct argp_option options[] = {
    {"topology", KEY_TOPOLOGY, "FILE|SYNTHETIC", 0, "read an hwloc XML file or synthetic string instead of this machine", 0},
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case KEY_TOPOLOGY: arguments->topology = value; return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s': to read a file, use --topology %s", value, value);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tb_forms_json_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse_option, NULL, doc, children, NULL, NULL};

static int command(int argc, char **argv)
{
    struct arguments arguments = {.topology = NULL};
    int status = tb_cli_parse(&argp, "topo", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_forms_check(&arguments.forms);
    if (status)
        return status;
    char why[512] = "";
    struct locus_topo *topo = NULL;
    if (locus_topo_open(&topo, arguments.topology, why, sizeof(why))) {
        tb_error("%s", why);
        return arguments.topology ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    }
    struct tb_topo_host host = {.numa_balancing = -1};
    if (!arguments.topology)
        tb_topo_host_probe(topo, &host);
    const struct tb_topo_host *known = arguments.topology ? NULL : &host;
    json_t *head = arguments.forms.json.wanted ? tb_head("topo") : NULL;
    status = tb_forms_write(&arguments.forms, tb_topo_doc(head, topo, arguments.topology, known));
    locus_topo_close(topo);
    return status;
}

TB_COMMAND(10, "topo", "what this machine is: nodes, CPUs, memory, distances", command);
