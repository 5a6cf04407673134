// SPDX-License-Identifier: Apache-2.0
//
// copies: what engines copy where others read and write pages in place.
//
//   gather    the pages of a sequence into one piece of memory, for a kernel that knows no block table
//   scatter   K and V of a new token into pages, as many calls, as one, and in the call of attention
//   growth    no pages at all: with each token all of K and V is copied into memory that is longer by one (torch.cat)
//   table     a sequence's addresses, patched when a block comes or resolved anew in each step
//
// Everything here is the calling thread's work. Any number of threads may do it at once for different sequences.
#ifndef TB_COPIES_H
#define TB_COPIES_H

#include "testbed/decode/attend.h"

// --- gather --------------------------------------------------------------------------------------------------------------------

// PLAIN is memcpy, piece by piece. STREAMED stores whole lines past the caches and fetches 4 KiB ahead, for what is larger than
// they are: the target is not in them afterwards. It ends with a fence. Pieces that are no whole aligned lines are copied plainly.
enum tb_copy_stores { TB_COPY_PLAIN, TB_COPY_STREAMED };

// The cache that a gathered sequence of up to tokens_max tokens is in: `contiguous`, so that tb_attend() runs on it and gives the
// same bits. From `columns` it is `columns` with one block as long as that, since K in rows would be transposed value by value,
// and its dot products summed in another order. tokens_max is rounded up to a tile. 0, or -EINVAL with why.
int tb_copy_target(struct tb_cache *out, const struct tb_cache *paged, uint32_t tokens_max, char *why, size_t why_bytes);

// Positions [0, tokens) of one layer into `to`, of target->block_bytes; and of all layers, a piece of memory for each: to[layer] is
// what tb_cache_block(target, to, layer, 0) gives. What lies behind the last token is left as it was. pre: tokens <=
// target->block_tokens; `target` is tb_copy_target()'s.
void tb_copy_gather(const struct tb_cache *paged, char *const blocks[], uint32_t tokens, uint32_t layer,
                    const struct tb_cache *target, char *to, enum tb_copy_stores stores);
void tb_copy_gather_all(const struct tb_cache *paged, char *const blocks[], uint32_t tokens, const struct tb_cache *target,
                        char *const to[], enum tb_copy_stores stores);

// --- scatter -------------------------------------------------------------------------------------------------------------------

// The new token of each sequence is its last: sequences[i].tokens counts it, and its block is there.
struct tb_scatter {
    const struct tb_cache *cache;
    const struct tb_sequence *sequences;
    uint32_t count;
    const char *k, *v;          // [layers][count][kv_heads][head_dim] of the cache's values
};

// The same bytes into the same places, in three ways.
//   calls   2 * layers calls through a queue, as PageForge launches 24 kernels for GPT-2: each has K or V of one layer, and looks
//           every sequence's block up again
//   fused   one pass: place and block are looked up once for a sequence, and its layers follow
//   layer   K and V of one layer: what an engine can have before that layer's attention
void tb_scatter_calls(const struct tb_scatter *scatter);
void tb_scatter_fused(const struct tb_scatter *scatter);
void tb_scatter_layer(const struct tb_scatter *scatter, uint32_t layer);

// Appends the layer and attends to it while its lines are still in the cache; q and out as in tb_attend().
void tb_scatter_attend(const struct tb_scatter *scatter, struct tb_attention *attention, uint32_t layer, const float *q,
                       float *out);

// What fused is compared with: the addresses are known before. places: [count][layers][kv_heads], of cache.h's first K and V.
struct tb_scatter_place {
    char *k, *v;
};
void tb_scatter_places(const struct tb_scatter *scatter, struct tb_scatter_place places[]);
void tb_scatter_plain(const struct tb_scatter *scatter, const struct tb_scatter_place places[]);

// --- growth --------------------------------------------------------------------------------------------------------------------

// One sequence. Each layer has a tensor K and a tensor V, [kv_heads][capacity][head_dim], from posix_memalign(64) as PyTorch's CPU
// allocator has them. CAT: capacity is the number of tokens, so each append gets memory of the new size, copies all, and frees the
// old: first K, then V. DOUBLE: it does so only when the capacity is used up, and doubles it.
enum tb_growth_how { TB_GROWTH_CAT, TB_GROWTH_DOUBLE };

struct tb_growth;
int tb_growth_open(struct tb_growth **out, const struct tb_shape *shape, enum tb_dtype dtype, enum tb_growth_how how); // 0, -ENOMEM
void tb_growth_close(struct tb_growth *growth); // NULL is allowed
void tb_growth_clear(struct tb_growth *growth); // another sequence begins: all memory is freed

// k and v are [kv_heads][tokens][head_dim]: a prompt, or one token. 0, or -ENOMEM: it can only be closed then.
int tb_growth_append(struct tb_growth *growth, uint32_t layer, uint32_t tokens, const char *k, const char *v);

// For tb_attention_open(), and what to attend to. The distances in the cache are those of the layer that was viewed last, until its
// next append.
const struct tb_cache *tb_growth_cache(const struct tb_growth *growth);
struct tb_sequence tb_growth_view(struct tb_growth *growth, uint32_t layer);

// --- block table ---------------------------------------------------------------------------------------------------------------

// A sequence's blocks by number in a region, and their addresses, which kernels read. Both arrays are the caller's, and a block
// that is cut off is cut off `count` and `resolved`.
struct tb_block_table {
    char *region;
    size_t block_bytes;
    const uint32_t *numbers;    // [count]
    uint32_t count;
    char **addresses;           // [count], of which [0, resolved) are right
    uint32_t resolved;
};

void tb_block_table_patch(struct tb_block_table *table);   // those that came since
void tb_block_table_rebuild(struct tb_block_table *table); // all

#endif
