// SPDX-License-Identifier: Apache-2.0
//
// decode_world: sequences with known K and V in shuffled blocks, and the attention of one layer of them in double, computed from
// the numbers and not from memory.
#ifndef TB_DECODE_WORLD_H
#define TB_DECODE_WORLD_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "testbed/decode/attend.h"

struct world {
    struct tb_cache cache;
    uint32_t tokens;
    char *memory, **blocks;
    float *q, *out;
    float spread;               // of the values; large ones make scores large
    bool equal;                 // all K are the same: equal scores
    double score_least, score_most; // as world_error() found them
};

// A number from -1 to 1 for each value of K and V, from its place alone.
static inline float world_number(uint32_t kind, uint32_t layer, uint32_t head, uint32_t token, uint32_t dim)
{
    uint64_t x = ((((uint64_t)kind * 131 + layer) * 131 + head) * 1048583 + token) * 263 + dim;
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (float)((double)(x >> 40) / (1 << 23) - 1);
}

// As it is kept: rounded to the type.
static inline float world_k(const struct world *world, uint32_t layer, uint32_t head, uint32_t token, uint32_t dim)
{
    char kept[4];
    tb_dtype_store(world->cache.dtype, kept, world->spread * world_number(0, layer, head, world->equal ? 0 : token, dim));
    return tb_dtype_load(world->cache.dtype, kept);
}

static inline float world_v(const struct world *world, uint32_t layer, uint32_t head, uint32_t token, uint32_t dim)
{
    char kept[4];
    tb_dtype_store(world->cache.dtype, kept, world_number(1, layer, head, token, dim));
    return tb_dtype_load(world->cache.dtype, kept);
}

static inline void world_append(struct world *world, uint32_t layer, uint32_t token)
{
    const struct tb_cache *cache = &world->cache;
    size_t bytes = tb_dtype_bytes(cache->dtype), head_dim = cache->shape.head_dim;
    char k[TB_SHAPE_HEADS_MAX * TB_SHAPE_DIM_MAX * 4], v[sizeof k];
    for (uint32_t head = 0; head < cache->shape.kv_heads; head++)
        for (uint32_t dim = 0; dim < head_dim; dim++) {
            tb_dtype_store(cache->dtype, k + (head * head_dim + dim) * bytes, world_k(world, layer, head, token, dim));
            tb_dtype_store(cache->dtype, v + (head * head_dim + dim) * bytes, world_v(world, layer, head, token, dim));
        }
    tb_cache_append(cache, world->blocks, layer, token, k, v);
}

// The blocks lie in memory in an order that has nothing to do with their positions, and what nobody wrote is NaN in every type.
static inline void world_open(struct world *world, const char *shape, enum tb_dtype value, const char *layout,
                              uint32_t block_tokens, uint32_t tokens)
{
    char why[160];
    struct tb_shape parsed;
    cr_assert_eq(tb_shape_parse(shape, &parsed, why, sizeof why), 0, "%s", why);
    cr_assert_eq(tb_cache_open(&world->cache, &parsed, value, tb_layout_find(layout), block_tokens, why, sizeof why), 0, "%s", why);
    world->tokens = tokens;
    uint32_t blocks = tb_cache_blocks(&world->cache, tokens);
    world->memory = aligned_alloc(4096, (blocks * world->cache.block_bytes + 4095) / 4096 * 4096);
    world->blocks = calloc(blocks, sizeof *world->blocks);
    memset(world->memory, 0xff, blocks * world->cache.block_bytes);
    for (uint32_t i = 0; i < blocks; i++)
        world->blocks[i] = world->memory + (size_t)(blocks - 1 - i) * world->cache.block_bytes;
    for (uint32_t i = blocks; i-- > 1;) {
        uint32_t other = i * 7919u % (i + 1);
        char *block = world->blocks[i];
        world->blocks[i] = world->blocks[other];
        world->blocks[other] = block;
    }
    for (uint32_t layer = 0; layer < parsed.layers; layer++)
        for (uint32_t token = 0; token < tokens; token++)
            world_append(world, layer, token);
    size_t numbers = (size_t)parsed.heads * parsed.head_dim;
    world->q = malloc(numbers * sizeof(float));
    world->out = malloc(numbers * sizeof(float));
    for (size_t i = 0; i < numbers; i++)
        world->q[i] = world->spread * world_number(2, 0, 0, 0, (uint32_t)i);
}

static inline void world_close(struct world *world)
{
    free(world->memory);
    free(world->blocks);
    free(world->q);
    free(world->out);
}

static inline void world_attend(struct world *world, const struct tb_kernel *kernel, uint32_t threads, uint32_t layer)
{
    struct tb_team *team;
    struct tb_attention *attention;
    struct tb_sequence sequence = {world->blocks, world->tokens};
    cr_assert_eq(tb_team_open(&team, threads, NULL), 0);
    cr_assert_eq(tb_attention_open(&attention, &world->cache, kernel, team, 1), 0);
    tb_attend(attention, layer, &sequence, 1, world->q, world->out);
    tb_attention_close(attention);
    tb_team_close(team);
}

static inline double world_score(const struct world *world, uint32_t layer, uint32_t head, uint32_t token)
{
    const struct tb_shape *shape = &world->cache.shape;
    double score = 0;
    for (uint32_t dim = 0; dim < shape->head_dim; dim++)
        score += (double)world->q[head * shape->head_dim + dim] * world_k(world, layer, head / world->cache.group, token, dim);
    return score / sqrt(shape->head_dim);
}

// The most that a result differs from the one in double, relative to the largest V (1).
static inline double world_error(struct world *world, uint32_t layer)
{
    const struct tb_shape *shape = &world->cache.shape;
    double *weights = malloc(world->tokens * sizeof *weights), worst = 0;
    world->score_least = INFINITY;
    world->score_most = -INFINITY;
    for (uint32_t head = 0; head < shape->heads; head++) {
        double max = -INFINITY, sum = 0;
        for (uint32_t token = 0; token < world->tokens; token++) {
            weights[token] = world_score(world, layer, head, token);
            max = fmax(max, weights[token]);
            world->score_least = fmin(world->score_least, weights[token]);
        }
        world->score_most = fmax(world->score_most, max);
        for (uint32_t token = 0; token < world->tokens; token++)
            sum += weights[token] = exp(weights[token] - max);
        for (uint32_t dim = 0; dim < shape->head_dim; dim++) {
            double value = 0, differs;
            for (uint32_t token = 0; token < world->tokens; token++)
                value += weights[token] / sum * world_v(world, layer, head / world->cache.group, token, dim);
            differs = fabs(value - world->out[head * shape->head_dim + dim]);
            worst = differs <= worst ? worst : differs; // also of no number
        }
    }
    free(weights);
    return isnan(worst) ? INFINITY : worst;
}

#endif
