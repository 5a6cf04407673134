// SPDX-License-Identifier: Apache-2.0
//
// scatter: K and V of a new token into pages. See copies.h.
//
// Invariant: all ways write the same bytes to the same places, and differ in how often they find a place out, and in how many calls
// they need. On a card a call is the launch of a kernel, which is what PageForge pays for 24 times; here it is a call through a
// pointer, and what is left is the look-up.

#include "testbed/decode/copies/copies.h"

static size_t row_at(const struct tb_scatter *scatter, uint32_t layer, uint32_t sequence)
{
    return ((size_t)layer * scatter->count + sequence) * scatter->cache->shape.kv_heads * scatter->cache->row_bytes;
}

// --- 2 * layers calls ----------------------------------------------------------------------------------------------------------

static char *block_of(const struct tb_scatter *scatter, uint32_t layer, uint32_t sequence, uint32_t *token)
{
    const struct tb_cache *cache = scatter->cache;
    uint32_t position = scatter->sequences[sequence].tokens - 1;
    *token = position % cache->block_tokens;
    return tb_cache_block(cache, scatter->sequences[sequence].blocks, layer, position / cache->block_tokens);
}

static void k_launched(const struct tb_scatter *scatter, uint32_t layer)
{
    const struct tb_cache *cache = scatter->cache;
    for (uint32_t i = 0; i < scatter->count; i++) {
        uint32_t token;
        char *block = block_of(scatter, layer, i, &token);
        const char *row = scatter->k + row_at(scatter, layer, i);
        for (uint32_t head = 0; head < cache->shape.kv_heads; head++)
            tb_cache_k_store(cache, tb_cache_k(cache, block, head, token), row + head * cache->row_bytes);
    }
}

static void v_launched(const struct tb_scatter *scatter, uint32_t layer)
{
    const struct tb_cache *cache = scatter->cache;
    for (uint32_t i = 0; i < scatter->count; i++) {
        uint32_t token;
        char *block = block_of(scatter, layer, i, &token);
        const char *row = scatter->v + row_at(scatter, layer, i);
        for (uint32_t head = 0; head < cache->shape.kv_heads; head++)
            tb_cache_v_store(cache, tb_cache_v(cache, block, head, token), row + head * cache->row_bytes);
    }
}

void tb_scatter_calls(const struct tb_scatter *scatter)
{
    struct {
        void (*launched)(const struct tb_scatter *scatter, uint32_t layer);
        uint32_t layer;
    } queue[2 * TB_SHAPE_LAYERS_MAX];
    uint32_t calls = 0;
    for (uint32_t layer = 0; layer < scatter->cache->shape.layers; layer++) {
        queue[calls].launched = k_launched;
        queue[calls++].layer = layer;
        queue[calls].launched = v_launched;
        queue[calls++].layer = layer;
    }
    for (uint32_t i = 0; i < calls; i++)
        queue[i].launched(scatter, queue[i].layer);
}

// --- one -----------------------------------------------------------------------------------------------------------------------

// Where a sequence's new token lies in its block: the same in each layer.
struct spot {
    uint32_t number;
    size_t k, v;
};

static struct spot spot_of(const struct tb_scatter *scatter, uint32_t sequence)
{
    const struct tb_cache *cache = scatter->cache;
    uint32_t position = scatter->sequences[sequence].tokens - 1, token = position % cache->block_tokens;
    size_t run = token / cache->run_tokens * cache->run_bytes, in_run = token % cache->run_tokens;
    return (struct spot){
        .number = position / cache->block_tokens,
        .k = run + cache->k_bytes + in_run * cache->k_token_bytes,
        .v = run + cache->v_bytes + in_run * cache->v_token_bytes,
    };
}

static void spot_store(const struct tb_scatter *scatter, const struct spot *spot, uint32_t layer, uint32_t sequence)
{
    const struct tb_cache *cache = scatter->cache;
    char *block = tb_cache_block(cache, scatter->sequences[sequence].blocks, layer, spot->number);
    const char *k = scatter->k + row_at(scatter, layer, sequence), *v = scatter->v + row_at(scatter, layer, sequence);
    for (uint32_t head = 0; head < cache->shape.kv_heads; head++, block += cache->head_bytes) {
        tb_cache_k_store(cache, block + spot->k, k + head * cache->row_bytes);
        tb_cache_v_store(cache, block + spot->v, v + head * cache->row_bytes);
    }
}

void tb_scatter_fused(const struct tb_scatter *scatter)
{
    for (uint32_t i = 0; i < scatter->count; i++) {
        struct spot spot = spot_of(scatter, i);
        for (uint32_t layer = 0; layer < scatter->cache->shape.layers; layer++)
            spot_store(scatter, &spot, layer, i);
    }
}

void tb_scatter_layer(const struct tb_scatter *scatter, uint32_t layer)
{
    for (uint32_t i = 0; i < scatter->count; i++)
        tb_cache_append(scatter->cache, scatter->sequences[i].blocks, layer, scatter->sequences[i].tokens - 1,
                        scatter->k + row_at(scatter, layer, i), scatter->v + row_at(scatter, layer, i));
}

void tb_scatter_attend(const struct tb_scatter *scatter, struct tb_attention *attention, uint32_t layer, const float *q, float *out)
{
    tb_scatter_layer(scatter, layer);
    tb_attend(attention, layer, scatter->sequences, scatter->count, q, out);
}

// --- what is left without any look-up ------------------------------------------------------------------------------------------

void tb_scatter_places(const struct tb_scatter *scatter, struct tb_scatter_place places[])
{
    const struct tb_cache *cache = scatter->cache;
    for (uint32_t i = 0; i < scatter->count; i++)
        for (uint32_t layer = 0; layer < cache->shape.layers; layer++) {
            uint32_t token;
            char *block = block_of(scatter, layer, i, &token);
            for (uint32_t head = 0; head < cache->shape.kv_heads; head++)
                *places++ = (struct tb_scatter_place){tb_cache_k(cache, block, head, token), tb_cache_v(cache, block, head, token)};
        }
}

void tb_scatter_plain(const struct tb_scatter *scatter, const struct tb_scatter_place places[])
{
    const struct tb_cache *cache = scatter->cache;
    for (uint32_t i = 0; i < scatter->count; i++)
        for (uint32_t layer = 0; layer < cache->shape.layers; layer++) {
            const char *k = scatter->k + row_at(scatter, layer, i), *v = scatter->v + row_at(scatter, layer, i);
            for (uint32_t head = 0; head < cache->shape.kv_heads; head++, places++) {
                tb_cache_k_store(cache, places->k, k + head * cache->row_bytes);
                tb_cache_v_store(cache, places->v, v + head * cache->row_bytes);
            }
        }
}
