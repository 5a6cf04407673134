// SPDX-License-Identifier: Apache-2.0
//
// blocks, stream, cached: floors. No attention can be faster than reading its bytes, in one stream (stream) or block by block in
// the order of the table (blocks), or than computing on what the second-level cache holds (cached). All three take as many bytes
// as attention does, and append as it does.

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed/decode/acts/acts.h"
#include "testbed/loops/kernels.h"

// Lines of the next block that are fetched while a block is read. With 16 a Zen 4 CPU read shuffled blocks of 64 KiB at 0.78 of
// one stream, with none at 0.7, with all of them at less.
#define AHEAD_LINES 16u
#define SECOND_LEVEL_BYTES (1L << 20) // where the system does not say

struct reading {
    const struct tb_step_layer *layer;
    const struct tb_cache *cache;
    const char *stream;         // NULL: blocks
    size_t stream_bytes;
    uint64_t *sum;              // keeps the reads alive
};

struct floor {
    const struct tb_cache *cache;
    char *memory;
    size_t bytes;
    size_t at;                  // stream: where the next layer's bytes are
    struct tb_cache few;        // cached: how K and V lie in blocks that stay there
    struct tb_attention *attention; // cached: over these
    char **blocks;              // cached: a table of a sequence of tokens_max
    struct tb_sequence *sequences; // cached: [batch], all of that table
};

static void floor_close(void *own)
{
    struct floor *floor = own;
    if (floor->memory)
        munmap(floor->memory, floor->bytes);
    tb_attention_close(floor->attention);
    free(floor->blocks);
    free(floor->sequences);
    free(floor);
}

// As a pool is: mapped, of transparent huge pages, populated.
static int floor_open(const struct tb_cache *cache, size_t bytes, struct floor **out)
{
    struct floor *floor = calloc(1, sizeof *floor);
    if (!floor)
        return -ENOMEM;
    floor->cache = cache;
    floor->bytes = (bytes + (2 << 20) - 1) >> 21 << 21;
    if (bytes) {
        void *memory = mmap(NULL, floor->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            free(floor);
            return -ENOMEM;
        }
        floor->memory = memory;
        madvise(memory, floor->bytes, MADV_HUGEPAGE);
        memset(memory, 0, floor->bytes);
    }
    *out = floor;
    return 0;
}

static uint32_t part_of(uint32_t whole, uint32_t who, uint32_t count)
{
    return (uint32_t)((uint64_t)whole * who / count);
}

static size_t layer_token_bytes(const struct tb_cache *cache)
{
    return tb_cache_token_bytes(cache) / cache->shape.layers;
}

// --- blocks --------------------------------------------------------------------------------------------------------------------

static int blocks_open(const struct tb_act_sizes *sizes, void **own)
{
    return floor_open(sizes->cache, 0, (struct floor **)own);
}

// A block of all layers is read as a whole with the first of them.
static void blocks_read_part(void *context, uint32_t who, uint32_t count)
{
    const struct reading *reading = context;
    const struct tb_cache *cache = reading->cache;
    const struct tb_step_layer *layer = reading->layer;
    size_t token_bytes = cache->block_layers > 1 ? tb_cache_token_bytes(cache) : layer_token_bytes(cache);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < layer->count; i++) {
        const struct tb_sequence *sequence = &layer->sequences[i];
        uint32_t blocks = (sequence->tokens + cache->block_tokens - 1) / cache->block_tokens, end = part_of(blocks, who + 1, count);
        for (uint32_t number = part_of(blocks, who, count); number < end; number++) {
            const char *block = tb_cache_block(cache, sequence->blocks, layer->layer, number);
            const char *next = number + 1 < end ? tb_cache_block(cache, sequence->blocks, layer->layer, number + 1) : block;
            uint32_t left = sequence->tokens - number * cache->block_tokens;
            for (uint32_t line = 0; line < AHEAD_LINES; line++)
                __builtin_prefetch(next + line * TB_LINE_BYTES);
            size_t bytes = (left < cache->block_tokens ? left : cache->block_tokens) * token_bytes;
            sum += tb_kernels_best()->read(block, bytes / TB_LINE_BYTES).sum;
        }
    }
    reading->sum[who] = sum;
}

static void blocks_read(void *own, const struct tb_step_layer *layer)
{
    struct floor *floor = own;
    uint64_t sums[TB_TEAM_MAX];
    struct reading reading = {.layer = layer, .cache = floor->cache, .sum = sums};
    if (floor->cache->block_layers == 1 || layer->layer == 0)
        tb_team_run(layer->team, blocks_read_part, &reading);
}

