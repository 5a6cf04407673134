// SPDX-License-Identifier: Apache-2.0
//
// copies: gathered pages are contiguous memory, bit for bit and up to its unwritten end; all ways to scatter write what an append
// writes; what grew by copying is what was appended.

#include "testbed/decode/copies/copies.h"
#include "testbed/decode/tests/decode_world.h"

static const char *whole_of(const char *layout)
{
    return strcmp(layout, "columns") == 0 ? layout : "contiguous";
}

static char *unwritten(size_t bytes)
{
    char *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    cr_assert_not_null(memory);
    memset(memory, 0xff, bytes);
    return memory;
}

// --- gather --------------------------------------------------------------------------------------------------------------------

static void gather_compare(const struct world *paged, const struct world *whole, enum tb_copy_stores stores)
{
    char why[160], *to[TB_SHAPE_LAYERS_MAX];
    struct tb_cache target;
    const uint32_t layers = paged->cache.shape.layers;
    cr_assert_eq(tb_copy_target(&target, &paged->cache, paged->tokens, why, sizeof why), 0, "%s", why);
    cr_assert_eq(target.layout, whole->cache.layout);
    cr_assert_eq(target.block_bytes, whole->cache.block_bytes);
    char *all = unwritten(layers * target.block_bytes), *one = unwritten(target.block_bytes);
    for (uint32_t layer = 0; layer < layers; layer++)
        to[layer] = all + layer * target.block_bytes;
    tb_copy_gather_all(&paged->cache, paged->blocks, paged->tokens, &target, to, stores);
    for (uint32_t layer = 0; layer < layers; layer++) {
        const char *expected = tb_cache_block(&whole->cache, whole->blocks, layer, 0);
        memset(one, 0xff, target.block_bytes);
        tb_copy_gather(&paged->cache, paged->blocks, paged->tokens, layer, &target, one, stores);
        cr_assert(memcmp(one, expected, target.block_bytes) == 0 && memcmp(to[layer], expected, target.block_bytes) == 0,
                  "%s %s, blocks of %u, %u tokens, layer %u, stores %d", paged->cache.layout->name,
                  tb_dtype_name(paged->cache.dtype), paged->cache.block_tokens, paged->tokens, layer, (int)stores);
    }
    free(all);
    free(one);
}

static void gathers_compare(const char *shape, enum tb_dtype value, const char *layout, uint32_t block_tokens, uint32_t tokens)
{
    struct world paged = {.spread = 1}, whole = {.spread = 1};
    world_open(&paged, shape, value, layout, block_tokens, tokens);
    world_open(&whole, shape, value, whole_of(layout), (tokens + 15) / 16 * 16, tokens);
    gather_compare(&paged, &whole, TB_COPY_PLAIN);
    gather_compare(&paged, &whole, TB_COPY_STREAMED);
    world_close(&paged);
    world_close(&whole);
}

Test(copies, gathered_pages_are_contiguous_memory, .timeout = 300)
{
    static const uint32_t blocks[] = {16, 32, 128};
    static const char *const shapes[] = {"3x4x2x64", "2x3x3x80", "2x2x1x16"}; // rows of 32 to 320 bytes, not all of whole lines
    for (int value = 0; value < TB_DTYPES_COUNT; value++)
        for (size_t l = 1; tb_layout_at(l); l++)
            for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
                for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                    const char *layout = tb_layout_at(l)->name;
                    gathers_compare(shapes[s], (enum tb_dtype)value, layout, blocks[b], 1);
                    gathers_compare(shapes[s], (enum tb_dtype)value, layout, blocks[b], 2 * blocks[b]);
                    gathers_compare(shapes[s], (enum tb_dtype)value, layout, blocks[b], 2 * blocks[b] + 13);
                }
}

// One of contiguous memory's own layout has pieces longer than 4 KiB, and ends inside a line.
Test(copies, long_pieces_are_gathered_to_their_end, .timeout = 60)
{
    gathers_compare("1x1x1x80", TB_DTYPE_BF16, "runs", 1024, 1021);
    gathers_compare("1x1x1x64", TB_DTYPE_F32, "layers", 2048, 2500);
}

