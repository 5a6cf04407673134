// SPDX-License-Identifier: Apache-2.0
//
// columns: vLLM's on a CPU. Inside a block, K is kept column by column, [head_dim][block_tokens], so that scores of many positions
// are computed side by side; V is kept row by row, and follows all heads' K. The price is an append that writes head_dim values
// into as many lines.

#include "testbed/decode/layouts/layouts.h"

static void place(struct tb_cache *cache)
{
    size_t half_bytes = cache->block_tokens * cache->row_bytes; // a head's K
    cache->run_tokens = cache->block_tokens;
    cache->k_token_bytes = tb_dtype_bytes(cache->dtype);
    cache->k_value_bytes = cache->block_tokens * cache->k_token_bytes;
    cache->v_token_bytes = cache->row_bytes;
    cache->head_bytes = half_bytes;
    cache->run_bytes = half_bytes;
    cache->v_bytes = cache->shape.kv_heads * half_bytes;
    cache->layer_bytes = 2 * cache->v_bytes;
    cache->block_layers = 1;
    cache->block_bytes = cache->layer_bytes;
}

const struct tb_layout tb_layout_columns = {
    .name = "columns",
    .summary = "a block for a layer: K column by column, then V row by row (vLLM on a CPU)",
    .place = place,
};
