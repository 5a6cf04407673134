// SPDX-License-Identifier: Apache-2.0
//
// plan_sizes: see plan.c for the idea. The numbers of samples' lengths are chosen so that one takes tens of milliseconds (short) or
// a few times that (full) at 100 ns a load and 10 GB/s a thread, far above what reading the clock and starting threads costs.
#include "testbed/matrix/plan_sizes.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

// Where the caches are not known, larger than those of most machines.
#define LAST_GUESSED (64 * MIB)

#define BEYOND 4u                       // times the last level: what is wanted
#define BEYOND_LEAST 2u                 // and the least that is not mostly the caches' own

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// Of one CPU: the largest that it has.
static uint64_t last_of_one(const struct tb_matrix_caches *caches)
{
    uint64_t bytes = 0;
    for (unsigned level = 0; level < 4; level++)
        bytes = larger(bytes, caches->bytes[level]);
    return bytes > 0 ? bytes : LAST_GUESSED;
}

void tb_plan_sizes(struct tb_plan_sizes *out, const struct tb_matrix_caches *caches, bool full, bool emulated)
{
    uint64_t one = last_of_one(caches), all = larger(caches->last_bytes, one);
    if (emulated) {
        *out = (struct tb_plan_sizes){.chase = MIB,
                                      .chase_least = 256 * KIB,
                                      .stream = MIB,
                                      .stream_least = 256 * KIB,
                                      .slice_least = 64 * KIB,
                                      .moved = 64 * KIB,
                                      .steps = 8192,
                                      .curve_steps = 8192,
                                      .migrated = MIB,
                                      .handoffs = 32,
                                      .tables = 16};
        return;
    }
    *out = (struct tb_plan_sizes){
        .chase = larger(BEYOND * one, (full ? 256 : 64) * MIB),
        .chase_least = BEYOND_LEAST * one,
        .stream = larger(BEYOND * all, (full ? 256 : 64) * MIB),
        .stream_least = BEYOND_LEAST * all,
        .slice_least = larger(BEYOND * caches->bytes[1], 4 * MIB),
        .moved = (full ? 512 : 128) * MIB,
        .steps = (uint64_t)1 << (full ? 20 : 18),
        .curve_steps = (uint64_t)1 << (full ? 19 : 18),
        .migrated = (full ? 64 : 16) * MIB,
        .handoffs = (uint64_t)1 << (full ? 17 : 15),
        .tables = (uint64_t)256 << (full ? 6 : 4),
    };
}

uint64_t tb_plan_stream(const struct tb_plan_sizes *sizes, unsigned threads)
{
    return larger(sizes->stream, threads * sizes->slice_least);
}

uint64_t tb_plan_room(const struct locus_topo *topo, int node)
{
    const struct locus_topo_node *place = locus_topo_node(topo, node);
    if (!place)
        return 0;
    return place->memory_live ? place->memory.free_bytes + place->memory.reclaimable_bytes : place->memory.total_bytes;
}

uint64_t tb_plan_fit(const struct locus_topo *topo, int node, uint64_t wanted, uint64_t least)
{
    uint64_t half = tb_plan_room(topo, node) / 2;
    if (half >= wanted)
        return wanted;
    return half >= least ? half / (64 * KIB) * (64 * KIB) : 0;
}

// Two points to an octave, so that an end of a cache lies between two of them whose cause is clear; the short curve has one point
// inside each cache and one beyond.
unsigned tb_plan_curve(const struct tb_plan_sizes *sizes, const struct tb_matrix_caches *caches, bool full,
                       uint64_t out[TB_PLAN_CURVE_MAX])
{
    unsigned count = 0;
    if (full) {
        for (uint64_t size = 8 * KIB; size < sizes->chase && count + 3 < TB_PLAN_CURVE_MAX; size *= 2) {
            out[count++] = size;
            if (size + size / 2 < sizes->chase)
                out[count++] = size + size / 2;
        }
    } else {
        for (unsigned level = 0; level < 4; level++)
            if (caches->bytes[level] > 0 && caches->bytes[level] / 2 < sizes->chase)
                out[count++] = caches->bytes[level] / 2;
    }
    out[count++] = sizes->chase;
    return count;
}
