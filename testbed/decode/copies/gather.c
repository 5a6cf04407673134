// SPDX-License-Identifier: Apache-2.0
//
// gather: the pages of a sequence into one piece of memory. See copies.h.
//
// Invariant: source and target are walked in the order in which the source lies, page by page, and each byte is read once. The
// target then has as many places that grow as a layer has heads, times two, which costs less than leaving a page and coming back
// (pages of 64 KiB, shuffled, 256 MiB: 170 ns a KiB against 185 head by head, on a Sapphire Rapids). Pieces of 4 KiB cost a tenth
// more than one memcpy in the second level of cache, by whatever instructions, and fetching the next ahead changes nothing there.
// Past the caches it does: 129 ns a KiB without, 112 with 4 KiB ahead.
//
// Where a page has rows of one head side by side (`runs` and its kin), a piece is a run of them; where a token's heads lie side by
// side (`tokens`), it is a row; and in `columns` K has a piece for each column of a page.

#include <errno.h>
#include <stdio.h>

#include "testbed/decode/copies/copies.h"
#include "testbed/decode/layouts/layouts.h"
#include "testbed/loops/kernels.h"

#define AHEAD_BYTES 4096u       // a page of memory, where a CPU's own prefetching ends

struct gather {
    const struct tb_cache *from, *to;
    const struct tb_kernels *streams; // NULL: memcpy
};

// Positions of one head in one run of a page, and their places in the target.
struct piece {
    const char *from;
    char *to;
    uint32_t tokens;
    const char *next;           // the page's, after this run
};

int tb_copy_target(struct tb_cache *out, const struct tb_cache *paged, uint32_t tokens_max, char *why, size_t why_bytes)
{
    uint32_t tokens = (tokens_max + TB_TILE_TOKENS - 1) / TB_TILE_TOKENS * TB_TILE_TOKENS;
    const struct tb_layout *layout = paged->layout == &tb_layout_columns ? paged->layout : &tb_layout_contiguous;
    return tb_cache_open(out, &paged->shape, paged->dtype, layout, tokens, why, why_bytes);
}

static bool aligned(const void *address)
{
    return (uintptr_t)address % TB_LINE_BYTES == 0;
}

static void stream(const struct tb_kernels *streams, char *to, const char *from, size_t bytes, const char *next)
{
    size_t whole = bytes / TB_LINE_BYTES * TB_LINE_BYTES;
    for (size_t at = 0; at < whole; at += AHEAD_BYTES) {
        size_t part = whole - at < AHEAD_BYTES ? whole - at : AHEAD_BYTES;
        streams->nt_copy(to + at, from + at, part / TB_LINE_BYTES, at + part < whole ? from + at + part : next);
    }
    memcpy(to + whole, from + whole, bytes - whole);
}

static void copy(const struct gather *gather, char *to, const char *from, size_t bytes, const char *next)
{
    if (gather->streams && aligned(to) && aligned(from))
        stream(gather->streams, to, from, bytes, next);
    else
        memcpy(to, from, bytes);
}

static void columns_copy(const struct gather *gather, char *to, const char *from, uint32_t tokens)
{
    const struct tb_cache *paged = gather->from;
    for (uint32_t dim = 0; dim < paged->shape.head_dim; dim++)
        copy(gather, to + dim * gather->to->k_value_bytes, from + dim * paged->k_value_bytes, tokens * paged->k_token_bytes, NULL);
}

// K and V of positions of a run and head, in runs of rows or columns.
static void run_copy(const struct gather *gather, const struct piece *k, const struct piece *v)
{
    const struct tb_cache *paged = gather->from;
    if (paged->k_token_bytes == paged->row_bytes)
        copy(gather, k->to, k->from, k->tokens * paged->row_bytes, v->from);
    else
        columns_copy(gather, k->to, k->from, k->tokens);
    copy(gather, v->to, v->from, v->tokens * paged->row_bytes, v->next);
}

// Positions [begin, begin + tokens) of a page for one layer, of which position 0 is `first` of the sequence.
struct page {
    char *block, *to;
    const char *next;
    uint32_t first, tokens;
};

