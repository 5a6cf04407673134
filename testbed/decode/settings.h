// SPDX-License-Identifier: Apache-2.0
//
// settings: what a cell of touch `decode` says, in any order behind the touch:
//
//     batch-8x4096/decode                       a block of 16 tokens for each layer of Llama-3.2-1B, rows of bf16, one thread
//     batch-8x4096/decode/Llama-3-8B            the shape (shape.h): 32x32x8x128 is one as well
//     batch-8x4096/decode/128t                  tokens in a block
//     batch-8x4096/decode/columns               the layout (layouts/)
//     batch-8x4096/decode/f16                   the type of K and V (dtype.h)
//     batch-8x4096/decode/2c                    CPUs that compute: threads which share the positions
//
// Plain data without pointers, so that a job can carry it into another process.
#ifndef TB_SETTINGS_H
#define TB_SETTINGS_H

#include "testbed/decode/cache.h"

struct tb_decode_settings {
    char shape[24];             // "": TB_SHAPE_DEFAULT
    char layout[16];            // "": runs
    enum tb_dtype dtype;
    bool dtype_given;           // false: bf16
    uint32_t block_tokens;      // 0: 16
    uint32_t threads;           // 0: 1
};

// False: the word is none of these, of a kind that was given before, or the tokens of a block for a layout that has none: whole.
bool tb_decode_setting(struct tb_decode_settings *settings, const char *word);

// One clause on why that was no setting after those before it: it names the word, and what is one.
void tb_decode_setting_why(const struct tb_decode_settings *settings, const char *word, char *why, size_t why_bytes);

// pre: filled. Of a cell without its workload: "decode/Llama-3-8B/128t", without what is as by default.
void tb_decode_settings_text(const struct tb_decode_settings *settings, char *out, size_t bytes);

// What was not given gets its default, so that equal settings are equal bytes.
void tb_decode_settings_fill(struct tb_decode_settings *settings);

// pre: filled. A layout that is whole has blocks of `tokens_max` tokens, rounded up to a tile. 0 or -EINVAL with why.
int tb_decode_cache(const struct tb_decode_settings *settings, uint32_t tokens_max, struct tb_cache *out, char *why,
                    size_t why_bytes);

#endif
