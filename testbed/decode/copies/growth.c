// SPDX-License-Identifier: Apache-2.0
//
// growth: K and V that are copied whenever they become longer. See copies.h.
//
// Invariant: K and V of a layer each are one tensor without gaps but for the unused end of each head's rows, and the old one is
// freed only when the new one is complete. K goes before V, and a layer's memory is got and freed in turn, as an engine written in
// PyTorch does it: the order is what an allocator sees.

#include <errno.h>
#include <stdlib.h>

#include "testbed/decode/copies/copies.h"
#include "testbed/decode/layouts/layouts.h"

struct tensor {
    char *rows;                 // [kv_heads][capacity][head_dim]
    uint32_t tokens, capacity;
};

struct tb_growth {
    struct tb_cache cache;      // of the layer that was viewed last
    enum tb_growth_how how;
    struct tensor k[TB_SHAPE_LAYERS_MAX], v[TB_SHAPE_LAYERS_MAX];
    char *blocks[TB_SHAPE_LAYERS_MAX];
};

int tb_growth_open(struct tb_growth **out, const struct tb_shape *shape, enum tb_dtype dtype, enum tb_growth_how how)
{
    char why[160];
    struct tb_growth *growth = calloc(1, sizeof *growth);
    if (!growth)
        return -ENOMEM;
    int error = tb_cache_open(&growth->cache, shape, dtype, &tb_layout_contiguous, TB_TILE_TOKENS, why, sizeof why);
    if (error) {
        free(growth);
        return error;
    }
    growth->how = how;
    *out = growth;
    return 0;
}

void tb_growth_clear(struct tb_growth *growth)
{
    for (uint32_t layer = 0; layer < growth->cache.shape.layers; layer++) {
        free(growth->k[layer].rows);
        free(growth->v[layer].rows);
        growth->k[layer] = growth->v[layer] = (struct tensor){0};
    }
}

void tb_growth_close(struct tb_growth *growth)
{
    if (growth)
        tb_growth_clear(growth);
    free(growth);
}

static uint32_t capacity_for(const struct tb_growth *growth, const struct tensor *tensor, uint32_t tokens)
{
    uint32_t capacity = tensor->capacity ? tensor->capacity : TB_TILE_TOKENS;
    if (growth->how == TB_GROWTH_CAT)
        return tokens;
    while (capacity < tokens)
        capacity *= 2;
    return capacity;
}

// New memory for the rows that are there. *old is what they were in, for the caller to free.
static int move(const struct tb_growth *growth, struct tensor *tensor, uint32_t capacity, char **old)
{
    size_t row_bytes = growth->cache.row_bytes, heads = growth->cache.shape.kv_heads;
    void *rows;
    *old = NULL;
    if (capacity == tensor->capacity)
        return 0;
    int error = posix_memalign(&rows, 64, heads * capacity * row_bytes);
    if (error)
        return -error;
    for (size_t head = 0; head < heads && tensor->tokens; head++)
        memcpy((char *)rows + head * capacity * row_bytes, tensor->rows + head * tensor->capacity * row_bytes,
               tensor->tokens * row_bytes);
    *old = tensor->rows;
    tensor->rows = rows;
    tensor->capacity = capacity;
    return 0;
}

static int append(const struct tb_growth *growth, struct tensor *tensor, uint32_t tokens, const char *from)
{
    size_t row_bytes = growth->cache.row_bytes;
    char *old;
    int error = move(growth, tensor, capacity_for(growth, tensor, tensor->tokens + tokens), &old);
    if (error)
        return error;
    for (size_t head = 0; head < growth->cache.shape.kv_heads; head++)
        memcpy(tensor->rows + (head * tensor->capacity + tensor->tokens) * row_bytes, from + head * tokens * row_bytes,
               tokens * row_bytes);
    tensor->tokens += tokens;
    free(old);
    return 0;
}

int tb_growth_append(struct tb_growth *growth, uint32_t layer, uint32_t tokens, const char *k, const char *v)
{
    int error = append(growth, &growth->k[layer], tokens, k);
    return error ? error : append(growth, &growth->v[layer], tokens, v);
}

const struct tb_cache *tb_growth_cache(const struct tb_growth *growth)
{
    return &growth->cache;
}

// The layer's block begins at the lower one of both tensors, so that both distances are positive.
struct tb_sequence tb_growth_view(struct tb_growth *growth, uint32_t layer)
{
    const struct tensor *k = &growth->k[layer], *v = &growth->v[layer];
    struct tb_cache *cache = &growth->cache;
    uintptr_t of_k = (uintptr_t)k->rows, of_v = (uintptr_t)v->rows, low = of_k < of_v ? of_k : of_v;
    growth->blocks[layer] = of_k < of_v ? k->rows : v->rows;
    cache->k_bytes = of_k - low;
    cache->v_bytes = of_v - low;
    cache->block_tokens = cache->run_tokens = k->capacity;
    cache->head_bytes = cache->run_bytes = k->capacity * cache->row_bytes;
    return (struct tb_sequence){growth->blocks, k->tokens};
}
