// SPDX-License-Identifier: Apache-2.0
//
// counting: what workers have freed, for contenders whose blocks do not come home through the owner. Each worker writes a line of
// its own, so a count costs a store to a line that stays in its cache.
#ifndef TB_COUNTING_H
#define TB_COUNTING_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "locus/lane.h"

struct tb_lane {
    // C1 (release by the worker), partner C2 (acquire by the owner): a counted block is free.
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t blocks;
    _Atomic uint64_t requests;
};

struct tb_lane_counts {
    struct tb_lane *lanes;
    uint32_t count;
};

static inline int tb_lane_counts_open(struct tb_lane_counts *counts, uint32_t workers)
{
    counts->lanes = aligned_alloc(LOCUS_CACHE_LINE, workers * sizeof *counts->lanes);
    if (!counts->lanes)
        return -ENOMEM;
    for (counts->count = 0; counts->count < workers; counts->count++)
        counts->lanes[counts->count] = (struct tb_lane){0};
    return 0;
}

static inline void tb_lane_counts_close(struct tb_lane_counts *counts)
{
    free(counts->lanes);
}

// Called by the lane's worker, after the blocks of one request are free.
static inline void tb_lane_count(struct tb_lane_counts *counts, uint32_t worker, uint32_t blocks)
{
    struct tb_lane *lane = &counts->lanes[worker];
    uint64_t blocks_now = atomic_load_explicit(&lane->blocks, memory_order_relaxed) + blocks;
    uint64_t requests_now = atomic_load_explicit(&lane->requests, memory_order_relaxed) + 1;
    atomic_store_explicit(&lane->requests, requests_now, memory_order_release); // C1
    atomic_store_explicit(&lane->blocks, blocks_now, memory_order_release);     // C1
}

static inline uint64_t tb_lane_counts_blocks(struct tb_lane_counts *counts)
{
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < counts->count; i++)
        blocks += atomic_load_explicit(&counts->lanes[i].blocks, memory_order_acquire); // C2
    return blocks;
}

static inline uint64_t tb_lane_counts_requests(struct tb_lane_counts *counts)
{
    uint64_t requests = 0;
    for (uint32_t i = 0; i < counts->count; i++)
        requests += atomic_load_explicit(&counts->lanes[i].requests, memory_order_acquire); // C2
    return requests;
}

#endif
