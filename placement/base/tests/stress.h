// SPDX-License-Identifier: Apache-2.0
//
// Shared by the stress programs: arguments, a seeded random source, error reports.
#ifndef LOCUS_TESTS_STRESS_H
#define LOCUS_TESTS_STRESS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

#endif
