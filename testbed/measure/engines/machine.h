// SPDX-License-Identifier: Apache-2.0
//
// machine: over how many devices this machine divides a model: one for each node with memory and CPUs, or two of a node that is
// alone, so that dividing can be tried there.
#ifndef TB_ENGINES_MACHINE_H
#define TB_ENGINES_MACHINE_H

#include <stdbool.h>

#define TB_ENGINES_DEVICES_MAX 16u // as llama.cpp

struct tb_engines_machine {
    unsigned devices;
    bool divided;               // they are of one node
    unsigned cpus;              // that this process may use, of all these nodes
    int node[TB_ENGINES_DEVICES_MAX]; // of each device
    unsigned node_cpus[TB_ENGINES_DEVICES_MAX]; // that this process may use, of this node
};

// 0; -ENODEV: no such node; or -errno: the machine cannot be described.
int tb_engines_machine(struct tb_engines_machine *out);

#endif
