// SPDX-License-Identifier: Apache-2.0
//
// contiguous: no blocks. A sequence has one piece of memory for each layer, as long as it may become: what engines without paging
// reserve, and what paged memory is compared with.

#include "testbed/decode/layouts/layouts.h"

static void place(struct tb_cache *cache)
{
    tb_layout_rows(cache, cache->block_tokens);
}

const struct tb_layout tb_layout_contiguous = {
    .name = "contiguous",
    .summary = "one piece of memory for a sequence and layer",
    .whole = true,
    .place = place,
};
