// SPDX-License-Identifier: Apache-2.0
//
// shape: see shape.h. The numbers are those of the published configurations.

#include "testbed/decode/shape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct tb_shape shapes[] = {
    {"Llama-3.2-1B", 1240000000, 16, 32, 8, 64, 2},  {"Llama-3-8B", 8030000000, 32, 32, 8, 128, 2},
    {"Llama-3-70B", 70600000000, 80, 64, 8, 128, 2}, {"Qwen2.5-0.5B", 494000000, 24, 14, 2, 64, 2},
    {"Qwen2.5-7B", 7620000000, 28, 28, 4, 128, 2},   {"GPT-2", 124000000, 12, 12, 12, 64, 2},
};

const struct tb_shape *tb_shape_at(size_t i)
{
    return i < sizeof shapes / sizeof *shapes ? &shapes[i] : NULL;
}

const struct tb_shape *tb_shape_find(const char *name)
{
    for (size_t i = 0; tb_shape_at(i); i++)
        if (strcasecmp(shapes[i].name, name) == 0)
            return &shapes[i];
    return NULL;
}

static int say(char *why, size_t why_bytes, const char *text, const char *what)
{
    snprintf(why, why_bytes, "'%.40s': %s", text, what);
    return -EINVAL;
}

static const char *fault_of(const struct tb_shape *shape)
{
    if (shape->layers == 0 || shape->layers > TB_SHAPE_LAYERS_MAX)
        return "layers are 1 to 256";
    if (shape->heads == 0 || shape->heads > TB_SHAPE_HEADS_MAX)
        return "heads are 1 to 128";
    if (shape->kv_heads == 0 || shape->heads % shape->kv_heads || shape->heads / shape->kv_heads > TB_SHAPE_GROUP_MAX)
        return "each KV head serves as many heads as the others, 1 to 16";
    if (shape->head_dim == 0 || shape->head_dim % TB_SHAPE_DIM_UNIT || shape->head_dim > TB_SHAPE_DIM_MAX)
        return "a head's size is a multiple of 16, up to 256";
    return NULL;
}

int tb_shape_parse(const char *text, struct tb_shape *out, char *why, size_t why_bytes)
{
    const struct tb_shape *found = tb_shape_find(text);
    struct tb_shape shape = {.value_bytes = 2};
    int end = 0;
    if (found) {
        *out = *found;
        return 0;
    }
    if (sscanf(text, "%4ux%4ux%4ux%4u%n", &shape.layers, &shape.heads, &shape.kv_heads, &shape.head_dim, &end) != 4 || text[end])
        return say(why, why_bytes, text,
                   "is no shape: Llama-3.2-1B, Llama-3-8B, Llama-3-70B, Qwen2.5-0.5B, Qwen2.5-7B, GPT-2, or "
                   "LAYERSxHEADSxKVHEADSxSIZE");
    const char *fault = fault_of(&shape);
    if (fault)
        return say(why, why_bytes, text, fault);
    snprintf(shape.name, sizeof shape.name, "%ux%ux%ux%u", shape.layers, shape.heads, shape.kv_heads, shape.head_dim);
    *out = shape;
    return 0;
}

size_t tb_shape_layer_bytes(const struct tb_shape *shape)
{
    return (size_t)2 * shape->kv_heads * shape->head_dim * shape->value_bytes;
}

size_t tb_shape_token_bytes(const struct tb_shape *shape)
{
    return shape->layers * tb_shape_layer_bytes(shape);
}