Test(copies, attention_on_gathered_pages_has_their_bits, .timeout = 60)
{
    static const char *const layouts[] = {"runs", "columns", "tokens"};
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        struct world paged = {.spread = 1}, gathered = {.spread = 1};
        world_open(&paged, "2x4x2x64", TB_DTYPE_BF16, layouts[l], 32, 77);
        world_open(&gathered, "2x4x2x64", TB_DTYPE_BF16, whole_of(layouts[l]), 80, 77);
        memset(gathered.memory, 0xff, 2 * gathered.cache.block_bytes);
        tb_copy_gather_all(&paged.cache, paged.blocks, 77, &gathered.cache, gathered.blocks, TB_COPY_STREAMED);
        for (uint32_t layer = 0; layer < 2; layer++) {
            world_attend(&paged, tb_kernel_at(0), 1, layer);
            world_attend(&gathered, tb_kernel_at(0), 1, layer);
            cr_expect_eq(memcmp(paged.out, gathered.out, 4 * 64 * sizeof(float)), 0, "%s", layouts[l]);
            cr_expect(isfinite(gathered.out[0]));
        }
        world_close(&paged);
        world_close(&gathered);
    }
}

// --- scatter -------------------------------------------------------------------------------------------------------------------

// Rows [layer][token][head][dim] of K or V.
static char *rows_make(const struct world *world, float (*number)(const struct world *, uint32_t, uint32_t, uint32_t, uint32_t))
{
    const struct tb_shape *shape = &world->cache.shape;
    size_t bytes = tb_dtype_bytes(world->cache.dtype);
    char *rows = malloc((size_t)shape->layers * world->tokens * shape->kv_heads * world->cache.row_bytes), *at = rows;
    for (uint32_t layer = 0; layer < shape->layers; layer++)
        for (uint32_t token = 0; token < world->tokens; token++)
            for (uint32_t head = 0; head < shape->kv_heads; head++)
                for (uint32_t dim = 0; dim < shape->head_dim; dim++, at += bytes)
                    tb_dtype_store(world->cache.dtype, at, number(world, layer, head, token, dim));
    return rows;
}

static void plain(const struct tb_scatter *scatter)
{
    const struct tb_shape *shape = &scatter->cache->shape;
    struct tb_scatter_place *places = calloc((size_t)scatter->count * shape->layers * shape->kv_heads, sizeof *places);
    tb_scatter_places(scatter, places);
    tb_scatter_plain(scatter, places);
    free(places);
}

static void by_layer(const struct tb_scatter *scatter)
{
    for (uint32_t layer = scatter->cache->shape.layers; layer-- > 0;)
        tb_scatter_layer(scatter, layer);
}

static const struct {
    const char *name;
    void (*scatter)(const struct tb_scatter *scatter);
} ways[] = {{"calls", tb_scatter_calls}, {"fused", tb_scatter_fused}, {"layer", by_layer}, {"plain", plain}};

// A batch with a sequence for each length: all of them have the same blocks, and together write every position.
static void scatters_compare(const char *shape, enum tb_dtype value, const char *layout, uint32_t block_tokens)
{
    struct world world = {.spread = 1};
    world_open(&world, shape, value, layout, block_tokens, 2 * block_tokens + 5);
    struct tb_sequence *sequences = calloc(world.tokens, sizeof *sequences);
    for (uint32_t i = 0; i < world.tokens; i++)
        sequences[i] = (struct tb_sequence){world.blocks, i + 1};
    char *k = rows_make(&world, world_k), *v = rows_make(&world, world_v);
    size_t bytes = tb_cache_blocks(&world.cache, world.tokens) * world.cache.block_bytes;
    char *expected = malloc(bytes);
    memcpy(expected, world.memory, bytes);
    struct tb_scatter scatter = {&world.cache, sequences, world.tokens, k, v};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        memset(world.memory, 0xff, bytes);
        ways[w].scatter(&scatter);
        cr_expect_eq(memcmp(world.memory, expected, bytes), 0, "%s: %s %s, blocks of %u", ways[w].name, layout,
                     tb_dtype_name(value), block_tokens);
    }
    free(expected);
    free(k);
    free(v);
    free(sequences);
    world_close(&world);
}

Test(copies, all_ways_to_scatter_write_what_an_append_writes, .timeout = 60)
{
    for (int value = 0; value < TB_DTYPES_COUNT; value++)
        for (size_t l = 1; tb_layout_at(l); l++)
            for (uint32_t block_tokens = 16; block_tokens <= 64; block_tokens *= 2)
                scatters_compare("3x4x2x64", (enum tb_dtype)value, tb_layout_at(l)->name, block_tokens);
}

