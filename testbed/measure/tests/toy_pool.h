// SPDX-License-Identifier: Apache-2.0
//
// toy_pool: a contender on one node for the tests of laps: a list of free blocks with a lock. It knows its own blocks, so it sees
// a request that was finished in the name of another pool, and a block that is freed twice.
#ifndef TB_TESTS_TOY_POOL_H
#define TB_TESTS_TOY_POOL_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "testbed/measure/driver.h"

#define TOY_POOL_BLOCKS 64u
#define TOY_POOL_BLOCK_BYTES 64u
#define TOY_POOL_PATIENCE_NS 3000000000u // arbitrary; a worker may wait for its CPU

struct toy_pool {
    pthread_mutex_t lock;
    uint32_t free[TOY_POOL_BLOCKS], free_count;
    bool out[TOY_POOL_BLOCKS];
    bool starved;               // it has waited in vain, and does not again
    uint64_t taken, freed, requests, refused; // refused: of another pool, or free already
    char memory[TOY_POOL_BLOCKS][TOY_POOL_BLOCK_BYTES];
};

static inline int toy_pool_open(const struct tb_setup *setup, void **out)
{
    struct toy_pool *pool = calloc(1, sizeof *pool);
    if (!pool || setup->pool_blocks > TOY_POOL_BLOCKS || setup->block_bytes > TOY_POOL_BLOCK_BYTES) {
        free(pool);
        return -ENOMEM;
    }
    pthread_mutex_init(&pool->lock, NULL);
    for (; pool->free_count < TOY_POOL_BLOCKS; pool->free_count++)
        pool->free[pool->free_count] = pool->free_count;
    *out = pool;
    return 0;
}

static inline void toy_pool_close(void *context)
{
    pthread_mutex_destroy(&((struct toy_pool *)context)->lock);
    free(context);
}

// It waits for blocks that are on their way home, but not for ever: where they do not come, a test has to fail and not to hang.
static inline int toy_pool_take(void *context, struct locus_table *table, uint32_t count)
{
    struct toy_pool *pool = context;
    uint64_t begun_ns = tb_now_ns();
    while (count) {
        if (pool->starved || tb_now_ns() - begun_ns > TOY_POOL_PATIENCE_NS) {
            pool->starved = true;
            return -ENOBUFS;
        }
        pthread_mutex_lock(&pool->lock);
        for (; count && pool->free_count; count--, pool->taken++) {
            uint32_t block = pool->free[--pool->free_count];
            pool->out[block] = true;
            table->blocks[table->count++] = (locus_block)(uintptr_t)pool->memory[block];
        }
        pthread_mutex_unlock(&pool->lock);
        if (count)
            sched_yield();
    }
    return 0;
}

static inline void *toy_pool_address(void *context, locus_block block)
{
    (void)context;
    return (void *)(uintptr_t)block;
}

static inline int toy_pool_retire(void *context, struct locus_table *table)
{
    (void)context, (void)table;
    return 0;
}

static inline void toy_pool_finish(void *context, uint32_t worker, struct locus_table *table)
{
    struct toy_pool *pool = context;
    (void)worker;
    pthread_mutex_lock(&pool->lock);
    for (uint32_t i = 0; i < table->count; i++) {
        uintptr_t at = (uintptr_t)table->blocks[i] - (uintptr_t)pool->memory;
        uint32_t block = (uint32_t)(at / TOY_POOL_BLOCK_BYTES);
        if (at >= sizeof pool->memory || !pool->out[block]) {
            pool->refused++;
            continue;
        }
        pool->out[block] = false;
        pool->free[pool->free_count++] = block;
        pool->freed++;
    }
    pool->requests++;
    table->count = 0;
    pthread_mutex_unlock(&pool->lock);
}

static inline void toy_pool_drain(void *context)
{
    (void)context;
}

static inline uint64_t toy_pool_freed(void *context)
{
    struct toy_pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    uint64_t freed = pool->freed;
    pthread_mutex_unlock(&pool->lock);
    return freed;
}

static inline void toy_pool_audit(void *context, struct tb_audit *out)
{
    const struct toy_pool *pool = context;
    *out = (struct tb_audit){.allocated = pool->taken, .freed = pool->freed, .drained = pool->requests, .refused = pool->refused};
}

static const struct tb_ops toy_pool_ops = {
    .open = toy_pool_open,
    .close = toy_pool_close,
    .take = toy_pool_take,
    .address = toy_pool_address,
    .retire = toy_pool_retire,
    .finish = toy_pool_finish,
    .drain = toy_pool_drain,
    .freed = toy_pool_freed,
    .audit = toy_pool_audit,
};
TB_DRIVER(toy_pool_ops);

#endif
