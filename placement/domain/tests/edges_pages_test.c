// SPDX-License-Identifier: Apache-2.0
//
// The edges of pages/ and adapter/ (edges.h).
#include "placement/domain/tests/edges.h"

#define PAGES 8u
#define PAGE_BYTES (UINT64_C(512) << 10)

static struct locus_pages_config pages_usual(void)
{
    return (struct locus_pages_config){
        .size = sizeof(struct locus_pages_config), .page_bytes = PAGE_BYTES, .pages = PAGES, .node = LOCUS_NODE_ANY, .sets = 2};
}

static void pages_tried(const struct locus_pages_config *config)
{
    struct locus_pages *pages = NULL;
    char why[200] = "";
    int error = locus_pages_open(&pages, config);
    ONE_OF(error, 0, -EINVAL, -ENOMEM, -ENOSYS, -EPERM);
    locus_pages_why(config, error, why, sizeof why);
    cr_assert(error ? *why && !pages : pages != NULL);
    cr_assert_eq(locus_pages_close(pages), 0);
}

Test(edges, locus_pages_open_takes_or_refuses_each_number)
{
    EACH(uint32_t, value, edges32)
    {
        for (unsigned field = 0; field < 10; field++) {
            struct locus_pages_config config = pages_usual();
            uint32_t *const fields[] = {&config.magazine_pages,
                                        &config.high_permille,
                                        &config.low_permille,
                                        (uint32_t *)&config.split,
                                        (uint32_t *)&config.page,
                                        (uint32_t *)&config.policy,
                                        (uint32_t *)&config.node,
                                        &config.zone_pages[3],
                                        &config.pages,
                                        &config.sets};
            *fields[field] = value;
            config.high_permille = field == 2 ? 900 : config.high_permille;
            config.split = field == 7 ? LOCUS_SPLIT_ZONES : config.split;
            config.zone_pages[2] = field == 7 ? PAGES - value : 0; // whose sum wraps to PAGES
            if (value <= 64 || field < 8 || value > LOCUS_PAGES_MAX)
                pages_tried(&config);
        }
    }
    EACH(uint64_t, bytes, edges64)
    {
        struct locus_pages_config config = pages_usual();
        config.page_bytes = bytes;
        pages_tried(&config);
        config = pages_usual();
        config.size = bytes;
        pages_tried(&config);
    }
}

static int seen(void *context, const struct locus_range_info *info)
{
    *(uint32_t *)context += info->pages;
    return 0;
}

static void seen_too(void *context, const struct locus_range_info *info)
{
    seen(context, info);
}

static struct locus_pages_stats stats_of(const struct locus_pages *pages)
{
    struct locus_pages_stats stats;
    locus_pages_stats(pages, &stats);
    return stats;
}

static bool same(const struct locus_pages *pages, const struct locus_pages_stats *before)
{
    struct locus_pages_stats now = stats_of(pages);
    return now.pages_free == before->pages_free && now.pages_in_magazines == before->pages_in_magazines &&
           now.pages_largest == before->pages_largest && now.pages_pinned == before->pages_pinned &&
           now.pages_peak == before->pages_peak && now.ranges == before->ranges && now.draining == before->draining &&
           now.ranges_allocated == before->ranges_allocated && now.ranges_freed == before->ranges_freed;
}

Test(edges, any_number_is_refused_as_a_range)
{
    struct locus_pages_config config = pages_usual();
    struct locus_pages *pages;
    struct locus_magazine *magazine;
    struct locus_pin pin = {0};
    cr_assert_eq(locus_pages_open(&pages, &config), 0);
    cr_assert_eq(locus_magazine_open(&magazine, pages), 0);
    const struct locus_pages_stats before = stats_of(pages);
    EACH(uint64_t, range, edges64)
    {
        cr_assert_eq(locus_pages_pin(pages, range), -ESTALE);
        cr_assert_eq(locus_pages_unpin(pages, range), -ESTALE);
        cr_assert_eq(locus_pages_free(pages, NULL, range), -ESTALE);
        cr_assert_eq(locus_pages_free(pages, magazine, range), -ESTALE);
        cr_assert_eq(locus_pages_evict_done(pages, range, INT_MIN), -ESTALE);
        cr_assert_eq(locus_pin_take(&pin, pages, range), -ESTALE);
        locus_pin_release(&pin);
        cr_assert(same(pages, &before));
    }
    locus_magazine_close(magazine);
    cr_assert_eq(locus_pages_close(pages), 0);
}

