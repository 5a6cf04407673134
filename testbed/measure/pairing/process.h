// SPDX-License-Identifier: Apache-2.0
//
// process: which arms of a cell share a process, and in which order the processes of a round run (rounds.h: pair_laps).
#ifndef TB_PROCESS_H
#define TB_PROCESS_H

#include "testbed/measure/rounds.h"

struct tb_process {
    uint32_t arms[TB_PROCESS_ARMS]; // in the order of the measurement
    uint32_t count;
};

// The first arm of the process in which this arm runs: arms with the same first share it. The arm itself, if it is alone or the
// first. It depends on the measurement's settings alone.
uint32_t tb_rounds_process(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm);

// Do any two arms share a process in any cell?
bool tb_rounds_paired(const struct tb_rounds *rounds);

// The processes of one cell and round, in random order. Returns their number.
uint32_t tb_rounds_order(const struct tb_rounds *rounds, uint32_t cell, uint64_t *random, struct tb_process out[TB_ARMS_MAX]);

#endif
