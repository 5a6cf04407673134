// SPDX-License-Identifier: Apache-2.0
//
// shape: models by name, as far as their KV cache knows them, and what a token of it costs in bytes.
//
// Several query heads share one KV head (grouped-query attention), so heads / kv_heads is the group G of queries that each byte
// of the cache is read for. A formula that multiplies by `heads` is G times too large.
#ifndef TB_SHAPE_H
#define TB_SHAPE_H

#include <stddef.h>
#include <stdint.h>

struct tb_shape {
    char name[24];
    uint64_t parameters;        // 0: unknown
    uint32_t layers, heads, kv_heads, head_dim;
    uint32_t value_bytes;       // of a weight, and of a value of K or V where nothing else is said
};

#define TB_SHAPE_DEFAULT "Llama-3.2-1B"
#define TB_SHAPE_DIM_UNIT 16u   // a head's values come in such vectors
#define TB_SHAPE_DIM_MAX 256u
#define TB_SHAPE_GROUP_MAX 16u
#define TB_SHAPE_HEADS_MAX 128u
#define TB_SHAPE_LAYERS_MAX 256u

const struct tb_shape *tb_shape_at(size_t i); // NULL after the last
const struct tb_shape *tb_shape_find(const char *name);

// A name, or LAYERSxHEADSxKVHEADSxSIZE ("32x32x8x128"), of values of two bytes. 0 or -EINVAL with why: what is wrong with it.
int tb_shape_parse(const char *text, struct tb_shape *out, char *why, size_t why_bytes);

// K and V of one token: of all layers, and of one.
size_t tb_shape_token_bytes(const struct tb_shape *shape);
size_t tb_shape_layer_bytes(const struct tb_shape *shape);

#endif
