// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of tiers: operations that are waited for, and bytes that can be told apart.
#ifndef LOCUS_TESTS_TIER_TEST_H
#define LOCUS_TESTS_TIER_TEST_H

#include "locus/tier.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct waited {
    struct locus_tier_op op;    // first
    int calls, result;
};

static inline void waited_done(struct locus_tier_op *op, int result)
{
    struct waited *waited = (struct waited *)op;
    waited->calls++;
    waited->result = result;
}

static inline struct locus_tier_op *op_of(struct waited *waited)
{
    *waited = (struct waited){.op.done = waited_done};
    return &waited->op;
}

// What came of it; `error` is what the call returned.
static inline int outcome(struct locus_tier *tier, struct waited *waited, int error)
{
    for (int i = 0; !error && !waited->calls && i < 1000; i++)
        locus_tier_poll(tier, 10000000);
    cr_assert(error || waited->calls == 1);
    return error ? error : waited->result;
}

static inline int store(struct locus_tier *tier, uint64_t key, const void *from, uint64_t bytes)
{
    struct waited waited;
    return outcome(tier, &waited, locus_tier_store(tier, locus_id_of(key), from, bytes, op_of(&waited)));
}

static inline int load(struct locus_tier *tier, uint64_t key, void *to, uint64_t bytes)
{
    struct waited waited;
    return outcome(tier, &waited, locus_tier_load(tier, locus_id_of(key), to, bytes, op_of(&waited)));
}

static inline int drop(struct locus_tier *tier, uint64_t key)
{
    struct waited waited;
    return outcome(tier, &waited, locus_tier_drop(tier, locus_id_of(key), op_of(&waited)));
}

static inline void must_store(struct locus_tier *tier, uint64_t key, const void *from, uint64_t bytes)
{
    cr_assert_eq(store(tier, key, from, bytes), 0);
}

static inline void must_load(struct locus_tier *tier, uint64_t key, void *to, uint64_t bytes)
{
    cr_assert_eq(load(tier, key, to, bytes), 0);
}

static inline void must_drop(struct locus_tier *tier, uint64_t key)
{
    cr_assert_eq(drop(tier, key), 0);
}

static inline struct locus_tier_stats stats_of(const struct locus_tier *tier)
{
    struct locus_tier_stats stats;
    locus_tier_stats(tier, &stats);
    return stats;
}

static inline uint64_t random_next(uint64_t *state) // xorshift64*
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1d >> 16;
}

// Bytes that no compressor makes shorter, at a multiple of 4 KiB, which free() gives back.
static inline void *bytes_new(uint64_t count, uint64_t seed)
{
    unsigned char *bytes = aligned_alloc(4096, (count + 4095) / 4096 * 4096);
    uint64_t state = seed * 2 + 0x9e3779b97f4a7c15;
    cr_assert(bytes);
    for (uint64_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)random_next(&state);
    return bytes;
}

#endif
