// SPDX-License-Identifier: Apache-2.0
//
// metric: one table, and everybody who lists the metrics has the same ones.
#include <criterion/criterion.h>
#include <string.h>

#include "testbed/counters/counters.h"
#include "testbed/postulate/metric.h"

Test(record_metric, each_is_found_by_its_name)
{
    unsigned i = 0;
    for (; tb_metric_at(i); i++)
        cr_expect_eq(tb_metric_find(tb_metric_at(i)->name), tb_metric_at(i));
    // Of laps, of serving (served.h, batches.h, residency.h, arena.h), of pins (pinned.h), and of the engine (engine/result.h).
    cr_expect_eq(i, 44u + 39u + 15u + 24u + 17u + 42u + 3u + 23u);
    cr_expect_null(tb_metric_find("time"));
}

Test(record_metric, only_time_is_a_time_and_only_blocks_are_of_the_peak)
{
    for (unsigned i = 0; tb_metric_at(i); i++) {
        const struct tb_metric *metric = tb_metric_at(i);
        if (strncmp(metric->member, "engine.", 7) == 0)
            continue;
        bool served = strncmp(metric->member, "serving.", 8) == 0, decoded = strncmp(metric->member, "decode.", 7) == 0;
        bool clocked = strncmp(metric->name, "wait_ns_", 8) == 0 || strncmp(metric->name, "drain_ns_", 9) == 0;
        for (int k = 0; k < 3 && !clocked; k++)
            clocked = strncmp(metric->name, (const char *[]){"take_ns_", "push_ns_", "step_ns_"}[k], 8) == 0;
        bool of_calls =
            served && (strcmp(metric->unit, "ns") == 0 || strcmp(metric->unit, "1/s") == 0); // virtual times have another unit
        bool one = strcmp(metric->name, "wait_ns") == 0 || of_calls;
        bool time = strncmp(metric->name, "time_ns", 7) == 0 || clocked || one;
        cr_expect_eq(tb_metric_is_clocked(metric), clocked, "%s", metric->name);
        cr_expect_eq(tb_metric_is_time(metric->name), time);
        bool counted = metric->counter || metric->emulated || strcmp(metric->name, "waits") == 0;
        if (!served)
            cr_expect_str_eq(metric->unit, time ? "ns" : counted ? "count" : "ratio");
        cr_expect_leq(metric->of_peak + metric->many_nodes + (metric->counter != NULL) + metric->emulated, 1, "%s", metric->name);
        bool other = served || decoded || time || metric->of_peak || counted;
        cr_expect(other || strcmp(metric->name, metric->member) == 0, "%s", metric->name);
        bool varies = strcmp(metric->name, "failed_per_block") == 0 || strcmp(metric->name, "resident_ratio") == 0;
        cr_expect(!metric->estimate || time || metric->counter || varies, "%s", metric->name);
        bool of_threads = strcmp(metric->name, "pins_refused") == 0; // real ones: a count, but each round has its own
        cr_expect_eq(metric->fixed, (served && !time && !of_threads) || (metric->emulated && metric->ratio), "%s", metric->name);
    }
}

// Named one by one, so that a count in virtual time that is given the unit ns by mistake does not become one.
Test(record_metric, of_what_serves_these_are_real_times)
{
    static const char *const times[] = {"call_ns",      "room_p50_ns",    "room_p99_ns", "room_p999_ns", "evict_p50_ns",
                                        "evict_p99_ns", "evict_range_ns", "pin_p50_ns",  "pin_p99_ns",   "unpin_p50_ns",
                                        "unpin_p99_ns", "pair_ns",        "pairs_per_s"};
    unsigned found = 0;
    for (unsigned i = 0; tb_metric_at(i); i++)
        found += strncmp(tb_metric_at(i)->member, "serving.", 8) == 0 && tb_metric_at(i)->estimate;
    cr_expect_eq(found, sizeof times / sizeof *times);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const struct tb_metric *metric = tb_metric_find(times[i]);
        cr_assert_not_null(metric, "%s", times[i]);
        cr_expect(metric->estimate && !metric->fixed && tb_metric_is_time(times[i]), "%s", times[i]);
    }
    cr_expect(tb_metric_find("lost_mean_ns")->fixed && !tb_metric_is_time("lost_mean_ns"));
}

Test(record_metric, of_the_engine_only_what_differs_is_an_estimate_and_only_what_the_model_says_is_fixed)
{
    unsigned found = 0;
    for (unsigned i = 0; tb_metric_at(i); i++) {
        const struct tb_metric *metric = tb_metric_at(i);
        if (strncmp(metric->member, "engine.", 7) != 0)
            continue;
        bool resident = strcmp(metric->name, "kv_resident_bytes") == 0; // as resident_ratio
        bool raced = strcmp(metric->name, "computed_tokens") == 0;      // by stores and loads that overlap with computing
        bool measured = strcmp(metric->unit, "ns") == 0 || strcmp(metric->unit, "1/s") == 0 || resident || raced ||
                        strncmp(metric->name, "step_", 5) == 0;
        bool seen = strstr(metric->name, "opened") || strstr(metric->name, "cleared") || strcmp(metric->unit, "ratio") == 0;
        found++;
        cr_expect_eq(metric->estimate, measured, "%s", metric->name);
        cr_expect_eq(metric->fixed, !measured && !seen, "%s", metric->name);
        cr_expect_eq(tb_metric_is_time(metric->name), measured && !resident && !raced, "%s", metric->name);
        cr_expect_str_eq(metric->member + 7, metric->name);
        cr_expect(!metric->of_peak && !metric->many_nodes && !metric->counter && !metric->emulated, "%s", metric->name);
    }
    cr_expect_eq(found, 23u);
}

// Of every CPU, or there would be metrics that nobody can measure and nobody says why.
Test(record_metric, each_counter_is_one_or_says_why_not)
{
    static const struct tb_cpu_id cpus[] = {{.vendor = "GenuineIntel", .family = 6, .model = 0x8f},
                                            {.vendor = "AuthenticAMD", .family = 0x1a, .model = 2},
                                            {.vendor = "ARM", .family = 0x41, .model = 0xd0c},
                                            {.vendor = "somebody"}};
    for (unsigned c = 0; c < sizeof cpus / sizeof *cpus; c++) {
        struct tb_counter_set set;
        tb_counters_resolve(&set, &cpus[c]);
        for (unsigned i = 0; tb_metric_at(i); i++)
            if (tb_metric_at(i)->counter)
                cr_expect_geq(tb_counters_find(&set, tb_metric_at(i)->counter), 0, "%s has no %s", cpus[c].vendor,
                              tb_metric_at(i)->counter);
    }
}

Test(record_metric, of_a_counter_is_per_lap)
{
    json_t *cell = json_pack("{s:i, s:i, s:i}", "laps_metered", 20, "blocks_peak", 100, "blocks_per_lap", 300);
    cr_expect_float_eq(tb_metric_divisor(tb_metric_find("locked_per_block"), cell), 20 * 300, 0);
    cr_expect_float_eq(tb_metric_divisor(tb_metric_find("cycles"), cell), 20, 0);
    cr_expect_float_eq(tb_metric_divisor(tb_metric_find("distinct_ratio"), cell), 100, 0);
    cr_expect_float_eq(tb_metric_divisor(tb_metric_find("time_ns"), cell), 1, 0);
    json_decref(cell);
}
