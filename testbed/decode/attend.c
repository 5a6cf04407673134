// SPDX-License-Identifier: Apache-2.0
//
// attend: see attend.h. Each thread gathers its part of each sequence into memory of its own; then each merges, in order of the
// parts, the sequences that fall to it.

#include "testbed/decode/attend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

// So many positions are read head by head before the next ones (attend.h): several blocks, where blocks are small.
#define SPAN_TOKENS 64u

struct tally {
    _Alignas(64) uint64_t rows; // of one KV head each; its thread's alone while a team works
};

struct tb_attention {
    const struct tb_cache *cache;
    const struct tb_kernel *kernel;
    struct tb_team *team;
    float *q;                   // [batch][heads][head_dim], scaled, as the kernel wants them
    bool streams;               // K and V lie in the order in which they are read, and the CPU follows (tb_kernel_streams)
    uint16_t place[TB_SHAPE_DIM_MAX]; // tb_kernel_place() of each dim
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

// One query for a KV head leaves the CPU time to wait for memory. K and V of a tile lie side by side, or all K and all V do.
static bool streams(const struct tb_cache *cache)
{
    bool in_order = cache->k_token_bytes == cache->row_bytes && cache->v_token_bytes == cache->row_bytes &&
                    (cache->run_tokens == TB_TILE_TOKENS || cache->layout->whole);
    return tb_kernel_streams() && cache->group == 1 && in_order;
}

int tb_attention_open(struct tb_attention **out, const struct tb_cache *cache, const struct tb_kernel *kernel, struct tb_team *team,
                      uint32_t batch)
{
    size_t heads = cache->shape.heads, q_floats = batch * heads * cache->shape.head_dim;
    struct tb_attention *attention = aligned_alloc(64, sizeof *attention);
    if (!attention)
        return -ENOMEM;
    *attention = (struct tb_attention){.cache = cache, .kernel = kernel, .team = team};
    attention->streams = streams(cache);
    for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++)
        attention->place[dim] = (uint16_t)tb_kernel_place(kernel, cache->dtype, cache->shape.head_dim, dim);
    attention->part_floats = heads * cache->shape.head_dim + 2 * floats_in_lines(heads);
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
        .sum = part + heads * dims + first,
        .max = part + heads * dims + floats_in_lines(heads) + first,
    };
}

static void part_clear(const struct tb_attention *attention, uint32_t who, uint32_t sequence)
{
    const struct tb_cache *cache = attention->cache;
    struct tb_gather all = gather_at(attention, who, sequence, 0);
    memset(all.acc, 0, (size_t)cache->shape.heads * cache->shape.head_dim * sizeof(float));
    for (uint32_t head = 0; head < cache->shape.heads; head++) {
        all.sum[head] = 0;
        all.max[head] = -INFINITY;
    }
}

// Where a thread is in its part of a sequence: span by span, inside a span head by head, and inside a head tile by tile.
struct place {
    const char *k, *v;
    uint32_t head, position;
    uint32_t first, end;        // positions of the span
    uint32_t part_end;
};

static void tile_find(const struct call *call, const struct tb_sequence *sequence, struct place *place)
{
    const struct tb_cache *cache = call->attention->cache;
    uint32_t number = place->position / cache->block_tokens, token = place->position % cache->block_tokens;
    char *block = tb_cache_block(cache, sequence->blocks, call->layer, number);
    place->k = tb_cache_k(cache, block, place->head, token);
    place->v = tb_cache_v(cache, block, place->head, token);
}

// A span has whole blocks, and ends where its part does.
static uint32_t span_end(const struct call *call, uint32_t first, uint32_t part_end)
{
    uint32_t block_tokens = call->attention->cache->block_tokens; // of a cache that grows it is not always the same
    uint32_t blocks = call->attention->streams ? 1 : (SPAN_TOKENS + block_tokens - 1) / block_tokens;
    uint32_t end = (first / block_tokens + blocks) * block_tokens;
    return end < part_end ? end : part_end;
}

// False behind the last tile; then the place stays.
static bool tile_next(const struct call *call, const struct tb_sequence *sequence, struct place *place)
{
    struct place next = *place;
    next.position += TB_TILE_TOKENS;
    if (next.position >= next.end) {
        next.position = next.first;
        if (++next.head == call->attention->cache->shape.kv_heads) {
            if (next.end == next.part_end)
                return false;
            next.head = 0;
            next.position = next.first = next.end;
            next.end = span_end(call, next.first, next.part_end);
        }
    }
    tile_find(call, sequence, &next);
    *place = next;
    return true;
}

