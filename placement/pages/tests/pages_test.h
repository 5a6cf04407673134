// SPDX-License-Identifier: Apache-2.0
//
// pages_test: small arenas for the tests. Their memory is mapped and never touched, unless a test does.
#ifndef LOCUS_TESTS_PAGES_TEST_H
#define LOCUS_TESTS_PAGES_TEST_H

#include <criterion/criterion.h>
#include <errno.h>

#include "locus/pages.h"
#include "locus/pages_evict.h"
#include "locus/pages_report.h"

#define SECOND_NS UINT64_C(1000000000)

static inline struct locus_pages_config arena_config(uint32_t pages)
{
    return (struct locus_pages_config){
        .size = sizeof(struct locus_pages_config),
        .page_bytes = 512 << 10,
        .pages = pages,
        .page = LOCUS_PAGE_4K,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
    };
}

// Many tests end with pins, so nobody could close their arenas: they are kept here, where a leak checker finds them.
static inline struct locus_pages *arena_of(const struct locus_pages_config *config)
{
    static struct locus_pages *all[256];
    static unsigned count;
    struct locus_pages *pages;
    cr_assert_eq(locus_pages_open(&pages, config), 0);
    all[count % 256] = pages;
    return all[count++ % 256];
}

static inline struct locus_pages *arena(uint32_t pages)
{
    struct locus_pages_config config = arena_config(pages);
    return arena_of(&config);
}

static inline int ask_for(struct locus_pages *pages, enum locus_pages_kind kind, uint32_t count, uint64_t owner, locus_range *out)
{
    struct locus_pages_request ask = {.kind = kind, .pages = count, .owner = owner, .cost_ns = owner};
    return locus_pages_alloc(pages, NULL, &ask, out);
}

// Pinned once.
static inline locus_range allocated(struct locus_pages *pages, enum locus_pages_kind kind, uint32_t count, uint64_t owner)
{
    locus_range range;
    cr_assert_eq(ask_for(pages, kind, count, owner, &range), 0);
    return range;
}

// Unpinned, last used at `now_ns`.
static inline locus_range resident(struct locus_pages *pages, uint32_t count, uint64_t owner, uint64_t now_ns)
{
    locus_pages_set_time(pages, now_ns);
    locus_range range = allocated(pages, LOCUS_PAGES_KV, count, owner);
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    return range;
}

static inline struct locus_pages_stats stats_of(const struct locus_pages *pages)
{
    struct locus_pages_stats stats;
    locus_pages_stats(pages, &stats);
    return stats;
}

static inline uint32_t first_page(locus_range range)
{
    return (uint32_t)(range & (LOCUS_PAGES_MAX - 1));
}

// 0 if it is there and can be pinned.
static inline int touch(struct locus_pages *pages, locus_range range)
{
    int error = locus_pages_pin(pages, range);
    return error ? error : locus_pages_unpin(pages, range);
}

#endif
