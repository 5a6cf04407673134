// SPDX-License-Identifier: Apache-2.0
//
// random: splitmix64 (S. Vigna, public domain reference). Any seed is good, and the same seed gives the same order.
#ifndef TB_RANDOM_H
#define TB_RANDOM_H

#include <stdint.h>

static inline uint64_t tb_random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// 0 .. count - 1 in random order. The remainder favours small numbers by count / 2^64, which is nothing.
static inline void tb_random_order(uint32_t order[], uint32_t count, uint64_t *state)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)(tb_random_next(state) % i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

#endif
