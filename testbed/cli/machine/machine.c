// SPDX-License-Identifier: Apache-2.0
//
// machine: one child parser, so that a described machine is named alike everywhere. Both options name a source for
// locus_topo_open(), which tells a folder from a file; --root takes only a folder, as `locus doctor` has it.
#include "testbed/cli/machine/machine.h"

#include <sys/stat.h>

#include "testbed/base/cli.h"

enum { KEY_ROOT = 'R', KEY_TOPOLOGY = 4000 };

static const struct argp_option options[] = {
    {"root", KEY_ROOT, "FOLDER", 0, "Another machine: a copy of its /sys and /proc, as hwloc-gather-topology makes it", 0},
    {"topology", KEY_TOPOLOGY, "FILE|SYNTHETIC", 0, "Another machine: an hwloc XML file or synthetic string", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct tb_machine *machine = state->input;
    struct stat status;
    if (key != KEY_ROOT && key != KEY_TOPOLOGY)
        return ARGP_ERR_UNKNOWN;
    if (machine->source)
        return tb_cli_bad(state, "--root, --topology: there is one machine: name it once");
    if (key == KEY_ROOT && (stat(value, &status) || !S_ISDIR(status.st_mode)))
        return tb_cli_bad(state, "--root: there is no folder '%s' (unpack an archive first; an XML file is for --topology)", value);
    *machine = (struct tb_machine){value, key == KEY_ROOT ? "--root" : "--topology"};
    return 0;
}

const struct argp tb_machine_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

error_t tb_machine_check(struct argp_state *state, const struct tb_machine *machine, bool plan)
{
    if (!machine->source || plan)
        return 0;
    return tb_cli_bad(state, "%s: a machine that is only described cannot be measured: add --plan", machine->option);
}

int tb_machine_open(const struct tb_machine *machine, struct locus_topo **out)
{
    char why[1024] = "";
    if (locus_topo_open(out, machine->source, why, sizeof why) == 0)
        return TB_EXIT_OK;
    tb_error("%s", why);
    return machine->source ? TB_EXIT_USAGE : TB_EXIT_FAILED;
}
