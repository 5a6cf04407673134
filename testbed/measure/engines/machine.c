// SPDX-License-Identifier: Apache-2.0
//
// machine: see machine.h.

#include "testbed/measure/engines/machine.h"

#include <errno.h>

#include "topo/topo.h"

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
            out->cpus += nodes[i].cpus_allowed_count;
        }
    locus_topo_close(topo);
    out->divided = out->devices == 1;
    if (out->divided) {
        out->node[1] = out->node[0];
        out->node_cpus[1] = out->node_cpus[0];
        out->devices++;
    }
    return out->cpus ? 0 : -ENODEV;
}
