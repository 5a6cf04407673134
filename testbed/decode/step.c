// SPDX-License-Identifier: Apache-2.0
//
// step: see step.h.

#include "testbed/decode/step.h"

#include <errno.h>
#include <stdlib.h>

#define ROWS 16u // arbitrary: 64 KiB of K and V of Llama-3-8B
#define PAGE_BYTES 4096u
#define LINE_BYTES 64u

struct slot {
    char **blocks;              // [capacity]
    uint32_t blocks_count, capacity;
    uint32_t tokens, appended;  // that it has, and those whose K and V are written
    uint64_t serial;            // of the sequence
    bool extended;              // it is in the next step
};

// Contiguous memory for one layer of one sequence.
struct mirror {
    struct tb_cache cache;
    char *memory;
    struct tb_attention *attention;
    float *out;
};

struct tb_step {
    struct tb_step_config config;
    struct tb_attention *attention;
    struct slot *slots;
    char **blocks;              // all slots'
    uint32_t *extended;         // [batch] slots of the next step
    uint32_t extended_count;
    struct tb_sequence *sequences; // [batch]
    struct tb_step_new *fresh;  // [batch]
    float *q, *out;             // [batch][heads][head_dim]
    char *rows;                 // [ROWS] of K of all KV heads, then as many of V
    size_t row_bytes;           // of all KV heads
    uint64_t serials;
    void *own;                  // the act's
    struct mirror mirror;
    tb_step_watch_fn *watch;
    void *watch_context;
    bool watch_written;         // what is visited now
    struct tb_step_sums sums;
};

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static float number_at(uint64_t i)
{
    return (float)((double)(mixed(i + 1) >> 40) / (1 << 23) - 1);
}

static const char *row_of(const void *rows, uint64_t serial, uint32_t layer, uint32_t position)
{
    const struct tb_step *step = rows;
    return step->rows + mixed(serial << 32 ^ (uint64_t)layer << 24 ^ position) % ROWS * step->row_bytes;
}

static size_t numbers_count(const struct tb_step *step, uint32_t batch)
{
    return (size_t)batch * step->config.cache->shape.heads * step->config.cache->shape.head_dim;
}

static int rows_make(struct tb_step *step)
{
    const struct tb_cache *cache = step->config.cache;
    size_t bytes = tb_dtype_bytes(cache->dtype);
    step->row_bytes = cache->shape.kv_heads * cache->row_bytes;
    step->rows = malloc(2 * ROWS * step->row_bytes);
    step->q = malloc(numbers_count(step, step->config.batch) * sizeof(float));
    step->out = malloc(numbers_count(step, step->config.batch) * sizeof(float));
    if (!step->rows || !step->q || !step->out)
        return -ENOMEM;
    for (size_t i = 0; i < 2 * ROWS * step->row_bytes / bytes; i++)
        tb_dtype_store(cache->dtype, step->rows + i * bytes, number_at(i));
    for (size_t i = 0; i < numbers_count(step, step->config.batch); i++)
        step->q[i] = number_at(UINT64_C(1) << 40 | i);
    return 0;
}

static int slots_make(struct tb_step *step)
{
    const struct tb_step_config *config = &step->config;
    size_t blocks = 0;
    for (uint32_t i = 0; i < config->slots; i++)
        blocks += config->capacity[i];
    step->slots = calloc(config->slots, sizeof *step->slots);
    step->blocks = calloc(blocks + 1, sizeof *step->blocks);
    step->extended = calloc(config->batch, sizeof *step->extended);
    step->sequences = calloc(config->batch, sizeof *step->sequences);
    step->fresh = calloc(config->batch, sizeof *step->fresh);
    if (!step->slots || !step->blocks || !step->extended || !step->sequences || !step->fresh)
        return -ENOMEM;
    char **at = step->blocks;
    for (uint32_t i = 0; i < config->slots; i++) {
        step->slots[i] = (struct slot){.blocks = at, .capacity = config->capacity[i]};
        at += config->capacity[i];
    }
    return 0;
}

