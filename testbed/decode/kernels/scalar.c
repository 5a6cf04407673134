// SPDX-License-Identifier: Apache-2.0
//
// scalar: the kernel that every CPU can run, and the one to read first (../kernel.h). It says what the others must compute.

#include <math.h>

#include "testbed/decode/kernel.h"

static float dot(const struct tb_cache *cache, const float *q, const char *k)
{
    float sum = 0;
    for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++)
        sum += q[dim] * tb_dtype_load(cache->dtype, k + dim * cache->k_value_bytes);
    return sum;
}

// A new maximum: what was gathered so far weighs less.
static void scale_down(const struct tb_cache *cache, const struct tb_gather *gather, uint32_t query, float max)
{
    float scale = expf(gather->max[query] - max);
    for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++)
        gather->acc[query * cache->shape.head_dim + dim] *= scale;
    for (uint32_t place = 0; place < TB_TILE_TOKENS; place++)
        gather->sum[query * TB_TILE_TOKENS + place] *= scale;
    gather->max[query] = max;
}

static void tile(const struct tb_cache *cache, const struct tb_gather *gather, uint32_t query, const char *k, const char *v,
                 uint32_t tokens)
{
    const float *q = gather->q + query * cache->shape.head_dim;
    float *acc = gather->acc + query * cache->shape.head_dim, score[TB_TILE_TOKENS], max = gather->max[query];
    for (uint32_t token = 0; token < tokens; token++) {
        score[token] = dot(cache, q, k + token * cache->k_token_bytes);
        max = score[token] > max ? score[token] : max;
    }
    if (max > gather->max[query])
        scale_down(cache, gather, query, max);
    for (uint32_t token = 0; token < tokens; token++) {
        float weight = expf(score[token] - max);
        gather->sum[query * TB_TILE_TOKENS + token] += weight;
        for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++)
            acc[dim] += weight * tb_dtype_load(cache->dtype, v + token * cache->v_token_bytes + dim * tb_dtype_bytes(cache->dtype));
    }
}

static void attend(const struct tb_cache *cache, const struct tb_gather *gather, const struct tb_rows *rows)
{
    for (uint32_t begin = 0; begin < rows->tokens; begin += TB_TILE_TOKENS) {
        uint32_t tokens = rows->tokens - begin < TB_TILE_TOKENS ? rows->tokens - begin : TB_TILE_TOKENS;
        for (uint32_t query = 0; query < cache->group; query++)
            tile(cache, gather, query, rows->k + begin * cache->k_token_bytes, rows->v + begin * cache->v_token_bytes, tokens);
    }
}

static bool usable(void)
{
    return true;
}

const struct tb_kernel tb_kernel_scalar = {"scalar", usable, {attend, attend, attend}};
