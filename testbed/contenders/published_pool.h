// SPDX-License-Identifier: Apache-2.0
//
// published_pool: the block pool of the LOCUS paper (V. Bona, "LOCUS: Owner-Drained Chunk Mailboxes for KV-Block Recycling in CPU
// LLM Inference", section III.A), for the contenders that differ only in how blocks travel home.
//
// A free list of block indices in a double-ended queue, used from one end only (LIFO, the paper's default), and beside it a flag
// and a generation per block. A handle is {index, generation}. Each operation takes one block:
//
//     alloc     pop an index, set its flag                           free list   | 7 | 2 | 9 | ...   ring of indices
//     address   check index, flag and generation                     allocated[] one flag per block
//     free      the same check, next generation, clear, push         generation[]
//
// That differs from the project's own pool on purpose: there the free list holds ready-made handles and moves them in bulk, and
// there is no flag. Three things differ from the paper: 32 bits instead of 64 for an index and a generation (a handle must fit
// the testbed's table; smaller arrays favour this pool, if anything); the region, which is mapped and populated as for `locus`
// (the paper's suite uses a heap block each, and offers the region); and the counts of a wait, which its suite loses.
//
// Threads: as in the paper, the pool belongs to the owner thread. The hot functions are inline, because the original is one
// crate.
#ifndef TB_PUBLISHED_POOL_H
#define TB_PUBLISHED_POOL_H

#include <errno.h>
#include <stdbool.h>

#include "locus/region.h"
#include "testbed/contenders/published_deque.h"
#include "testbed/measure/contender.h"

struct tb_published_pool {
    struct tb_published_deque free;
    bool *allocated;
    uint32_t *generation;
    char *base;
    size_t block_bytes;
    uint32_t blocks;
    uint32_t outstanding_high;  // the paper's peak: updated by every allocation, as there
    uint64_t allocations, frees;
    uint64_t refused;
    uint64_t retired;           // blocks of retired requests
    uint64_t waits;             // takes that found too few blocks
    struct locus_region *region;
};

// 0, -EINVAL (too many blocks for a handle), -ENOMEM, or the error of locus_region_open(). Close also after a failed open.
int tb_published_open(struct tb_published_pool *pool, const struct tb_setup *setup);
void tb_published_close(struct tb_published_pool *pool);

// Drains until `count` blocks are free. -ENOMEM: even everything in flight is not enough; -ETIMEDOUT after two seconds: a live
// worker needs microseconds.
int tb_published_wait(struct tb_published_pool *pool, uint32_t count, void (*drain)(void *context), void *context);

void tb_published_audit(const struct tb_published_pool *pool, struct tb_audit *out);

// Here the home bits belong to the index, so another pool's handle is out of range.
static inline uint32_t tb_published_index(locus_block block)
{
    return (uint32_t)(block >> 32);
}

static inline bool tb_published_valid(const struct tb_published_pool *pool, locus_block block)
{
    uint32_t index = tb_published_index(block);
    return index < pool->blocks && pool->allocated[index] && pool->generation[index] == locus_block_generation(block);
}

// Marks a block as in use and returns its handle. `free_count`: free blocks left.
static inline locus_block tb_published_hand_out(struct tb_published_pool *pool, uint32_t index, uint32_t free_count)
{
    pool->allocated[index] = true;
    pool->allocations++;
    uint32_t outstanding = pool->blocks - free_count;
    if (outstanding > pool->outstanding_high)
        pool->outstanding_high = outstanding;
    return locus_block_make(0, index, pool->generation[index]);
}

static inline bool tb_published_alloc(struct tb_published_pool *pool, locus_block *out)
{
    uint32_t index;
    if (!tb_published_pop(&pool->free, &index))
        return false;
    *out = tb_published_hand_out(pool, index, pool->free.count);
    return true;
}

// Marks the block as free; the caller puts it away. False: the handle is refused, which only counts it.
static inline bool tb_published_accept(struct tb_published_pool *pool, locus_block block, uint32_t *index)
{
    if (!tb_published_valid(pool, block)) {
        pool->refused++;
        return false;
    }
    *index = tb_published_index(block);
    pool->allocated[*index] = false;
    pool->generation[*index] += pool->generation[*index] != LOCUS_GENERATION_MAX; // saturates, as in the original
    pool->frees++;
    return true;
}

static inline void tb_published_free(struct tb_published_pool *pool, locus_block block)
{
    uint32_t index;
    if (tb_published_accept(pool, block, &index))
        tb_published_push(&pool->free, index);
}

// NULL for a handle that is not live.
static inline void *tb_published_address(const struct tb_published_pool *pool, locus_block block)
{
    return tb_published_valid(pool, block) ? pool->base + tb_published_index(block) * pool->block_bytes : NULL;
}

// 0, or why the table cannot take `count` blocks more.
static inline int tb_published_room(const struct locus_table *table, uint32_t count)
{
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    return table->capacity - table->count < count ? -ENOSPC : 0;
}

// All or none; waits if the pool has too few. Allocates block by block, because the paper's pool has no bulk operation.
static inline int tb_published_take(struct tb_published_pool *pool, struct locus_table *table, uint32_t count,
                                    void (*drain)(void *context), void *context)
{
    int full = tb_published_room(table, count);
    if (full)
        return full;
    if (__builtin_expect(pool->free.count < count, 0)) {
        int error = tb_published_wait(pool, count, drain, context);
        if (error)
            return error;
    }
    for (uint32_t end = table->count + count; table->count < end; table->count++)
        if (!tb_published_alloc(pool, &table->blocks[table->count]))
            return -ENOMEM;
    return 0;
}

// Declares that the table's blocks are on their way home, so that a take may wait for them.
static inline int tb_published_retire(struct tb_published_pool *pool, struct locus_table *table)
{
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    table->state = LOCUS_TABLE_RETIRED;
    pool->retired += table->count;
    return 0;
}

#endif
