// SPDX-License-Identifier: Apache-2.0
//
// tokens: PageForge's. One block for all layers, token after token; a token has K of all layers and heads, then V of them. An
// append writes one piece of memory, and reading a layer's head skips from token to token.

#include "testbed/decode/layouts/layouts.h"

static void place(struct tb_cache *cache)
{
    cache->run_tokens = cache->block_tokens;
    cache->k_value_bytes = tb_dtype_bytes(cache->dtype);
    cache->head_bytes = cache->row_bytes;
    cache->layer_bytes = cache->shape.kv_heads * cache->row_bytes;
    cache->v_bytes = cache->shape.layers * cache->layer_bytes;
    cache->k_token_bytes = cache->v_token_bytes = 2 * cache->v_bytes;
    cache->run_bytes = cache->block_tokens * cache->k_token_bytes;
    cache->block_layers = cache->shape.layers;
    cache->block_bytes = cache->run_bytes;
}

const struct tb_layout tb_layout_tokens = {
    .name = "tokens",
    .summary = "one block for all layers, token after token (PageForge)",
    .place = place,
};
