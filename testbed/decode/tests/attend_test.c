// SPDX-License-Identifier: Apache-2.0
//
// attend: every layout gives the bits of contiguous memory, and every kernel the numbers of a reference in double.

#include "testbed/decode/tests/decode_world.h"

static const uint32_t lengths[] = {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257, 1000, 4097};
#define LENGTHS (sizeof lengths / sizeof *lengths)

// Contiguous memory of the same kind: rows, or columns that are as long as the sequence.
static const char *whole_of(const char *layout)
{
    return strcmp(layout, "columns") == 0 ? "columns" : "contiguous";
}

static void compare_with_whole(const struct tb_kernel *kernel, const char *shape, enum tb_dtype value, const char *layout,
                               uint32_t block_tokens, uint32_t tokens, uint32_t threads)
{
    struct world paged = {.spread = 1}, whole = {.spread = 1};
    world_open(&paged, shape, value, layout, block_tokens, tokens);
    world_open(&whole, shape, value, whole_of(layout), (tokens + 127) / 128 * 128, tokens);
    for (uint32_t layer = 0; layer < paged.cache.shape.layers; layer++) {
        world_attend(&paged, kernel, threads, layer);
        world_attend(&whole, kernel, threads, layer);
        size_t numbers = (size_t)paged.cache.shape.heads * paged.cache.shape.head_dim;
        cr_expect_eq(memcmp(paged.out, whole.out, numbers * sizeof(float)), 0, "%s %s %s: blocks of %u, %u tokens, %u threads",
                     kernel->name, tb_dtype_name(value), layout, block_tokens, tokens, threads);
        cr_expect(isfinite(paged.out[0]));
    }
    world_close(&paged);
    world_close(&whole);
}

Test(attend, every_layout_gives_the_bits_of_contiguous_memory, .timeout = 300)
{
    static const uint32_t blocks[] = {16, 32, 64, 128};
    for (size_t k = 0; tb_kernel_at(k); k++)
        for (int value = 0; value < TB_DTYPES_COUNT; value++)
            for (size_t l = 1; tb_layout_at(l); l++)
                for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
                    for (uint32_t threads = 1; threads <= 2; threads++) {
                        const char *layout = tb_layout_at(l)->name;
                        compare_with_whole(tb_kernel_at(k), "2x4x2x64", (enum tb_dtype)value, layout, blocks[b],
                                           1 + 61 * blocks[b] / 16, threads);
                        compare_with_whole(tb_kernel_at(k), "1x2x2x128", (enum tb_dtype)value, layout, blocks[b], 3, threads);
                    }
}

static void compare_with_double(const struct tb_kernel *kernel, const char *shape, enum tb_dtype value, const char *layout,
                                uint32_t tokens, float spread, bool equal)
{
    struct world world = {.spread = spread, .equal = equal};
    world_open(&world, shape, value, layout, 16, tokens);
    world_attend(&world, kernel, 1, 0);
    double error = world_error(&world, 0);
    cr_expect_lt(error, 1e-5, "%s %s %s: %u tokens, spread %g: off by %g", kernel->name, tb_dtype_name(value), layout, tokens,
                 (double)spread, error);
    world_close(&world);
}

Test(attend, every_kernel_gives_the_numbers_of_a_reference_in_double, .timeout = 300)
{
    static const char *const shapes[] = {"1x2x2x64", "1x4x1x128", "1x7x1x64", "1x8x1x128", "1x3x3x16", "1x5x1x80"};
    for (size_t k = 0; tb_kernel_at(k); k++)
        for (int value = 0; value < TB_DTYPES_COUNT; value++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                for (size_t i = 0; i < LENGTHS; i++)
                    for (int columns = 0; columns < 2; columns++)
                        compare_with_double(tb_kernel_at(k), shapes[s], (enum tb_dtype)value, columns ? "columns" : "runs",
                                            lengths[i], 1, false);
}

// Scores of +-80 come from values of +-2.5 with 64 dims; of all K the same, all weights are.
Test(attend, equal_scores_and_scores_of_80_are_as_good, .timeout = 300)
{
    for (size_t k = 0; tb_kernel_at(k); k++)
        for (int value = 0; value < TB_DTYPES_COUNT; value++)
            for (size_t i = 0; i < LENGTHS; i++) {
                compare_with_double(tb_kernel_at(k), "1x4x2x64", (enum tb_dtype)value, "runs", lengths[i], 1, true);
                compare_with_double(tb_kernel_at(k), "1x4x2x64", (enum tb_dtype)value, "runs", lengths[i], 5.5f, false);
            }
}
