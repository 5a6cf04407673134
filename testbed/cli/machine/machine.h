// SPDX-License-Identifier: Apache-2.0
//
// machine: --root and --topology: another machine than this one, for the commands that only show or plan.
#ifndef TB_CLI_MACHINE_H
#define TB_CLI_MACHINE_H

#include <argp.h>

#include "topo/topo.h"

struct tb_machine {
    const char *source;         // as for locus_topo_open(); NULL: this machine
    const char *option;         // what named it
};

// A child parser; its input is the struct tb_machine.
extern const struct argp tb_machine_argp;

// A machine that is only described can be planned for, not measured. 0, or what tb_cli_bad() returns.
error_t tb_machine_check(struct argp_state *state, const struct tb_machine *machine, bool plan);

// TB_EXIT_OK, or another exit status after a report: bad input if it is a described machine.
int tb_machine_open(const struct tb_machine *machine, struct locus_topo **out);

#endif
