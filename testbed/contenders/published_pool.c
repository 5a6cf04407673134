// SPDX-License-Identifier: Apache-2.0
//
// published_pool: opening, waiting and counting. The pool itself is in the header.

#include "testbed/contenders/published_pool.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/contenders/waiting.h"

static int metadata_open(struct tb_published_pool *pool)
{
    struct tb_published_deque *deque = &pool->free;
    deque->ring = calloc(pool->blocks, sizeof *deque->ring);
    pool->allocated = calloc(pool->blocks, sizeof *pool->allocated);
    pool->generation = calloc(pool->blocks, sizeof *pool->generation);
    if (!deque->ring || !pool->allocated || !pool->generation)
        return -ENOMEM;
    deque->capacity = pool->blocks;
    for (uint32_t i = 0; i < pool->blocks; i++) {
        pool->generation[i] = LOCUS_GENERATION_MIN;
        tb_published_push(deque, pool->blocks - 1 - i); // block 0 leaves first
    }
    return 0;
}

int tb_published_open(struct tb_published_pool *pool, const struct tb_setup *setup)
{
    struct locus_region_config region = {
        .size = sizeof region,
        .bytes = setup->block_bytes * setup->pool_blocks,
        .page = LOCUS_PAGE_THP,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .node = LOCUS_NODE_ANY,
        .populate = true,
    };
    *pool = (struct tb_published_pool){.blocks = setup->pool_blocks, .block_bytes = setup->block_bytes};
    if (pool->blocks == 0 || pool->blocks > LOCUS_BLOCKS_MAX)
        return -EINVAL;
    int error = metadata_open(pool);
    if (!error)
        error = locus_region_open(&pool->region, &region);
    if (!error)
        pool->base = locus_region_base(pool->region);
    return error;
}

void tb_published_close(struct tb_published_pool *pool)
{
    locus_region_close(pool->region);
    free(pool->free.ring);
    free(pool->allocated);
    free(pool->generation);
}

// Refused handles count as arrived: their blocks will not come again.
static uint64_t in_flight(const struct tb_published_pool *pool)
{
    return pool->retired - pool->frees - pool->refused;
}

static void look(void *context, struct tb_wait *wait)
{
    const struct tb_published_pool *pool = context;
    wait->free = pool->free.count;
    wait->in_flight = in_flight(pool);
}

__attribute__((cold)) int tb_published_wait(struct tb_published_pool *pool, uint32_t count, void (*drain)(void *context),
                                            void *context)
{
    pool->waits++;
    return tb_wait_for(&(struct tb_wait){.drain = drain, .drain_context = context, .look = look, .look_context = pool}, count);
}

void tb_published_audit(const struct tb_published_pool *pool, struct tb_audit *out)
{
    out->allocated = pool->allocations;
    out->freed = pool->frees;
    out->refused = pool->refused;
    out->not_home = pool->blocks - pool->free.count;
    out->waits = pool->waits;
}
