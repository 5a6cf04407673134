// SPDX-License-Identifier: Apache-2.0
//
// batch: a family of workloads, decoding as engines do it: a batch that is always full, whose members change one by one.
//
//     batch-8x4096              8 sequences alive at once (1 to 64), of 4096 tokens each in the mean (16 to 131072)
//     batch-8x4096x256          each lives for 256 steps (1 to 4096; 64 if not said), which must be less than twice its tokens
//
// A sequence begins with a prompt of CONTEXT - floor(STEPS / 2) tokens. The step that appends the prompt is its first; each of the
// STEPS - 1 that follow appends one token. So it attends over CONTEXT tokens in the mean, or half a token less if STEPS is even,
// and a lap over SEQUENCES x STEPS x that. A lap has STEPS steps; sequence i of n ends before step floor(i * STEPS / n) of
// it, and another one begins in that step and place. The prologue admits all, as old as they are when a lap begins. Two laps are a
// rotation, because a slot may not be taken again in the lap in which it was retired.
//
// A step: a drain; the sequences that end retire; then, in order of place, each of the batch takes blocks for tokens that do not
// fit, and is extended; then the step of the model. So blocks of one prompt are taken at once, and those of decoding in turns.
//
// The pool has a quarter more blocks than the peak, and at least as many more as one step sends home: these are still on their way
// when those that replace them take theirs.
//
// Where tokens are not kept (any touch mode but `decode`) a block has 16 tokens, there is one for a group, and EXTEND and STEP are
// left out.
#ifndef TB_BATCH_H
#define TB_BATCH_H

#include <stdbool.h>

#include "testbed/workload/schedule.h"
#include "testbed/workload/why.h"

#define TB_BATCH_SEQUENCES_MAX 64u

struct tb_batch {
    uint32_t sequences, context, steps;
    char name[48]; // as short as can be: without STEPS that are 64
};

// 0; -ENOENT: it does not begin with "batch-"; -EINVAL with why: it is none of those above.
int tb_batch_read(const char *name, struct tb_batch *out, struct tb_why *why);

// The schedule of a batch for plain touch modes. *out is malloc'd. 0, -ENOMEM, or as tb_batch_read().
int tb_batch_schedule(const char *name, struct tb_schedule **out, struct tb_why *why);

// --- touch `decode` --------------------------------------------------------------------------------------------------------------

// The schedule of a batch or a recorded trace (known_trace.h) in blocks of so many tokens, `blocks_per_group` for the same
// positions (a block for each layer, or 1). *out is malloc'd. 0, or -errno with the reason in why; -ENOENT: there is no such
// workload, or the trace is not here (tb_known_trace_missing).
int tb_decode_schedule(const char *workload, uint32_t block_tokens, uint32_t blocks_per_group, struct tb_schedule **out,
                       struct tb_why *why);

// Its `tokens_peak`, which does not depend on blocks: so long is the block of a layout that has one for a sequence.
int tb_decode_tokens_peak(const char *workload, uint32_t *out, struct tb_why *why);

#endif
