// SPDX-License-Identifier: Apache-2.0
//
// clock: the time for waits and ages, which nobody can set: CLOCK_MONOTONIC. Any thread; some 20 ns, without a call of the kernel
// as a rule. Not installed.
#ifndef LOCUS_CLOCK_H
#define LOCUS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