// Two of the same length: one has its last token appended in the call of attention, and without it that place is NaN.
Test(copies, attention_sees_what_its_call_appended)
{
    struct world before = {.spread = 1}, after = {.spread = 1};
    struct tb_team *team;
    struct tb_attention *attention;
    world_open(&before, "2x4x2x64", TB_DTYPE_F16, "runs", 16, 33);
    world_open(&after, "2x4x2x64", TB_DTYPE_F16, "runs", 16, 33);
    memset(after.memory, 0xff, tb_cache_blocks(&after.cache, 33) * after.cache.block_bytes);
    for (uint32_t layer = 0; layer < 2; layer++)
        for (uint32_t token = 0; token < 32; token++)
            world_append(&after, layer, token);
    char *k = rows_make(&after, world_k), *v = rows_make(&after, world_v);
    struct tb_sequence sequence = {after.blocks, 33};
    size_t layer_rows = 33 * 2 * after.cache.row_bytes, last = 32 * 2 * after.cache.row_bytes;
    cr_assert_eq(tb_team_open(&team, 2, NULL), 0);
    cr_assert_eq(tb_attention_open(&attention, &after.cache, tb_kernel_at(0), team, 1), 0);
    for (uint32_t layer = 0; layer < 2; layer++) {
        // A batch of one has its layers next to each other, and these rows have 33 tokens between them.
        struct tb_scatter scatter = {&after.cache, &sequence, 1, k + layer * layer_rows + last - layer * 2 * after.cache.row_bytes,
                                     v + layer * layer_rows + last - layer * 2 * after.cache.row_bytes};
        tb_scatter_attend(&scatter, attention, layer, after.q, after.out);
        world_attend(&before, tb_kernel_at(0), 2, layer);
        cr_expect_eq(memcmp(before.out, after.out, 4 * 64 * sizeof(float)), 0, "layer %u", layer);
    }
    tb_attention_close(attention);
    tb_team_close(team);
    free(k);
    free(v);
    world_close(&before);
    world_close(&after);
}

// --- growth --------------------------------------------------------------------------------------------------------------------

// Tokens [begin, end) of a layer as [head][token][dim].
static void growth_append(struct tb_growth *growth, const struct world *world, uint32_t layer, uint32_t begin, uint32_t end)
{
    const struct tb_cache *cache = &world->cache;
    size_t row_bytes = cache->row_bytes, rows_bytes = cache->shape.kv_heads * (end - begin) * row_bytes;
    char *k = malloc(rows_bytes), *v = malloc(rows_bytes), *block = tb_cache_block(cache, world->blocks, layer, 0);
    for (uint32_t head = 0; head < cache->shape.kv_heads; head++) {
        size_t at = head * (end - begin) * row_bytes;
        memcpy(k + at, tb_cache_k(cache, block, head, begin), (end - begin) * row_bytes);
        memcpy(v + at, tb_cache_v(cache, block, head, begin), (end - begin) * row_bytes);
    }
    cr_assert_eq(tb_growth_append(growth, layer, end - begin, k, v), 0);
    free(k);
    free(v);
}

// The whole world has the same tokens in contiguous memory, and the attention of a few of them is that of a shorter one.
static void growth_compare(struct tb_growth *growth, struct world *world, uint32_t layer, uint32_t tokens)
{
    const struct tb_cache *cache = tb_growth_cache(growth);
    struct tb_sequence view = tb_growth_view(growth, layer);
    char *expected = tb_cache_block(&world->cache, world->blocks, layer, 0), *block = tb_cache_block(cache, view.blocks, layer, 0);
    cr_assert_eq(view.tokens, tokens);
    for (uint32_t head = 0; head < cache->shape.kv_heads; head++) {
        cr_assert_eq(memcmp(tb_cache_k(cache, block, head, 0), tb_cache_k(&world->cache, expected, head, 0),
                            tokens * cache->row_bytes),
                     0, "layer %u, %u tokens", layer, tokens);
        cr_assert_eq(memcmp(tb_cache_v(cache, block, head, 0), tb_cache_v(&world->cache, expected, head, 0),
                            tokens * cache->row_bytes),
                     0, "layer %u, %u tokens", layer, tokens);
    }
    cr_assert_eq((uintptr_t)tb_cache_k(cache, block, 0, 0) % 64, 0);
}

