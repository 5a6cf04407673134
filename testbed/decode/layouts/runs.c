// SPDX-License-Identifier: Apache-2.0
//
// runs: a block for each layer, K and V row by row, and for each head all K of the block before all V.

#include "testbed/decode/layouts/layouts.h"

static void place(struct tb_cache *cache)
{
    tb_layout_rows(cache, cache->block_tokens);
}

const struct tb_layout tb_layout_runs = {
    .name = "runs",
    .summary = "a block for a layer: of each head all K, then all V",
    .place = place,
};
