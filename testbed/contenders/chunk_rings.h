// SPDX-License-Identifier: Apache-2.0
//
// chunk_rings: the paper's pool with a bounded queue of whole requests for each worker, shared by `locus-sharded-chunk` and
// `locus-chunk-pool`. They differ in what they do with a request that came home.
#ifndef TB_CHUNK_RINGS_H
#define TB_CHUNK_RINGS_H

#include "testbed/contenders/published_ops.h"
#include "testbed/contenders/rings.h"

#define TB_CHUNK_PLACES 2u // requests in each worker's queue, as in experiment 0353

struct tb_chunk_rings {
    struct tb_published_pool pool; // first: published_ops.h
    struct tb_rings rings;
    uint64_t drained; // requests
};

// 0 or -errno; close it either way.
static inline int tb_chunk_rings_open(struct tb_chunk_rings *chunks, const struct tb_setup *setup, uint64_t places)
{
    int error = tb_rings_open(&chunks->rings, setup->workers, places);
    return error ? error : tb_published_open(&chunks->pool, setup);
}

static inline void tb_chunk_rings_close(struct tb_chunk_rings *chunks)
{
    tb_rings_close(&chunks->rings);
    tb_published_close(&chunks->pool);
}

static inline void tb_chunk_rings_send(struct tb_chunk_rings *chunks, uint32_t worker, struct locus_table *table,
                                       void (*drain)(void *context), void *context)
{
    tb_rings_send(&chunks->rings, worker, (uint64_t)(uintptr_t)table, drain, context);
}

// Hands every arrived request to `home`. Its place is freed before its blocks, as in the original.
static inline void tb_chunk_rings_drain(struct tb_chunk_rings *chunks, void (*home)(void *pool, struct locus_table *table))
{
    for (uint32_t i = 0; i < chunks->rings.count; i++) {
        struct tb_ring *ring = chunks->rings.ring[i];
        while (tb_ring_arrived(ring)) {
            struct locus_table *table = (struct locus_table *)(uintptr_t)tb_ring_word(ring, 0);
            tb_ring_took(ring, 1);
            home(chunks, table);
            chunks->drained++;
        }
    }
}

#endif