static void growth_attend(struct tb_growth *growth, struct world *world, uint32_t layer, float *out)
{
    struct tb_sequence view = tb_growth_view(growth, layer);
    struct tb_team *team;
    struct tb_attention *attention;
    cr_assert_eq(tb_team_open(&team, 2, NULL), 0);
    cr_assert_eq(tb_attention_open(&attention, tb_growth_cache(growth), tb_kernel_at(0), team, 1), 0);
    tb_attend(attention, layer, &view, 1, world->q, out);
    tb_attention_close(attention);
    tb_team_close(team);
}

Test(copies, what_grew_by_copying_is_what_was_appended, .timeout = 60)
{
    for (int value = 0; value < TB_DTYPES_COUNT; value++)
        for (int how = TB_GROWTH_CAT; how <= TB_GROWTH_DOUBLE; how++) {
            struct world world = {.spread = 1};
            struct tb_growth *growth;
            float out[4 * 64];
            world_open(&world, "3x4x2x64", (enum tb_dtype)value, "contiguous", 96, 90);
            cr_assert_eq(tb_growth_open(&growth, &world.cache.shape, (enum tb_dtype)value, (enum tb_growth_how)how), 0);
            for (uint32_t layer = 0; layer < 3; layer++)
                growth_append(growth, &world, layer, 0, 7);
            for (uint32_t token = 7; token < 90; token++)
                for (uint32_t layer = 0; layer < 3; layer++) {
                    growth_append(growth, &world, layer, token, token + 1);
                    growth_compare(growth, &world, layer, token + 1);
                }
            for (uint32_t layer = 0; layer < 3; layer++) {
                growth_attend(growth, &world, layer, out);
                world_attend(&world, tb_kernel_at(0), 2, layer);
                cr_expect_eq(memcmp(out, world.out, sizeof out), 0, "layer %u", layer);
            }
            tb_growth_close(growth);
            world_close(&world);
        }
}

// CAT has memory for what is there and no more; DOUBLE keeps its memory until it is used up.
Test(copies, memory_grows_with_each_token_or_by_doubling)
{
    for (int how = TB_GROWTH_CAT; how <= TB_GROWTH_DOUBLE; how++) {
        struct world world = {.spread = 1};
        struct tb_growth *growth;
        uint32_t moves = 0;
        size_t last_bytes = 0;
        world_open(&world, "1x2x2x64", TB_DTYPE_F32, "contiguous", 128, 128);
        cr_assert_eq(tb_growth_open(&growth, &world.cache.shape, TB_DTYPE_F32, (enum tb_growth_how)how), 0);
        for (uint32_t token = 0; token < 128; token++) {
            growth_append(growth, &world, 0, token, token + 1);
            tb_growth_view(growth, 0);
            size_t bytes = tb_growth_cache(growth)->head_bytes;
            moves += bytes != last_bytes;
            last_bytes = bytes;
            cr_expect(how == TB_GROWTH_DOUBLE || bytes == (token + 1) * world.cache.row_bytes);
        }
        cr_expect_eq(moves, how == TB_GROWTH_CAT ? 128 : 4, "%u", moves); // 16, 32, 64, 128
        tb_growth_close(growth);
        world_close(&world);
    }
}

// --- block table ---------------------------------------------------------------------------------------------------------------

Test(copies, a_patched_table_resolves_what_came_and_a_rebuilt_one_all)
{
    static char region[8 * 64], elsewhere;
    static const uint32_t numbers[] = {5, 0, 7, 2};
    char *addresses[4] = {NULL};
    struct tb_block_table table = {region, 64, numbers, 2, addresses, 0};
    tb_block_table_patch(&table);
    cr_expect(addresses[0] == region + 320 && addresses[1] == region && !addresses[2]);
    addresses[1] = &elsewhere;
    table.count = 4;
    tb_block_table_patch(&table);
    cr_expect(addresses[1] == &elsewhere && addresses[2] == region + 448 && addresses[3] == region + 128);
    addresses[2] = &elsewhere;
    tb_block_table_rebuild(&table);
    cr_expect(addresses[0] == region + 320 && addresses[1] == region && addresses[2] == region + 448 &&
              addresses[3] == region + 128);
    table.count = table.resolved = 1;
    addresses[1] = &elsewhere;
    tb_block_table_patch(&table);
    cr_expect_eq(addresses[1], &elsewhere, "what was cut off is left alone");
}
