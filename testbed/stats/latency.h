// SPDX-License-Identifier: Apache-2.0
//
// latency: how long calls took, in two resolutions: the bounds that the seed's histogram has, for dashboards, and 64 steps to each
// power of two, for percentiles that are right within 1.6 %.
//
// Threads: one thread adds, any thread reads meanwhile. Each figure is then one that was true at some moment; they are of the same
// moment once the writer has stopped.
#ifndef TB_LATENCY_H
#define TB_LATENCY_H

#include <stdint.h>

#define TB_LATENCY_BOUNDS 5u
extern const double tb_latency_bound_s[TB_LATENCY_BOUNDS]; // 1e-7, 1e-6, 1e-5, 1e-4, 1e-3; above the last one: the rest

#define TB_LATENCY_STEPS 64u
#define TB_LATENCY_FINE (TB_LATENCY_STEPS * 35u) // up to 2^40 ns, 18 minutes

struct tb_latency {
    uint64_t counts[TB_LATENCY_BOUNDS + 1]; // of each interval alone, not of all below a bound
    uint64_t sum_ns, count, max_ns;
    uint64_t fine[TB_LATENCY_FINE];
};

// `took_ns` as it was read, `clock_ns` what reading costs: subtracted here, so that all users do. Below 0 it counts as 0.
void tb_latency_add(struct tb_latency *latency, uint64_t took_ns, uint64_t clock_ns);

void tb_latency_join(struct tb_latency *sum, const struct tb_latency *part); // `part` may be written meanwhile

// The least time that at least this share (0 .. 1) of all calls kept, NAN without any.
double tb_latency_quantile_ns(const struct tb_latency *latency, double share);

// The time of two readings of the clock in a row, median of many: what a time that was taken contains too much.
uint64_t tb_latency_now_ns(void);
uint64_t tb_latency_clock_ns(void);

#endif
