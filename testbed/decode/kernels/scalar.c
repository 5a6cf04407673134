// SPDX-License-Identifier: Apache-2.0
//
// scalar: the kernel that every CPU can run, and the one to read first (../kernel.h). It says what the others must compute.

#include <math.h>

#include "testbed/decode/kernels/kernels.h"

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
    gather->sum[query] *= scale;
    gather->max[query] = max;
}

static void query_attend(const struct tb_cache *cache, const struct tb_gather *gather, uint32_t query, const struct tb_tile *tile)
{
    const float *q = gather->q + query * cache->shape.head_dim;
    float *acc = gather->acc + query * cache->shape.head_dim, score[TB_TILE_TOKENS], max = gather->max[query], sum = 0;
    for (uint32_t token = 0; token < tile->tokens; token++) {
        score[token] = dot(cache, q, tile->k + token * cache->k_token_bytes);
        max = score[token] > max ? score[token] : max;
    }
    if (max > gather->max[query])
        scale_down(cache, gather, query, max);
    for (uint32_t token = 0; token < tile->tokens; token++) {
        const char *v = tile->v + token * cache->v_token_bytes;
        float weight = expf(score[token] - max);
        sum += weight;
        for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++)
            acc[dim] += weight * tb_dtype_load(cache->dtype, v + dim * tb_dtype_bytes(cache->dtype));
    }
    gather->sum[query] += sum;
}

static void attend(const struct tb_cache *cache, const struct tb_gather *gather, const struct tb_tile *tile)
{
    for (uint32_t query = 0; query < cache->group; query++)
        query_attend(cache, gather, query, tile);
}

static bool usable(void)
{
    return true;
}

const struct tb_kernel tb_kernel_scalar = {"scalar", usable, {attend, attend, attend}};
