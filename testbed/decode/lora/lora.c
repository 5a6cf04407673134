// SPDX-License-Identifier: Apache-2.0
//
// lora: which requests go through a kernel together. See lora.h.

#include "testbed/decode/lora/lora.h"

#include "testbed/decode/kernels/kernels.h"

static const struct tb_lora_kernel *const all[] = {
#if defined(__x86_64__)
    &tb_lora_avx512,
    &tb_lora_avx2,
#elif defined(__aarch64__)
    &tb_lora_neon,
#endif
    &tb_lora_scalar,
};

const struct tb_lora_kernel *tb_lora_kernel(const struct tb_kernel *kind)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->kind == kind)
            return all[i];
    return NULL;
}

void tb_lora_pack_b(const struct tb_lora *lora, const uint16_t *rows, uint16_t *to)
{
    for (uint32_t out = 0; out < lora->out; out++)
        for (uint32_t k = 0; k < lora->rank; k++)
            to[(out / TB_LORA_PANEL * lora->rank + k) * TB_LORA_PANEL + out % TB_LORA_PANEL] = rows[out * lora->rank + k];
}

// The requests `order[0 .. count - 1]`, which have one adapter.
static void apply(const struct tb_lora_kernel *kernel, const struct tb_lora *lora, const struct tb_lora_batch *batch,
                  const uint32_t *order, uint32_t count)
{
    _Alignas(64) float t[TB_LORA_BATCH_MAX * TB_LORA_RANK_MAX]; // 64 KiB: in the second level of cache
    const float *x[TB_LORA_BATCH_MAX];
    float *y[TB_LORA_BATCH_MAX];
    for (uint32_t i = 0; i < count; i++) {
        x[i] = batch->x + order[i] * batch->x_floats;
        y[i] = batch->y + order[i] * batch->y_floats;
    }
    kernel->shrink(lora, x, count, t);
    kernel->expand(lora, t, y, count);
}

void tb_lora_loop(const struct tb_kernel *kind, const struct tb_lora *adapters, const struct tb_lora_batch *batch)
{
    const struct tb_lora_kernel *kernel = tb_lora_kernel(kind);
    for (uint32_t r = 0; r < batch->requests; r++)
        if (batch->adapter[r] != TB_LORA_BASE)
            apply(kernel, &adapters[batch->adapter[r]], batch, &r, 1);
}

// Requests by adapter, those of one adapter as they came; those without one last. Shell's sort with Ciura's gaps: in place, and
// faster than qsort() for so few.
static void sort(const struct tb_lora_batch *batch, uint32_t *order)
{
    static const uint32_t gaps[] = {132, 57, 23, 10, 4, 1};
    uint64_t key[TB_LORA_BATCH_MAX];
    for (uint32_t r = 0; r < batch->requests; r++)
        key[r] = (uint64_t)batch->adapter[r] << 32 | r;
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (uint32_t i = gaps[g], gap = gaps[g]; i < batch->requests; i++) {
            uint64_t moved = key[i];
            uint32_t at = i;
            for (; at >= gap && key[at - gap] > moved; at -= gap)
                key[at] = key[at - gap];
            key[at] = moved;
        }
    for (uint32_t r = 0; r < batch->requests; r++)
        order[r] = (uint32_t)key[r];
}

void tb_lora_bgmv(const struct tb_kernel *kind, const struct tb_lora *adapters, const struct tb_lora_batch *batch)
{
    const struct tb_lora_kernel *kernel = tb_lora_kernel(kind);
    uint32_t order[TB_LORA_BATCH_MAX], count;
    sort(batch, order);
    for (uint32_t first = 0; first < batch->requests; first += count) {
        uint32_t adapter = batch->adapter[order[first]];
        if (adapter == TB_LORA_BASE)
            return;
        for (count = 1; first + count < batch->requests && batch->adapter[order[first + count]] == adapter;)
            count++;
        apply(kernel, &adapters[adapter], batch, order + first, count);
    }
}
