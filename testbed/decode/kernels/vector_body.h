// SPDX-License-Identifier: Apache-2.0
//
// The body of the kernels that use vectors, included by each of them after it has defined
//
//     KERNEL_TARGET      attribute that turns the instructions on
//     vector, words      WIDTH floats, and as many int32_t
//     SUMS               sums of products that are kept in registers
//     load_f32, load_f16, load_bf16 (from), store(to, vector), all(number), muladd(a, b, c), most(a, b)
//     TWINS              0, or 2 * WIDTH: bf16 are loaded by load_twins()
//     load_twins(from, to)  two vectors of bf16 at once: the even ones, then the odd ones
//     swap(v, distance)  lanes i and i ^ distance change places
//     sums(v)            lane i of the result is the sum of v[i], for v[WIDTH]
//
// most(a, b) is b where one of them is no number.
//
// Twins: a bf16 is the upper half of a float. So two of them side by side become two floats by one instruction each, where one
// half is moved up and the other is kept; to spread them in order may take two each. Then q and acc have the even dims of
// 2 * WIDTH first (tb_kernel.twins); where a head ends with WIDTH dims more, these are in order.
//
// Up to 8 queries at a time (`queries`, a constant in each copy of the code; a group of 7 computes its last query twice). A tile's
// scores and weights lie token by token, of each token all queries: one vector has the scores of WIDTH / queries tokens, the
// maximum of each query is found for all of them at once, and the weights of a token lie where the sum over V reads them. Each K
// and V is loaded and converted once for 8 queries, and each is used from a register.
#ifndef WIDTH
#error "included by the kernels only"
#endif

#define FN KERNEL_TARGET static inline __attribute__((always_inline))
#define QUERIES_MAX (WIDTH < 8 ? WIDTH : 8u)
#define STEP_MAX 4u             // tokens whose rows are read side by side

#if defined(__clang__)
#define UNROLL // it does by itself
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

struct part {                   // what one copy of the code works on; rows are of the tile
    const struct tb_cache *cache;
    struct tb_tile tile;
    size_t k_token_bytes, k_value_bytes, v_token_bytes; // of the tile, as in the cache
    const float *q[QUERIES_MAX];
    float *acc[QUERIES_MAX];
    _Alignas(64) float weight[TB_TILE_TOKENS * QUERIES_MAX]; // scores, then weights: [token][queries]
};

FN vector load(enum tb_dtype value, const char *from)
{
    return value == TB_DTYPE_F32 ? load_f32(from) : value == TB_DTYPE_F16 ? load_f16(from) : load_bf16(from);
}

FN void load_two(enum tb_dtype value, const char *from, vector to[2])
{
#if TWINS
    if (value == TB_DTYPE_BF16) {
        load_twins(from, to);
        return;
    }
#endif
    to[0] = load(value, from);
    to[1] = load(value, from + WIDTH * (value == TB_DTYPE_F32 ? 4 : 2));
}

// e^x for x <= 0, to 2 units in the last place; 0 where that is below the least normal number. x = n ln 2 + r; 2^n is made of its
// bits, for which the sum of n and a large number leaves n + 127 in the lowest ones.
FN vector exponential(vector x)
{
    const vector large = all(0x1.8p23f + 127);
    x = most(all(-88), x);
    vector shifted = muladd(x, all(0x1.715476p+0f), large), n = shifted - large;
    vector r = muladd(n, all(2.12194440e-4f), muladd(n, all(-0.693359375f), x));
    vector p = muladd(all(1.9875691500e-4f), r, all(1.3981999507e-3f));
    p = muladd(p, r, all(8.3334519073e-3f));
    p = muladd(p, r, all(4.1665795894e-2f));
    p = muladd(p, r, all(1.6666665459e-1f));
    p = muladd(p, r, all(5.0000001201e-1f));
    p = muladd(p, r * r, r) + all(1);
    return p * (vector)((words)shifted << 23);
}

// The lines that the next tile has where this one has `bytes` from `offset` on, into the second-level cache: into the first, blocks
// of 16 tokens were read 0.05 slower. All lines: with every other one it was 0.2 slower. Two tiles ahead contiguous memory was 0.1
// slower, and blocks no faster. (One query for a KV head, bf16, Sapphire Rapids-class VM.)
FN void fetch(const char *ahead, size_t offset, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += 64)
        __builtin_prefetch(ahead + offset + at, 0, 2);
}

