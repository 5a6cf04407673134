// SPDX-License-Identifier: Apache-2.0
//
// kv: the region in which a strategy lays out the KV cache: so many tokens, so many bytes each.
//
// It is reserved address space: nothing writes the tokens themselves. What stands in for their contents is a tag of 8 bytes
// for each token's place, kept densely beside the region, as a sanitizer keeps its shadow. A strategy that moves tokens says
// so by tb_kv_copy(), which moves their tags and counts; what the copy costs is a matter of the scheduler's clock.
#ifndef TB_KV_H
#define TB_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tb_kv {
    char *base;
    uint64_t tokens;
    size_t token_bytes;         // a multiple of 8
    size_t bytes;               // of the region: whole pages, so perhaps a little more than the tokens
    uint64_t *tags;             // [tokens], or NULL: nobody checks
    uint64_t moved;             // tokens copied so far
};

// 0, -EINVAL (no tokens, or token_bytes is not a multiple of 8), or -ENOMEM.
int tb_kv_open(struct tb_kv *kv, uint64_t tokens, size_t token_bytes, bool tags);
void tb_kv_close(struct tb_kv *kv);

static inline void *tb_kv_at(const struct tb_kv *kv, uint64_t token)
{
    return kv->base + token * kv->token_bytes;
}

// The tag of the token at this address: in the array, or in the token itself where a strategy has memory of its own. Two
// tokens that do not overlap have different tags, wherever in the region they begin. pre: kv->tags.
static inline uint64_t *tb_kv_tag(const struct tb_kv *kv, void *address)
{
    uint64_t offset = (uint64_t)((char *)address - kv->base);
    return offset < kv->bytes ? &kv->tags[offset / kv->token_bytes] : address;
}

// Tokens that lie one after the other, in the region; the two places may overlap.
void tb_kv_copy(struct tb_kv *kv, void *to, void *from, uint64_t tokens);

#endif
