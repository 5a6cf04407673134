// SPDX-License-Identifier: Apache-2.0
//
// engine (many nodes): one measured process of the flagship, from the job to the sample. A scheduler on every node runs the
// schedule, all at once, and requests finish on workers of their own node or of another.
//
// Gates, besides those of one node (engine.h). For every home: allocated == freed, and pushed == drained. A strictly bound pool
// has all its pages on its nodes, before and after. The node of every touched page is known. The kernel's NUMA balancing did
// nothing, unless the contender migrates pages by design.
#ifndef TB_NODES_ENGINE_H
#define TB_NODES_ENGINE_H

#include "testbed/measure/contender.h"
#include "testbed/measure/sample.h"

// A job without timed laps only counts; its lap times are 0.
// 0: the sample says whether it is valid. -EINVAL: an impossible job; -ENODEV: no node has both memory and CPUs for this process;
// -E2BIG: more than TB_NODES_MAX nodes have memory; or the error of describing the machine.
int tb_nodes_engine_run(struct tb_job *job, const struct tb_contender *contender, const struct tb_schedule *schedule);

#endif