// The same K order as the cache, so that it has the same order of sums.
static int mirror_open(struct tb_step *step)
{
    const struct tb_cache *cache = step->config.cache;
    struct mirror *mirror = &step->mirror;
    struct tb_shape shape = cache->shape;
    char why[8];
    bool columns = cache->k_value_bytes != tb_dtype_bytes(cache->dtype);
    uint32_t tokens = (step->config.tokens_max + TB_TILE_TOKENS - 1) / TB_TILE_TOKENS * TB_TILE_TOKENS;
    shape.layers = 1;
    int error = tb_cache_open(&mirror->cache, &shape, cache->dtype, columns ? cache->layout : tb_layout_find("contiguous"), tokens,
                              why, sizeof why);
    if (error)
        return error;
    mirror->memory = aligned_alloc(PAGE_BYTES, (mirror->cache.block_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    mirror->out = malloc(numbers_count(step, 1) * sizeof(float));
    if (!mirror->memory || !mirror->out)
        return -ENOMEM;
    return tb_attention_open(&mirror->attention, &mirror->cache, step->config.kernel, step->config.team, 1);
}

int tb_step_open(struct tb_step **out, const struct tb_step_config *config)
{
    struct tb_step *step = calloc(1, sizeof *step);
    if (!step)
        return -ENOMEM;
    step->config = *config;
    int error = slots_make(step);
    if (!error)
        error = rows_make(step);
    if (!error)
        error = tb_attention_open(&step->attention, config->cache, config->kernel, config->team, config->batch);
    if (!error)
        error = mirror_open(step);
    struct tb_act_sizes sizes = {
        .cache = config->cache,
        .kernel = config->kernel,
        .team = config->team,
        .slots = config->slots,
        .live_bytes = config->tokens_live * tb_cache_token_bytes(config->cache),
        .tokens_max = config->tokens_max,
        .batch = config->batch,
        .why = config->why,
        .why_bytes = config->why_bytes,
    };
    if (!error && config->act->open)
        error = config->act->open(&sizes, &step->own);
    if (error) {
        tb_step_close(step);
        return error;
    }
    *out = step;
    return 0;
}

void tb_step_close(struct tb_step *step)
{
    if (!step)
        return;
    if (step->own)
        step->config.act->close(step->own);
    tb_attention_close(step->mirror.attention);
    tb_attention_close(step->attention);
    free(step->mirror.memory);
    free(step->mirror.out);
    free(step->slots);
    free(step->blocks);
    free(step->extended);
    free(step->sequences);
    free(step->fresh);
    free(step->q);
    free(step->out);
    free(step->rows);
    free(step);
}

void tb_step_take(struct tb_step *step, uint32_t slot, uint32_t i, uint32_t count, void *address)
{
    const struct tb_cache *cache = step->config.cache;
    struct slot *at = &step->slots[slot];
    uint32_t layers = cache->shape.layers / cache->block_layers, groups = count / layers;
    at->blocks[at->blocks_count + i % groups * layers + i / groups] = address;
    at->blocks_count += i + 1 == count ? count : 0;
}

void tb_step_extend(struct tb_step *step, uint32_t slot, uint32_t tokens)
{
    struct slot *at = &step->slots[slot];
    if (at->tokens == 0)
        at->serial = step->serials++;
    at->tokens += tokens;
    if (!at->extended)
        step->extended[step->extended_count++] = slot;
    at->extended = true;
}

void tb_step_retire(struct tb_step *step, uint32_t slot)
{
    struct slot *at = &step->slots[slot];
    at->blocks_count = at->tokens = at->appended = 0;
}

void tb_step_adjacent(const struct tb_step *step, uint32_t slot, uint64_t *adjacent, uint64_t *followed)
{
    const struct tb_cache *cache = step->config.cache;
    const struct slot *at = &step->slots[slot];
    uint32_t layers = cache->shape.layers / cache->block_layers;
    for (uint32_t i = layers; i < at->blocks_count; i++) {
        uintptr_t end = (uintptr_t)at->blocks[i - layers] + cache->block_bytes;
        *adjacent += (uintptr_t)at->blocks[i] - end <= LINE_BYTES; // of a next one that lies before, it is huge
        *followed += 1;
    }
}

static void append(struct tb_step *step, const struct slot *slot, uint32_t layer)
{
    const struct tb_cache *cache = step->config.cache;
    for (uint32_t position = slot->appended; position < slot->tokens; position++) {
        const char *k = row_of(step, slot->serial, layer, position);
        tb_cache_append(cache, slot->blocks, layer, position, k, k + ROWS * step->row_bytes);
    }
    step->sums.appended_bytes += (slot->tokens - slot->appended) * 2 * step->row_bytes;
}

static bool is_right(const struct tb_step *step, uint32_t tokens, const float *out)
{
    const struct tb_act *act = step->config.act;
    const float *expected = step->mirror.out;
    if (act->roundoffs == 0)
        return memcmp(expected, out, numbers_count(step, 1) * sizeof(float)) == 0;
    return tb_act_close(step->config.cache, act->roundoffs, tokens, expected, out);
}

static void check_one(struct tb_step *step, uint32_t layer, uint32_t i)
{
    const struct slot *slot = &step->slots[step->extended[i]];
    struct mirror *mirror = &step->mirror;
    struct tb_sequence sequence = {&mirror->memory, slot->tokens};
    for (uint32_t position = 0; position < slot->tokens; position++) {
        const char *k = row_of(step, slot->serial, layer, position);
        tb_cache_append(&mirror->cache, &mirror->memory, 0, position, k, k + ROWS * step->row_bytes);
    }
    tb_attend(mirror->attention, 0, &sequence, 1, step->q + numbers_count(step, i), mirror->out);
    step->sums.checked++;
    step->sums.wrong += !is_right(step, slot->tokens, step->out + numbers_count(step, i));
}

static void layer_run(struct tb_step *step, uint32_t layer)
{
    const struct tb_step_config *config = &step->config;
    for (uint32_t i = 0; i < step->extended_count && config->act->appends; i++)
        append(step, &step->slots[step->extended[i]], layer);
    struct tb_step_layer read = {
        .attention = step->attention,
        .team = config->team,
        .layer = layer,
        .sequences = step->sequences,
        .fresh = step->fresh,
        .row = row_of,
        .rows = step,
        .v_bytes = ROWS * step->row_bytes,
        .count = step->extended_count,
        .q = step->q,
        .out = step->out,
    };
    if (config->act->read)
        config->act->read(step->own, &read);
}

void tb_step_watch(struct tb_step *step, tb_step_watch_fn *watch, void *context)
{
    step->watch = watch;
    step->watch_context = context;
}

static void span_tell(void *context, char *at, size_t bytes)
{
    struct tb_step *step = context;
    step->watch(step->watch_context, step->watch_written, at, bytes);
}

static void positions_tell(struct tb_step *step, const struct slot *slot, uint32_t layer, uint32_t begin, bool written)
{
    const struct tb_cache *cache = step->config.cache;
    step->watch_written = written;
    while (begin < slot->tokens) {
        uint32_t number = begin / cache->block_tokens, first = number * cache->block_tokens;
        uint32_t end = slot->tokens - first < cache->block_tokens ? slot->tokens : first + cache->block_tokens;
        tb_cache_spans(cache, tb_cache_block(cache, slot->blocks, layer, number), begin - first, end - first, span_tell, step);
        begin = end;
    }
}

static void layer_tell(struct tb_step *step, uint32_t layer)
{
    const struct tb_act *act = step->config.act;
    for (uint32_t i = 0; i < step->extended_count; i++) {
        const struct slot *slot = &step->slots[step->extended[i]];
        if (act->appends)
            positions_tell(step, slot, layer, slot->appended, true);
        if (act->attends)
            positions_tell(step, slot, layer, 0, false);
    }
}

void tb_step_run(struct tb_step *step, bool check)
{
    const struct tb_step_config *config = &step->config;
    for (uint32_t i = 0; i < step->extended_count; i++) {
        const struct slot *slot = &step->slots[step->extended[i]];
        step->sequences[i] = (struct tb_sequence){slot->blocks, slot->tokens};
        step->fresh[i] = (struct tb_step_new){step->extended[i], slot->serial, slot->appended};
    }
    for (uint32_t layer = 0; layer < config->cache->shape.layers; layer++) {
        layer_run(step, layer);
        if (step->watch)
            layer_tell(step, layer);
        if (check && step->extended_count && config->act->attends && layer == step->sums.steps % config->cache->shape.layers)
            check_one(step, layer, (uint32_t)(step->sums.steps % step->extended_count));
    }
    for (uint32_t i = 0; i < step->extended_count; i++) {
        struct slot *slot = &step->slots[step->extended[i]];
        slot->appended = slot->tokens;
        slot->extended = false;
    }
    step->extended_count = 0;
    step->sums.steps++;
}

struct tb_step_sums tb_step_sums(const struct tb_step *step)
{
    const struct tb_act *act = step->config.act;
    struct tb_step_sums sums = step->sums;
    uint64_t rows = tb_attended_rows(step->attention) + (act->rows ? act->rows(step->own) : 0);
    sums.attended_bytes = rows * 2 * step->config.cache->row_bytes;
    return sums;
}

const char *tb_step_kernel(const struct tb_step *step)
{
    const struct tb_act *act = step->config.act;
    return act->kernel ? act->kernel(step->own) : step->config.kernel->name;
}

const char *tb_step_failed(const struct tb_step *step)
{
    const struct tb_act *act = step->config.act;
    return act->failed ? act->failed(step->own) : NULL;
}
