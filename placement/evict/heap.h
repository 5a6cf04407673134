// SPDX-License-Identifier: Apache-2.0
//
// heap: blocks by key, the least first; any block can be removed. 28 bytes a block. Not installed.
//
// Policies that give a block back its old place when it is kept again need an order that is more than a list.
#ifndef LOCUS_EVICT_HEAP_H
#define LOCUS_EVICT_HEAP_H

#include <stdint.h>

#include "locus/evict.h"

struct heap_key {
    uint64_t first, second;     // of equal `first`, the lower `second` is less
};

struct heap {
    uint32_t count;
    uint32_t *heap;             // blocks
    uint32_t *place;            // of a block in `heap`; LOCUS_EVICT_NONE: it is not in it
    struct heap_key *key;       // of a block that is in it
};

int heap_open(struct heap *heap, uint32_t blocks); // 0 or -ENOMEM; close it in both cases
void heap_close(struct heap *heap);
void heap_push(struct heap *heap, uint32_t block, struct heap_key key); // pre: it is not in it
void heap_remove(struct heap *heap, uint32_t block);                    // pre: it is in it

static inline uint32_t heap_top(const struct heap *heap)
{
    return heap->count ? heap->heap[0] : LOCUS_EVICT_NONE;
}

static inline int heap_has(const struct heap *heap, uint32_t block)
{
    return heap->place[block] != LOCUS_EVICT_NONE;
}

#endif
