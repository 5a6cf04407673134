// SPDX-License-Identifier: Apache-2.0
//
// kernel: attention of the queries that share one KV head, over a tile of its positions, once for each kind of instructions.
//
// K and V are read once for all queries of the group. Softmax is summed online, in tiles of TB_TILE_TOKENS positions (Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018): a tile's scores are computed; if their maximum is a new one,
// what was gathered is scaled down to it; then the tile's V are added, weighted, in order of position. A tile begins at a multiple
// of TB_TILE_TOKENS, and only a sequence's last one has fewer positions. So the order of sums depends on the positions alone, and a
// kernel gives the same bits whatever the layout's runs and blocks are - but for K in columns, whose dot products are summed in
// another order than rows'. Kernels differ from each other in the last bits.
#ifndef TB_KERNEL_H
#define TB_KERNEL_H

#include "testbed/decode/cache.h"

struct tb_tile {                // positions of one KV head that lie in one run
    const char *k, *v;
    uint32_t tokens;            // 1 to TB_TILE_TOKENS
    const char *k_ahead, *v_ahead; // of the tile that is read next: a kernel may fetch it. NULL: the CPU does that by itself
    const char *k_soon, *v_soon; // TB_TILE_SOON_BYTES of each that will be read soon: a kernel may fetch these. NULL: none
};

#define TB_TILE_SOON_BYTES (TB_TILE_TOKENS / 2 * 64u)

// The queries of one KV head, and what they have gathered so far: at first acc and sum 0, max -INFINITY. q and acc are
// aligned to a line, and have dims where tb_kernel_place() says.
struct tb_gather {
    const float *q;             // [group][head_dim], scaled by 1 / sqrt(head_dim)
    float *acc;                 // [group][head_dim]: sum of weights times V
    float *sum;                 // [group]: sum of weights; those of a tile are summed first
    float *max;                 // [group]
};

typedef void tb_attend_fn(const struct tb_cache *cache, const struct tb_gather *gather, const struct tb_tile *tile);

struct tb_kernel {
    const char *name;           // of the instructions: "avx512", "avx2", "neon", "scalar"
    bool (*usable)(void);
    tb_attend_fn *attend[TB_DTYPES_COUNT];
    uint32_t twins;             // of bf16: tb_twin_place(); 0: dims are in order
};

// Where the `dim`th of `dims` is, if each `twins` whole ones have the even ones first.
static inline uint32_t tb_twin_place(uint32_t twins, uint32_t dims, uint32_t dim)
{
    if (twins == 0 || dim >= dims / twins * twins)
        return dim;
    return dim / twins * twins + dim % 2 * (twins / 2) + dim % twins / 2;
}

// Where q and acc have it.
static inline uint32_t tb_kernel_place(const struct tb_kernel *kernel, enum tb_dtype dtype, uint32_t dims, uint32_t dim)
{
    return tb_twin_place(dtype == TB_DTYPE_BF16 ? kernel->twins : 0, dims, dim);
}

// True: the CPU's own prefetchers follow K and V that lie in order, and are disturbed by a kernel that fetches all of them, too.
bool tb_kernel_streams(void);

// Those that this CPU can run, best first; NULL after the last. The last is scalar, which all can.
const struct tb_kernel *tb_kernel_at(size_t i);

#endif
