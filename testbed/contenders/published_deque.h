// SPDX-License-Identifier: Apache-2.0
//
// published_deque: the free list of the LOCUS paper's pool (published_pool.h), block indices in a double-ended queue. Only one
// end is used, as in the paper's default; it is still a ring, because that is what the paper's operations cost.
#ifndef TB_PUBLISHED_DEQUE_H
#define TB_PUBLISHED_DEQUE_H

#include <stdbool.h>
#include <stdint.h>

// Double-ended queue: a ring that never grows, since no more indices exist than it has room for. Only FIFO reuse would move `head`.
struct tb_published_deque {
    uint32_t *ring;
    uint32_t capacity;
    uint32_t head, count;
};

static inline uint32_t tb_published_place(const struct tb_published_deque *deque, uint32_t offset)
{
    uint32_t place = deque->head + offset; // cannot overflow: both are at most LOCUS_BLOCKS_MAX
    return place < deque->capacity ? place : place - deque->capacity;
}

static inline bool tb_published_pop(struct tb_published_deque *deque, uint32_t *index)
{
    if (deque->count == 0)
        return false;
    *index = deque->ring[tb_published_place(deque, --deque->count)];
    return true;
}

static inline void tb_published_push(struct tb_published_deque *deque, uint32_t index)
{
    deque->ring[tb_published_place(deque, deque->count++)] = index;
}

#endif
