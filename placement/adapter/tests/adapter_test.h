// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of adapters: an arena of four pages, two tiers, and adapters of two pages each, whose numbers say which
// version of which adapter they are. The cold tier is in memory, and answers at once, or in a file, and takes its time.
#ifndef LOCUS_TESTS_ADAPTER_TEST_H
#define LOCUS_TESTS_ADAPTER_TEST_H

#include "placement/adapter/adapter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pages_evict.h"
#include "pages_open.h"
#include "pages_report.h"
#include "quant.h"
#include "tier_far.h"
#include "tier_file.h"

enum { NUMBERS = 8, PAGES = 4, WEIGHTS = 300 * 1024 }; // 600 KiB: two pages
#define PAGE_BYTES (512u << 10)

static struct world {
    struct locus_pages *pages;
    struct locus_tier *cold, *warm;
    struct locus_adapters *adapters;
    char path[64];
    uint64_t now_ns;
} world;

static int (*leave)(void *, locus_range, enum locus_pages_kind, uint64_t, void *, uint64_t); // the arena's

static const struct locus_score_ops *score; // the arena's
static const uint64_t *cost_ns; // the policy's
static bool plain_file; // the cold tier's: no io_uring, so that calls that fail count

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

static inline void cold_open(bool file)
{
    if (!file) {
        struct locus_tier_far_config far = {.size = sizeof far, .bytes = 16u << 20, .node = LOCUS_NODE_ANY};
        cr_assert_eq(locus_tier_far_open(&world.cold, &far), 0);
        return;
    }
    char why[200] = "";
    struct locus_tier_file_config config = {.size = sizeof config,
                                            .path = world.path,
                                            .bytes = 16u << 20,
                                            .no_io_uring = plain_file,
                                            .why = why,
                                            .why_bytes = sizeof why};
    int error = -EBUSY;
    for (int tries = 0; error == -EBUSY && tries < 100; tries++, usleep(10000)) // the ring of the one before may still hold it
        error = locus_tier_file_open(&world.cold, &config);
    cr_assert_eq(error, 0, "%d: %s", error, why);
}

static inline int adapters_open(const char *policy, uint32_t hot, uint32_t warm)
{
    struct locus_adapters_config config = {.size = sizeof config,
                                           .pages = world.pages,
                                           .cold = world.cold,
                                           .warm = world.warm,
                                           .policy = locus_residency_find(policy)};
    config.residency = (struct locus_residency_config){
        .size = sizeof config.residency, .adapters = NUMBERS, .hot = hot, .warm = warm, .cost_ns = cost_ns};
    return locus_adapters_open(&world.adapters, &config);
}

static inline void path_make(void)
{
    snprintf(world.path, sizeof world.path, "/tmp/locus-adapter-%d", (int)getpid());
}

static inline void world_open_again(bool file, const char *policy, uint32_t hot, uint32_t warm)
{
    struct locus_pages_config pages = {
        .size = sizeof pages, .page_bytes = PAGE_BYTES, .pages = PAGES, .node = LOCUS_NODE_ANY, .score = score, .leave = leave};
    struct locus_tier_far_config far = {.size = sizeof far, .bytes = 4u << 20, .node = LOCUS_NODE_ANY};
    cr_assert_eq(locus_pages_open(&world.pages, &pages), 0);
    cr_assert_eq(locus_tier_int8_open(&world.warm, &far), 0);
    cold_open(file);
    cr_assert_eq(adapters_open(policy, hot, warm), 0);
}

static inline void world_open(bool file, const char *policy, uint32_t hot, uint32_t warm)
{
    if (!world.path[0])
        path_make();
    unlink(world.path);
    world_open_again(file, policy, hot, warm);
}

static inline void world_close(void)
{
    struct locus_tier_stats warm;
    struct locus_pages_stats pages;
    cr_expect_eq(locus_adapters_close(world.adapters), 0);
    locus_tier_stats(world.warm, &warm);
    cr_expect_eq(warm.objects, 0, "warm copies are left");
    locus_pages_stats(world.pages, &pages);
    cr_expect_eq(pages.ranges, 0, "pages are left");
    locus_tier_close(world.warm);
    locus_tier_close(world.cold);
    cr_expect_eq(locus_pages_close(world.pages), 0);
    unlink(world.path);
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

// A range that an arena with this `leave` has been told to evict, and which waits for locus_pages_left().
static locus_range saved_range;

static inline int save(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    (void)context, (void)kind, (void)owner, (void)memory, (void)bytes;
    saved_range = range;
    return 1;
}

static inline uint64_t cold_objects(void)
{
    struct locus_tier_stats out;
    locus_tier_stats(world.cold, &out);
    return out.objects;
}

static inline uint64_t warm_objects(void)
{
    struct locus_tier_stats out;
    locus_tier_stats(world.warm, &out);
    return out.objects;
}

// What leaves takes its time, too.
static inline void cold_expect(uint64_t objects)
{
    struct locus_tier_stats out;
    for (int tries = 0; tries < 1000; tries++) {
        locus_tier_stats(world.cold, &out);
        if (out.objects == objects)
            break;
        locus_adapters_poll(world.adapters, world.now_ns, 1000000);
    }
    cr_assert_eq(out.objects, objects);
}

#endif
