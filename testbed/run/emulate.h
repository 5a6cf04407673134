// SPDX-License-Identifier: Apache-2.0
//
// emulate: has an emulator count what each arm executes, where predictions are about that (metric.h: emulated). Time cannot tell
// two arms apart that differ by an instruction; a count can, on any machine.
//
// For each cell, arm and round one more process runs in QEMU's user-mode emulation (guest/counted.sh), and executes as many laps
// between marks as the cell has metered ones. Nothing else of that process counts: it is no sample, and its time means nothing.
// These processes of a block of rounds run before it, and not between the timed processes, which are to be close to each other.
#ifndef TB_EMULATE_H
#define TB_EMULATE_H

#include "testbed/counters/count.h"
#include "testbed/run/plan.h"

// Can it count here? 1: yes, and `version` (unless NULL) is the emulator's. 0: no, `why` is a clause that ends with the remedy.
int tb_emulate_check(char *version, size_t version_bytes, char *why, size_t why_bytes);

// Sets plan->rounds.emulator if a prediction is about a count, and the emulator is here.
void tb_emulate_plan(struct tb_plan *plan);

// Fills rounds->counts for the rounds first .. first + count - 1, or does nothing without rounds->emulator. A process that fails a
// gate or passes other marks than it should has no count, and the reason. 0 or -errno. The caller closes, whatever the result.
int tb_emulate(struct tb_rounds *rounds, uint32_t first, uint32_t count);
void tb_emulate_close(struct tb_rounds *rounds);

#endif
