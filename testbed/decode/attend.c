// SPDX-License-Identifier: Apache-2.0
//
// attend: see attend.h. Each thread gathers its part of each sequence into memory of its own; then each merges, in order of the
// parts, the sequences that fall to it.

#include "testbed/decode/attend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct tally {
    _Alignas(64) uint64_t rows; // of one KV head each; its thread's alone while a team works
};

struct tb_attention {
    const struct tb_cache *cache;
    const struct tb_kernel *kernel;
    struct tb_team *team;
    uint32_t batch;
    float *q;                   // [batch][heads][head_dim], scaled
    struct tally tallies[TB_TEAM_MAX];
    float *parts[TB_TEAM_MAX];  // of each thread: [batch] of part_floats
    size_t part_floats;         // acc, sum and max of all heads of a sequence
};

struct call {
    struct tb_attention *attention;
    uint32_t layer, count;
    const struct tb_sequence *sequences;
    float *out;
};

static size_t floats_in_lines(size_t floats)
{
    return (floats + 15) / 16 * 16;
}

int tb_attention_open(struct tb_attention **out, const struct tb_cache *cache, const struct tb_kernel *kernel, struct tb_team *team,
                      uint32_t batch)
{
    size_t heads = cache->shape.heads, q_floats = batch * heads * cache->shape.head_dim;
    struct tb_attention *attention = aligned_alloc(64, sizeof *attention);
    if (!attention)
        return -ENOMEM;
    *attention = (struct tb_attention){.cache = cache, .kernel = kernel, .team = team, .batch = batch};
    attention->part_floats = heads * (cache->shape.head_dim + TB_TILE_TOKENS) + floats_in_lines(heads);
    attention->q = aligned_alloc(64, q_floats * sizeof(float));
    bool enough = attention->q;
    for (uint32_t who = 0; who < tb_team_count(team) && enough; who++) {
        attention->parts[who] = aligned_alloc(64, batch * attention->part_floats * sizeof(float));
        enough = attention->parts[who];
    }
    if (!enough) {
        tb_attention_close(attention);
        return -ENOMEM;
    }
    *out = attention;
    return 0;
}

void tb_attention_close(struct tb_attention *attention)
{
    if (!attention)
        return;
    for (uint32_t who = 0; who < TB_TEAM_MAX; who++)
        free(attention->parts[who]);
    free(attention->q);
    free(attention);
}

// What a KV head's queries have gathered of a sequence, in this thread's part.
static struct tb_gather gather_at(const struct tb_attention *attention, uint32_t who, uint32_t sequence, uint32_t kv_head)
{
    const struct tb_cache *cache = attention->cache;
    size_t heads = cache->shape.heads, dims = cache->shape.head_dim, first = (size_t)kv_head * cache->group;
    float *part = attention->parts[who] + sequence * attention->part_floats;
    return (struct tb_gather){
        .q = attention->q + (sequence * heads + first) * dims,
        .acc = part + first * dims,
        .sum = part + heads * dims + first * TB_TILE_TOKENS,
        .max = part + heads * (dims + TB_TILE_TOKENS) + first,
    };
}

static void part_clear(const struct tb_attention *attention, uint32_t who, uint32_t sequence)
{
    const struct tb_cache *cache = attention->cache;
    struct tb_gather all = gather_at(attention, who, sequence, 0);
    memset(all.acc, 0, cache->shape.heads * (cache->shape.head_dim + TB_TILE_TOKENS) * sizeof(float)); // sum follows acc
    for (uint32_t head = 0; head < cache->shape.heads; head++)
        all.max[head] = -INFINITY;
}

// Positions of one block that one head's queries read, run by run.
static void block_attend(const struct call *call, uint32_t who, uint32_t sequence, uint32_t kv_head, char *block, uint32_t begin,
                         uint32_t end, const char *next)
{
    const struct tb_attention *attention = call->attention;
    const struct tb_cache *cache = attention->cache;
    struct tb_gather gather = gather_at(attention, who, sequence, kv_head);
    while (begin < end) {
        uint32_t run_end = (begin / cache->run_tokens + 1) * cache->run_tokens, tokens = (run_end < end ? run_end : end) - begin;
        struct tb_rows rows = {
            .k = tb_cache_k(cache, block, kv_head, begin),
            .v = tb_cache_v(cache, block, kv_head, begin),
            .tokens = tokens,
            .ahead = next,
            .ahead_bytes = cache->run_bytes,
        };
        attention->kernel->attend[cache->dtype](cache, &gather, &rows);
        call->attention->tallies[who].rows += tokens;
        begin += tokens;
    }
}