// Of what is read soon as many lines as rows are read now, into the first-level cache, as if it were read: so the CPU's prefetchers
// follow, and a burst would be dropped.
FN void fetch_soon(const struct tb_tile *tile, uint32_t token, uint32_t step)
{
    for (uint32_t at = token / 2 * 64; tile->k_soon && at < (token + step) / 2 * 64; at += 64) {
        __builtin_prefetch(tile->k_soon + at, 0, 3);
        __builtin_prefetch(tile->v_soon + at, 0, 3);
    }
}

// Products of K rows and queries, for `step` tokens from `token` on, of `vectors` (1 or 2) times WIDTH dims: sum[token][query].
FN void products_of(const struct part *part, enum tb_dtype value, uint32_t queries, uint32_t token, uint32_t step, uint32_t dim,
                    uint32_t vectors, vector sum[])
{
    uint32_t bytes = value == TB_DTYPE_F32 ? 4 : 2, size = vectors * WIDTH * bytes;
    const size_t token_bytes = part->k_token_bytes, ahead_bytes = part->cache->k_token_bytes;
    const char *k = part->tile.k + token * token_bytes + dim * bytes;
    const char *ahead = part->tile.k_ahead + token * ahead_bytes + dim * bytes;
    vector loaded[STEP_MAX][2];
    UNROLL
    for (uint32_t t = 0; t < step; t++) {
        if (vectors == 2)
            load_two(value, k + t * token_bytes, loaded[t]);
        else
            loaded[t][0] = load(value, k + t * token_bytes);
        if (dim * bytes % 64 == 0)
            fetch(ahead, t * ahead_bytes, size);
    }
    UNROLL
    for (uint32_t i = 0; i < queries * vectors; i++) {
        vector q = load_f32(part->q[i % queries] + dim + i / queries * WIDTH);
        UNROLL
        for (uint32_t t = 0; t < step; t++)
            sum[t * queries + i % queries] = muladd(q, loaded[t][i / queries], sum[t * queries + i % queries]);
    }
}

FN void products(const struct part *part, enum tb_dtype value, uint32_t queries, uint32_t token, uint32_t step, vector sum[])
{
    uint32_t dim = 0, dims = part->cache->shape.head_dim;
    fetch_soon(&part->tile, token, step);
    for (; TWINS && dim + 2 * WIDTH <= dims; dim += 2 * WIDTH)
        products_of(part, value, queries, token, step, dim, 2, sum);
    for (; dim < dims; dim += WIDTH)
        products_of(part, value, queries, token, step, dim, 1, sum);
}

FN void scores_of_rows(struct part *part, enum tb_dtype value, uint32_t queries)
{
    const uint32_t tokens = SUMS / queries, step = tokens < STEP_MAX ? tokens : STEP_MAX;
    for (uint32_t token = 0; token < TB_TILE_TOKENS; token += tokens) {
        vector sum[SUMS];
        UNROLL
        for (uint32_t i = 0; i < SUMS; i++)
            sum[i] = all(0);
        UNROLL
        for (uint32_t t = 0; t < tokens; t += step)
            products(part, value, queries, token + t, step, sum + t * queries);
        UNROLL
        for (uint32_t i = 0; i < SUMS; i += WIDTH)
            store(part->weight + token * queries + i, sums(sum + i));
    }
}

// K in columns: the tokens of a tile lie side by side.
FN void scores_of_columns(struct part *part, enum tb_dtype value, uint32_t queries)
{
    const struct tb_cache *cache = part->cache;
    uint32_t bytes = value == TB_DTYPE_F32 ? 4 : 2;
    _Alignas(64) float score[QUERIES_MAX][TB_TILE_TOKENS];
    for (uint32_t token = 0; token < TB_TILE_TOKENS; token += WIDTH) {
        vector sum[QUERIES_MAX];
        UNROLL
        for (uint32_t i = 0; i < queries; i++)
            sum[i] = all(0);
        for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++) {
            vector loaded = load(value, part->tile.k + dim * part->k_value_bytes + token * bytes);
            uint32_t place = tb_twin_place(value == TB_DTYPE_BF16 ? TWINS : 0, cache->shape.head_dim, dim);
            if (token == 0)
                fetch(part->tile.k_ahead, dim * cache->k_value_bytes, 64);
            UNROLL
            for (uint32_t i = 0; i < queries; i++)
                sum[i] = muladd(all(part->q[i][place]), loaded, sum[i]);
        }
        UNROLL
        for (uint32_t i = 0; i < queries; i++)
            store(score[i] + token, sum[i]);
    }
    for (uint32_t token = 0; token < TB_TILE_TOKENS; token++)
        for (uint32_t i = 0; i < queries; i++)
            part->weight[token * queries + i] = score[i][token];
}

