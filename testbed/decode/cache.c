// SPDX-License-Identifier: Apache-2.0
//
// cache: see cache.h. The list of layouts, and the one function that writes.

#include "testbed/decode/cache.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "testbed/decode/layouts/layouts.h"

static const struct tb_layout *const layouts[] = {
    &tb_layout_contiguous, &tb_layout_runs, &tb_layout_interleaved, &tb_layout_columns, &tb_layout_layers, &tb_layout_tokens,
};

const struct tb_layout *tb_layout_at(size_t i)
{
    return i < sizeof layouts / sizeof *layouts ? layouts[i] : NULL;
}

const struct tb_layout *tb_layout_find(const char *name)
{
    for (size_t i = 0; tb_layout_at(i); i++)
        if (strcasecmp(layouts[i]->name, name) == 0)
            return layouts[i];
    return NULL;
}

int tb_cache_open(struct tb_cache *out, const struct tb_shape *shape, enum tb_dtype dtype, const struct tb_layout *layout,
                  uint32_t block_tokens, char *why, size_t why_bytes)
{
    if (block_tokens == 0 || block_tokens % TB_TILE_TOKENS || block_tokens > TB_BLOCK_TOKENS_MAX) {
        snprintf(why, why_bytes, "a block has a multiple of %u tokens, up to %u, and not %u", TB_TILE_TOKENS, TB_BLOCK_TOKENS_MAX,
                 block_tokens);
        return -EINVAL;
    }
    *out = (struct tb_cache){
        .shape = *shape,
        .dtype = dtype,
        .layout = layout,
        .block_tokens = block_tokens,
        .group = shape->heads / shape->kv_heads,
        .row_bytes = shape->head_dim * tb_dtype_bytes(dtype),
    };
    out->shape.value_bytes = (uint32_t)tb_dtype_bytes(dtype);
    layout->place(out);
    return 0;
}

#define ROW_UNIT (2 * TB_SHAPE_DIM_UNIT)

void tb_cache_k_store(const struct tb_cache *cache, char *to, const char *row)
{
    size_t bytes = tb_dtype_bytes(cache->dtype);
    if (cache->k_value_bytes == bytes) {
        tb_cache_copy(to, row, cache->row_bytes, ROW_UNIT);
        return;
    }
    for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++)
        memcpy(to + dim * cache->k_value_bytes, row + dim * bytes, bytes);
}

void tb_cache_v_store(const struct tb_cache *cache, char *to, const char *row)
{
    tb_cache_copy(to, row, cache->row_bytes, ROW_UNIT);
}

void tb_cache_append(const struct tb_cache *cache, char *const blocks[], uint32_t layer, uint32_t position, const void *k,
                     const void *v)
{
    char *block = tb_cache_block(cache, blocks, layer, position / cache->block_tokens);
    uint32_t token = position % cache->block_tokens;
    for (uint32_t head = 0; head < cache->shape.kv_heads; head++) {
        tb_cache_k_store(cache, tb_cache_k(cache, block, head, token), (const char *)k + head * cache->row_bytes);
        tb_cache_v_store(cache, tb_cache_v(cache, block, head, token), (const char *)v + head * cache->row_bytes);
    }
}

// One run's rows of K or V: one span where they follow each other.
static void rows_visit(const struct tb_cache *cache, char *at, size_t token_bytes, uint32_t tokens, tb_cache_span_fn *visit,
                       void *context)
{
    if (token_bytes == cache->row_bytes) {
        visit(context, at, tokens * cache->row_bytes);
        return;
    }
    for (uint32_t token = 0; token < tokens; token++)
        visit(context, at + token * token_bytes, cache->row_bytes);
}

static void columns_visit(const struct tb_cache *cache, char *at, uint32_t tokens, tb_cache_span_fn *visit, void *context)
{
    for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++)
        visit(context, at + dim * cache->k_value_bytes, tokens * cache->k_token_bytes);
}

void tb_cache_spans(const struct tb_cache *cache, char *block, uint32_t begin, uint32_t end, tb_cache_span_fn *visit, void *context)
{
    bool columns = cache->k_value_bytes != tb_dtype_bytes(cache->dtype);
    for (uint32_t tokens; begin < end; begin += tokens) {
        uint32_t run_end = (begin / cache->run_tokens + 1) * cache->run_tokens;
        tokens = (run_end < end ? run_end : end) - begin;
        for (uint32_t head = 0; head < cache->shape.kv_heads; head++) {
            char *k = tb_cache_k(cache, block, head, begin);
            if (columns)
                columns_visit(cache, k, tokens, visit, context);
            else
                rows_visit(cache, k, cache->k_token_bytes, tokens, visit, context);
            rows_visit(cache, tb_cache_v(cache, block, head, begin), cache->v_token_bytes, tokens, visit, context);
        }
    }
}