Test(edges, an_allocation_of_any_size_and_kind_is_served_or_refused)
{
    struct locus_pages_config config = pages_usual();
    struct locus_pages *pages;
    struct locus_pages_set *set;
    locus_range range;
    cr_assert_eq(locus_pages_open(&pages, &config), 0);
    EACH(int, kind, edges_int)
    EACH(uint32_t, count, edges32)
    {
        const struct locus_pages_stats before = stats_of(pages);
        struct locus_pages_request ask = {.kind = (enum locus_pages_kind)kind, .pages = count, .owner = UINT64_MAX};
        ask.cost_ns = UINT64_MAX;
        bool known = kind >= 0 && kind < (int)LOCUS_PAGES_KINDS, fits = count && count <= PAGES;
        int wanted = kind == LOCUS_PAGES_GRADIENT ? -EOPNOTSUPP : known && fits ? 0 : -EINVAL;
        int error = locus_pages_alloc(pages, NULL, &ask, &range);
        cr_assert_eq(error, wanted);
        cr_assert_eq(locus_pages_evict(pages, ask.kind, count), !wanted && count > PAGES - count ? -ENOMEM : wanted);
        if (error) {
            cr_assert(range == LOCUS_RANGE_NONE);
            cr_assert_eq(locus_pages_set_prepare(&set, pages, &ask, 1, &range), wanted);
            cr_assert(same(pages, &before));
            continue;
        }
        cr_assert_eq(locus_pages_bytes(pages, range), count * PAGE_BYTES);
        cr_assert_not_null(locus_pages_address(pages, range));
        cr_assert_eq(locus_pages_close(pages), -EBUSY);
        cr_assert_eq(locus_pages_unpin(pages, range), 0);
        cr_assert_eq(locus_pages_unpin(pages, range), -EPERM);
        cr_assert_eq(locus_pages_free(pages, NULL, range), 0);
        cr_assert_eq(locus_pages_set_prepare(&set, pages, &ask, 0, &range), -EINVAL);
        cr_assert_eq(locus_pages_set_prepare(&set, pages, &ask, 1, &range), 0);
        cr_assert_eq(locus_pages_pin(pages, range), -EAGAIN);
        locus_pages_set_rollback(set);
    }
    struct locus_pages_request one = {.kind = LOCUS_PAGES_KV, .pages = 1};
    cr_assert_eq(locus_pages_set_prepare(&set, pages, &one, 1, &range), 0);
    locus_pages_set_commit(set);
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_assert_eq(locus_pages_reap(pages), 0);
    cr_assert_eq(locus_pages_close(pages), 0);
}

// An arena that is full evicts for each allocation, and each eviction and pin is stamped.
Test(edges, any_clock_will_do)
{
    struct locus_pages_config config = pages_usual();
    struct locus_pages *pages;
    struct locus_pages_eviction evictions[LOCUS_PAGES_EVICTIONS];
    uint64_t highest = 0;
    uint32_t pages_seen;
    config.high_permille = 1000;
    config.low_permille = 500;
    for (uint32_t score = 0; locus_score_at(score); score++) {
        config.score = locus_score_at(score);
        cr_assert_eq(locus_pages_open(&pages, &config), 0);
        EACH(uint64_t, now_ns, edges64)
        {
            locus_range range;
            struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = 3, .owner = now_ns, .cost_ns = now_ns};
            locus_pages_set_time(pages, now_ns);
            highest = now_ns > highest ? now_ns : highest;
            cr_assert_eq(locus_pages_alloc(pages, NULL, &ask, &range), 0);
            EACH(uint64_t, held_ns, edges64)
            {
                pages_seen = 0;
                cr_assert_eq(locus_pages_overdue(pages, held_ns, seen_too, &pages_seen), held_ns == 0);
            }
            cr_assert_eq(locus_pages_unpin(pages, range), 0);
            pages_seen = 0;
            cr_assert_eq(locus_pages_each(pages, seen, &pages_seen), 0);
            cr_assert_eq(pages_seen, PAGES);
            locus_pages_balance(pages);
        }
        EACH(uint32_t, count, edges32)
        {
            uint32_t room = count < LOCUS_PAGES_EVICTIONS ? count : LOCUS_PAGES_EVICTIONS;
            cr_assert_leq(locus_pages_evictions(pages, evictions, count), room);
        }
        cr_assert_eq(locus_pages_page_bytes(pages), PAGE_BYTES);
        cr_assert_not_null(locus_pages_region(pages));
        cr_assert_eq(locus_pages_close(pages), 0);
    }
}

Test(edges, what_was_evicted_at_the_end_of_time_is_known_as_thrash)
{
    struct locus_pages_config config = pages_usual();
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = PAGES, .owner = 7};
    struct locus_pages *pages;
    locus_range range;
    cr_assert_eq(locus_pages_open(&pages, &config), 0);
    locus_pages_set_time(pages, UINT64_MAX - 5);
    cr_assert_eq(locus_pages_alloc(pages, NULL, &ask, &range), 0);
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_assert_eq(locus_pages_evict(pages, LOCUS_PAGES_KV, 1), 0);
    cr_assert_eq(locus_pages_alloc(pages, NULL, &ask, &range), 0);
    cr_assert_eq(locus_pages_unpin(pages, range), 0);
    cr_assert_eq(stats_of(pages).thrashed, 1);
    cr_assert_eq(locus_pages_close(pages), 0);
}

// --- adapters ------------------------------------------------------------------------------------------------------------------

struct shelf {
    struct locus_pages *pages;
    struct locus_tier *cold;
    struct locus_adapters *adapters;
};

