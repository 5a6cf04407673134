// SPDX-License-Identifier: Apache-2.0
//
// make: what made scenarios are made of: arrivals and lengths from a seed.
#ifndef TB_MAKE_H
#define TB_MAKE_H

#include <stdint.h>

#include "testbed/stats/random.h"

// A whole number from `least` to `most`, each as likely.
static inline uint32_t tb_random_between(uint64_t *state, uint32_t least, uint32_t most)
{
    return least + (uint32_t)(tb_random_next(state) % (most - least + 1));
}

// The gap to the next arrival when arrivals are independent of each other: geometric, in steps of a thousandth of the mean. Whole
// numbers only, so that every compiler makes the same.
static inline uint64_t tb_random_gap_ns(uint64_t *state, uint64_t mean_ns)
{
    uint64_t steps = 1;
    while (tb_random_next(state) % 1000)
        steps++;
    return steps * mean_ns / 1000;
}

#endif
