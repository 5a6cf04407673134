// SPDX-License-Identifier: Apache-2.0
//
// process: a lap of touch `engine`: locus-llama as a child, a step of it for each lap.
#ifndef TB_ENGINES_PROCESS_H
#define TB_ENGINES_PROCESS_H

#include "testbed/engine/arm.h"
#include "testbed/measure/sample.h"
#include "testbed/workload/schedule.h"

// Fills in the job's sample. 0, or -errno if no child could be started; a child that fails is an invalid sample.
int tb_engines_run(struct tb_job *job, const struct tb_engine_arm *arm, const struct tb_schedule *schedule);

#endif