// The CPU follows a span to its end, but not into a block elsewhere: while a span's last tiles are read, the first tile of the next
// span is fetched, a part with each.
static void tile_foresee(const struct call *call, const struct tb_sequence *sequence, const struct place *now, struct tb_tile *tile)
{
    const struct tb_cache *cache = call->attention->cache;
    uint32_t head_tiles = (now->end - now->first + TB_TILE_TOKENS - 1) / TB_TILE_TOKENS;
    uint32_t left = (cache->shape.kv_heads - now->head) * head_tiles - (now->position - now->first) / TB_TILE_TOKENS;
    uint32_t parts = (uint32_t)(TB_TILE_TOKENS * cache->row_bytes / TB_TILE_SOON_BYTES), number = now->end / cache->block_tokens;
    tile->k_ahead = tile->v_ahead = NULL;
    if (now->end == now->part_end || left > parts)
        return;
    char *next = tb_cache_block(cache, sequence->blocks, call->layer, number);
    if (cache->block_layers == 1 && next == tb_cache_block(cache, sequence->blocks, call->layer, number - 1) + cache->block_bytes)
        return;
    tile->k_soon = tb_cache_k(cache, next, 0, 0) + (parts - left) * TB_TILE_SOON_BYTES;
    tile->v_soon = tb_cache_v(cache, next, 0, 0) + (parts - left) * TB_TILE_SOON_BYTES;
}

static void sequence_attend(const struct call *call, uint32_t who, uint32_t number, uint32_t begin, uint32_t end)
{
    const struct tb_attention *attention = call->attention;
    const struct tb_sequence *sequence = &call->sequences[number];
    tb_attend_fn *attend = attention->kernel->attend[attention->cache->dtype];
    struct place next = {.position = begin, .first = begin, .end = span_end(call, begin, end), .part_end = end}, now;
    bool more = begin < end;
    if (more)
        tile_find(call, sequence, &next);
    while (more) {
        now = next;
        more = tile_next(call, sequence, &next);
        struct tb_gather gather = gather_at(attention, who, number, now.head);
        uint32_t left = now.end - now.position;
        struct tb_tile tile = {now.k, now.v, left < TB_TILE_TOKENS ? left : TB_TILE_TOKENS, next.k, next.v, NULL, NULL};
        if (attention->streams)
            tile_foresee(call, sequence, &now, &tile);
        attend(attention->cache, &gather, &tile);
        call->attention->tallies[who].rows += tile.tokens;
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
    float acc[TB_SHAPE_DIM_MAX] = {0};
    for (uint32_t who = 0; who < parts; who++) {
        struct tb_gather part = gather_at(call->attention, who, sequence, 0);
        float scale = expf(part.max[head] - max); // 0 of a part that read nothing
        for (uint32_t dim = 0; dim < dims; dim++)
            acc[dim] += scale * part.acc[head * dims + dim];
        sum += scale * part.sum[head];
    }
    for (uint32_t dim = 0; dim < dims; dim++)
        out[dim] = acc[call->attention->place[dim]] / sum;
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
    for (size_t row = 0; row < (size_t)count * shape->heads; row++)
        for (uint32_t dim = 0; dim < shape->head_dim; dim++)
            attention->q[row * shape->head_dim + attention->place[dim]] = q[row * shape->head_dim + dim] * scale;
    tb_team_run(attention->team, parts_gather, &call);
    tb_team_run(attention->team, parts_merge, &call);
}

void tb_attend_head_again(struct tb_attention *attention, uint32_t layer, const struct tb_sequence *sequence)
{
    const struct tb_cache *cache = attention->cache;
    char *block = tb_cache_block(cache, sequence->blocks, layer, 0);
    const char *k = tb_cache_k(cache, block, 0, 0), *v = tb_cache_v(cache, block, 0, 0);
    struct tb_gather gather = gather_at(attention, 0, 0, 0);
    struct tb_tile tile = {k, v, sequence->tokens < TB_TILE_TOKENS ? sequence->tokens : TB_TILE_TOKENS, k, v, NULL, NULL};
    part_clear(attention, 0, 0);
    attention->kernel->attend[cache->dtype](cache, &gather, &tile);
    attention->tallies[0].rows += tile.tokens;
}

uint64_t tb_attended_rows(const struct tb_attention *attention)
{
    uint64_t rows = 0;
    for (uint32_t who = 0; who < TB_TEAM_MAX; who++)
        rows += attention->tallies[who].rows;
    return rows;
}
