// SPDX-License-Identifier: Apache-2.0
//
// judge (many nodes): placement, balancing and the gates of a finished run.
#ifndef TB_NODES_JUDGE_H
#define TB_NODES_JUDGE_H

#include "testbed/measure/nodes/station.h"

// Locates the pages of every station's pool. 0 or -ENOMEM.
int tb_nodes_place(const struct tb_nodes_run *run, struct tb_node_placement rows[]);

// Adds the kernel's counters of automatic NUMA balancing from this file, with this sign (-1 before, 1 after). Unknown if the file
// has none.
#define TB_VMSTAT "/proc/vmstat"
void tb_nodes_balancing(struct tb_nodes_sample *sample, const char *vmstat, int sign);

// Fills the sample from the stations and the contender's audits, and judges it.
void tb_nodes_judge(struct tb_nodes_run *run);

#endif
