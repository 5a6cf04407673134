// SPDX-License-Identifier: Apache-2.0
//
// decoding: see decoding.h.

#include "testbed/measure/decoding/decoding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/block.h"
#include "testbed/workload/batch.h"

static int schedule_of(const struct tb_decoding_source *source, uint32_t block_tokens, uint32_t blocks_per_group,
                       struct tb_schedule **out, struct tb_why *why)
{
    if (!source->trace)
        return tb_decode_schedule(source->workload, block_tokens, blocks_per_group, out, why);
    struct tb_replay_config config = *source->replay;
    config.block_tokens = block_tokens;
    config.blocks_per_group = blocks_per_group;
    return tb_schedule_replay(source->trace, &config, out, why);
}

// Only the block of a layout that is whole depends on the workload.
static int tokens_of(const struct tb_decoding_source *source, const struct tb_decode_settings *settings, uint32_t *out,
                     struct tb_why *why)
{
    struct tb_schedule *schedule = NULL;
    const struct tb_layout *layout = tb_layout_find(settings->layout);
    *out = TB_TILE_TOKENS;
    if (!layout || !layout->whole)
        return 0;
    int error = schedule_of(source, TB_TILE_TOKENS, 1, &schedule, why);
    if (!error)
        *out = schedule->tokens_peak;
    free(schedule);
    return error;
}

// What a contender's pool can have at all.
static int limits_check(const struct tb_cell *cell, const struct tb_schedule *schedule, const char *name, struct tb_why *why)
{
    if (schedule->pool_blocks > LOCUS_BLOCKS_MAX)
        tb_why_set(why, name, 0, "the pool would have %u blocks of %u tokens, and %u are the most: name larger ones, such as /%ut",
                   schedule->pool_blocks, schedule->block_tokens, LOCUS_BLOCKS_MAX, 4 * schedule->block_tokens);
    else if (cell->block_bytes > TB_BLOCK_BYTES_MAX)
        tb_why_set(why, name, 0, "a block would have %llu MiB, and %llu are the most: name smaller ones, such as /16t",
                   (unsigned long long)(cell->block_bytes >> 20), (unsigned long long)(TB_BLOCK_BYTES_MAX >> 20));
    else
        return 0;
    return -EINVAL;
}

int tb_decoding_open(struct tb_cell *cell, const struct tb_decoding_source *source, struct tb_schedule **out, struct tb_why *why)
{
    struct tb_cache cache;
    uint32_t tokens = 0;
    *out = NULL;
    why->text[0] = '\0';
    int error = tokens_of(source, &cell->decode, &tokens, why);
    if (!error)
        error = tb_decode_cache(&cell->decode, tokens, &cache, why->text, sizeof why->text);
    if (!error)
        error = schedule_of(source, cache.block_tokens, cache.shape.layers / cache.block_layers, out, why);
    if (error)
        return error;
    cell->block_bytes = cache.block_bytes;
    cell->schedule = *out;
    error = limits_check(cell, *out, (*out)->name, why);
    if (error) {
        free(*out);
        cell->schedule = *out = NULL;
    }
    return error;
}