static void page_runs(const struct gather *gather, const struct page *page)
{
    const struct tb_cache *paged = gather->from, *target = gather->to;
    for (uint32_t head = 0; head < paged->shape.kv_heads; head++)
        for (uint32_t begin = 0; begin < page->tokens; begin += paged->run_tokens) {
            uint32_t left = page->tokens - begin, tokens = left < paged->run_tokens ? left : paged->run_tokens;
            bool last = head + 1 == paged->shape.kv_heads && tokens == left;
            const char *v = tb_cache_v(paged, page->block, head, begin);
            struct piece of_k = {.from = tb_cache_k(paged, page->block, head, begin),
                                 .to = tb_cache_k(target, page->to, head, page->first + begin),
                                 .tokens = tokens};
            struct piece of_v = {.from = v,
                                 .to = tb_cache_v(target, page->to, head, page->first + begin),
                                 .tokens = tokens,
                                 .next = last ? page->next : v + tokens * paged->row_bytes};
            run_copy(gather, &of_k, &of_v);
        }
}

// The rows of all heads of a token, which lie side by side.
static void rows_copy(const struct gather *gather, char *to, const char *from)
{
    for (uint32_t head = 0; head < gather->from->shape.kv_heads; head++)
        copy(gather, to + head * gather->to->head_bytes, from + head * gather->from->head_bytes, gather->from->row_bytes, NULL);
}

static void page_tokens(const struct gather *gather, const struct page *page)
{
    for (uint32_t token = 0; token < page->tokens; token++) {
        rows_copy(gather, tb_cache_k(gather->to, page->to, 0, page->first + token),
                  tb_cache_k(gather->from, page->block, 0, token));
        rows_copy(gather, tb_cache_v(gather->to, page->to, 0, page->first + token),
                  tb_cache_v(gather->from, page->block, 0, token));
    }
}

static void page_copy(const struct gather *gather, char *const blocks[], uint32_t tokens, uint32_t layer, uint32_t number, char *to)
{
    const struct tb_cache *paged = gather->from;
    uint32_t first = number * paged->block_tokens, left = tokens - first;
    struct page page = {
        .block = tb_cache_block(paged, blocks, layer, number),
        .to = to,
        .next = left > paged->block_tokens ? tb_cache_block(paged, blocks, layer, number + 1) : NULL,
        .first = first,
        .tokens = left < paged->block_tokens ? left : paged->block_tokens,
    };
    if (paged->v_token_bytes == paged->row_bytes)
        page_runs(gather, &page);
    else
        page_tokens(gather, &page);
}

static struct gather gather_open(const struct tb_cache *paged, const struct tb_cache *target, enum tb_copy_stores stores)
{
    return (struct gather){paged, target, stores == TB_COPY_STREAMED ? tb_kernels_best() : NULL};
}

void tb_copy_gather(const struct tb_cache *paged, char *const blocks[], uint32_t tokens, uint32_t layer,
                    const struct tb_cache *target, char *to, enum tb_copy_stores stores)
{
    struct gather gather = gather_open(paged, target, stores);
    for (uint32_t number = 0; number * paged->block_tokens < tokens; number++)
        page_copy(&gather, blocks, tokens, layer, number, to);
    tb_nt_fence();
}

// A page that has all layers is left when all of them are copied.
void tb_copy_gather_all(const struct tb_cache *paged, char *const blocks[], uint32_t tokens, const struct tb_cache *target,
                        char *const to[], enum tb_copy_stores stores)
{
    struct gather gather = gather_open(paged, target, stores);
    uint32_t at_once = paged->block_layers, layers = paged->shape.layers;
    for (uint32_t begin = 0; begin < layers; begin += at_once)
        for (uint32_t number = 0; number * paged->block_tokens < tokens; number++)
            for (uint32_t layer = begin; layer < begin + at_once; layer++)
                page_copy(&gather, blocks, tokens, layer, number, to[layer]);
    tb_nt_fence();
}
