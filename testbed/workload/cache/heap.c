// SPDX-License-Identifier: Apache-2.0
//
// heap: a binary heap in an array that knows the place of each block. Every operation is O(log count).
#include "testbed/workload/cache/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int tb_heap_open(struct tb_heap *heap, uint32_t blocks)
{
    heap->count = 0;
    heap->heap = calloc(blocks, sizeof *heap->heap);
    heap->place = malloc(blocks * sizeof *heap->place);
    heap->key = calloc(blocks, sizeof *heap->key);
    if (!heap->heap || !heap->place || !heap->key)
        return -ENOMEM;
    memset(heap->place, 0xff, blocks * sizeof *heap->place); // LOCUS_EVICT_NONE
    return 0;
}

void tb_heap_close(struct tb_heap *heap)
{
    free(heap->heap);
    free(heap->place);
    free(heap->key);
}

static bool less(const struct tb_heap *heap, uint32_t a, uint32_t b)
{
    const struct tb_heap_key *x = &heap->key[a], *y = &heap->key[b];
    return x->first != y->first ? x->first < y->first : x->second < y->second;
}

static void put(struct tb_heap *heap, uint32_t place, uint32_t block)
{
    heap->heap[place] = block;
    heap->place[block] = place;
}

static void rise(struct tb_heap *heap, uint32_t place, uint32_t block)
{
    while (place > 0 && less(heap, block, heap->heap[(place - 1) / 2])) {
        put(heap, place, heap->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(heap, place, block);
}

static void sink(struct tb_heap *heap, uint32_t place, uint32_t block)
{
    for (uint32_t child; (child = 2 * place + 1) < heap->count; place = child) {
        if (child + 1 < heap->count && less(heap, heap->heap[child + 1], heap->heap[child]))
            child++;
        if (!less(heap, heap->heap[child], block))
            break;
        put(heap, place, heap->heap[child]);
    }
    put(heap, place, block);
}

void tb_heap_push(struct tb_heap *heap, uint32_t block, struct tb_heap_key key)
{
    heap->key[block] = key;
    rise(heap, heap->count++, block);
}

void tb_heap_remove(struct tb_heap *heap, uint32_t block)
{
    uint32_t place = heap->place[block], last = heap->heap[--heap->count];
    heap->place[block] = LOCUS_EVICT_NONE;
    if (last == block)
        return;
    if (place > 0 && less(heap, last, heap->heap[(place - 1) / 2]))
        rise(heap, place, last);
    else
        sink(heap, place, last);
}
