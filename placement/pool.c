// SPDX-License-Identifier: Apache-2.0
//
// pool: a flat stack of ready-made handles.
//
//     free[]   | SENTINELS | never used, highest index at the bottom | came home ... | <- top
//     generation[i]: what a handle of block i must carry to be live, or to be the one on the stack
//
// Invariants, in owner context:
//   1. Every block is exactly one of: on the stack, handed out, retired.
//   2. The handle of a block that is on the stack or handed out carries generation[index]. A free moves the generation on, so a
//      handle can be freed once. Allocation does not touch the array at all: that is what makes bulk allocation a memcpy.
//   3. The lowest `fresh` entries of a LIFO stack have never been handed out, because they are only reached when everything above
//      is gone. So `fresh` is the lowest depth ever reached, blocks - fresh the distinct blocks ever used, and outstanding blocks
//      can reach a new high only when `fresh` sinks (a retired block does not come back, so it sinks earlier, never later).
//
// Whether a refused handle is free already (double) or of an older use (stale) cannot be told from its generation alone; the
// error path walks the free handles instead of making the good path keep a flag per block.
//
// FIFO reuse turns the same array into a ring: taken at `head`, returned at the other end. It serves comparisons (experiment
// 0358) and debugging, and is allowed to be slower.
//
// A block whose generation reached generation_max is retired when it comes home, because one more use could not be told from
// the first. At one use of a block per millisecond that is after 50 days, and costs one block.

#include "pool_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int config_check(const struct locus_pool_config *config)
{
    if (config->home >= LOCUS_HOMES_MAX || config->blocks == 0 || config->blocks > LOCUS_BLOCKS_MAX || config->block_bytes == 0)
        return -EINVAL;
    if (config->stride_bytes && config->stride_bytes < config->block_bytes)
        return -EINVAL;
    if (config->backing != LOCUS_BACKING_MAPPED && config->backing != LOCUS_BACKING_HEAP)
        return -EINVAL;
    if (config->reuse != LOCUS_REUSE_LIFO && config->reuse != LOCUS_REUSE_FIFO)
        return -EINVAL;
    return 0;
}

static int blocks_open_mapped(struct locus_pool *pool, const struct locus_pool_config *config)
{
    struct locus_region_config region = {
        .memory_class = LOCUS_CLASS_KV_CACHE,
        .page = config->page,
        .policy = config->policy,
        .node = config->node,
        .populate = config->populate,
    };
    if (__builtin_mul_overflow(pool->stride_bytes, (size_t)config->blocks, &region.bytes))
        return -EINVAL;
    int error = locus_region_open(&pool->region, &region);
    if (error)
        return error;
    pool->base = locus_region_base(pool->region);
    return 0;
}

static int blocks_open_heap(struct locus_pool *pool, const struct locus_pool_config *config)
{
    size_t align_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pool->heap = calloc(config->blocks, sizeof *pool->heap);
    if (!pool->heap)
        return -ENOMEM;
    for (uint32_t i = 0; i < config->blocks; i++) {
        int error = posix_memalign((void **)&pool->heap[i], align_bytes, config->block_bytes);
        if (error)
            return -error;
        if (config->populate)
            memset(pool->heap[i], 0, config->block_bytes);
    }
    return 0;
}

// The stack and the generations lie between guard pages of their own, on the pool's node: the owner reads them all day.
static int metadata_open(struct locus_pool *pool, const struct locus_pool_config *config)
{
    size_t stack_bytes = ((size_t)config->blocks + POOL_PREFETCH_AHEAD) * sizeof(locus_block);
    size_t generations_bytes = (size_t)config->blocks * sizeof(uint32_t);
    struct locus_region_config region = {
        .bytes = stack_bytes + generations_bytes,
        .memory_class = LOCUS_CLASS_METADATA,
        .page = LOCUS_PAGE_4K,
        .policy = config->policy,
        .node = config->node,
        .populate = true,
    };
    int error = locus_region_open(&pool->metadata, &region);
    if (error)
        return error;
    locus_block *stack = locus_region_base(pool->metadata);
    pool->free = stack + POOL_PREFETCH_AHEAD;
    pool->generation = (uint32_t *)(pool->free + config->blocks);
    for (uint32_t i = 0; i < POOL_PREFETCH_AHEAD; i++)
        stack[i] = locus_block_make(config->home, 0, 0); // only ever prefetched
    return 0;
}