static void shelf_open(struct shelf *shelf, const struct locus_adapter_policy *policy)
{
    struct locus_pages_config pages = pages_usual();
    struct locus_tier_far_config tier = {.size = sizeof tier, .bytes = 1 << 20, .unit_bytes = 4096, .node = LOCUS_NODE_ANY};
    cr_assert_eq(locus_pages_open(&shelf->pages, &pages), 0);
    cr_assert_eq(locus_tier_far_open(&shelf->cold, &tier), 0);
    struct locus_adapters_config config = {.size = sizeof config, .pages = shelf->pages, .cold = shelf->cold, .policy = policy};
    config.policy_config =
        (struct locus_adapter_policy_config){.size = sizeof config.policy_config, .adapters = 4, .hot = 1, .warm = 1};
    cr_assert_eq(locus_adapters_open(&shelf->adapters, &config), 0);
}

static void shelf_close(struct shelf *shelf)
{
    cr_assert_eq(locus_adapters_close(shelf->adapters), 0);
    locus_tier_close(shelf->cold);
    cr_assert_eq(locus_pages_close(shelf->pages), 0);
}

Test(edges, adapters_of_any_number_size_and_clock)
{
    static const uint16_t weights[1024];
    for (uint32_t policy = 0; locus_adapter_policy_at(policy); policy++) {
        struct shelf shelf;
        struct locus_adapters_stats stats;
        shelf_open(&shelf, locus_adapter_policy_at(policy));
        EACH(uint64_t, now_ns, edges64)
        EACH(uint32_t, number, edges32)
        {
            struct locus_adapter_hold hold;
            struct locus_adapter_where where;
            bool there = number < 4;
            cr_assert_eq(locus_adapters_acquire(shelf.adapters, now_ns, number, &hold), -ENOENT);
            cr_assert_eq(locus_adapters_prefetch(shelf.adapters, now_ns, number), -ENOENT);
            cr_assert_eq(locus_adapters_cancel(shelf.adapters, now_ns, number), -ENOENT);
            cr_assert_eq(locus_adapters_unload(shelf.adapters, now_ns, number), -ENOENT);
            cr_assert_not(locus_adapters_where(shelf.adapters, now_ns, number, &where));
            EACH(uint64_t, bytes, edges64)
            {
                if (bytes <= sizeof weights && bytes && bytes % 2 == 0)
                    continue;
                int error = locus_adapters_load(shelf.adapters, now_ns, number, weights, bytes);
                cr_assert_eq(error, there && bytes && bytes % 2 == 0 ? -EFBIG : -EINVAL);
            }
            cr_assert_eq(locus_adapters_load(shelf.adapters, now_ns, number, weights, 2048), there ? 0 : -EINVAL);
            if (!there)
                continue;
            cr_assert_eq(locus_adapters_prefetch(shelf.adapters, now_ns, number), 0);
            cr_assert_eq(locus_adapters_acquire(shelf.adapters, now_ns, number, &hold), 0);
            cr_assert_eq(hold.bytes, 2048);
            locus_adapters_release(shelf.adapters, 0, &hold);
            locus_adapters_poll(shelf.adapters, now_ns, UINT64_MAX);
            cr_assert(locus_adapters_where(shelf.adapters, now_ns, number, &where));
            cr_assert_eq(locus_adapters_unload(shelf.adapters, now_ns, number), 0);
        }
        locus_adapters_stats(shelf.adapters, &stats);
        cr_assert(stats.versions == 0 && stats.holds == 0);
        shelf_close(&shelf);
    }
}

Test(edges, a_residency_policy_of_any_size_is_opened_or_refused)
{
    for (uint32_t policy = 0; locus_adapter_policy_at(policy); policy++)
        EACH(uint32_t, value, edges32)
    for (unsigned field = 0; field < 4; field++) {
        const struct locus_adapter_policy *ops = locus_adapter_policy_at(policy);
        struct locus_adapter_policy_config config = {.size = sizeof config, .adapters = 4, .hot = 1, .warm = 1};
        *(field == 0 ? &config.adapters : field == 1 ? &config.hot : field == 2 ? &config.warm : &config.uses) = value;
        if (field == 0 && value > 64 && value <= 1u << 28)
            continue; // it would take gigabytes
        void *state = NULL;
        int error = ops->open(&state, &config);
        ONE_OF(error, 0, -EINVAL, -ENOMEM);
        cr_assert(field != 0 || (error == -EINVAL) == (value == 0 || value > 1u << 28));
        EACH(uint64_t, now_ns, edges64)
        {
            if (error)
                break;
            config.window_ns = now_ns;
            ops->use(state, now_ns, 0);
            ONE_OF((int)ops->place(state, now_ns, 0), LOCUS_ADAPTER_COLD, LOCUS_ADAPTER_WARM, LOCUS_ADAPTER_HOT);
            ops->victim(state, now_ns, LOCUS_ADAPTER_HOT, LOCUS_ADAPTER_NONE);
            ops->due_ns(state);
        }
        ops->close(state);
    }
}
