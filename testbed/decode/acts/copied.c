// SPDX-License-Identifier: Apache-2.0
//
// gather, cat: attention of engines that do not read pages in place. gather appends to pages, as attend does, and copies those of
// each sequence into one piece of memory before it attends; cat has no pages, and with each token copies all of K and V into
// memory that is longer by one (../copies/).
//
// Copies are plain: what attention reads next may stay in the caches. Threads copy a sequence each, and attend together.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/decode/acts/acts.h"
#include "testbed/decode/copies/copies.h"

#define WHY_BYTES 160

// --- gather --------------------------------------------------------------------------------------------------------------------

struct gather {
    const struct tb_cache *paged;
    struct tb_cache target;     // of one layer
    struct tb_attention *attention;
    uint32_t batch;
    char **memory;              // [batch] a layer of a sequence
    struct tb_sequence *sequences; // [batch]
    const struct tb_step_layer *layer;
};

static void gather_close(void *own)
{
    struct gather *gather = own;
    for (uint32_t i = 0; i < gather->batch && gather->memory; i++)
        free(gather->memory[i]);
    tb_attention_close(gather->attention);
    free(gather->memory);
    free(gather->sequences);
    free(gather);
}

// Its memory is written here, so that no step pays for first touch.
static int gather_memory(struct gather *gather)
{
    size_t bytes = (gather->target.block_bytes + 4095) / 4096 * 4096;
    gather->memory = calloc(gather->batch, sizeof *gather->memory);
    gather->sequences = calloc(gather->batch, sizeof *gather->sequences);
    if (!gather->memory || !gather->sequences)
        return -ENOMEM;
    for (uint32_t i = 0; i < gather->batch; i++) {
        gather->memory[i] = aligned_alloc(4096, bytes);
        if (!gather->memory[i])
            return -ENOMEM;
        memset(gather->memory[i], 0, bytes);
    }
    return 0;
}

static int gather_open(const struct tb_act_sizes *sizes, void **own)
{
    struct tb_cache one = *sizes->cache;
    struct gather *gather = calloc(1, sizeof *gather);
    char why[WHY_BYTES];
    if (!gather)
        return -ENOMEM;
    one.shape.layers = 1;
    gather->paged = sizes->cache;
    gather->batch = sizes->batch;
    int error = tb_copy_target(&gather->target, &one, sizes->tokens_max, why, sizeof why);
    if (!error)
        error = gather_memory(gather);
    if (!error)
        error = tb_attention_open(&gather->attention, &gather->target, sizes->kernel, sizes->team, sizes->batch);
    if (error)
        gather_close(gather);
    else
        *own = gather;
    return error;
}

static void gather_part(void *context, uint32_t who, uint32_t count)
{
    struct gather *gather = context;
    const struct tb_step_layer *layer = gather->layer;
    for (uint32_t i = who; i < layer->count; i += count) {
        const struct tb_sequence *paged = &layer->sequences[i];
        tb_copy_gather(gather->paged, paged->blocks, paged->tokens, layer->layer, &gather->target, gather->memory[i],
                       TB_COPY_PLAIN);
        gather->sequences[i] = (struct tb_sequence){&gather->memory[i], paged->tokens};
    }
}

static void gather_read(void *own, const struct tb_step_layer *layer)
{
    struct gather *gather = own;
    gather->layer = layer;
    tb_team_run(layer->team, gather_part, gather);
    tb_attend(gather->attention, 0, gather->sequences, layer->count, layer->q, layer->out);
}

static uint64_t gather_rows(const void *own)
{
    return tb_attended_rows(((const struct gather *)own)->attention);
}

const struct tb_act tb_act_gather = {
    .name = "gather",
    .summary = "copies the pages of each sequence into one piece of memory, and attends there",
    .appends = true,
    .attends = true,
    .copies = true,
    .open = gather_open,
    .close = gather_close,
    .read = gather_read,
    .rows = gather_rows,
};

// --- cat -----------------------------------------------------------------------------------------------------------------------

struct grown {                  // the sequence of a slot
    struct tb_growth *growth;
    struct tb_attention *attention;
    uint64_t serial;
    bool begun;
};

struct cat {
    const struct tb_cache *cache;
    struct grown *slots;
    uint32_t slots_count;
    char **packed;              // [threads]: K, then V, of a prompt that is appended at once, [kv_heads][tokens][head_dim]
    uint32_t threads, tokens_max;
    const struct tb_step_layer *layer;
};

