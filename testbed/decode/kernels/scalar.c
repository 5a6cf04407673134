// SPDX-License-Identifier: Apache-2.0
//
// scalar: the kernel that every CPU can run, and the one to read first (../kernel.h). It says what the others must compute.

#include <math.h>

#include "testbed/decode/kernels/kernels.h"

// A row of values as floats: read once, for all queries of the group.
static void row_load(const struct tb_cache *cache, const char *row, size_t value_bytes, float out[])
{
    for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++)
        out[dim] = tb_dtype_load(cache->dtype, row + dim * value_bytes);
}

static float dot(uint32_t dims, const float *q, const float *k)
{
    float sum = 0;
    for (uint32_t dim = 0; dim < dims; dim++)
        sum += q[dim] * k[dim];
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

// Scores to weights.
static void softmax(const struct tb_cache *cache, const struct tb_gather *gather, uint32_t query, uint32_t tokens, float weight[])
{
    float max = gather->max[query], sum = 0;
    for (uint32_t token = 0; token < tokens; token++)
        max = weight[token] > max ? weight[token] : max;
    if (max > gather->max[query])
        scale_down(cache, gather, query, max);
    for (uint32_t token = 0; token < tokens; token++)
        sum += weight[token] = expf(weight[token] - max);
    gather->sum[query] += sum;
}

static void attend(const struct tb_cache *cache, const struct tb_gather *gather, const struct tb_tile *tile)
{
    uint32_t dims = cache->shape.head_dim;
    float row[TB_SHAPE_DIM_MAX], weight[TB_SHAPE_GROUP_MAX][TB_TILE_TOKENS];
    for (uint32_t token = 0; token < tile->tokens; token++) {
        row_load(cache, tile->k + token * cache->k_token_bytes, cache->k_value_bytes, row);
        for (uint32_t query = 0; query < cache->group; query++)
            weight[query][token] = dot(dims, gather->q + query * dims, row);
    }
    for (uint32_t query = 0; query < cache->group; query++)
        softmax(cache, gather, query, tile->tokens, weight[query]);
    for (uint32_t token = 0; token < tile->tokens; token++) {
        row_load(cache, tile->v + token * cache->v_token_bytes, tb_dtype_bytes(cache->dtype), row);
        for (uint32_t query = 0; query < cache->group; query++)
            for (uint32_t dim = 0; dim < dims; dim++)
                gather->acc[query * dims + dim] += weight[query][token] * row[dim];
    }
}

static bool usable(void)
{
    return true;
}

const struct tb_kernel tb_kernel_scalar = {"scalar", usable, {attend, attend, attend}, 0};