// A new maximum: what was gathered so far weighs less.
FN void scale_down(const struct part *part, const struct tb_gather *gather, uint32_t query, float scale, float max)
{
    float *acc = gather->acc + query * part->cache->shape.head_dim;
    for (uint32_t dim = 0; dim < part->cache->shape.head_dim; dim += WIDTH)
        store(acc + dim, load_f32(acc + dim) * all(scale));
    gather->sum[query] *= scale;
    gather->max[query] = max;
}

// Scores to weights; the sums of weights, and the maxima. Queries from `first` on; the last may be there more than once.
FN void softmax(struct part *part, const struct tb_gather *gather, uint32_t first, uint32_t queries)
{
    const uint32_t floats = TB_TILE_TOKENS * queries, left = part->cache->group - first, count = queries < left ? queries : left;
    _Alignas(64) float lane[WIDTH], scale[WIDTH];
    for (uint32_t i = part->tile.tokens * queries; i < floats; i++)
        part->weight[i] = -INFINITY;
    for (uint32_t i = 0; i < WIDTH; i++)
        lane[i] = gather->max[first + (i % queries < count ? i % queries : count - 1)];
    vector before = load_f32(lane), max = load_f32(part->weight), sum = all(0);
    for (uint32_t i = WIDTH; i < floats; i += WIDTH)
        max = most(load_f32(part->weight + i), max);
    UNROLL
    for (uint32_t distance = queries; distance < WIDTH; distance *= 2)
        max = most(swap(max, distance), max);
    max = most(max, before);
    store(lane, max);
    store(scale, exponential(before - max));
    for (uint32_t i = 0; i < count; i++)
        if (lane[i] > gather->max[first + i])
            scale_down(part, gather, first + i, scale[i], lane[i]);
    for (uint32_t i = 0; i < floats; i += WIDTH) {
        vector weight = exponential(load_f32(part->weight + i) - max);
        store(part->weight + i, weight);
        sum += weight;
    }
    UNROLL
    for (uint32_t distance = queries; distance < WIDTH; distance *= 2)
        sum += swap(sum, distance);
    store(lane, sum);
    for (uint32_t i = 0; i < count; i++)
        gather->sum[first + i] += lane[i];
}

// Adds the weighted V of `vectors` times WIDTH dims from `dim` on.
FN void values_add(const struct part *part, enum tb_dtype value, uint32_t queries, uint32_t dim, uint32_t vectors)
{
    uint32_t bytes = value == TB_DTYPE_F32 ? 4 : 2;
    const size_t token_bytes = part->v_token_bytes, ahead_bytes = part->cache->v_token_bytes;
    const char *v = part->tile.v + dim * bytes, *ahead = part->tile.v_ahead + dim * bytes;
    const uint32_t two = TWINS && vectors > 1 ? 2 : 1; // loaded together
    vector sum[SUMS];
    UNROLL
    for (uint32_t i = 0; i < vectors * queries; i++)
        sum[i] = load_f32(part->acc[i % queries] + dim + i / queries * WIDTH);
    for (uint32_t token = 0; token < TB_TILE_TOKENS; token++, v += token_bytes, ahead += ahead_bytes) {
        if (dim * bytes % 64 == 0)
            fetch(ahead, 0, vectors * WIDTH * bytes);
        UNROLL
        for (uint32_t nth = 0; nth < vectors; nth += two) {
            vector loaded[2];
            if (two > 1)
                load_two(value, v + nth * WIDTH * bytes, loaded);
            else
                loaded[0] = load(value, v + nth * WIDTH * bytes);
            UNROLL
            for (uint32_t i = 0; i < queries; i++) {
                vector weight = all(part->weight[token * queries + i]);
                UNROLL
                for (uint32_t n = 0; n < two; n++)
                    sum[(nth + n) * queries + i] = muladd(weight, loaded[n], sum[(nth + n) * queries + i]);
            }
        }
    }
    UNROLL
    for (uint32_t i = 0; i < vectors * queries; i++)
        store(part->acc[i % queries] + dim + i / queries * WIDTH, sum[i]);
}

