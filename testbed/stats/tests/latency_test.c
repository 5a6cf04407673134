// SPDX-License-Identifier: Apache-2.0
//
// The two histograms of latencies: at the bounds, between them, and percentiles against sorted values.
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "testbed/stats/latency.h"
#include "testbed/stats/random.h"

static struct tb_latency latency, sum;

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

Test(latency, a_value_at_a_bound_belongs_below_it)
{
    static const uint64_t at[] = {0, 100, 101, 1000, 1001, 10000, 10001, 100000, 100001, 1000000, 1000001, UINT64_MAX};
    static const uint64_t counts[TB_LATENCY_BOUNDS + 1] = {2, 2, 2, 2, 2, 2};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        tb_latency_add(&latency, at[i], 0);
    for (uint32_t i = 0; i <= TB_LATENCY_BOUNDS; i++)
        cr_assert_eq(latency.counts[i], counts[i], "interval %u", i);
    cr_assert_eq(latency.count, sizeof at / sizeof *at);
    cr_assert_eq(latency.max_ns, UINT64_MAX);
}

Test(latency, the_clocks_cost_is_subtracted_and_never_more)
{
    tb_latency_add(&latency, 130, 30);
    tb_latency_add(&latency, 20, 30);
    cr_assert_eq(latency.counts[0], 2);
    cr_assert_eq(latency.sum_ns, 100);
    cr_assert_eq(tb_latency_quantile_ns(&latency, 1), 100);
    cr_assert_eq(tb_latency_quantile_ns(&latency, 0.5), 0);
}

Test(latency, percentiles_are_those_of_the_sorted_values_within_two_percent)
{
    enum { COUNT = 10000 };
    static const double shares[] = {0.001, 0.5, 0.9, 0.99, 0.999, 1};
    static uint64_t values[COUNT];
    uint64_t random = 3;
    for (int i = 0; i < COUNT; i++) {
        values[i] = tb_random_next(&random) >> (24 + tb_random_next(&random) % 40);
        tb_latency_add(&latency, values[i], 0);
    }
    qsort(values, COUNT, sizeof *values, by_value);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double right = (double)values[(size_t)ceil(shares[i] * COUNT) - 1], found = tb_latency_quantile_ns(&latency, shares[i]);
        cr_assert(found >= right && found <= right * (1 + 1.0 / TB_LATENCY_STEPS), "%g: %g, not %g", shares[i], found, right);
    }
}

Test(latency, without_calls_there_is_no_percentile)
{
    cr_assert(isnan(tb_latency_quantile_ns(&latency, 0.5)));
}

Test(latency, what_is_joined_adds_up)
{
    for (uint64_t i = 1; i <= 10; i++)
        tb_latency_add(&latency, i * 300, 0);
    tb_latency_join(&sum, &latency);
    tb_latency_join(&sum, &latency);
    cr_assert_eq(sum.count, 20);
    cr_assert_eq(sum.sum_ns, 2 * 300 * 55);
    cr_assert_eq(sum.max_ns, 3000);
    cr_assert_eq(sum.counts[1], 6);
    cr_assert_eq(sum.counts[2], 14);
    cr_assert_eq(tb_latency_quantile_ns(&sum, 1), 3000);
}

Test(latency, two_readings_of_the_clock_cost_less_than_a_tenth_of_a_millisecond)
{
    uint64_t cost_ns = tb_latency_clock_ns();
    cr_assert(cost_ns < 100000, "%llu ns", (unsigned long long)cost_ns);
}
