// SPDX-License-Identifier: Apache-2.0
//
// shape: see shape.h. The numbers are those of the published configurations.

#include "testbed/serving/shape.h"

#include <string.h>

#include "testbed/serving/serving.h"

static const struct tb_shape shapes[] = {
    {"Llama-3.2-1B", 1240000000, 16, 8, 64, 2},  {"Llama-3-8B", 8030000000, 32, 8, 128, 2},
    {"Llama-3-70B", 70600000000, 80, 8, 128, 2}, {"Qwen2.5-0.5B", 494000000, 24, 2, 64, 2},
    {"Qwen2.5-7B", 7620000000, 28, 4, 128, 2},   {"GPT-2", 124000000, 12, 12, 64, 2},
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

size_t tb_shape_token_bytes(const struct tb_shape *shape)
{
    return (size_t)2 * shape->layers * shape->kv_heads * shape->head_dim * shape->value_bytes;
}

#define BYTES_PER_NS 100u // 100 GB/s
#define OPERATIONS_PER_NS 2000u // 2 Tflop/s
#define PROMPT_TOKENS 2048u

struct tb_clock tb_shape_clock(const struct tb_shape *shape)
{
    return (struct tb_clock){
        .step_ns = shape->parameters * shape->value_bytes / BYTES_PER_NS,
        .read_ps = 1000 / BYTES_PER_NS,
        .prompt_ns = 2 * shape->parameters / OPERATIONS_PER_NS,
        .prompt_tokens = PROMPT_TOKENS,
    };
}