static void sequence_attend(const struct call *call, uint32_t who, uint32_t sequence, uint32_t begin, uint32_t end)
{
    const struct tb_cache *cache = call->attention->cache;
    char *const *blocks = call->sequences[sequence].blocks;
    while (begin < end) {
        uint32_t number = begin / cache->block_tokens, first = number * cache->block_tokens;
        uint32_t block_end = end < first + cache->block_tokens ? end : first + cache->block_tokens;
        char *block = tb_cache_block(cache, blocks, call->layer, number);
        const char *next = block_end < end ? tb_cache_block(cache, blocks, call->layer, number + 1) : NULL;
        for (uint32_t head = 0; head < cache->shape.kv_heads; head++)
            block_attend(call, who, sequence, head, block, begin - first, block_end - first,
                         head + 1 < cache->shape.kv_heads ? block + (head + 1) * cache->head_bytes : next);
        begin = block_end;
    }
}

// The positions of a sequence from which thread `who` of `count` on reads.
static uint32_t part_begin(uint32_t tokens, uint32_t who, uint32_t count)
{
    uint64_t tiles = (tokens + TB_TILE_TOKENS - 1) / TB_TILE_TOKENS;
    uint64_t begin = tiles * who / count * TB_TILE_TOKENS;
    return begin < tokens ? (uint32_t)begin : tokens;
}

static void parts_gather(void *context, uint32_t who, uint32_t count)
{
    const struct call *call = context;
    for (uint32_t i = 0; i < call->count; i++) {
        uint32_t tokens = call->sequences[i].tokens;
        part_clear(call->attention, who, i);
        sequence_attend(call, who, i, part_begin(tokens, who, count), part_begin(tokens, who + 1, count));
    }
}

// One head's result of all parts: each weighs as much as its maximum is close to the highest.
static void head_merge(const struct call *call, uint32_t sequence, uint32_t head, uint32_t parts)
{
    const struct tb_cache *cache = call->attention->cache;
    uint32_t dims = cache->shape.head_dim;
    float *out = call->out + ((size_t)sequence * cache->shape.heads + head) * dims, max = -INFINITY, sum = 0;
    for (uint32_t who = 0; who < parts; who++)
        max = fmaxf(max, gather_at(call->attention, who, sequence, 0).max[head]);
    memset(out, 0, dims * sizeof *out);
    for (uint32_t who = 0; who < parts; who++) {
        struct tb_gather part = gather_at(call->attention, who, sequence, 0);
        float scale = expf(part.max[head] - max); // 0 of a part that read nothing
        for (uint32_t dim = 0; dim < dims; dim++)
            out[dim] += scale * part.acc[head * dims + dim];
        for (uint32_t place = 0; place < TB_TILE_TOKENS; place++)
            sum += scale * part.sum[head * TB_TILE_TOKENS + place];
    }
    for (uint32_t dim = 0; dim < dims; dim++)
        out[dim] /= sum;
}

static void parts_merge(void *context, uint32_t who, uint32_t count)
{
    const struct call *call = context;
    for (uint32_t i = who; i < call->count; i += count)
        for (uint32_t head = 0; head < call->attention->cache->shape.heads; head++)
            head_merge(call, i, head, count);
}

void tb_attend(struct tb_attention *attention, uint32_t layer, const struct tb_sequence sequences[], uint32_t count, const float *q,
               float *out)
{
    struct call call = {attention, layer, count, sequences, out};
    const struct tb_shape *shape = &attention->cache->shape;
    float scale = 1 / sqrtf((float)shape->head_dim);
    for (size_t i = 0; i < (size_t)count * shape->heads * shape->head_dim; i++)
        attention->q[i] = q[i] * scale;
    tb_team_run(attention->team, parts_gather, &call);
    tb_team_run(attention->team, parts_merge, &call);
}

void tb_attend_head_again(struct tb_attention *attention, uint32_t layer, const struct tb_sequence *sequence)
{
    const struct tb_cache *cache = attention->cache;
    struct call call = {attention, layer, 1, sequence, NULL};
    uint32_t tokens = sequence->tokens < cache->block_tokens ? sequence->tokens : cache->block_tokens;
    part_clear(attention, 0, 0);
    block_attend(&call, 0, 0, 0, tb_cache_block(cache, sequence->blocks, layer, 0), 0, tokens, NULL);
}

uint64_t tb_attended_rows(const struct tb_attention *attention)
{
    uint64_t rows = 0;
    for (uint32_t who = 0; who < TB_TEAM_MAX; who++)
        rows += attention->tallies[who].rows;
    return rows;
}
