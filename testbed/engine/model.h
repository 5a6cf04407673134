// SPDX-License-Identifier: Apache-2.0
//
// model: how large a model of the llama architecture is, from a shape of testbed/decode or the smallest that is useful, and from
// what is said otherwise. Pure functions, any thread.
//
// How fast an engine is does not depend on what the weights are, so a model of random weights stands for one of its shape. The
// vocabulary is the exception to that: it is small unless asked for, as we ask about the cache of K and V, and the last
// multiplication would only add the same time to every token.
#ifndef TB_MODEL_H
#define TB_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_MODEL_TINY "tiny"    // the name of the smallest: 4 layers of 256, 5 MB
#define TB_MODEL_VOCAB 512u
#define TB_MODEL_CONTEXT 32768u // only written down: an engine takes it where it is told no other
#define TB_MODEL_LAYERS_MAX 512u // that llama.cpp takes
#define TB_MODEL_WIDTH_MAX 65536u
#define TB_MODEL_FFN_MAX 262144u
#define TB_MODEL_VOCAB_MAX 1048576u
#define TB_MODEL_CONTEXT_MAX (1u << 30)

struct tb_model {
    char name[24];
    uint32_t layers, width, heads, kv_heads, head_dim;
    uint32_t ffn, vocab, context;
};

// Completes `model`, in which 0 stands for what nobody said, by the shape of this name (NULL: tiny), and checks it. The width is
// heads * head_dim, or where only the width was said, head_dim is its share. A shape has the published inner width; one that has
// none, or another width, follows the rule of the first Llama: 8/3 of the width, rounded up to a multiple of 256. 0 or -EINVAL
// with why: what is wrong, and the remedy.
int tb_model_complete(const char *shape, struct tb_model *model, char *why, size_t why_bytes);

// Does llama.cpp, with -sm tensor, give each of `devices` the same share of every layer's attention? It divides the query heads
// in units: those of a KV head, rounded up to a common multiple of 128 values (fewer where the units would be too few).
// pre: devices > 0.
bool tb_model_divides(const struct tb_model *model, uint32_t devices);

#endif
