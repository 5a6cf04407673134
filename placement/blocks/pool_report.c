// SPDX-License-Identifier: Apache-2.0
//
// pool: its reports. Statistics for any thread, which blocks are out, and why it could not be opened.
#include "placement/base/config.h"
#include "placement/blocks/pools/runs.h"
#include "placement/blocks/pools/shared.h"
#include "placement/memory/region_internal.h"

#include <stdio.h>
#include <stdlib.h>

// Every block is free, out or worn, so allocations need not be counted. Another thread may read one of the counters late.
void locus_pool_stats(const struct locus_pool *pool, struct locus_pool_stats *out)
{
    uint64_t freed = counter_read(&pool->counters.freed);
    uint32_t retired = (uint32_t)counter_read(&pool->counters.retired), most = pool->blocks - retired;
    uint32_t top = __atomic_load_n(&pool->hot.top, __ATOMIC_RELAXED), outstanding = top < most ? most - top : 0;
    uint32_t kept = (uint32_t)counter_read(&pool->counters.kept);
    kept = kept < outstanding ? kept : outstanding;
    outstanding -= kept;
    *out = (struct locus_pool_stats){
        .allocated = freed + outstanding,
        .freed = freed,
        .blocks = pool->blocks,
        .blocks_free = most - kept - outstanding,
        .blocks_worn = retired,
        .outstanding = outstanding,
        .outstanding_high = (uint32_t)counter_read(&pool->counters.outstanding_high),
        .distinct_high = (uint32_t)counter_read(&pool->counters.distinct_high),
        .blocks_cached = kept,
        .sharers = counter_read(&pool->counters.sharers),
    };
    counters_read(out->refused, pool->counters.refused, sizeof out->refused);
}

struct holding {
    locus_block block;
    uint64_t tag;
};

// Marks the free blocks, one bit each, because the stack is in no order.
static unsigned char *free_bits(const struct locus_pool *pool)
{
    unsigned char *is_free = calloc(pool->blocks / 8 + 1, 1);
    for (uint32_t i = 0; is_free && pool->runs && i < pool->blocks; i++)
        is_free[i / 8] |= (unsigned char)(pool_runs_is_free(pool, i) << i % 8);
    for (uint32_t i = 0; is_free && pool->free && i < pool->hot.top; i++) {
        uint32_t index = locus_block_index(pool->free[pool_free_at(pool, i)]);
        is_free[index / 8] |= (unsigned char)(1u << index % 8);
    }
    return is_free;
}

// All holders of one block that is out; returns how many. Sharers without tags have the tag 0.
static uint64_t holders_list(const struct locus_pool *pool, uint32_t index, struct holding list[])
{
    uint64_t count = 0, sharers = pool->sharing ? pool->sharing[index] & POOL_SHARERS : 0;
    uint32_t next = pool->holders_first ? pool->holders_first[index] : POOL_NO_HOLDER;
    list[count].tag = pool->tags ? __atomic_load_n(&pool->tags[index], __ATOMIC_RELAXED) : 0;
    for (count = 1; count <= sharers; count++) {
        list[count].tag = next == POOL_NO_HOLDER ? 0 : pool->holders[next].tag;
        next = next == POOL_NO_HOLDER ? next : pool->holders[next].next;
    }
    for (uint64_t i = 0; i < count; i++)
        list[i].block = locus_block_make(pool->home, index, pool->generation[index]);
    return count;
}

// What is neither free nor kept is out; a worn block has no handle that passes the check. The list is made before the first call,
// because a block that the function frees must not be listed with the handle of its next use.
int locus_pool_each_out(const struct locus_pool *pool, locus_block_out_fn *function, void *context, uint32_t *count)
{
    unsigned char *is_free = free_bits(pool);
    struct holding *list = is_free ? malloc((pool->blocks + counter_read(&pool->counters.sharers)) * sizeof *list) : NULL;
    uint64_t length = 0;
    for (uint32_t i = 0; list && i < pool->blocks; i++)
        if (!(is_free[i / 8] >> i % 8 & 1 || pool_is_kept(pool, i)))
            length += holders_list(pool, i, list + length);
    free(is_free);
    if (!list)
        return -ENOMEM;
    *count = 0;
    for (uint64_t i = 0; i < length; i++) {
        if (locus_pool_check(pool, list[i].block))
            continue;
        ++*count;
        function(context, list[i].block, list[i].tag);
    }
    free(list);
    return 0;
}

const char *pool_config_fault(const struct locus_pool_config *config)
{
    size_t stride_bytes = config->stride_bytes ? config->stride_bytes : config->block_bytes, bytes;
    if (config->home >= LOCUS_HOMES_MAX)
        return "home is not below 64 (LOCUS_HOMES_MAX)";
    if (config->blocks == 0 || config->blocks > LOCUS_BLOCKS_MAX)
        return "blocks is 0, or more than 64 Mi (LOCUS_BLOCKS_MAX)";
    if (config->block_bytes == 0)
        return "block_bytes is 0";
    if (stride_bytes < config->block_bytes)
        return "stride_bytes is less than block_bytes: blocks would overlap";
    if ((unsigned)config->backing > LOCUS_BACKING_CALLER || (unsigned)config->reuse > LOCUS_REUSE_RUNS)
        return "backing or reuse is out of range";
    if (__builtin_mul_overflow(stride_bytes, (size_t)config->blocks, &bytes))
        return "blocks times block_bytes exceeds the address space";
    if ((config->backing == LOCUS_BACKING_CALLER) != (config->memory != NULL))
        return "memory must be set with LOCUS_BACKING_CALLER, and only then";
    if (config->memory && bytes > config->memory_bytes)
        return "memory_bytes is too small for the blocks";
    if (config->windows && config->backing == LOCUS_BACKING_HEAP)
        return "windows show a region, and LOCUS_BACKING_HEAP has none";
    return NULL;
}

bool pool_cause(const struct locus_pool_config *config, uint64_t beside_bytes, int error, char *why, size_t why_bytes)
{
    struct locus_region_config blocks, own;
    pool_region_config(config, &blocks);
    pool_metadata_config(config, &own);
    if (config->backing == LOCUS_BACKING_HEAP) { // malloc asks for no kind of page, and for no node
        blocks.page = LOCUS_PAGE_4K;
        blocks.policy = LOCUS_POLICY_FIRST_TOUCH;
    }
    return region_cause(&blocks, beside_bytes, error, why, why_bytes) ||
           region_cause(&own, beside_bytes + (config->memory ? 0 : blocks.bytes), error, why, why_bytes);
}

void locus_pool_why(const struct locus_pool_config *given, int error, char *why, size_t why_bytes)
{
    struct locus_pool_config config;
    struct locus_region_config region;
    int taken = config_take(&config, sizeof config, given);
    const char *fault = taken ? config_why(taken) : abs(error) == EINVAL ? pool_config_fault(&config) : NULL;
    if (!fault && abs(error) == EINVAL) {
        pool_region_config(&config, &region);
        fault = region_config_fault(&region);
    }
    if (fault) {
        snprintf(why, why_bytes, "%s", fault);
    } else if (!pool_cause(&config, 0, error, why, why_bytes)) {
        pool_region_config(&config, &region);
        region_unknown_cause(&region, error, why, why_bytes);
    }
}
