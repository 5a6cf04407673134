// SPDX-License-Identifier: Apache-2.0
//
// cache: how the K and V of a model lie in blocks. A layout is a file in layouts/; it fills in the distances of struct tb_cache,
// and everything that appends, reads, gathers or checks works by these distances alone.
//
// A sequence has a list of blocks. A block holds `block_tokens` consecutive positions, of one layer or of all. Inside a block,
// positions lie in runs: `run_tokens` of them have their K together, and their V. So the place of a value is
//
//     K  layer * layer_bytes + head * head_bytes + run * run_bytes + k_bytes + token * k_token_bytes + dim * k_value_bytes
//     V  layer * layer_bytes + head * head_bytes + run * run_bytes + v_bytes + token * v_token_bytes + dim * value
//
// where `layer` is 0 in a block of one layer, and `token` counts from the run's first. Contiguous memory is one block that is as
// long as its sequence may become. Plain data; any thread.
#ifndef TB_CACHE_H
#define TB_CACHE_H

#include "testbed/decode/shape.h"
#include "testbed/decode/dtype.h"

// A softmax is summed in tiles of so many positions, whatever the layout. So all layouts have the same order of sums, and a block
// and a run are a multiple of it.
#define TB_TILE_TOKENS 16u
#define TB_BLOCK_TOKENS_MAX (1u << 20)

struct tb_cache;

struct tb_layout {
    const char *name, *summary;
    bool whole;                 // one block for a sequence and layer: `block_tokens` is the most that a sequence may have
    void (*place)(struct tb_cache *cache); // fills in the distances; the fields above them are set
};

const struct tb_layout *tb_layout_at(size_t i); // NULL after the last
const struct tb_layout *tb_layout_find(const char *name);

struct tb_cache {
    struct tb_shape shape;
    enum tb_dtype dtype;
    const struct tb_layout *layout;
    uint32_t block_tokens;
    uint32_t group;             // query heads of a KV head
    size_t row_bytes;           // head_dim values

    uint32_t block_layers;      // 1, or all
    size_t block_bytes;
    size_t layer_bytes;
    size_t head_bytes;
    uint32_t run_tokens;
    size_t run_bytes;
    size_t k_bytes,
        v_bytes; // k_bytes is 0 in all layouts; memory that grows by copying (copies/) has K and V where malloc put them
    size_t k_token_bytes, k_value_bytes;
    size_t v_token_bytes;
};

// 0, or -EINVAL with why: block_tokens is no multiple of TB_TILE_TOKENS or too large, or the layout cannot have it.
int tb_cache_open(struct tb_cache *out, const struct tb_shape *shape, enum tb_dtype dtype, const struct tb_layout *layout,
                  uint32_t block_tokens, char *why, size_t why_bytes);

// K and V of one token in all layers.
static inline size_t tb_cache_token_bytes(const struct tb_cache *cache)
{
    return 2 * cache->row_bytes * cache->shape.kv_heads * cache->shape.layers;
}

// Blocks that a sequence of so many tokens has: all layers'.
static inline uint32_t tb_cache_blocks(const struct tb_cache *cache, uint32_t tokens)
{
    return (tokens + cache->block_tokens - 1) / cache->block_tokens * (cache->shape.layers / cache->block_layers);
}

// The blocks of a sequence are in order of position; those of the same positions, in order of layer.
static inline char *tb_cache_block(const struct tb_cache *cache, char *const blocks[], uint32_t layer, uint32_t number)
{
    return cache->block_layers > 1 ? blocks[number] + layer * cache->layer_bytes
                                   : blocks[(size_t)number * cache->shape.layers + layer];
}

// The first K of a position: of a block's part for one layer, as tb_cache_block() gives it.
static inline char *tb_cache_k(const struct tb_cache *cache, char *block, uint32_t head, uint32_t token)
{
    return block + head * cache->head_bytes + token / cache->run_tokens * cache->run_bytes + cache->k_bytes +
           token % cache->run_tokens * cache->k_token_bytes;
}

static inline char *tb_cache_v(const struct tb_cache *cache, char *block, uint32_t head, uint32_t token)
{
    return block + head * cache->head_bytes + token / cache->run_tokens * cache->run_bytes + cache->v_bytes +
           token % cache->run_tokens * cache->v_token_bytes;
}

// Copies `bytes`, a multiple of `unit`, and touches each byte once, which libc's memcpy does not do: so an emulator's count of
// loads and stores is that of K and V. The compiler must not see a memcpy in it, either.
static inline void tb_cache_copy(char *to, const char *from, size_t bytes, size_t unit)
{
    for (const char *end = from + bytes; from < end; from += unit, to += unit) {
        memcpy(to, from, unit);
        __asm__ volatile("" : "+r"(to) : : "memory");
    }
}

// Writes the row of one position and head where tb_cache_k() or tb_cache_v() says.
void tb_cache_k_store(const struct tb_cache *cache, char *to, const char *row);
void tb_cache_v_store(const struct tb_cache *cache, char *to, const char *row);

// Writes K and V of one position and layer: kv_heads rows each, of the model's values.
void tb_cache_append(const struct tb_cache *cache, char *const blocks[], uint32_t layer, uint32_t position, const void *k,
                     const void *v);

// Visits the memory of the positions [begin, end) of a block, for one layer (tb_cache_block): all of K and V, every byte once.
typedef void tb_cache_span_fn(void *context, char *at, size_t bytes);
void tb_cache_spans(const struct tb_cache *cache, char *block, uint32_t begin, uint32_t end, tb_cache_span_fn *visit,
                    void *context);

#endif
