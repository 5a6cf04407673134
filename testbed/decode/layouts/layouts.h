// SPDX-License-Identifier: Apache-2.0
//
// layouts: one file each (../cache.h). What most have in common is rows: K row by row, V row by row, head after head.
#ifndef TB_LAYOUTS_H
#define TB_LAYOUTS_H

#include "testbed/decode/cache.h"

extern const struct tb_layout tb_layout_contiguous, tb_layout_runs, tb_layout_interleaved, tb_layout_columns, tb_layout_layers,
    tb_layout_tokens;

// Heads one after the other, each in runs of `run_tokens`: K row by row, then V row by row. One layer.
static inline void tb_layout_rows(struct tb_cache *cache, uint32_t run_tokens)
{
    cache->run_tokens = run_tokens;
    cache->k_token_bytes = cache->v_token_bytes = cache->row_bytes;
    cache->k_value_bytes = tb_dtype_bytes(cache->dtype);
    cache->v_bytes = run_tokens * cache->row_bytes;
    cache->run_bytes = 2 * cache->v_bytes;
    cache->head_bytes = cache->block_tokens / run_tokens * cache->run_bytes;
    cache->layer_bytes = cache->shape.kv_heads * cache->head_bytes;
    cache->block_layers = 1;
    cache->block_bytes = cache->layer_bytes;
}

#endif
