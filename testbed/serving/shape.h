// SPDX-License-Identifier: Apache-2.0
//
// shape: models by name: what a token costs in bytes of KV cache, and what a step costs on a stated machine.
#ifndef TB_SHAPE_H
#define TB_SHAPE_H

#include <stddef.h>
#include <stdint.h>

struct tb_clock;

struct tb_shape {
    const char *name;
    uint64_t parameters;
    uint32_t layers, kv_heads, head_dim;
    uint32_t value_bytes;       // of a weight, and of a value of K or V
};

#define TB_SHAPE_DEFAULT "Llama-3.2-1B"

const struct tb_shape *tb_shape_at(size_t i); // NULL after the last
const struct tb_shape *tb_shape_find(const char *name);

// K and V of all layers. Heads of queries that share K and V do not count.
size_t tb_shape_token_bytes(const struct tb_shape *shape);

// On a machine that reads 100 GB/s and computes 2 Tflop/s: a step reads all weights once; a prompt's token takes two operations for
// each. At most 2,048 tokens of prompts in a step. All of it is stated, not measured.
struct tb_clock tb_shape_clock(const struct tb_shape *shape);

#endif
