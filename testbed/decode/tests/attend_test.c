// SPDX-License-Identifier: Apache-2.0
//
// attend: every layout gives the bits of contiguous memory, and every kernel the numbers of a reference in double.

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdio.h>

#include "testbed/decode/tests/decode_world.h"

#define TOKENS_MOST 4097u

static const uint32_t lengths[] = {1, 2, 15, 16, 17, 31, 33, 65, 129, 257};
#define LENGTHS (sizeof lengths / sizeof *lengths)

// Contiguous memory of the same kind: rows, or columns that are as long as the sequence.
static const char *whole_of(const char *layout)
{
    return strcmp(layout, "columns") == 0 ? "columns" : "contiguous";
}

static void compare_with_whole(const char *shape, enum tb_dtype value, const char *layout, uint32_t block_tokens, uint32_t tokens)
{
    struct world paged = {.spread = 1}, whole = {.spread = 1};
    world_open(&paged, shape, value, layout, block_tokens, tokens);
    world_open(&whole, shape, value, whole_of(layout), (tokens + 127) / 128 * 128, tokens);
    size_t bytes = (size_t)paged.cache.shape.heads * paged.cache.shape.head_dim * sizeof(float);
    for (uint32_t layer = 0; layer < paged.cache.shape.layers; layer++)
        for (size_t k = 0; tb_kernel_at(k); k++)
            for (uint32_t threads = 1; threads <= 2; threads++) {
                world_attend(&paged, tb_kernel_at(k), threads, layer);
                world_attend(&whole, tb_kernel_at(k), threads, layer);
                cr_expect_eq(memcmp(paged.out, whole.out, bytes), 0, "%s %s %s: blocks of %u, %u tokens, %u threads",
                             tb_kernel_at(k)->name, tb_dtype_name(value), layout, block_tokens, tokens, threads);
                cr_expect(isfinite(paged.out[0]));
            }
    world_close(&paged);
    world_close(&whole);
}

Test(attend, every_layout_gives_the_bits_of_contiguous_memory, .timeout = 300)
{
    static const uint32_t blocks[] = {16, 32, 64, 128};
    for (int value = 0; value < TB_DTYPES_COUNT; value++)
        for (size_t l = 1; tb_layout_at(l); l++)
            for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
                compare_with_whole("2x4x2x64", (enum tb_dtype)value, tb_layout_at(l)->name, blocks[b], 1 + 29 * blocks[b] / 16);
                compare_with_whole("1x2x2x128", (enum tb_dtype)value, tb_layout_at(l)->name, blocks[b], 3);
            }
}

// One tile, with the next one fetched ahead, with nothing fetched, and with another one fetched soon: what CPUs of one kind take
// alone (tb_kernel_streams).
Test(attend, what_is_fetched_changes_no_bit)
{
    struct world world = {.spread = 1};
    world_open(&world, "1x2x2x128", TB_DTYPE_BF16, "runs", 16, 48);
    const struct tb_cache *cache = &world.cache;
    const char *k[3], *v[3];
    for (uint32_t i = 0; i < 3; i++) {
        k[i] = tb_cache_k(cache, world.blocks[i], 0, 0);
        v[i] = tb_cache_v(cache, world.blocks[i], 0, 0);
    }
    const struct tb_tile tiles[] = {{k[0], v[0], TB_TILE_TOKENS, k[1], v[1], NULL, NULL},
                                    {k[0], v[0], TB_TILE_TOKENS, NULL, NULL, NULL, NULL},
                                    {k[0], v[0], TB_TILE_TOKENS, NULL, NULL, k[2], v[2]}};
    for (size_t n = 0; tb_kernel_at(n); n++) {
        _Alignas(64) float acc[3][128] = {{0}}, q[128];
        float sum[3] = {0}, max[3] = {-INFINITY, -INFINITY, -INFINITY};
        memcpy(q, world.q, sizeof q);
        for (size_t i = 0; i < 3; i++)
            tb_kernel_at(n)->attend[TB_DTYPE_BF16](cache, &(struct tb_gather){q, acc[i], &sum[i], &max[i]}, &tiles[i]);
        for (size_t i = 1; i < 3; i++) {
            cr_expect_eq(memcmp(acc[0], acc[i], sizeof acc[0]), 0, "%s %zu", tb_kernel_at(n)->name, i);
            cr_expect(sum[0] == sum[i] && max[0] == max[i] && sum[0] > 0, "%s %zu", tb_kernel_at(n)->name, i);
        }
    }
    world_close(&world);
}

// All kernels on the same memory, by one thread and by two.
static void compare_with_double(const char *shape, enum tb_dtype value, const char *layout, uint32_t tokens, float spread,
                                bool equal)
{
    struct world world = {.spread = spread, .equal = equal};
    world_open(&world, shape, value, layout, 16, tokens);
    for (size_t k = 0; tb_kernel_at(k); k++)
        for (uint32_t threads = 1; threads <= 2; threads++) {
            world_attend(&world, tb_kernel_at(k), threads, 0);
            double error = world_error(&world, 0);
            cr_expect_lt(error, 1e-5, "%s %s %s %s: %u tokens, spread %g, %u threads: off by %g", tb_kernel_at(k)->name, shape,
                         tb_dtype_name(value), layout, tokens, (double)spread, threads, error);
        }
    if (spread > 1 && tokens > 1000) {
        cr_expect_lt(world.score_least, -80, "the least score is %g", world.score_least);
        cr_expect_lt(80, world.score_most, "the largest score is %g", world.score_most);
    }
    world_close(&world);
}

