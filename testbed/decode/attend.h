// SPDX-License-Identifier: Apache-2.0
//
// attend: one layer's attention of a batch of sequences over their block tables, by one thread or by all.
//
// Order of the loops: span by span, and inside a span head by head. A span is a block, or several where these are small: when the
// first lines of one block are late, those of three others are on their way. On a Sapphire Rapids-class VM, in one session,
// shuffled blocks of 16 tokens were read at 0.94 of the pace of plain reads, and at 0.88 when each block was a span; spans of 256
// tokens were slower where blocks have 32 or more. (Head by head over all blocks drew a third to a half, on a Zen 4 CPU.)
//
// Where a block lies in the order in which it is read, and the CPU's own prefetchers follow (tb_kernel_streams), a span is one
// block, nothing is fetched ahead in it, and with its last tiles the first tile of the next block is, if that lies elsewhere.
//
// With several threads each takes a part of every sequence's positions, from a multiple of TB_TILE_TOKENS on, and the parts are
// merged in order of position. So the result depends on the number of threads, and on nothing else: not on blocks, layout, or who
// was first.
#ifndef TB_ATTEND_H
#define TB_ATTEND_H

#include "testbed/decode/kernel.h"
#include "testbed/decode/team.h"

struct tb_sequence {
    char *const *blocks;        // addresses, in the order of tb_cache_block()
    uint32_t tokens;            // > 0: attended are [0, tokens)
};

struct tb_attention;

// cache and team are the caller's and outlive it. batch: sequences of one call, at most. 0 or -ENOMEM.
int tb_attention_open(struct tb_attention **out, const struct tb_cache *cache, const struct tb_kernel *kernel, struct tb_team *team,
                      uint32_t batch);
void tb_attention_close(struct tb_attention *attention); // NULL is allowed

// out[i][head][dim] of sequence i, from q[i][head][dim]; both are floats, and q is not yet scaled. The caller is the team's.
void tb_attend(struct tb_attention *attention, uint32_t layer, const struct tb_sequence sequences[], uint32_t count, const float *q,
               float *out);

// The fault: reads the first tile of the sequence's first KV head again, and forgets what it gathered.
void tb_attend_head_again(struct tb_attention *attention, uint32_t layer, const struct tb_sequence *sequence);

// Rows of K, and as many of V, that were read so far, of all KV heads: counted where they are read.
uint64_t tb_attended_rows(const struct tb_attention *attention);

#endif
