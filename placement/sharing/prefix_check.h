// SPDX-License-Identifier: Apache-2.0
//
// prefix_check: whether a block that a prefix cache found under an id is what the asker means.
//
// Without a check the cache takes equal ids for equal contents. With ids of locus_prefix_id() that is safe (prefix_id.h). A check
// is for engines that want to prove it for each block, or whose own ids promise less. There are two:
//
//     tokens_per_block   The cache keeps the tokens of each published block, and compares them with those that are asked for. It
//                        costs 4 bytes a token of the whole pool, on the pool's node, a copy of them at a publish, and for a block
//                        that is found a comparison: one cache line for 16 tokens.
//     check              The engine compares, by whatever it knows of the block. The cache keeps nothing.
//
// A match ends before the first block that is not what its id says, and so does a publish: the asker's block stays private, and
// those below it, whose ids name other contents for whoever has the block that is there. Nobody is served it, and each such end is
// counted (blocks_refused). What is compared is a block's own tokens; those before it are compared when the blocks before it are.
// A find, and what a sink raises, is by id alone.
#ifndef LOCUS_PREFIX_CHECK_H
#define LOCUS_PREFIX_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "block.h"
#include "id.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_prefix_check {
    size_t size;                // sizeof this struct (version.h)
    void *context;              // the first argument
    // Does `block`, which has the id ids[position], have the contents that are asked for? `ids` and `tokens` are those that the
    // call was given: they say which prompt asks. Called in owner context by look, match, publish and raise; it must not call this
    // owner, its pool or its cache.
    bool (*same)(void *context, locus_block block, const struct locus_id ids[], const uint32_t tokens[], uint32_t position);
};

#ifdef __cplusplus
}
#endif

#endif
