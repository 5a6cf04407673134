// SPDX-License-Identifier: Apache-2.0
//
// model: see model.h.
#include "testbed/engine/model.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>

#include "testbed/decode/shape.h"

// The inner widths of the published configurations, which a shape does not have. GPT-2 has no gate, so our model of its shape
// reads half as much again there.
static const struct {
    const char *name;
    uint32_t ffn;
} published[] = {
    {"Llama-3.2-1B", 8192}, {"Llama-3-8B", 14336}, {"Llama-3-70B", 28672}, {"Qwen2.5-0.5B", 4864},
    {"Qwen2.5-7B", 18944},  {"GPT-2", 3072},       {TB_MODEL_TINY, 512},
};

static const struct tb_shape tiny = {.name = TB_MODEL_TINY, .layers = 4, .heads = 8, .kv_heads = 4, .head_dim = 32};

static uint32_t ffn_of(const char *name, bool same_width, uint32_t width)
{
    for (size_t i = 0; same_width && i < sizeof published / sizeof *published; i++)
        if (strcasecmp(published[i].name, name) == 0)
            return published[i].ffn;
    return ((uint32_t)((uint64_t)width * 8 / 3) + 255) / 256 * 256;
}

static uint32_t either(uint32_t said, uint32_t otherwise)
{
    return said ? said : otherwise;
}

static int within(const char *what, uint32_t value, uint32_t max, char *why, size_t why_bytes)
{
    if (value >= 1 && value <= max)
        return 0;
    snprintf(why, why_bytes, "%s: %u is not from 1 to %u", what, value, max);
    return -EINVAL;
}

static int check(const struct tb_model *model, char *why, size_t why_bytes)
{
    const struct {
        const char *what;
        uint32_t value, max;
    } limits[] = {
        {"--layers", model->layers, TB_MODEL_LAYERS_MAX},
        {"--width", model->width, TB_MODEL_WIDTH_MAX},
        {"--ffn", model->ffn, TB_MODEL_FFN_MAX},
        {"--vocab", model->vocab, TB_MODEL_VOCAB_MAX},
        {"--context", model->context, TB_MODEL_CONTEXT_MAX},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (within(limits[i].what, limits[i].value, limits[i].max, why, why_bytes))
            return -EINVAL;
    if (model->heads % model->kv_heads)
        snprintf(why, why_bytes, "%u heads cannot share %u KV heads evenly: give --kv-heads a divisor of %u", model->heads,
                 model->kv_heads, model->heads);
    else if (model->head_dim % 2)
        snprintf(why, why_bytes, "heads of %u values cannot be rotated in pairs: give --head-dim an even number", model->head_dim);
    else
        return 0;
    return -EINVAL;
}

int tb_model_complete(const char *shape, struct tb_model *model, char *why, size_t why_bytes)
{
    struct tb_shape from = tiny;
    if (shape && strcasecmp(shape, TB_MODEL_TINY) && tb_shape_parse(shape, &from, why, why_bytes))
        return -EINVAL;
    snprintf(model->name, sizeof model->name, "%s", from.name);
    model->layers = either(model->layers, from.layers);
    model->heads = either(model->heads, from.heads);
    model->kv_heads = either(model->kv_heads, from.kv_heads);
    if (within("--heads", model->heads, TB_MODEL_WIDTH_MAX, why, why_bytes) ||
        within("--kv-heads", model->kv_heads, model->heads, why, why_bytes) ||
        within("--head-dim", either(model->head_dim, 1), TB_MODEL_WIDTH_MAX / model->heads, why, why_bytes))
        return -EINVAL;
    if (model->width && !model->head_dim && model->width % model->heads) {
        snprintf(why, why_bytes, "a width of %u is not divisible by %u heads: give another, or --head-dim", model->width,
                 model->heads);
        return -EINVAL;
    }
    model->head_dim = either(model->head_dim, model->width ? model->width / model->heads : from.head_dim);
    model->width = either(model->width, model->heads * model->head_dim);
    model->ffn = either(model->ffn, ffn_of(from.name, model->width == from.heads * from.head_dim, model->width));
    model->vocab = either(model->vocab, TB_MODEL_VOCAB);
    model->context = either(model->context, TB_MODEL_CONTEXT);
    return check(model, why, why_bytes);
}

// --- how an engine divides it --------------------------------------------------------------------------------------------------

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

bool tb_model_divides(const struct tb_model *model, uint32_t devices)
{
    uint64_t of_kv_head = (uint64_t)(model->heads / model->kv_heads) * model->head_dim, block = 1; // f16 has blocks of one value
    while (block < 128 && block * devices < of_kv_head)
        block *= 2;
    uint64_t unit = common_multiple(of_kv_head, block), width = (uint64_t)model->heads * model->head_dim;
    return width % unit == 0 && width / unit % devices == 0;
}
