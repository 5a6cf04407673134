// SPDX-License-Identifier: Apache-2.0
//
// bill: the parts of a step, by what its operations do. A callback (cb_eval of llama.h) says after which operation it wants to be
// called, and the engine computes all up to that one in one go. So the time of each run of operations of one kind is seen, at the
// price of one more start of the threads for each run.
#ifndef TB_LLAMA_BILL_H
#define TB_LLAMA_BILL_H

#include "testbed/engine/llama/session.h"

enum tb_llama_part {
    TB_LLAMA_PART_WEIGHTS,      // products with weights, and their rows
    TB_LLAMA_PART_KV_READ,      // operations that read the KV cache: attention
    TB_LLAMA_PART_KV_WRITTEN,   // the step's keys and values into it
    TB_LLAMA_PART_REST,         // every other operation: norms, rotations, activations, sums
    TB_LLAMA_PART_ENGINE,       // outside of operations: cells are found, a graph is made or reused, logits come out
    TB_LLAMA_PARTS
};

extern const char *const tb_llama_part_names[TB_LLAMA_PARTS];

struct tb_llama_bill {
    uint64_t part_ns[TB_LLAMA_PARTS]; // their sum is that of step_ns
    uint64_t *step_ns;          // [steps], made by the caller
};

// Opens the session's context anew, reads the prompts, and takes the steps once more, without their logits being looked at. The
// first `warmup` steps neither count nor are in step_ns. Nothing may be decoded afterwards. 0, or -1 with why.
int tb_llama_bill(struct tb_llama *llama, uint32_t steps, uint32_t warmup, struct tb_llama_bill *bill, char *why, size_t why_bytes);

#endif
