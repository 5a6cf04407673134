// SPDX-License-Identifier: Apache-2.0
//
// Shared by the stress programs: arguments, a seeded random source, error reports, and the mark in each block.
//
// A block has the mark of the request that holds it, or 0 if none does. The taker writes the mark, the worker that finishes the
// request checks and clears it, and the next taker must find it cleared. So a block that is handed out twice, or freed while in
// use, shows, and the sanitizers see every hand-over as accesses to plain memory.
#ifndef LOCUS_TESTS_STRESS_H
#define LOCUS_TESTS_STRESS_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "placement/blocks/owner.h"

#define STRESS_SECONDS 3.0

struct stress {
    double seconds;
    uint64_t seed;
    double end_s;
};

static inline double stress_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline struct stress stress_begin(int argc, char **argv)
{
    struct stress stress = {.seconds = argc > 1 ? atof(argv[1]) : STRESS_SECONDS};
    stress.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    stress.end_s = stress_now_s() + stress.seconds;
    printf("seed %llu\n", (unsigned long long)stress.seed);
    fflush(stdout);
    return stress;
}

// xorshift64* (Vigna, 2016): the programs need variety, not quality.
static inline uint32_t stress_random(uint64_t *state, uint32_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(2685821657736338717)) >> 33) % below;
}

// A state of its own for thread or round number `index`; never 0.
static inline uint64_t stress_fork(uint64_t seed, uint64_t index)
{
    uint64_t state = (seed + index * UINT64_C(0x9E3779B97F4A7C15)) | 1;
    for (unsigned i = 0; i < 8; i++)
        stress_random(&state, 2);
    return state;
}

// Ends the program at once: after a broken invariant the threads may wait for each other for ever.
#define STRESS_EXPECT(holds)                                                                                                       \
    do {                                                                                                                           \
        if (!(holds)) {                                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds);                                                    \
            _Exit(1);                                                                                                              \
        }                                                                                                                          \
    } while (0)

static inline void stress_mark(const struct locus_pool *pool, locus_block block, uint64_t mark)
{
    uint64_t *word = locus_pool_address(pool, block);
    STRESS_EXPECT(*word == 0);
    *word = mark;
}

static inline void stress_unmark(const struct locus_pool *pool, locus_block block, uint64_t mark)
{
    uint64_t *word = locus_pool_address(pool, block);
    STRESS_EXPECT(*word == mark);
    *word = 0;
}

static inline struct locus_table *stress_table(uint32_t homes, uint32_t capacity)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(homes, capacity));
    STRESS_EXPECT(table && locus_table_init(table, homes, capacity, 16) == 0);
    return table;
}

// Nothing is out, nothing was refused, and the books balance.
static inline void stress_expect_idle(const struct locus_pool *pool)
{
    struct locus_pool_stats stats;
    locus_pool_stats(pool, &stats);
    STRESS_EXPECT(stats.allocated == stats.freed);
    STRESS_EXPECT(stats.outstanding == 0);
    STRESS_EXPECT(stats.blocks_free + stats.blocks_worn == stats.blocks);
    for (unsigned i = 0; i < LOCUS_FREE_ERRORS_COUNT; i++)
        STRESS_EXPECT(stats.refused[i] == 0);
}

#endif
