// SPDX-License-Identifier: Apache-2.0
//
// The storm: what its seed decides, that its counts balance, and that its checker notices damage and lost pins. Longer ones with
// more threads, under sanitizers: storm_stress.c.
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "testbed/pool/storm.h"
#include "testbed/pool/storm_internal.h"

static struct tb_storm *storm;
static struct tb_storm_report report;
static struct tb_pool_audit audit, other;
static char why[512];

static struct tb_pool_config config_small(void)
{
    struct tb_pool_config config = tb_pool_config_defaults;
    config.pages.page_bytes = 512 << 10;
    config.pages.pages = 48;
    config.pages.page = LOCUS_PAGE_4K;
    return config;
}

static void open_storm(uint32_t threads, uint64_t seed, uint64_t for_ns)
{
    struct tb_pool_config config = config_small();
    const struct tb_storm_config how = {.threads = threads, .seed = seed, .for_ns = for_ns};
    cr_assert_eq(tb_storm_open(&storm, &config, &how, why, sizeof why), 0, "%s", why);
}

static uint64_t evicted(const struct locus_pages_stats *stats)
{
    uint64_t sum = 0;
    for (uint32_t kind = 0; kind < LOCUS_PAGES_KINDS; kind++)
        for (uint32_t reason = 0; reason < LOCUS_EVICT_REASONS; reason++)
            sum += stats->ranges_evicted[kind][reason];
    return sum;
}

// All but times: the histograms of latency differ.
static void one_thread(uint64_t seed, struct tb_pool_audit *out)
{
    open_storm(1, seed, 20000000000);
    cr_assert_eq(tb_storm_run(storm), 0);
    tb_storm_audit(storm, out);
    tb_storm_report(storm, &report);
    cr_assert(report.damaged == 0 && report.pins_lost == 0 && report.error == 0, "%s", report.first);
    memset(out->engine.allocate.counts, 0, sizeof out->engine.allocate.counts);
    memset(&out->engine.allocate, 0, sizeof out->engine.allocate);
    memset(&out->engine.allocate_page, 0, sizeof out->engine.allocate_page);
    tb_storm_close(storm);
}

Test(storm, with_one_thread_the_seed_decides_all_counts, .timeout = 120)
{
    static struct tb_pool_audit third;
    one_thread(3, &audit);
    one_thread(3, &other);
    cr_assert_eq(memcmp(&audit, &other, sizeof audit), 0, "%llu and %llu pins", (unsigned long long)audit.engine.pins,
                 (unsigned long long)other.engine.pins);
    one_thread(4, &third);
    cr_assert_neq(memcmp(&audit, &third, sizeof audit), 0);
}

Test(storm, its_counts_balance, .timeout = 120)
{
    open_storm(3, 5, 10000000000);
    cr_assert_eq(tb_storm_run(storm), 0);
    tb_storm_audit(storm, &audit);
    tb_storm_report(storm, &report);
    const struct locus_pages_stats *stats = &audit.stats;
    cr_assert(report.damaged == 0 && report.pins_lost == 0 && report.error == 0, "%s", report.first);
    cr_assert_geq(report.now_ns, 10000000000);
    cr_assert_geq(report.object_pages, 72, "1.5 times 48 pages");
    cr_assert_gt(evicted(stats), 100, "a storm in which nothing has to leave is none");
    cr_assert_eq(stats->ranges_allocated, audit.engine.allocate.count);
    uint32_t doomed = 0; // freed while pinned: in use until the last pin ends
    uint64_t gone = stats->ranges_freed + evicted(stats);
    cr_assert(stats->ranges_allocated - gone <= stats->ranges + doomed, "%llu allocated, %llu gone, %u in use",
              (unsigned long long)stats->ranges_allocated, (unsigned long long)gone, stats->ranges);
    uint32_t pages = 0;
    for (uint32_t kind = 0; kind < LOCUS_PAGES_KINDS; kind++)
        pages += stats->pages_of[kind];
    cr_assert_eq(pages + stats->pages_free, stats->pages);
    cr_assert_leq(stats->pages_pinned, pages);
    tb_storm_close(storm);
}

