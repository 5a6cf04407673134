// SPDX-License-Identifier: Apache-2.0
//
// heap: blocks by key, the least first; any block can be removed. 28 bytes a block.
//
// Policies that give a block back its old place when it is kept again need an order that is more than a list.
#ifndef TB_HEAP_H
#define TB_HEAP_H

#include <stdint.h>

#include "locus/evict.h"

struct tb_heap_key {
    uint64_t first, second;     // of equal `first`, the lower `second` is less
};

struct tb_heap {
    uint32_t count;
    uint32_t *heap;             // blocks
    uint32_t *place;            // of a block in `heap`; LOCUS_EVICT_NONE: it is not in it
    struct tb_heap_key *key;       // of a block that is in it
};

int tb_heap_open(struct tb_heap *heap, uint32_t blocks); // 0 or -ENOMEM; close it in both cases
void tb_heap_close(struct tb_heap *heap);
void tb_heap_push(struct tb_heap *heap, uint32_t block, struct tb_heap_key key); // pre: it is not in it
void tb_heap_remove(struct tb_heap *heap, uint32_t block);                       // pre: it is in it

static inline uint32_t tb_heap_top(const struct tb_heap *heap)
{
    return heap->count ? heap->heap[0] : LOCUS_EVICT_NONE;
}

#endif
