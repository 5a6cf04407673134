// SPDX-License-Identifier: Apache-2.0
//
// engine (many nodes): one measured process of the flagship, from the job to the sample: the schedule runs on every node at
// once, by a scheduler there, and requests finish on workers of their own node or of another.
//
// Gates, besides those of one node (engine.h), each for every home: allocated == freed, pushed == drained. A pool that is strictly
// bound has all its pages where it asked for them, before and after. No touch on a page of which nobody knows where it is. And the
// kernel's NUMA balancing did nothing, unless the contender migrates pages by design.
#ifndef TB_NODES_ENGINE_H
#define TB_NODES_ENGINE_H

#include "testbed/measure/contender.h"
#include "testbed/measure/sample.h"

// A job without timed laps only counts; its lap times are 0.
// 0: the sample says whether it is valid. -EINVAL: a job that makes no sense; -ENODEV: no node has both memory and CPUs for this
// process; -E2BIG: more than TB_NODES_MAX nodes have memory; or what the machine answered.
int tb_nodes_engine_run(struct tb_job *job, const struct tb_contender *contender, const struct tb_schedule *schedule);

#endif
