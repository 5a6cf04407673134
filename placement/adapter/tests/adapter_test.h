// SPDX-License-Identifier: Apache-2.0
//
// adapter_test: calls that the tests of adapters share. Weights say which version of which adapter they are.
#ifndef LOCUS_TESTS_ADAPTER_TEST_H
#define LOCUS_TESTS_ADAPTER_TEST_H

#include <stdlib.h>
#include <string.h>

#include "locus/int8.h"
#include "placement/adapter/tests/adapter_world.h"

static uint16_t weights[WEIGHTS], kept[WEIGHTS];

// Numbers that say which version of which adapter they are; `kept`: as int8 keeps them.
static inline void make(uint32_t number, uint32_t version)
{
    static char stored[WEIGHTS / LOCUS_INT8_GROUP * LOCUS_INT8_GROUP_BYTES + LOCUS_INT8_GROUP_BYTES];
    for (size_t i = 0; i < WEIGHTS; i++)
        weights[i] = (uint16_t)(0x3000 + number * 1000 + version * 100 + i * 7 % 97);
    cr_assert_eq(locus_int8_from_f16(stored, weights, WEIGHTS), 0);
    cr_assert_eq(locus_int8_to_f16(kept, stored, WEIGHTS), 0);
}

static inline void load(uint32_t number, uint32_t version)
{
    make(number, version);
    cr_assert_eq(locus_adapters_load(world.adapters, world.now_ns, number, weights, sizeof weights), 0);
}

static inline int acquire(uint32_t number, struct locus_adapter_hold *hold)
{
    int error;
    for (int tries = 0; (error = locus_adapters_acquire(world.adapters, ++world.now_ns, number, hold)) == -EAGAIN && tries < 1000;
         tries++)
        locus_adapters_poll(world.adapters, world.now_ns, 10000000);
    return error;
}

// Acquired and as it should be: exact, or as int8 has it.
static inline struct locus_adapter_hold held(uint32_t number, uint32_t version, bool exact)
{
    struct locus_adapter_hold hold = {0};
    cr_assert_eq(acquire(number, &hold), 0);
    make(number, version);
    cr_assert_eq(hold.bytes, sizeof weights);
    cr_assert_eq(memcmp(hold.weights, exact ? weights : kept, sizeof weights), 0, "%u, version %u", number, version);
    return hold;
}

static inline void release(struct locus_adapter_hold *hold)
{
    locus_adapters_release(world.adapters, ++world.now_ns, hold);
    cr_assert_null(hold->version);
}

static inline void use(uint32_t number, uint32_t version, bool exact)
{
    struct locus_adapter_hold hold = held(number, version, exact);
    release(&hold);
}

static inline struct locus_adapter_where where(uint32_t number)
{
    struct locus_adapter_where out = {0};
    cr_assert(locus_adapters_where(world.adapters, world.now_ns, number, &out));
    return out;
}

static inline struct locus_adapters_stats stats(void)
{
    struct locus_adapters_stats out;
    locus_adapters_stats(world.adapters, &out);
    return out;
}

// Until nothing moves.
static inline void settle(void)
{
    for (uint32_t number = 0, tries = 0; number < NUMBERS && tries < 1000; tries++) {
        struct locus_adapter_where at;
        locus_adapters_poll(world.adapters, world.now_ns, 1000000);
        number += !locus_adapters_where(world.adapters, world.now_ns, number, &at) || !at.moving;
    }
}

static inline void filled(struct locus_tier_op *op, int result)
{
    (void)op;
    cr_assert_eq(result, 0);
}

// A range that an arena with this `leave` has been told to evict, and which waits for locus_pages_evict_done().
static locus_range saved_range;

static inline int save(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    (void)context, (void)kind, (void)owner, (void)memory, (void)bytes;
    saved_range = range;
    return 1;
}

// What leaves takes its time, too.
static inline void cold_expect(uint64_t objects)
{
    for (int tries = 0; objects_of(world.cold) != objects && tries < 1000; tries++)
        locus_adapters_poll(world.adapters, world.now_ns, 1000000);
    cr_assert_eq(objects_of(world.cold), objects);
}

#endif