static void blocks_fill(struct locus_pool *pool)
{
    for (uint32_t i = 0; i < pool->blocks; i++) {
        uint32_t index = pool->reuse == LOCUS_REUSE_LIFO ? pool->blocks - 1 - i : i; // block 0 leaves first either way
        pool->free[i] = locus_block_make(pool->home, index, LOCUS_GENERATION_FIRST);
        pool->generation[i] = LOCUS_GENERATION_FIRST;
    }
    pool->top = pool->blocks;
    pool->fresh = pool->blocks;
}

int locus_pool_open(struct locus_pool **out, const struct locus_pool_config *config)
{
    int error = config_check(config);
    if (error)
        return error;
    struct locus_pool *pool = aligned_alloc(LOCUS_CACHE_LINE, sizeof *pool);
    if (!pool)
        return -ENOMEM;
    *pool = (struct locus_pool){
        .home = config->home,
        .blocks = config->blocks,
        .block_bytes = config->block_bytes,
        .stride_bytes = config->stride_bytes ? config->stride_bytes : config->block_bytes,
        .reuse = config->reuse,
        .policy = config->policy,
        .node = config->node,
        .generation_max = config->generation_max ? config->generation_max : LOCUS_GENERATION_MAX,
    };
    error = config->backing == LOCUS_BACKING_MAPPED ? blocks_open_mapped(pool, config) : blocks_open_heap(pool, config);
    if (!error)
        error = metadata_open(pool, config);
    if (error) {
        locus_pool_close(pool);
        return error;
    }
    blocks_fill(pool);
    *out = pool;
    return 0;
}

void locus_pool_close(struct locus_pool *pool)
{
    if (!pool)
        return;
    if (pool->heap)
        for (uint32_t i = 0; i < pool->blocks; i++)
            free(pool->heap[i]);
    free(pool->heap);
    locus_region_close(pool->metadata);
    locus_region_close(pool->region);
    free(pool);
}

// `top` still counts the free blocks; the ring starts at `head`. All never-used blocks leave before the first that came home.
void pool_take_fifo(struct locus_pool *pool, uint32_t count, locus_block out[])
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = pool->free[pool->head];
        pool->head = pool->head + 1 == pool->blocks ? 0 : pool->head + 1;
    }
    pool->top -= count;
    pool->fresh -= count < pool->fresh ? count : pool->fresh;
    uint32_t outstanding = pool->blocks - pool->retired - pool->top;
    if (outstanding > pool->outstanding_high)
        pool->outstanding_high = outstanding;
}

locus_block locus_pool_alloc(struct locus_pool *pool)
{
    return pool->top ? pool_take_one(pool) : LOCUS_BLOCK_NONE;
}

int locus_pool_alloc_bulk(struct locus_pool *pool, uint32_t count, locus_block out[])
{
    if (count > pool->top)
        return -ENOMEM;
    pool_take(pool, count, out);
    return 0;
}

// Only on the error path: see the opening comment.
static bool is_free(const struct locus_pool *pool, uint32_t index)
{
    for (uint32_t i = 0; i < pool->top; i++) {
        uint64_t slot = pool->reuse == LOCUS_REUSE_LIFO ? i : ((uint64_t)pool->head + i) % pool->blocks;
        if (locus_block_index(pool->free[slot]) == index)
            return true;
    }
    return false;
}