static void cat_close(void *own)
{
    struct cat *cat = own;
    for (uint32_t i = 0; i < cat->slots_count && cat->slots; i++) {
        tb_attention_close(cat->slots[i].attention);
        tb_growth_close(cat->slots[i].growth);
    }
    for (uint32_t i = 0; i < cat->threads && cat->packed; i++)
        free(cat->packed[i]);
    free(cat->slots);
    free(cat->packed);
    free(cat);
}

static size_t packed_bytes(const struct cat *cat, uint32_t tokens)
{
    return (size_t)cat->cache->shape.kv_heads * tokens * cat->cache->row_bytes;
}

static int cat_slots(struct cat *cat, const struct tb_act_sizes *sizes)
{
    int error = 0;
    for (uint32_t i = 0; i < cat->slots_count && !error; i++) {
        struct grown *slot = &cat->slots[i];
        error = tb_growth_open(&slot->growth, &sizes->cache->shape, sizes->cache->dtype, TB_GROWTH_CAT);
        if (!error)
            error = tb_attention_open(&slot->attention, tb_growth_cache(slot->growth), sizes->kernel, sizes->team, 1);
    }
    for (uint32_t i = 0; i < cat->threads && !error; i++) {
        cat->packed[i] = malloc(2 * packed_bytes(cat, cat->tokens_max));
        error = cat->packed[i] ? 0 : -ENOMEM;
    }
    return error;
}

static int cat_open(const struct tb_act_sizes *sizes, void **own)
{
    struct cat *cat = calloc(1, sizeof *cat);
    if (!cat)
        return -ENOMEM;
    cat->cache = sizes->cache;
    cat->slots_count = sizes->slots;
    cat->threads = tb_team_count(sizes->team);
    cat->tokens_max = sizes->tokens_max;
    cat->slots = calloc(cat->slots_count, sizeof *cat->slots);
    cat->packed = calloc(cat->threads, sizeof *cat->packed);
    int error = cat->slots && cat->packed ? cat_slots(cat, sizes) : -ENOMEM;
    if (error)
        cat_close(cat);
    else
        *own = cat;
    return error;
}

// Without memory the sequence stays too short, and the gate finds that too few bytes were read.
static void grow(struct cat *cat, char *packed, uint32_t i)
{
    const struct tb_step_layer *layer = cat->layer;
    const struct tb_step_new *fresh = &layer->fresh[i];
    uint32_t tokens = layer->sequences[i].tokens - fresh->begin;
    size_t row_bytes = cat->cache->row_bytes, v_bytes = packed_bytes(cat, tokens);
    for (uint32_t token = 0; token < tokens; token++) {
        const char *k = layer->row(layer->rows, fresh->serial, layer->layer, fresh->begin + token);
        for (size_t head = 0; head < cat->cache->shape.kv_heads; head++) {
            char *to = packed + (head * tokens + token) * row_bytes;
            memcpy(to, k + head * row_bytes, row_bytes);
            memcpy(to + v_bytes, k + layer->v_bytes + head * row_bytes, row_bytes);
        }
    }
    tb_growth_append(cat->slots[fresh->slot].growth, layer->layer, tokens, packed, packed + v_bytes);
}

static void cat_part(void *context, uint32_t who, uint32_t count)
{
    struct cat *cat = context;
    for (uint32_t i = who; i < cat->layer->count; i += count) {
        const struct tb_step_new *fresh = &cat->layer->fresh[i];
        struct grown *slot = &cat->slots[fresh->slot];
        if (cat->layer->layer == 0 && (!slot->begun || slot->serial != fresh->serial))
            tb_growth_clear(slot->growth);
        slot->serial = fresh->serial;
        slot->begun = true;
        grow(cat, cat->packed[who], i);
    }
}

static void cat_read(void *own, const struct tb_step_layer *layer)
{
    struct cat *cat = own;
    size_t numbers = (size_t)cat->cache->shape.heads * cat->cache->shape.head_dim;
    cat->layer = layer;
    tb_team_run(layer->team, cat_part, cat);
    for (uint32_t i = 0; i < layer->count; i++) {
        struct grown *slot = &cat->slots[layer->fresh[i].slot];
        struct tb_sequence view = tb_growth_view(slot->growth, layer->layer);
        tb_attend(slot->attention, layer->layer, &view, 1, layer->q + i * numbers, layer->out + i * numbers);
    }
}

static uint64_t cat_rows(const void *own)
{
    const struct cat *cat = own;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < cat->slots_count; i++)
        rows += tb_attended_rows(cat->slots[i].attention);
    return rows;
}

const struct tb_act tb_act_cat = {
    .name = "cat",
    .summary = "no pages: with each token all of K and V is copied into memory that is longer by one (torch.cat)",
    .attends = true,
    .copies = true,
    .open = cat_open,
    .close = cat_close,
    .read = cat_read,
    .rows = cat_rows,
};