const struct tb_act tb_act_blocks = {
    .name = "blocks",
    .summary = "a floor: reads the same blocks in the same order, and computes nothing",
    .appends = true,
    .floor = true,
    .open = blocks_open,
    .close = floor_close,
    .read = blocks_read,
};

// --- stream --------------------------------------------------------------------------------------------------------------------

static int stream_open(const struct tb_act_sizes *sizes, void **own)
{
    return floor_open(sizes->cache, sizes->live_bytes, (struct floor **)own);
}

static void stream_read_part(void *context, uint32_t who, uint32_t count)
{
    const struct reading *reading = context;
    size_t lines = reading->stream_bytes / TB_LINE_BYTES, begin = lines * who / count, end = lines * (who + 1) / count;
    reading->sum[who] = tb_kernels_best()->read(reading->stream + begin * TB_LINE_BYTES, end - begin).sum;
}

static void stream_read(void *own, const struct tb_step_layer *layer)
{
    struct floor *floor = own;
    uint64_t sums[TB_TEAM_MAX];
    size_t bytes = 0;
    for (uint32_t i = 0; i < layer->count; i++)
        bytes += layer->sequences[i].tokens * layer_token_bytes(floor->cache);
    if (floor->at + bytes > floor->bytes)
        floor->at = 0;
    struct reading reading = {.layer = layer, .stream = floor->memory + floor->at, .stream_bytes = bytes, .sum = sums};
    tb_team_run(layer->team, stream_read_part, &reading);
    floor->at += bytes;
}

const struct tb_act tb_act_stream = {
    .name = "stream",
    .summary = "a floor: reads as many bytes in one stream, and computes nothing",
    .appends = true,
    .floor = true,
    .open = stream_open,
    .close = floor_close,
    .read = stream_read,
};

// --- cached --------------------------------------------------------------------------------------------------------------------

// Half of the second-level cache, as sums and queries need room, too.
static size_t cached_bytes(void)
{
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (size_t)(bytes > 0 ? bytes : SECOND_LEVEL_BYTES) / 2;
}

// A block that is longer (contiguous memory is one) cannot stay there: then there are others, of one tile.
static int cached_cache(const struct tb_cache *cache, struct tb_cache *out)
{
    char why[160];
    *out = *cache;
    return cache->block_bytes <= cached_bytes()
               ? 0
               : tb_cache_open(out, &cache->shape, cache->dtype, tb_layout_find("runs"), TB_TILE_TOKENS, why, sizeof why);
}

// The same few blocks, over and over.
static int cached_table(struct floor *floor, const struct tb_act_sizes *sizes, size_t few)
{
    const struct tb_cache *cache = &floor->few;
    uint32_t blocks = tb_cache_blocks(cache, sizes->tokens_max);
    floor->blocks = calloc(blocks, sizeof *floor->blocks);
    floor->sequences = calloc(sizes->batch, sizeof *floor->sequences);
    if (!floor->blocks || !floor->sequences)
        return -ENOMEM;
    for (uint32_t i = 0; i < blocks; i++)
        floor->blocks[i] = floor->memory + i / (cache->shape.layers / cache->block_layers) % few * cache->block_bytes;
    return tb_attention_open(&floor->attention, cache, sizes->kernel, sizes->team, sizes->batch);
}

static int cached_open(const struct tb_act_sizes *sizes, void **own)
{
    struct tb_cache cache;
    struct floor *floor;
    int error = cached_cache(sizes->cache, &cache);
    if (error)
        return error;
    size_t few = cached_bytes() / cache.block_bytes ? cached_bytes() / cache.block_bytes : 1;
    error = floor_open(sizes->cache, few * cache.block_bytes, &floor);
    if (error)
        return error;
    floor->few = cache;
    error = cached_table(floor, sizes, few);
    if (error)
        floor_close(floor);
    else
        *own = floor;
    return error;
}

static void cached_read(void *own, const struct tb_step_layer *layer)
{
    struct floor *floor = own;
    for (uint32_t i = 0; i < layer->count; i++)
        floor->sequences[i] = (struct tb_sequence){floor->blocks, layer->sequences[i].tokens};
    tb_attend(floor->attention, layer->layer, floor->sequences, layer->count, layer->q, layer->out);
}

static uint64_t cached_rows(const void *own)
{
    return tb_attended_rows(((const struct floor *)own)->attention);
}

const struct tb_act tb_act_cached = {
    .name = "cached",
    .summary = "a floor: attends over as many tokens, in blocks that stay in the second-level cache",
    .appends = true,
    .floor = true,
    .open = cached_open,
    .close = floor_close,
    .read = cached_read,
    .rows = cached_rows,
};
