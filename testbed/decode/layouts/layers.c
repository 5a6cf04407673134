// SPDX-License-Identifier: Apache-2.0
//
// layers: one block for all layers, layer after layer, each as in runs. One allocation where others make one for each layer.

#include "testbed/decode/layouts/layouts.h"

static void place(struct tb_cache *cache)
{
    tb_layout_rows(cache, cache->block_tokens);
    cache->block_layers = cache->shape.layers;
    cache->block_bytes = cache->shape.layers * cache->layer_bytes;
}

const struct tb_layout tb_layout_layers = {
    .name = "layers",
    .summary = "one block for all layers, layer after layer as in runs",
    .place = place,
};
