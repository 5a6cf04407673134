// SPDX-License-Identifier: Apache-2.0
//
// interleaved: as runs, but K and V take turns every 4 KiB. Where a run of K is longer than a page, reading K and V alternately
// is two streams and not one: a Zen 4 CPU drew 0.45 of one stream's bandwidth from runs of 8 KiB, and all of it from runs of 4 KiB.

#include "testbed/decode/layouts/layouts.h"

#define TURN_BYTES 4096u

// The most tokens whose K fit into a turn and that divide the block.
static uint32_t run_tokens(const struct tb_cache *cache)
{
    uint32_t tokens = TB_TILE_TOKENS;
    while (2 * tokens * cache->row_bytes <= TURN_BYTES && cache->block_tokens % (2 * tokens) == 0)
        tokens *= 2;
    return tokens;
}

static void place(struct tb_cache *cache)
{
    tb_layout_rows(cache, run_tokens(cache));
}

const struct tb_layout tb_layout_interleaved = {
    .name = "interleaved",
    .summary = "a block for a layer: of each head K and V in turns of 4 KiB",
    .place = place,
};
