// SPDX-License-Identifier: Apache-2.0
//
// lora: what adapters add to a layer's outputs: for each request r of a batch, with adapter a(r), y_r += B (A x_r) in f16 weights
// and f32 sums (Hu et al., "LoRA: Low-rank adaptation of large language models", 2021; a scale is part of B).
//
// Two ways. The loop takes requests as they come, each with its own adapter, and reads an adapter once for each of its requests.
// The batched gather matrix-vector product (bgmv; Chen et al., "Punica", 2023) takes requests by adapter: a few rows of A, or a
// panel of B, stay in the caches while all requests of the adapter use them, so an adapter is read from memory once. Both sum each
// number in the same order, so a kernel gives the same bits either way, whoever else is in the batch.
//
// A lies in rows, of `in` numbers each. B lies in panels of TB_LORA_PANEL outputs, of all ranks each: [out / panel][rank][panel].
// So both are read from the first byte to the last, and a kernel adds rows of B, weighted, where whole columns would leave it with
// sums across a vector. Engines pack weights like this when they load them.
#ifndef TB_LORA_H
#define TB_LORA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/decode/kernel.h"

#define TB_LORA_PANEL 32u
#define TB_LORA_RANK_MAX 64u
#define TB_LORA_BATCH_MAX 256u
#define TB_LORA_BASE UINT32_MAX // a request without an adapter: its y stays as it is

struct tb_lora {
    uint32_t rank;              // 1 to TB_LORA_RANK_MAX
    uint32_t in, out;           // multiples of TB_LORA_PANEL
    const uint16_t *a;          // f16: [rank][in]
    const uint16_t *b;          // f16: [out / TB_LORA_PANEL][rank][TB_LORA_PANEL]
};

// Bytes of A and B together.
static inline size_t tb_lora_bytes(const struct tb_lora *lora)
{
    return (size_t)lora->rank * (lora->in + lora->out) * sizeof *lora->a;
}

void tb_lora_pack_b(const struct tb_lora *lora, const uint16_t *rows, uint16_t *to); // from [out][rank]

struct tb_lora_batch {
    uint32_t requests;          // at most TB_LORA_BATCH_MAX
    const uint32_t *adapter;    // [requests]: a number below that of the adapters, or TB_LORA_BASE
    const float *x;             // of request r from r * x_floats on: `in` numbers
    float *y;                   // of request r from r * y_floats on: `out` numbers; apart from x
    size_t x_floats, y_floats;
};

void tb_lora_loop(const struct tb_kernel *kernel, const struct tb_lora *adapters, const struct tb_lora_batch *batch);
void tb_lora_bgmv(const struct tb_kernel *kernel, const struct tb_lora *adapters, const struct tb_lora_batch *batch);

// --- kernels, a file for each kind of instructions ------------------------------------------------------------------------------

// `count` requests of one adapter. t: [count][rank].
struct tb_lora_kernel {
    const struct tb_kernel *kind;
    void (*shrink)(const struct tb_lora *lora, const float *const x[], uint32_t count, float *t); // t = A x
    void (*expand)(const struct tb_lora *lora, const float *t, float *const y[], uint32_t count); // y += B t
};

#if defined(__x86_64__)
extern const struct tb_lora_kernel tb_lora_avx512, tb_lora_avx2;
#elif defined(__aarch64__)
extern const struct tb_lora_kernel tb_lora_neon;
#endif
extern const struct tb_lora_kernel tb_lora_scalar;

const struct tb_lora_kernel *tb_lora_kernel(const struct tb_kernel *kind);

#endif
