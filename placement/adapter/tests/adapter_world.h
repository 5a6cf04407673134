// SPDX-License-Identifier: Apache-2.0
//
// adapter_world: where the tests' adapters are: an arena of four pages, in which each takes two, and two tiers. The cold tier is in
// memory, and answers at once, or in a file, and takes its time.
#ifndef LOCUS_TESTS_ADAPTER_WORLD_H
#define LOCUS_TESTS_ADAPTER_WORLD_H

#include "locus/adapter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "locus/pages.h"
#include "locus/pages_evict.h"
#include "locus/pages_report.h"
#include "locus/tier.h"
#include "locus/tier_file.h"

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
                                           .policy = locus_adapter_policy_find(policy)};
    config.policy_config = (struct locus_adapter_policy_config){
        .size = sizeof config.policy_config, .adapters = NUMBERS, .hot = hot, .warm = warm, .cost_ns = cost_ns};
    return locus_adapters_open(&world.adapters, &config);
}

static inline void path_make(void)
{
    snprintf(world.path, sizeof world.path, "/tmp/locus-adapter-%d", (int)getpid());
}

static inline void world_open_again(bool file, const char *policy, uint32_t hot, uint32_t warm)
{
    struct locus_pages_config pages = {
        .size = sizeof pages, .page_bytes = PAGE_BYTES, .pages = PAGES, .node = LOCUS_NODE_ANY, .score = score, .evict = leave};
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

static inline uint64_t objects_of(const struct locus_tier *tier)
{
    struct locus_tier_stats out;
    locus_tier_stats(tier, &out);
    return out.objects;
}

static inline void world_close(void)
{
    struct locus_pages_stats pages;
    cr_expect_eq(locus_adapters_close(world.adapters), 0);
    cr_expect_eq(objects_of(world.warm), 0, "warm copies are left");
    locus_pages_stats(world.pages, &pages);
    cr_expect_eq(pages.ranges, 0, "pages are left");
    locus_tier_close(world.warm);
    locus_tier_close(world.cold);
    cr_expect_eq(locus_pages_close(world.pages), 0);
    unlink(world.path);
}

#endif