FN void values_of_tile(const struct part *part, enum tb_dtype value, uint32_t queries)
{
    const uint32_t vectors = SUMS / queries < 8 ? SUMS / queries : 8;
    uint32_t dim = 0, dims = part->cache->shape.head_dim;
    for (; dim + vectors * WIDTH <= dims; dim += vectors * WIDTH)
        values_add(part, value, queries, dim, vectors);
    for (; vectors > 4 && dim + 4 * WIDTH <= dims; dim += 4 * WIDTH)
        values_add(part, value, queries, dim, 4);
    for (; vectors > 2 && dim + 2 * WIDTH <= dims; dim += 2 * WIDTH)
        values_add(part, value, queries, dim, 2);
    if (dim < dims)
        values_add(part, value, queries, dim, 1);
}

FN void queries_attend(struct part *part, const struct tb_gather *gather, enum tb_dtype value, uint32_t first, uint32_t queries)
{
    uint32_t dims = part->cache->shape.head_dim, last = part->cache->group - 1;
    for (uint32_t i = 0; i < queries; i++) {
        uint32_t query = first + i < last ? first + i : last;
        part->q[i] = gather->q + query * dims;
        part->acc[i] = gather->acc + query * dims;
    }
    if (part->cache->k_value_bytes == (value == TB_DTYPE_F32 ? 4 : 2))
        scores_of_rows(part, value, queries);
    else
        scores_of_columns(part, value, queries);
    softmax(part, gather, first, queries);
    values_of_tile(part, value, queries);
}

// A sequence's last tile is copied, so that all others need not ask how many tokens they have: nothing is read behind its last
// token, and the V of those that are missing are 0.
FN void copy(struct part *part, enum tb_dtype value, char k[], char v[])
{
    const struct tb_cache *cache = part->cache;
    uint32_t bytes = value == TB_DTYPE_F32 ? 4 : 2, tokens = part->tile.tokens;
    memset(k, 0, TB_TILE_TOKENS * cache->row_bytes);
    memset(v, 0, TB_TILE_TOKENS * cache->row_bytes);
    for (uint32_t token = 0; token < tokens; token++)
        tb_cache_copy(v + token * cache->row_bytes, part->tile.v + token * cache->v_token_bytes, cache->row_bytes, 32);
    if (cache->k_value_bytes == bytes)
        for (uint32_t token = 0; token < tokens; token++)
            tb_cache_copy(k + token * cache->row_bytes, part->tile.k + token * cache->k_token_bytes, cache->row_bytes, 32);
    else
        for (uint32_t dim = 0; dim < cache->shape.head_dim; dim++)
            tb_cache_copy(k + dim * TB_TILE_TOKENS * bytes, part->tile.k + dim * cache->k_value_bytes, tokens * bytes, bytes);
    part->tile.k = k;
    part->tile.v = v;
    part->k_token_bytes = part->v_token_bytes = cache->row_bytes;
    part->k_value_bytes = TB_TILE_TOKENS * bytes;
}

FN void attend(const struct tb_cache *cache, const struct tb_gather *gather, const struct tb_tile *tile, enum tb_dtype value)
{
    _Alignas(64) char k[TB_TILE_TOKENS * TB_SHAPE_DIM_MAX * 4], v[sizeof k];
    struct part part;
    part.cache = cache;
    part.tile = *tile;
    if (!tile->k_ahead) { // what is being read: that costs nothing, and a question for each line would
        part.tile.k_ahead = tile->k;
        part.tile.v_ahead = tile->v;
    }
    part.k_token_bytes = cache->k_token_bytes;
    part.v_token_bytes = cache->v_token_bytes;
    part.k_value_bytes = cache->k_value_bytes;
    if (tile->tokens < TB_TILE_TOKENS)
        copy(&part, value, k, v);
    for (uint32_t first = 0; first < cache->group; first += QUERIES_MAX) {
        uint32_t count = cache->group - first;
        if (QUERIES_MAX > 4 && count > 4)
            queries_attend(&part, gather, value, first, QUERIES_MAX);
        else if (count > 2)
            queries_attend(&part, gather, value, first, 4);
        else if (count > 1)
            queries_attend(&part, gather, value, first, 2);
        else
            queries_attend(&part, gather, value, first, 1);
    }
}

KERNEL_TARGET static void attend_f32(const struct tb_cache *cache, const struct tb_gather *gather, const struct tb_tile *tile)
{
    attend(cache, gather, tile, TB_DTYPE_F32);
}

KERNEL_TARGET static void attend_f16(const struct tb_cache *cache, const struct tb_gather *gather, const struct tb_tile *tile)
{
    attend(cache, gather, tile, TB_DTYPE_F16);
}

KERNEL_TARGET static void attend_bf16(const struct tb_cache *cache, const struct tb_gather *gather, const struct tb_tile *tile)
{
    attend(cache, gather, tile, TB_DTYPE_BF16);
}
