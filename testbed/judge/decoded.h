// SPDX-License-Identifier: Apache-2.0
//
// decoded: what is said of a cell of touch `decode` beside its times: tokens in a second, the kernel, an arm's own floor, and
// what a byte of KV takes.
#ifndef TB_JUDGE_DECODED_H
#define TB_JUDGE_DECODED_H

#include "testbed/judge/board.h"

bool tb_decodes(const struct tb_rounds *rounds, uint32_t cell);

// Of a lap that takes `ns`: tokens decoded in a second, one for each sequence in each step, and those of prompts not. NAN: another
// touch mode, or no time.
double tb_tokens_per_s(const struct tb_rounds *rounds, uint32_t cell, double ns);

// Kernel and threads, of the first sample that says them; NULL: none does. An arm whose act has a kernel of its own is left out,
// and asked for by itself; NULL: it is not such an arm.
const struct tb_decode_sample *tb_decoded_by(const struct tb_rounds *rounds, uint32_t cell);
const struct tb_decode_sample *tb_decoded_by_itself(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm);

// What an arm does in a step (decode/act.h); NULL: attention, and nothing is left out.
const struct tb_act *tb_arm_act(const struct tb_arm *arm);

// Of the floors NAME@stream, NAME@blocks and NAME@cached of arm NAME the valid one that binds, or -1: no attention is
// faster than any of them, so that is the one with the greatest median.
int tb_own_floor(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm);

// --- pace ----------------------------------------------------------------------------------------------------------------------
//
// How long this machine takes to read a byte of KV cache: what the clock of a step in serving (serving/serving.h) is made of.
//
//     attention   NAME - NAME@no-attend, as in a bill (bill.h), over the bytes that attention reads
//     floor       NAME@stream - NAME@no-attend, over as many
//
// The differences are formed within each round. So appending, and with it the prompts of a batch, is in neither.

// Of each of the two intervals: then both hold together with 95 %, whatever one has to do with the other.
#define TB_PACE_CONFIDENCE 0.975
#define TB_PACE_ROUNDS 10u      // the least for which an interval of that confidence leaves out the first and the last round

// The arms that are needed of NAME, as on the command line: NULL after the last.
const char *tb_pace_arm(const char *name, size_t i, char *out, size_t bytes);

struct tb_pace {
    struct tb_ratio read_ps, floor_ps; // medians over the rounds with their sign intervals
    uint64_t step_bytes;        // that a step reads
    int invalid, noisy;         // an arm of it that is; -1: none. If one is invalid, there is no figure
};

// Of the arm NAME. 0; -EINVAL: another touch mode, an arm is missing or invalid; -ERANGE: there are too few rounds, or they lie so
// far apart that a byte may cost nothing; -ENOMEM.
int tb_pace(const struct tb_rounds *rounds, uint32_t cell, const char *name, struct tb_pace *out);

#endif
