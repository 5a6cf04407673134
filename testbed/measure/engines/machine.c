// SPDX-License-Identifier: Apache-2.0
//
// machine: see machine.h.

#include "testbed/measure/engines/machine.h"

#include <errno.h>

#include "topo/topo.h"

// Each CPU once, however many of the nodes list it (topo_node.h).
static unsigned cpus_of(const struct locus_topo *topo, const struct tb_engines_machine *machine)
{
    unsigned count = 0;
    for (unsigned c = 0; c < locus_topo_info(topo)->cpus_count; c++) {
        const struct locus_topo_cpu *cpu = &locus_topo_cpus(topo)[c];
        bool on = false;
        for (unsigned i = 0; i < machine->devices; i++)
            on |= locus_topo_node_has_cpu(locus_topo_node(topo, machine->node[i]), cpu->os_index);
        count += on && cpu->allowed;
    }
    return count;
}

int tb_engines_machine(struct tb_engines_machine *out)
{
    struct locus_topo *topo;
    *out = (struct tb_engines_machine){0};
    int error = locus_topo_open(&topo, NULL, NULL, 0);
    if (error)
        return error;
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count && out->devices < TB_ENGINES_DEVICES_MAX; i++)
        if (nodes[i].kind == LOCUS_NODE_DRAM && nodes[i].allowed && nodes[i].cpus_allowed_count) {
            out->node[out->devices] = nodes[i].os_index;
            out->node_cpus[out->devices++] = nodes[i].cpus_allowed_count;
        }
    out->cpus = cpus_of(topo, out);
    locus_topo_close(topo);
    out->divided = out->devices == 1;
    if (out->divided) {
        out->node[1] = out->node[0];
        out->node_cpus[1] = out->node_cpus[0];
        out->devices++;
    }
    return out->cpus ? 0 : -ENODEV;
}
