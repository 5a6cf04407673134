// SPDX-License-Identifier: Apache-2.0
//
// The body of lora's kernels that use vectors, included by each of them after the operations of its kind (kernels/*_ops.h) and
//
//     TOGETHER      requests that are computed side by side: 1 < TOGETHER; TOGETHER * ROWS sums, or TOGETHER * PANEL_VECTORS,
//                   are kept in registers
//
// What is loaded and converted once is used for TOGETHER requests from a register. For one alone there are twice the rows, so that
// enough sums are under way. Each sum is of one vector, from the first to the last, whoever is beside it, and sums() adds its lanes
// in one order: so the bits do not depend on the batch.
#ifndef WIDTH
#error "included by the kernels only"
#endif

#define FN KERNEL_TARGET static inline __attribute__((always_inline))
#define ROWS 4u
#define PANEL_VECTORS (TB_LORA_PANEL / WIDTH)
#define TILE_MAX ((TOGETHER * ROWS > 2 * ROWS ? TOGETHER * ROWS : 2 * ROWS) + WIDTH)

#if defined(__clang__)
#define UNROLL // it does by itself
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

// t of `rows` rows from `row` on, for requests i .. i + requests - 1; both are constants in each copy of the code.
FN void shrink_tile(const struct tb_lora *lora, const float *const x[], uint32_t requests, uint32_t row, uint32_t rows, float *t)
{
    const uint16_t *a = lora->a + (size_t)row * lora->in;
    vector sum[TILE_MAX];
    float lanes[TILE_MAX];
    UNROLL for (uint32_t i = 0; i < TILE_MAX; i++) sum[i] = all(0);
    for (uint32_t in = 0; in < lora->in; in += WIDTH) {
        vector w[2 * ROWS];
        UNROLL for (uint32_t k = 0; k < rows; k++) w[k] = load_f16(a + (size_t)k * lora->in + in);
        UNROLL for (uint32_t i = 0; i < requests; i++)
        {
            vector own = load_f32(x[i] + in);
            UNROLL for (uint32_t k = 0; k < rows; k++) sum[i * rows + k] = muladd(w[k], own, sum[i * rows + k]);
        }
    }
    UNROLL for (uint32_t i = 0; i < requests * rows; i += WIDTH) store(lanes + i, sums(sum + i));
    UNROLL for (uint32_t i = 0; i < requests * rows; i++) t[i / rows * lora->rank + row + i % rows] = lanes[i];
}

KERNEL_TARGET static void shrink_rows(const struct tb_lora *lora, const float *const x[], uint32_t count, uint32_t row, float *t)
{
    uint32_t i = 0;
    for (; i + TOGETHER <= count; i += TOGETHER)
        shrink_tile(lora, x + i, TOGETHER, row, ROWS, t + i * lora->rank);
    for (; i < count; i++)
        shrink_tile(lora, x + i, 1, row, ROWS, t + i * lora->rank);
}

KERNEL_TARGET static void shrink(const struct tb_lora *lora, const float *const x[], uint32_t count, float *t)
{
    uint32_t row = 0;
    if (count == 1)
        for (; row + 2 * ROWS <= lora->rank; row += 2 * ROWS)
            shrink_tile(lora, x, 1, row, 2 * ROWS, t);
    for (; row + ROWS <= lora->rank; row += ROWS)
        shrink_rows(lora, x, count, row, t);
    for (; row < lora->rank; row++)
        for (uint32_t i = 0; i < count; i++)
            shrink_tile(lora, x + i, 1, row, 1, t + i * lora->rank);
}

FN void expand_tile(const uint16_t *panel, uint32_t rank, const float *t, float *const y[], uint32_t out, uint32_t requests)
{
    vector sum[TOGETHER][PANEL_VECTORS];
    UNROLL for (uint32_t i = 0; i < requests; i++) UNROLL for (uint32_t v = 0; v < PANEL_VECTORS; v++) sum[i][v] =
        load_f32(y[i] + out + v * WIDTH);
    for (uint32_t k = 0; k < rank; k++, panel += TB_LORA_PANEL)
        UNROLL for (uint32_t v = 0; v < PANEL_VECTORS; v++)
        {
            vector w = load_f16(panel + v * WIDTH);
            UNROLL for (uint32_t i = 0; i < requests; i++) sum[i][v] = muladd(all(t[i * rank + k]), w, sum[i][v]);
        }
    UNROLL for (uint32_t i = 0; i < requests; i++) UNROLL for (uint32_t v = 0; v < PANEL_VECTORS; v++)
        store(y[i] + out + v * WIDTH, sum[i][v]);
}

KERNEL_TARGET static void expand(const struct tb_lora *lora, const float *t, float *const y[], uint32_t count)
{
    const uint16_t *panel = lora->b;
    for (uint32_t out = 0; out < lora->out; out += TB_LORA_PANEL, panel += (size_t)lora->rank * TB_LORA_PANEL) {
        uint32_t i = 0;
        for (; i + TOGETHER <= count; i += TOGETHER)
            expand_tile(panel, lora->rank, t + i * lora->rank, y + i, out, TOGETHER);
        for (; i < count; i++)
            expand_tile(panel, lora->rank, t + i * lora->rank, y + i, out, 1);
    }
}
