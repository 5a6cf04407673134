// SPDX-License-Identifier: Apache-2.0
//
// decoded: what is said of a cell of touch `decode` beside its times: tokens in a second, the kernel, and an arm's own floor.
#ifndef TB_JUDGE_DECODED_H
#define TB_JUDGE_DECODED_H

#include "testbed/judge/board.h"

bool tb_decodes(const struct tb_rounds *rounds, uint32_t cell);

// Of a lap that takes `ns`: tokens decoded in a second, one for each sequence in each step, and those of prompts not. NAN: another
// touch mode, or no time.
double tb_tokens_per_s(const struct tb_rounds *rounds, uint32_t cell, double ns);

// Kernel and threads, of the first sample that says them; NULL: none does.
const struct tb_decode_sample *tb_decoded_by(const struct tb_rounds *rounds, uint32_t cell);

// What an arm does in a step (decode/act.h); NULL: attention, and nothing is left out.
const struct tb_act *tb_arm_act(const struct tb_arm *arm);

// Of the floors NAME@stream, NAME@blocks and NAME@cached of arm NAME the valid one with the least median, or -1.
int tb_own_floor(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm);

#endif