Test(attend, every_group_and_every_size_of_a_head, .timeout = 300)
{
    char shape[32];
    for (int value = 0; value < TB_DTYPES_COUNT; value++)
        for (uint32_t i = 1; i <= 16; i++)
            for (int columns = 0; columns < 2; columns++) {
                snprintf(shape, sizeof shape, "1x%ux1x%u", i, 16 + i * 7 % 16 * 16); // all sizes, in another order
                compare_with_double(shape, (enum tb_dtype)value, columns ? "columns" : "runs", 2 * i + 1, 1, false);
                snprintf(shape, sizeof shape, "1x%ux2x64", 2 * i);
                compare_with_double(shape, (enum tb_dtype)value, columns ? "columns" : "interleaved", 18, 1, false);
            }
}

Test(attend, every_end_of_a_block, .timeout = 300)
{
    for (int value = 0; value < TB_DTYPES_COUNT; value++)
        for (size_t i = 0; i < LENGTHS; i++)
            for (int columns = 0; columns < 2; columns++) {
                compare_with_double("1x4x1x128", (enum tb_dtype)value, columns ? "columns" : "runs", lengths[i], 1, false);
                compare_with_double("1x1x1x64", (enum tb_dtype)value, columns ? "columns" : "tokens", lengths[i], 1, false);
            }
}

// Where all weights are the same, and where all but a few are almost none. A softmax without its maximum overflows at 89.
Test(attend, equal_scores_and_scores_of_80_are_as_good, .timeout = 300)
{
    static const uint32_t few[] = {1, 17, 255, 1025};
    for (int value = 0; value < TB_DTYPES_COUNT; value++)
        for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
            compare_with_double("1x4x2x64", (enum tb_dtype)value, "runs", few[i], 1, true);
            compare_with_double("1x4x2x64", (enum tb_dtype)value, "runs", few[i], 10, false);
        }
}

// One head's result for each length, from the one before: sums in double of weights that need no maximum, as scores are small.
struct growing {
    double sum, acc[64];
};

static void growing_add(struct growing *growing, const struct world *world, uint32_t head, uint32_t token)
{
    double weight = exp(world_score(world, 0, head, token));
    growing->sum += weight;
    for (uint32_t dim = 0; dim < 64; dim++)
        growing->acc[dim] += weight * world_v(world, 0, head / world->cache.group, token, dim);
}

static double growing_error(const struct growing *growing, const float out[])
{
    double worst = 0;
    for (uint32_t dim = 0; dim < 64; dim++) {
        double differs = fabs(growing->acc[dim] / growing->sum - out[dim]);
        worst = differs <= worst ? worst : differs;
    }
    return worst;
}

Test(attend, every_length_to_4097, .timeout = 300)
{
    struct world world = {.spread = 1};
    struct growing growing[2] = {{0}};
    world_open(&world, "1x2x1x64", TB_DTYPE_BF16, "runs", 32, TOKENS_MOST);
    for (uint32_t tokens = 1; tokens <= TOKENS_MOST; tokens++) {
        world.tokens = tokens;
        for (uint32_t head = 0; head < 2; head++)
            growing_add(&growing[head], &world, head, tokens - 1);
        for (size_t k = 0; tb_kernel_at(k); k++) {
            if (!tb_kernel_at(k + 1) && tokens % 64 > 1)
                continue; // the last kernel is slow
            world_attend(&world, tb_kernel_at(k), 1, 0);
            double error = fmax(growing_error(&growing[0], world.out), growing_error(&growing[1], world.out + 64));
            cr_expect(error < 1e-5, "%s: %u tokens, off by %g", tb_kernel_at(k)->name, tokens, error);
        }
    }
    world_close(&world);
}

#if defined(__x86_64__)
static bool kernel_is_there(const char *name)
{
    for (size_t i = 0; tb_kernel_at(i); i++)
        if (strcmp(tb_kernel_at(i)->name, name) == 0)
            return true;
    return false;
}
#endif

Test(attend, scalar_is_the_last_kernel_and_what_the_cpu_has_is_there)
{
    size_t count = 0;
    while (tb_kernel_at(count))
        count++;
    cr_assert(count > 0);
    cr_expect_str_eq(tb_kernel_at(count - 1)->name, "scalar");
#if defined(__x86_64__)
    unsigned a, b, c = 0, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c;
    cr_expect_eq(kernel_is_there("avx2"), avx2);
    cr_expect_eq(kernel_is_there("avx512"), avx2 && __builtin_cpu_supports("avx512f"));
#elif defined(__aarch64__)
    cr_expect_str_eq(tb_kernel_at(0)->name, "neon");
#endif
}