Test(storm, at_rest_nothing_is_pinned_and_less_is_in_use, .timeout = 120)
{
    open_storm(3, 6, 5000000000);
    cr_assert_eq(tb_storm_run(storm), 0);
    tb_storm_audit(storm, &audit);
    cr_assert_gt(audit.stats.pages_pinned, 0);
    tb_storm_rest(storm);
    tb_storm_audit(storm, &other);
    tb_storm_report(storm, &report);
    cr_assert(report.damaged == 0 && report.pins_lost == 0, "%s", report.first);
    cr_assert_eq(other.stats.pages_pinned, 0);
    cr_assert_eq(other.stats.pages_in_magazines, 0);
    cr_assert_eq(other.stats.pages_of[LOCUS_PAGES_SCRATCH] + other.stats.pages_of[LOCUS_PAGES_ACTIVATION], 0);
    cr_assert_lt(tb_audit_utilization(&other), 0.75 * tb_audit_utilization(&audit), "half of the others go as well");
    cr_assert_eq(other.stats.ranges_allocated - other.stats.ranges_freed - evicted(&other.stats), other.stats.ranges);
    cr_assert_eq(locus_pages_close(storm->pages), 0, "an arena at rest can be closed");
    storm->pages = NULL; // not closed with tb_storm_close(), which would close it again
}

Test(storm, damage_is_noticed, .timeout = 120)
{
    open_storm(2, 8, 2000000000);
    cr_assert_eq(tb_storm_run(storm), 0);
    struct worker *worker = &storm->workers[storm->workers[0].holds_count == 0];
    cr_assert_gt(worker->holds_count, 0);
    locus_range range = worker->holds[0].range;
    memset(locus_pages_address(storm->pages, range), 7, locus_pages_bytes(storm->pages, range));
    tb_storm_rest(storm);
    tb_storm_report(storm, &report);
    cr_assert_gt(report.damaged, 0);
    cr_assert(strstr(report.first, "is not as it was written"), "%s", report.first);
    tb_storm_close(storm);
}

Test(storm, a_lost_pin_is_noticed, .timeout = 120)
{
    open_storm(1, 8, 2000000000);
    cr_assert_eq(tb_storm_run(storm), 0);
    struct worker *worker = &storm->workers[0];
    cr_assert_gt(worker->holds_count, 0);
    struct hold hold = worker->holds[worker->holds_count - 1]; // the first one to be released
    uint32_t same = 0;
    for (uint32_t i = 0; i < worker->holds_count; i++)
        same += worker->holds[i].range == hold.range;
    for (uint32_t i = 0; i < same; i++)
        cr_assert_eq(locus_pages_unpin(storm->pages, hold.range), 0);
    tb_storm_rest(storm);
    tb_storm_report(storm, &report);
    cr_assert_eq(report.pins_lost, same);
    cr_assert(strstr(report.first, "was refused"), "%s", report.first);
    tb_storm_close(storm);
}

static void stop_at_once(void *context, uint64_t now_ns)
{
    (void)context;
    (void)now_ns;
    tb_storm_stop(storm);
}

Test(storm, one_without_an_end_is_stopped, .timeout = 120)
{
    struct tb_pool_config config = config_small();
    const struct tb_storm_config how = {.threads = 2, .seed = 1, .tick = stop_at_once};
    cr_assert_eq(tb_storm_open(&storm, &config, &how, why, sizeof why), 0, "%s", why);
    cr_assert_eq(tb_storm_run(storm), 0);
    tb_storm_report(storm, &report);
    cr_assert_gt(report.steps, 0);
    tb_storm_close(storm);
    tb_storm_close(NULL);
}

Test(storm, an_arena_that_cannot_be_opened_is_named)
{
    struct tb_pool_config config = config_small();
    const struct tb_storm_config how = {.threads = 1};
    config.pages.pages = 0;
    cr_assert_eq(tb_storm_open(&storm, &config, &how, why, sizeof why), -EINVAL);
    cr_assert_neq(why[0], '\0');
}
