// SPDX-License-Identifier: Apache-2.0
//
// latency: a histogram with a constant relative error: the place of a value is its exponent and its next six bits, as HdrHistogram
// has it. Counts of one writer are read by others with relaxed loads: each is a figure of its own, and orders nothing.
#include "testbed/stats/latency.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { STEP_BITS = 6, CLOCK_READINGS = 1001 };
_Static_assert(1u << STEP_BITS == TB_LATENCY_STEPS, "a step for each value of the bits below the highest one");

const double tb_latency_bound_s[TB_LATENCY_BOUNDS] = {1e-7, 1e-6, 1e-5, 1e-4, 1e-3};
static const uint64_t bound_ns[TB_LATENCY_BOUNDS] = {100, 1000, 10000, 100000, 1000000};

static uint32_t place_of(uint64_t ns)
{
    if (ns < TB_LATENCY_STEPS)
        return (uint32_t)ns;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(ns);
    uint64_t place = (uint64_t)(exponent - STEP_BITS + 1) * TB_LATENCY_STEPS + (ns >> (exponent - STEP_BITS)) - TB_LATENCY_STEPS;
    return place < TB_LATENCY_FINE ? (uint32_t)place : TB_LATENCY_FINE - 1;
}

// The greatest value that lies there.
static uint64_t value_at(uint32_t place)
{
    if (place < TB_LATENCY_STEPS)
        return place;
    unsigned shift = place / TB_LATENCY_STEPS - 1;
    return ((uint64_t)(TB_LATENCY_STEPS + place % TB_LATENCY_STEPS + 1) << shift) - 1;
}

// One writer, so a load and a store are enough; they are atomic because others read. W1 pairs with no order, see above.
static void bump(uint64_t *counter, uint64_t by)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
}

void tb_latency_add(struct tb_latency *latency, uint64_t took_ns, uint64_t clock_ns)
{
    uint64_t ns = took_ns > clock_ns ? took_ns - clock_ns : 0;
    uint32_t interval = 0;
    while (interval < TB_LATENCY_BOUNDS && ns > bound_ns[interval])
        interval++;
    bump(&latency->counts[interval], 1);
    bump(&latency->fine[place_of(ns)], 1);
    bump(&latency->sum_ns, ns);
    bump(&latency->count, 1);
    if (ns > latency->max_ns)
        __atomic_store_n(&latency->max_ns, ns, __ATOMIC_RELAXED);
}

static void join(uint64_t sums[], const uint64_t parts[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        sums[i] += __atomic_load_n(&parts[i], __ATOMIC_RELAXED);
}

// The count is that of the intervals, so that a histogram that is read while it grows agrees with itself.
void tb_latency_join(struct tb_latency *sum, const struct tb_latency *part)
{
    join(sum->counts, part->counts, TB_LATENCY_BOUNDS + 1);
    join(sum->fine, part->fine, TB_LATENCY_FINE);
    join(&sum->sum_ns, &part->sum_ns, 1);
    uint64_t max_ns = __atomic_load_n(&part->max_ns, __ATOMIC_RELAXED);
    sum->max_ns = max_ns > sum->max_ns ? max_ns : sum->max_ns;
    sum->count = 0;
    for (uint32_t i = 0; i <= TB_LATENCY_BOUNDS; i++)
        sum->count += sum->counts[i];
}

double tb_latency_quantile_ns(const struct tb_latency *latency, double share)
{
    uint64_t total = 0, seen = 0;
    for (uint32_t i = 0; i < TB_LATENCY_FINE; i++)
        total += latency->fine[i];
    if (total == 0)
        return NAN;
    uint64_t wanted = (uint64_t)ceil(share * (double)total);
    for (uint32_t i = 0; i < TB_LATENCY_FINE; i++) {
        seen += latency->fine[i];
        if (seen >= wanted && seen > 0)
            return (double)(value_at(i) < latency->max_ns ? value_at(i) : latency->max_ns);
    }
    return (double)latency->max_ns;
}

uint64_t tb_latency_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t tb_latency_clock_ns(void)
{
    uint64_t cost_ns[CLOCK_READINGS];
    for (int i = 0; i < CLOCK_READINGS; i++) {
        uint64_t start_ns = tb_latency_now_ns();
        cost_ns[i] = tb_latency_now_ns() - start_ns;
    }
    qsort(cost_ns, CLOCK_READINGS, sizeof *cost_ns, by_value);
    return cost_ns[CLOCK_READINGS / 2];
}
