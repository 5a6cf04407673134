// SPDX-License-Identifier: Apache-2.0
//
// process: one measured process of touch `pins`: all threads pin and unpin at once, in laps.
#ifndef TB_PINS_PROCESS_H
#define TB_PINS_PROCESS_H

#include "testbed/measure/pins/way.h"
#include "testbed/measure/sample.h"

// Fills in the job's sample. First every range is held once by one thread, and the way's own books must say so; after all laps they
// must say that nobody holds any. 0, or -errno: no memory, no threads; what the way did wrong is an invalid sample, and so is an
// arena that could not be opened.
int tb_pins_run(struct tb_job *job, const struct tb_pins_way *way, const struct tb_schedule *schedule);

#endif