static enum locus_free_error error_kind(const struct locus_pool *pool, locus_block block)
{
    uint32_t index = locus_block_index(block);
    if (locus_block_home(block) != pool->home)
        return LOCUS_FREE_FOREIGN;
    if (index >= pool->blocks)
        return LOCUS_FREE_RANGE;
    uint32_t now = pool->generation[index], then = locus_block_generation(block);
    if (now == POOL_GENERATION_RETIRED)
        return then == pool->generation_max ? LOCUS_FREE_DOUBLE : LOCUS_FREE_STALE;
    return now - then == 1 && is_free(pool, index) ? LOCUS_FREE_DOUBLE : LOCUS_FREE_STALE;
}

static __attribute__((cold, noinline)) void refuse(struct locus_pool *pool, locus_block block, uint64_t tag)
{
    enum locus_free_error error = error_kind(pool, block);
    pool->refused[error]++;
    if (pool->on_error)
        pool->on_error(pool->on_error_context, error, block, tag);
}

static inline void give_back(struct locus_pool *pool, locus_block block)
{
    uint64_t end = pool->top++;
    if (__builtin_expect(pool->reuse == LOCUS_REUSE_FIFO, 0)) {
        end += pool->head;
        end -= end >= pool->blocks ? pool->blocks : 0;
    }
    pool->free[end] = block;
}

uint32_t locus_pool_free_bulk(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag)
{
    uint32_t home_bits = pool->home << 26, accepted = 0;
    for (uint32_t i = 0; i < count; i++) {
        locus_block block = blocks[i];
        uint32_t index = (uint32_t)(block >> 32) ^ home_bits; // another home's index lies out of range, too
        uint32_t generation = locus_block_generation(block);
        if (__builtin_expect(index >= pool->blocks || pool->generation[index] != generation, 0)) {
            refuse(pool, block, tag);
            continue;
        }
        accepted++;
        if (__builtin_expect(generation == pool->generation_max, 0)) {
            pool->generation[index] = POOL_GENERATION_RETIRED;
            pool->retired++;
            continue;
        }
        pool->generation[index] = generation + 1;
        give_back(pool, block + 1); // the generation is the low half and did not overflow
    }
    pool->freed += accepted;
    return accepted;
}

int locus_pool_check(const struct locus_pool *pool, locus_block block)
{
    uint32_t index = locus_block_index(block);
    if (locus_block_home(block) != pool->home)
        return -EXDEV;
    if (index >= pool->blocks)
        return -ERANGE;
    return pool->generation[index] == locus_block_generation(block) ? 0 : -ESTALE;
}

void *locus_pool_address(const struct locus_pool *pool, locus_block block)
{
    assert(locus_block_home(block) == pool->home && locus_block_index(block) < pool->blocks);
    return pool_address(pool, block);
}

const void *locus_pool_read(const struct locus_pool *pool, locus_block block)
{
    return locus_pool_address(pool, block);
}

void locus_pool_on_error(struct locus_pool *pool, locus_free_error_fn *function, void *context)
{
    pool->on_error = function;
    pool->on_error_context = context;
}

void locus_pool_stats(const struct locus_pool *pool, struct locus_pool_stats *out)
{
    *out = (struct locus_pool_stats){
        .allocated = pool->allocated,
        .freed = pool->freed,
        .blocks = pool->blocks,
        .blocks_free = pool->top,
        .blocks_retired = pool->retired,
        .outstanding = (uint32_t)(pool->allocated - pool->freed),
        .outstanding_high = pool->outstanding_high,
        .distinct_high = pool->blocks - pool->fresh,
    };
    memcpy(out->refused, pool->refused, sizeof out->refused);
}

uint32_t locus_pool_home(const struct locus_pool *pool)
{
    return pool->home;
}

size_t locus_pool_block_bytes(const struct locus_pool *pool)
{
    return pool->block_bytes;
}

const struct locus_region *locus_pool_region(const struct locus_pool *pool)
{
    return pool->region;
}
